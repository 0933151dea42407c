"""Product trees and Chinese remaindering."""

from __future__ import annotations

import math
from typing import Any, Self

from . import _gpuint
from ._arguments import unsigned
from ._array import Array, rows_of
from ._creation import Values
from ._device import Device
from .errors import MismatchError, RangeError


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
    """Moduli, prepared for Chinese remaindering.

    Residues are one a row: those of the first number, in the order of the moduli, then those of the
    second, and so on. Numbers are below the least common multiple of the moduli. Moduli that have
    divisors in common are replaced by coprime divisors of them with the same multiple.
    """

    __slots__ = ("_coprime", "_crt", "_device", "_moduli")
    _coprime: Array
    _crt: _gpuint.Crt
    _device: Device
    _moduli: Array

    def __init__(self, moduli: Values) -> None:
        """Prepares the rows of an array or a list of ints as moduli.

        Raises `DivisionByZeroError` with the lowest modulus that is zero, and `RangeError` if the
        least common multiple of the moduli is wider than all widths. Moduli with divisors in common
        are compared in pairs on the host.
        """
        self._moduli = rows_of(moduli, "moduli")
        self._device = self._moduli.device
        self._coprime = self._moduli
        try:
            self._crt = _gpuint.Crt.of_rows(self._moduli._batch)
        except (MismatchError, RangeError):
            # Moduli with common divisors, whose product may be too wide.
            self._coprime = _coprime(self._moduli)
            if self._coprime is self._moduli:
                raise
            self._crt = _gpuint.Crt.of_rows(self._coprime._batch)

    @property
    def product(self) -> int:
        """The least common multiple of the moduli, which is their product if they are coprime."""
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
        residues = Array._of(self._crt.residues(rows._batch), self._device)
        if self._coprime is self._moduli:
            return residues
        return rows.repeat(len(self)).mod(self._moduli.tile(len(rows)))

    def combine(self, residues: Values) -> Array:
        """Returns the numbers below the least common multiple that have these residues.

        Residues may exceed their modulus, but not the width of the moduli. Raises `MismatchError`
        for the lowest number that does not exist: its residues differ modulo a common divisor of
        two moduli.
        """
        rows = rows_of(residues, "residues", self._device)
        rows = Array._of(rows._at(self._moduli.bits), self._device)
        numbers = Array._of(self._crt.combine(rows._batch), self._device)
        if self._coprime is not self._moduli:
            differ = self.residues(numbers) != rows % self._moduli.tile(len(numbers))
            for row in differ.indices()[:1].tolist():
                number = row // len(self)
                raise MismatchError(f"no number has the residues of number {number}", number)
        return numbers

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Crt, (self._moduli,)

    def __repr__(self) -> str:
        return f"Crt(moduli={len(self)}, bits={self.bits}, device='{self._device}')"


def _coprime(moduli: Array) -> Array:
    """Pairwise coprime divisors of moduli with the same least common multiple.

    Of the modulus `a` and a later one `b`, the common primes stay in the one with the higher power:
    `b / gcd(a, b)` has those with a higher power in `b`, and takes all of them from `a`.
    """
    if len(moduli) < 2:
        return moduli
    shared = (moduli.batch_gcd() > 1).indices().tolist()
    if not shared:
        return moduli
    values = moduli[shared].tolist()
    for first in range(len(values)):
        a = values[first]
        for second in range(first + 1, len(values)):
            b = values[second] // math.gcd(a, values[second])
            while (common := math.gcd(a, b)) > 1:
                a, b = a // common, b * common
            values[second] = b
        values[first] = a
    return moduli.scatter(shared, values)
