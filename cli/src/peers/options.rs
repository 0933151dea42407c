//! Arguments of `gpuint bench --peers`.

use std::path::PathBuf;

use super::operation::Operation;

/// Comparison with other libraries, by drivers that are compiled here (docs/peers.md).
#[derive(Debug, clap::Args)]
pub(crate) struct PeerOptions {
    /// Compare with the libraries of this machine instead: results, times, energy
    #[arg(long)]
    pub(crate) peers: bool,

    /// Operations to compare
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "mul_wide,div_rem,gcd,inverse_mod,pow_mod",
        requires = "peers"
    )]
    pub(crate) operations: Vec<Operation>,

    /// Widths to compare
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "1024,2048,4096",
        requires = "peers"
    )]
    pub(crate) bits: Vec<usize>,

    /// Rows of a full batch [default: by operation and width]
    #[arg(long, requires = "peers")]
    pub(crate) rows: Option<usize>,

    /// Folder with include/gmp.h and lib, instead of the system's
    #[arg(long, value_name = "PREFIX", requires = "peers")]
    pub(crate) gmp: Option<PathBuf>,

    /// Folder with include/flint and lib, instead of the system's
    #[arg(long, value_name = "PREFIX", requires = "peers")]
    pub(crate) flint: Option<PathBuf>,

    /// Folder with include/openssl and lib, instead of the system's
    #[arg(long, value_name = "PREFIX", requires = "peers")]
    pub(crate) openssl: Option<PathBuf>,

    /// Folder with cgbn/cgbn.h: its `include`; needs nvcc, and GMP's header
    #[arg(long, value_name = "FOLDER", requires = "peers")]
    pub(crate) cgbn: Option<PathBuf>,

    /// Price of the machine with its GPU for an hour
    #[arg(long, value_name = "DOLLARS", requires = "peers")]
    pub(crate) price: Option<f64>,

    /// Price of a machine without GPU for an hour, for the peers of the CPU
    #[arg(long, value_name = "DOLLARS", requires = "peers")]
    pub(crate) cpu_price: Option<f64>,
}
