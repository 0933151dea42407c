//! GMP as this host has it, for programs that time the library beside it.

#[doc(hidden)]
pub use libloading::{Error, Library};

/// Name of the library in distributions.
pub const NAME: &str = "libgmp.so.10";

/// Declares a struct of functions of GMP, and its function `load`, which finds them by their names.
/// The type of a field must be that of the function in `gmp.h` or `gmp-impl.h`.
#[macro_export]
macro_rules! gmp_functions {
    ($(#[$attribute:meta])* struct $name:ident {
        $($field:ident: $function:ty = $symbol:literal,)*
    }) => {
        $(#[$attribute])*
        struct $name {
            $($field: $function,)*
            /// Unloading it would take the functions away.
            _library: $crate::gmp::Library,
        }

        impl $name {
            fn load() -> ::std::result::Result<Self, $crate::gmp::Error> {
                // SAFETY: GMP has no initialisers.
                let library = unsafe { $crate::gmp::Library::new($crate::gmp::NAME) }?;
                Ok(Self {
                    // SAFETY: the caller of the macro states the type of the function.
                    $($field: *unsafe { library.get($symbol) }?,)*
                    _library: library,
                })
            }
        }
    };
}
