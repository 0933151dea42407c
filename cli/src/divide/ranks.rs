//! Divides rows on the ranks of MPI.

use std::time::Instant;

use gpuint::Result;

use super::devices::{Divide, Done, Rows, divide_chunks};
use crate::job::ranks::{Cluster, Order};

/// Divides this rank's share of the rows that rank 0 ordered. The detail of the order is 1 for the
/// first rows of the width.
pub fn serve(cluster: &Cluster, order: Order) -> Result<()> {
    divide_share(cluster, order, [&[], &[]], [&mut [], &mut []]).map(|_| ())
}

/// Divides this rank's share of the rows; rank 0 has `all` rows. Returns the statistics of this
/// rank and, at rank 0, the message of each rank.
fn divide_share(
    cluster: &Cluster,
    order: Order,
    all: [&[u8]; 2],
    results: [&mut [u8]; 2],
) -> Result<(Done, Vec<String>)> {
    let Order { shape, rows, detail } = order;
    let (ranks, row) = (&cluster.ranks, shape.bytes());
    let part = || cluster.share(order);
    let [mut u, mut v, mut q, mut r] = [part()?, part()?, part()?, part()?];
    for (part, all) in [&mut u, &mut v].into_iter().zip(all) {
        ranks.scatter(rows, row, all, part.as_bytes_mut()?)?;
    }
    let (u, v) = (u.as_bytes()?, v.as_bytes()?);
    let parts = [q.as_bytes_mut()?, r.as_bytes_mut()?];
    let done = divide_chunks(&cluster.pool, shape, [u, v], detail != 0, parts);
    for (part, all) in [q, r].iter().zip(results) {
        ranks.gather(rows, row, part.as_bytes()?, all)?;
    }
    let (done, error) = match done {
        Ok(done) => (done, String::new()),
        Err(error) => (Done::default(), error.to_string()),
    };
    Ok((done, cluster.gather_messages(&error)))
}

impl Divide for Cluster {
    fn divide(&self, rows: Rows<'_>, results: [&mut [u8]; 2]) -> Result<Done> {
        let Rows { shape, u, v, is_first } = rows;
        let (row, [q, r]) = (shape.bytes(), results);
        let order = Order { shape, rows: u.len() / row, detail: u64::from(is_first) };
        let start = Instant::now();
        self.order(order);
        let memory = [&mut *q, &mut *r];
        let (mut done, messages) = divide_share(self, order, [u, v], memory)?;
        done.copy = start.elapsed().saturating_sub(done.divide + done.setup);
        done.failed = self.repeat_failed(order.rows, &messages, |share| {
            let bytes = share.start * row..share.end * row;
            let (u, v) = (&u[bytes.clone()], &v[bytes.clone()]);
            let results = [&mut q[bytes.clone()], &mut r[bytes]];
            let again = self.pool.divide(Rows { shape, u, v, is_first: false }, results)?;
            done.divide += again.divide;
            done.copy += again.copy;
            Ok(())
        })?;
        Ok(done)
    }

    fn name(&self) -> String {
        self.names()
    }
}
