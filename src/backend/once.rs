//! Values that are made once for every key.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use once_cell::sync::OnceCell;

/// Makes a value the first time its key is asked for.
///
/// Whoever asks for a key while its value is being made waits for it; other keys go on. What could
/// not be made is tried again the next time.
#[derive(Debug)]
pub(crate) struct OnceMap<K, V>(Mutex<HashMap<K, Arc<OnceCell<V>>>>);

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq, V: Clone> OnceMap<K, V> {
    pub(crate) fn get_or_try_init<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<V, E> {
        let cell = {
            // A panic while the map is locked leaves it whole: it only ever gains empty cells.
            let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(key).or_default())
        };
        cell.get_or_try_init(make).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_value_is_made_once_for_all_threads() {
        let map = OnceMap::default();
        let made = AtomicUsize::new(0);
        let start = Barrier::new(8);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    start.wait();
                    let value = map.get_or_try_init("key", || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, ()>(7)
                    });
                    assert_eq!(value, Ok(7));
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn a_failure_is_tried_again() {
        let map = OnceMap::default();
        assert_eq!(map.get_or_try_init(1, || Err::<u32, _>("no")), Err("no"));
        assert_eq!(map.get_or_try_init(1, || Ok::<_, &str>(2)), Ok(2));
        assert_eq!(map.get_or_try_init(1, || Err("not asked")), Ok(2));
    }

    #[test]
    fn a_key_does_not_wait_for_another() {
        let map = OnceMap::default();
        let outer = map.get_or_try_init(1, || map.get_or_try_init(2, || Ok::<_, ()>(5)));
        assert_eq!(outer, Ok(5));
    }
}
