//! Arguments and results of methods, from and to the classes of Python.

use std::cmp::Ordering;

use gpuint::num_bigint::BigUint;
use gpuint::{DynBatch, DynDivisor, DynFactor, DynResidues, DynSignedBatch};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

use crate::batch::Batch;
use crate::buffer::Distances;
use crate::divisor::Divisor;
use crate::factor::Factor;
use crate::mask::Mask;
use crate::methods::{Argument, Output, bytes_of};
use crate::number::{Number, Numbers};
use crate::residues::Residues;
use crate::signed::SignedBatch;

macro_rules! arguments {
    ($($argument:ty => $inner:ty: |$self:ident| $value:expr;)*) => {
        $(impl Argument for $argument {
            type Inner<'a> = $inner where Self: 'a;
            fn inner(&self) -> Self::Inner<'_> {
                let $self = self;
                $value
            }
        })*
    };
}
arguments! {
    &Batch => &'a DynBatch: |argument| &argument.0;
    &Divisor => &'a DynDivisor: |argument| &argument.0;
    &Factor => &'a DynFactor: |argument| &argument.0;
    &Mask => &'a gpuint::Mask: |argument| &argument.0;
    &Residues => &'a DynResidues: |argument| &argument.0;
    &SignedBatch => &'a DynSignedBatch: |argument| &argument.0;
    Number => &'a BigUint: |argument| &argument.0;
    Numbers => &'a [BigUint]: |argument| &argument.0;
    Distances => &'a [usize]: |argument| argument.as_slice();
    usize => usize: |argument| *argument;
    u64 => u64: |argument| *argument;
}

macro_rules! outputs {
    ($($output:ty => $python:ty: |$value:pat_param, $py:ident| $result:expr;)*) => {
        $(impl Output for $output {
            type Python<'py> = $python;
            fn python(self, $py: Python<'_>) -> PyResult<Self::Python<'_>> {
                let $value = self;
                Ok($result)
            }
        })*
    };
}
outputs! {
    DynBatch => Batch: |rows, _py| Batch(rows);
    (DynBatch, DynBatch) => (Batch, Batch): |(first, second), _py| (Batch(first), Batch(second));
    (DynBatch, gpuint::Mask) => (Batch, Mask): |(rows, mask), _py| (Batch(rows), Mask(mask));
    (DynBatch, DynBatch, gpuint::Mask, gpuint::Mask) => (Batch, Batch, Mask, Mask):
        |(a, b, first, second), _py| (Batch(a), Batch(b), Mask(first), Mask(second));
    (DynBatch, Vec<u64>) => (Batch, Bound<'py, PyByteArray>):
        |(rows, words), py| (Batch(rows), words.python(py)?);
    (DynBatch, DynBatch, gpuint::Mask) => (Batch, Batch, Mask):
        |(first, second, mask), _py| (Batch(first), Batch(second), Mask(mask));
    (DynBatch, DynBatch, DynBatch, gpuint::Mask) => (Batch, Batch, Batch, Mask):
        |(a, b, c, mask), _py| (Batch(a), Batch(b), Batch(c), Mask(mask));
    gpuint::Mask => Mask: |mask, _py| Mask(mask);
    DynDivisor => Divisor: |divisor, _py| Divisor(divisor);
    DynResidues => Residues: |residues, _py| Residues(residues);
    DynSignedBatch => SignedBatch: |rows, _py| SignedBatch(rows);
    (DynSignedBatch, gpuint::Mask) => (SignedBatch, Mask):
        |(rows, mask), _py| (SignedBatch(rows), Mask(mask));
    (DynSignedBatch, DynSignedBatch) => (SignedBatch, SignedBatch):
        |(first, second), _py| (SignedBatch(first), SignedBatch(second));
    (DynBatch, DynSignedBatch, DynSignedBatch) => (Batch, SignedBatch, SignedBatch):
        |(gcd, x, y), _py| (Batch(gcd), SignedBatch(x), SignedBatch(y));
    BigUint => Number: |value, _py| Number(value);
    bool => bool: |value, _py| value;
    // Numbers of rows go to numpy as bytes.
    Vec<u64> => Bound<'py, PyByteArray>: |words, py| bytes_of(py, &words, u64::to_ne_bytes)?;
    Vec<usize> => Bound<'py, PyByteArray>:
        |indices, py| bytes_of(py, &indices, |index| (index as u64).to_ne_bytes())?;
    Vec<i8> => Bound<'py, PyByteArray>: |signs, py| bytes_of(py, &signs, i8::to_ne_bytes)?;
    Vec<Ordering> => Bound<'py, PyByteArray>:
        |orders, py| bytes_of(py, &orders, |order| (order as i8).to_ne_bytes())?;
}
