//! Faces of rows whose shape is a type over rows whose shape is a value.

/// Converts an argument to its form without a type-level shape.
pub(crate) trait Untyped {
    type Dyn;
    fn untyped(self) -> Self::Dyn;
}

/// Declares what batches of shape `T` share: `$typed` wraps rows of type `$dyn` as `inner`.
macro_rules! typed_rows {
    ($typed:ident, $dyn:ident) => {
        /// # Rows
        impl<T: crate::Kernels> $typed<T> {
            /// Number of rows.
            #[must_use]
            pub fn len(&self) -> usize {
                self.inner.len()
            }

            /// Returns true if there are no rows.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.inner.is_empty()
            }

            /// Device of the rows.
            #[must_use]
            pub fn device(&self) -> &crate::Device {
                self.inner.device()
            }

            #[doc = concat!("Returns the rows as [`", stringify!($dyn), "`], whose shape is a \
                                                                         value.")]
            #[must_use]
            pub fn as_dyn(&self) -> &$dyn {
                &self.inner
            }
        }

        impl<'a, T: crate::Kernels> crate::typed::Untyped for &'a $typed<T> {
            type Dyn = &'a $dyn;
            fn untyped(self) -> &'a $dyn {
                &self.inner
            }
        }

        impl<'a, T: crate::Kernels> crate::typed::Untyped for &'a mut $typed<T> {
            type Dyn = &'a mut $dyn;
            fn untyped(self) -> &'a mut $dyn {
                &mut self.inner
            }
        }
    };
}

/// Converts a result to its form with the shape of the operands.
pub(crate) trait Typed<D> {
    fn typed(untyped: D) -> Self;
}

pub(crate) use typed_rows;
