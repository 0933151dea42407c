//! Methods of the crate as methods of Python classes, with one row of a table for each method.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::error::byte_array;

/// An argument of a method, as the crate takes it.
pub(crate) trait Argument {
    type Inner<'a>
    where
        Self: 'a;
    fn inner(&self) -> Self::Inner<'_>;
}

/// A result of the crate, as Python gets it.
pub(crate) trait Output {
    type Python<'py>;
    fn python(self, py: Python<'_>) -> PyResult<Self::Python<'_>>;
}

/// The bytes of values one after the other.
pub(crate) fn bytes_of<'py, V: Copy, const N: usize>(
    py: Python<'py>,
    values: &[V],
    to_bytes: impl Fn(V) -> [u8; N],
) -> PyResult<Bound<'py, PyByteArray>> {
    byte_array(py, N * values.len(), |bytes| {
        let (places, _) = bytes.as_chunks_mut();
        places.iter_mut().zip(values).for_each(|(place, &value)| *place = to_bytes(value));
        Ok(())
    })
}

/// Declares methods of the crate as methods of a Python class: `methods!(Class; fn name(..) ->
/// Type; ..)`.
macro_rules! methods {
    ($class:ident; $(
        $(#[$meta:meta])*
        fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;
    )*) => {
        #[pyo3::pymethods]
        impl $class {
            $($(#[$meta])*
            fn $name<'py>(
                &self,
                py: pyo3::Python<'py>,
                $($argument: $type),*
            ) -> pyo3::PyResult<<$result as crate::methods::Output>::Python<'py>> {
                let receiver = &self.0;
                $(let $argument = crate::methods::Argument::inner(&$argument);)*
                let result =
                    crate::error::detached(py, move || receiver.$name($($argument),*))?;
                crate::methods::Output::python(result, py)
            })*
        }
    };
}
pub(crate) use methods;
