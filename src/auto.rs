//! What `Auto` chooses: the tuning tables that were built in, and the choices of one of them.

use std::sync::{Arc, LazyLock};

use gpuint_catalogue::tuning::Table;
use gpuint_catalogue::{Algorithm, Op};

use crate::shape::ROWS;

/// Written by `build.rs`.
mod embedded {
    include!(concat!(env!("OUT_DIR"), "/tuning.rs"));
}

/// The algorithms of a tuning table: for each operation, from narrow to wide, the last width at
/// which an algorithm is chosen.
#[derive(Debug, Default)]
pub(crate) struct Choices([Vec<(usize, Algorithm)>; Op::COUNT]);

impl Choices {
    /// The choices of the table that the crate was built with.
    pub(crate) fn of_the_build() -> Arc<Self> {
        static CHOICES: LazyLock<Arc<Choices>> = LazyLock::new(|| {
            // `build.rs` has parsed it; without a table, operations use classical products.
            let table = Table::parse(embedded::TABLES[0].1, ROWS);
            Arc::new(table.map_or_else(|_| Choices::default(), |table| Choices::new(&table)))
        });
        Arc::clone(&CHOICES)
    }

    fn new(table: &Table) -> Self {
        let mut choices = [const { Vec::new() }; Op::COUNT];
        for &op in Op::ALL {
            choices[op as usize] = table.everywhere(op);
        }
        Self(choices)
    }

    /// The algorithm of the table; `None` where it has no choice for the operation.
    pub(crate) fn algorithm(&self, op: Op, bits: usize) -> Option<Algorithm> {
        let ranges = &self.0[op as usize];
        let index = ranges.partition_point(|range| range.0 < bits);
        ranges.get(index).map(|range| range.1)
    }
}
