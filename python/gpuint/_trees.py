"""Product trees and Chinese remaindering."""

from __future__ import annotations

from typing import Any, Self

from . import _gpuint
from ._arguments import unsigned
from ._array import Array, rows_of
from ._creation import Values
from ._device import Device


class ProductTree:
    """The product of all rows of an array, and remainders modulo all of them.

    The tree has about `log2(rows)` times the memory of the array.
    """

    __slots__ = ("_device", "_root", "_rows", "_tree")
    _device: Device
    _root: int
    _rows: Array
    _tree: _gpuint.ProductTree

    def __init__(self, rows: Values) -> None:
        """Computes the tree over the rows of an array, on its device, or over a list of ints."""
        self._rows = rows_of(rows, "rows")
        self._tree = _gpuint.ProductTree.of_rows(self._rows._batch)
        self._root = self._tree.root()
        self._device = self._rows.device

    @property
    def root(self) -> int:
        """The product of all rows."""
        return self._root

    def remainders(self, value: int) -> Array:
        """Returns `value` modulo each row, for a value of any length.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        remainders = self._tree.remainders(unsigned(value, "value"))
        return Array._of(remainders, self._device)

    def cofactors(self) -> Array:
        """Returns the product of all other rows, modulo each row."""
        return Array._of(self._tree.cofactors(), self._device)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return ProductTree, (self._rows,)

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

    def __init__(self, moduli: Values) -> None:
        """Prepares the rows of an array or a list of ints as moduli.

        Raises `DivisionByZeroError` with the lowest modulus that is zero, `MismatchError` with the
        lowest one that is not coprime to the others, and `RangeError` if the product of the moduli
        is wider than all widths.
        """
        self._moduli = rows_of(moduli, "moduli")
        self._crt = _gpuint.Crt.of_rows(self._moduli._batch)
        self._device = self._moduli.device

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

    def residues(self, numbers: Values) -> Array:
        """Returns the residues of each number modulo all moduli."""
        rows = rows_of(numbers, "numbers", self._device)
        return Array._of(self._crt.residues(rows._batch), self._device)

    def combine(self, residues: Values) -> Array:
        """Returns the numbers below the product of the moduli that have these residues.

        Residues may exceed their modulus, but not the width of the moduli.
        """
        rows = rows_of(residues, "residues", self._device)
        return Array._of(self._crt.combine(rows._at(self._moduli.bits)), self._device)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Crt, (self._moduli,)

    def __repr__(self) -> str:
        return f"Crt(moduli={len(self)}, bits={self.bits}, device='{self._device}')"
