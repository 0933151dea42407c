//! The processor: `num-bigint` inside, one task per row.

use crate::backend::host::host_memory_methods;
use crate::backend::{Backend, BackendKind, Buffer, Call};
use crate::error::{Error, Result};

/// The processor.
#[derive(Debug)]
pub(crate) struct Cpu;

impl Backend for Cpu {
    fn kind(&self) -> BackendKind {
        BackendKind::Cpu
    }

    fn describe(&self) -> String {
        format!("{} threads", rayon::current_num_threads())
    }

    host_memory_methods!();

    fn launch(&self, call: Call<'_>) -> Result<()> {
        Err(Error::KernelMissing { kernel: call.kernel.to_string(), remedy: String::new() })
    }
}
