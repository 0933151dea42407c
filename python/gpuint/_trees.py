"""Product trees and Chinese remaindering."""

from __future__ import annotations

import operator

from . import _gpuint
from ._array import Array
from ._device import Device
from ._widths import check_sign


class ProductTree:
    """The product of all rows of an array, and remainders modulo all of them.

    The tree has about `log2(rows)` times the memory of the array.
    """

    __slots__ = ("_device", "_root", "_tree")
    _device: Device
    _root: int
    _tree: _gpuint.ProductTree

    def __init__(self, rows: Array) -> None:
        """Computes the tree over the rows of an array, on its device."""
        self._tree = _gpuint.ProductTree.of_rows(rows._batch)
        self._root = self._tree.root()
        self._device = rows.device

    @property
    def root(self) -> int:
        """The product of all rows."""
        return self._root

    def remainders(self, value: int) -> Array:
        """Returns `value` modulo each row, for a value of any length.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        value = check_sign(operator.index(value))
        return Array._of(self._tree.remainders(value), self._device)

    def cofactors(self) -> Array:
        """Returns the product of all other rows, modulo each row."""
        return Array._of(self._tree.cofactors(), self._device)

    def __repr__(self) -> str:
        return f"ProductTree(bits={self._root.bit_length()}, device='{self._device}')"


class Crt:
    """Pairwise coprime moduli, prepared for Chinese remaindering.

    Residues are one a row: those of the first number, in the order of the moduli, then those of the
    second, and so on.
    """

    __slots__ = ("_crt", "_device", "_moduli")
    _crt: _gpuint.Crt
    _device: Device
    _moduli: Array

    def __init__(self, moduli: Array) -> None:
        """Prepares the rows of an array as moduli.

        Raises `DivisionByZeroError` with the lowest modulus that is zero, `MismatchError` with the
        lowest one that is not coprime to the others, and `RangeError` if the product of the moduli
        is wider than all widths.
        """
        self._crt = _gpuint.Crt.of_rows(moduli._batch)
        self._moduli = moduli
        self._device = moduli.device

    @property
    def product(self) -> int:
        """The product of the moduli."""
        return self._crt.product()

    @property
    def bits(self) -> int:
        """Width of the numbers, in bits."""
        return self._crt.bits

    def __len__(self) -> int:
        return len(self._crt)

    def residues(self, numbers: Array) -> Array:
        """Returns the residues of each number modulo all moduli."""
        return Array._of(self._crt.residues(numbers._batch), self._device)

    def combine(self, residues: Array) -> Array:
        """Returns the numbers below the product of the moduli that have these residues.

        Residues may exceed their modulus, but not the width of the moduli.
        """
        return Array._of(self._crt.combine(residues._at(self._moduli.bits)), self._device)

    def __repr__(self) -> str:
        return f"Crt(moduli={len(self)}, bits={self.bits}, device='{self._device}')"
