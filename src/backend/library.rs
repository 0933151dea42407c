//! Libraries that are found at run time.

use std::error::Error;

/// Declares the functions of a library as the fields of a struct `Functions`, and reads them.
///
/// A second symbol stands in for the first where a version of the library lacks it.
macro_rules! functions {
    ($($field:ident = $symbol:literal $(or $other:literal)?: $type:ty;)*) => {
        #[derive(Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $field: $type,)*
        }

        impl Functions {
            /// # Safety
            /// The library has these functions with these types.
            unsafe fn read(library: &libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $($field: {
                        // SAFETY: as above.
                        let found = unsafe { library.get::<$type>($symbol) };
                        // SAFETY: as above.
                        $(let found = found.or_else(|_| unsafe { library.get::<$type>($other) });)?
                        *found?
                    },)*
                })
            }
        }
    };
}
pub(crate) use functions;

/// An error with its causes: "dlopen failed" alone names no file and no reason.
pub(crate) fn in_words(error: &libloading::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words += &format!(": {error}");
        cause = error.source();
    }
    words
}
