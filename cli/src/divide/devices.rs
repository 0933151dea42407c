//! Divides rows of one width on all devices of the process.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use gpuint::{Device, DynBatch, Pool, Result, Shape};

use crate::job::devices::{failures, names};

/// Operands of one width.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    pub shape: Shape,
    /// Bytes of the dividends one after the other, each least significant byte first.
    pub u: &'a [u8],
    /// The same of the divisors.
    pub v: &'a [u8],
    /// True for the first rows of this width: kernels are then loaded outside the time.
    pub is_first: bool,
}

/// Statistics of divided rows.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// A first division on each device, which loads or compiles kernels.
    pub setup: Duration,
    /// Copies of operands to the devices and of results back.
    pub copy: Duration,
    pub divide: Duration,
    /// Devices that failed, with the error; others divided their rows.
    pub failed: Vec<String>,
}

/// Devices that divide rows.
pub trait Divide {
    /// Writes the bytes of the quotients and of the remainders, as those of the operands.
    fn divide(&self, rows: Rows<'_>, results: [&mut [u8]; 2]) -> Result<Done>;

    /// Names of the devices.
    fn name(&self) -> String;
}

impl Divide for Pool {
    fn divide(&self, rows: Rows<'_>, results: [&mut [u8]; 2]) -> Result<Done> {
        let Rows { shape, u, v, is_first } = rows;
        divide_chunks(self, shape, [u, v], is_first, results)
    }

    fn name(&self) -> String {
        names(self)
    }
}

/// Divides rows by chunks: writes the quotients and remainders of `[u, v]` to `results`.
pub fn divide_chunks(
    pool: &Pool,
    shape: Shape,
    [u, v]: [&[u8]; 2],
    is_first: bool,
    results: [&mut [u8]; 2],
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
    let rows = u.len() / shape.bytes();
    let shares =
        pool.run(shape, rows, results, prepare, |(), chunk, [quotients, remainders]| {
            let start = Instant::now();
            let batch = |all| DynBatch::from_le_bytes(chunk.device(), shape, chunk.part(all)?);
            let (u, v) = (batch(u)?, batch(v)?);
            chunk.device().synchronize()?;
            let uploaded = start.elapsed();
            let (q, r) = u.div_rem(&v)?;
            chunk.device().synchronize()?;
            let divided = start.elapsed();
            q.read_le_bytes(0, quotients)?;
            r.read_le_bytes(0, remainders)?;
            let all = start.elapsed();
            add(&|total| {
                total.divide += divided - uploaded;
                total.copy += all - divided + uploaded;
            });
            Ok(())
        })?;
    let mut done = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.failed.extend(failures(shares));
    Ok(done)
}
