//! Divides rows of one width on all devices of the process.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gpuint::{Chunk, Device, DynBatch, Pool, Result, RowsMut, Shape};
use num_bigint::BigUint;

/// Quotient and remainder.
pub(crate) type Quotient = (BigUint, BigUint);

/// Operands of one width.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    pub(crate) shape: Shape,
    pub(crate) u: &'a [BigUint],
    pub(crate) v: &'a [BigUint],
    /// True for the first rows of this width: kernels are then loaded outside the time.
    pub(crate) is_first: bool,
}

/// Statistics of divided rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Done {
    /// A first division on each device, which loads or compiles kernels.
    pub(crate) setup: Duration,
    /// Copies of operands to the devices and of results back.
    pub(crate) copy: Duration,
    pub(crate) divide: Duration,
    /// Devices that failed, with the error; others divided their rows.
    pub(crate) failed: Vec<String>,
}

/// Devices that divide rows.
pub(crate) trait Divide {
    /// Writes the quotients and remainders of the rows.
    fn divide(&self, rows: Rows<'_>, results: &mut [Quotient]) -> Result<Done>;

    /// Names of the devices.
    fn name(&self) -> String;
}

impl Divide for Pool {
    fn divide(&self, rows: Rows<'_>, results: &mut [Quotient]) -> Result<Done> {
        let Rows { shape, u, v, is_first } = rows;
        let upload = |chunk: &Chunk<'_>| {
            let batch = |all| DynBatch::from_biguints(chunk.device(), shape, chunk.part(all)?);
            Ok([batch(u)?, batch(v)?])
        };
        let download = |[q, r]: [DynBatch; 2], results: &mut &mut [Quotient]| {
            let quotients = q.to_biguints()?.into_iter().zip(r.to_biguints()?);
            results.iter_mut().zip(quotients).for_each(|(result, quotient)| *result = quotient);
            Ok(())
        };
        divide_chunks(self, shape, u.len(), is_first, results, upload, download)
    }

    fn name(&self) -> String {
        match self.devices() {
            [device] => device.to_string(),
            devices => format!("{} devices, the first {},", devices.len(), devices[0]),
        }
    }
}

/// Divides rows that `upload` copies to a device, by chunks; `download` writes the quotients and
/// remainders.
pub(crate) fn divide_chunks<M: RowsMut>(
    pool: &Pool,
    shape: Shape,
    rows: usize,
    is_first: bool,
    results: M,
    upload: impl Fn(&Chunk<'_>) -> Result<[DynBatch; 2]> + Sync,
    download: impl Fn([DynBatch; 2], &mut M) -> Result<()> + Sync,
) -> Result<Done> {
    let total = Mutex::new(Done::default());
    let add =
        |add: &dyn Fn(&mut Done)| add(&mut total.lock().unwrap_or_else(PoisonError::into_inner));
    let prepare = |device: &Device| {
        if is_first {
            let start = Instant::now();
            let one = DynBatch::splat(device, shape, 1, 1)?;
            one.div_rem(&one)?;
            add(&|total| total.setup += start.elapsed());
        }
        Ok(())
    };
    let shares = pool.run(shape, rows, results, prepare, |(), chunk, results| {
        let start = Instant::now();
        let [u, v] = upload(chunk)?;
        chunk.device().synchronize()?;
        let uploaded = start.elapsed();
        let (q, r) = u.div_rem(&v)?;
        chunk.device().synchronize()?;
        let divided = start.elapsed();
        download([q, r], results)?;
        let all = start.elapsed();
        add(&|total| {
            total.divide += divided - uploaded;
            total.copy += all - divided + uploaded;
        });
        Ok(())
    })?;
    let mut done = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    for share in shares {
        done.failed.extend(share.error.map(|error| format!("{}: {error}", share.device)));
    }
    Ok(done)
}
