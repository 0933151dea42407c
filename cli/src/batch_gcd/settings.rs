//! Options of reading.

use super::keys::Limits;
use super::table::Table;
use crate::job::digits::Radix;

/// Options of reading.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Radix of digits without prefix; by default that of each document.
    pub(crate) radix: Option<Radix>,
    /// Documents are tables of this form.
    pub(crate) table: Option<Table>,
    /// Entries that are no keys are counted.
    pub(crate) skip_invalid: bool,
    /// Bytes to which all archives may expand.
    pub(crate) max_expanded: u64,
    pub(crate) limits: Limits,
}
