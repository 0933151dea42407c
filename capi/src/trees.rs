//! Product trees and Chinese remaindering.
#![allow(unsafe_code)]

use std::ffi::c_char;

use gpuint::{DynCrt, DynProductTree, Error};

use crate::call::functions;
use crate::handle::{Batch, Crt, ProductTree, remove};

functions! {
    /// Computes the product tree of the rows of a batch.
    fn gpuint_product_tree_new(rows: *const Batch; out: *mut *mut ProductTree) =
        DynProductTree::new;

    /// Stores the product of all rows as text.
    fn gpuint_product_tree_root(
        tree: *const ProductTree; base: u32, text: *mut c_char, size: usize, length: *mut usize
    ) = |tree: &DynProductTree| Ok::<_, Error>(tree.root());

    /// Computes `value` modulo each row, for a value of any length.
    fn gpuint_product_tree_remainders(
        tree: *const ProductTree, value: *const c_char; out: *mut *mut Batch
    ) = DynProductTree::remainders;

    /// Computes the product of all other rows modulo each row.
    fn gpuint_product_tree_cofactors(tree: *const ProductTree; out: *mut *mut Batch) =
        DynProductTree::cofactors;

    /// Frees the handle. NULL is allowed.
    fn gpuint_product_tree_free(tree: *mut ProductTree) = |tree| remove(tree, "tree");

    /// Prepares the rows of a batch as moduli, which must be coprime to each other.
    fn gpuint_crt_new(moduli: *const Batch; out: *mut *mut Crt) = DynCrt::new;

    /// Stores the number of moduli.
    fn gpuint_crt_moduli(crt: *const Crt; count: *mut usize) =
        |crt: &DynCrt| Ok::<_, Error>(crt.len());

    /// Stores the product of the moduli as text.
    fn gpuint_crt_product(
        crt: *const Crt; base: u32, text: *mut c_char, size: usize, length: *mut usize
    ) = |crt: &DynCrt| Ok::<_, Error>(crt.product());

    /// Stores the width of the numbers in bits: the narrowest that holds the product of the moduli.
    fn gpuint_crt_bits(crt: *const Crt; bits: *mut usize) =
        |crt: &DynCrt| Ok::<_, Error>(crt.shape().bits);

    /// Computes the residues of each number modulo all moduli. All residues of the first number
    /// come first, in the order of the moduli, then all of the second, and so on.
    fn gpuint_crt_residues(crt: *const Crt, numbers: *const Batch; residues: *mut *mut Batch) =
        DynCrt::residues;

    /// Computes the numbers below the product of the moduli that have these residues, in the order
    /// of `gpuint_crt_residues`.
    fn gpuint_crt_combine(crt: *const Crt, residues: *const Batch; numbers: *mut *mut Batch) =
        DynCrt::combine;

    /// Frees the handle. NULL is allowed.
    fn gpuint_crt_free(crt: *mut Crt) = |crt| remove(crt, "crt");
}
