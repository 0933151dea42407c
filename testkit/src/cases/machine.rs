//! Machines that run kernels.

use crate::launch::{Grids, Operands, Outcome};

/// Launches kernels on separate memory.
pub trait Machine {
    /// Returns true if the machine has a kernel.
    fn has_kernel(&mut self, kernel: &str) -> bool {
        self.rows_per_block(kernel).is_some()
    }

    /// Rows that a block of a kernel processes at a time; `None` for an unknown kernel, and for all
    /// where the machine divides the rows among blocks itself.
    fn rows_per_block(&mut self, kernel: &str) -> Option<usize>;

    /// Runs a kernel on the schedule `turn`.
    ///
    /// # Errors
    ///
    /// A fault of the kernel, in words.
    fn launch(&mut self, kernel: &str, operands: &Operands, turn: usize)
    -> Result<Outcome, String>;

    /// Runs kernels with arguments of their own on the schedule `turn`. Returns the bytes of the
    /// memory that is a result, in order.
    ///
    /// # Errors
    ///
    /// A fault of a kernel, in words.
    fn launch_grids(&mut self, grids: &Grids, turn: usize) -> Result<Vec<Vec<u8>>, String>;
}
