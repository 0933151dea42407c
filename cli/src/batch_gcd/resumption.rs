//! Jobs that were killed between the replacement of their store and the removal of their records.
//!
//! The new keys of such a job are the last ones of its store. It goes on from its records as if the
//! store had not been replaced, and writes the same results and the same store again.

use super::keys::{Collection, Stored};
use super::records::{Work, hashes_of_work};

/// Returns true if two collections have the same moduli in the same order.
pub(crate) fn has_moduli_of(store: &Collection, keys: &Collection) -> bool {
    store.len() == keys.len() && (0..keys.len()).all(|key| store.words(key) == keys.words(key))
}

/// Takes the new keys of `keys` out of the store before them, to which the recorded work has added
/// them; does nothing if it has not. `documents` is the number of documents of the store.
pub(crate) fn undo_extension(
    keys: &mut Collection,
    stored: &mut Stored,
    documents: usize,
    recorded: Work,
) {
    let new = keys.len() - stored.keys;
    let Some(before) = stored.keys.checked_sub(new).filter(|_| new > 0) else { return };
    if (0..new).any(|key| keys.words(before + key) != keys.words(stored.keys + key)) {
        return;
    }
    let hashes = hashes_of_work(keys, before..stored.keys, &stored.products, true);
    if let Some(products) = hashes.iter().position(|&work| work == recorded) {
        keys.truncate(stored.keys, documents);
        stored.keys = before;
        stored.products.truncate(products);
    }
}
