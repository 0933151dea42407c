"""Residues, and powers of one base."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from . import _gpuint
from ._array import Array, Prepared, _count, _mask, full
from ._device import Device, DeviceLike
from ._mask import Bools, Mask
from ._widths import as_int, check_sign, exponents_of, narrowest


class Modulus(Prepared):
    """Moduli for chains of operations: `Residues` stay in the form with the fastest products.

    One int for all rows, or the rows of an array, each for the same row of residues.
    """

    __slots__ = ("_modulus",)
    _modulus: _gpuint.Modulus

    def __init__(
        self, value: Array | int, bits: int | None = None, device: DeviceLike = None
    ) -> None:
        """Prepares an int on a device, or the rows of an array on its device.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        super().__init__(value, bits, device)
        if isinstance(self._value, Array):
            self._modulus = _gpuint.Modulus.of_rows(self._value._at(self._bits))
        else:
            self._modulus = _gpuint.Modulus.splat(self._device._handle, self._bits, self._value)

    def residues(self, values: Array) -> Residues:
        """Returns the residues of the rows of an array."""
        rows = values if values.bits <= self._bits else values % self._value
        batch = rows._at(self._bits)
        return Residues._of(_gpuint.Residues.of_batch(batch, self._modulus), self)


class Residues:
    """Residues modulo a `Modulus`, one a row.

    They are made by `Modulus.residues`. Operators work row by row, with residues of the same
    `Modulus` object or one int for all rows.
    """

    __slots__ = ("_modulus", "_residues")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    _modulus: Modulus
    _residues: _gpuint.Residues

    @property
    def modulus(self) -> Modulus:
        """The moduli."""
        return self._modulus

    def to_array(self) -> Array:
        """Returns the numbers from 0 to `modulus - 1`."""
        return Array._of(self._residues.to_batch(), self._modulus.device)

    def tolist(self) -> list[int]:
        """Returns the numbers from 0 to `modulus - 1`."""
        return self.to_array().tolist()

    def __len__(self) -> int:
        return len(self._residues)

    def __repr__(self) -> str:
        return f"Residues({self.to_array()}, {self._modulus})"

    def __add__(self, other: Residues | int) -> Residues:
        return self._apply(other, _gpuint.Residues.add)

    __radd__ = __add__

    def __sub__(self, other: Residues | int) -> Residues:
        return self._apply(other, _gpuint.Residues.sub)

    def __rsub__(self, other: int) -> Residues:
        return -self + other

    def __mul__(self, other: Residues | int) -> Residues:
        return self._apply(other, _gpuint.Residues.mul)

    __rmul__ = __mul__

    def __neg__(self) -> Residues:
        return self._like(self._residues.neg())

    def __pow__(self, exponent: Array | Sequence[int] | int) -> Residues:
        """Powers by one exponent, or by an array or a list of one a row, of any length."""
        if isinstance(exponent, Array):
            return self._like(self._residues.pow(exponent._batch))
        power = as_int(exponent)
        if power is None:
            if not isinstance(exponent, Iterable):
                return NotImplemented
            return self._like(self._residues.pow_rows(exponents_of(exponent)))
        if power < 0:
            return self.invert() ** -power
        return self._like(self._residues.pow_all(power))

    def square(self) -> Residues:
        """Returns the squares."""
        return self._like(self._residues.square())

    def square_repeatedly(self, count: int) -> Residues:
        """Returns `self**(2**count)`, by `count` squares one after the other."""
        return self._like(self._residues.square_repeatedly(_count(count)))

    def double(self) -> Residues:
        """Returns the doubles."""
        return self._like(self._residues.double())

    def halve(self) -> Residues:
        """Returns the halves. Raises `MismatchError` for the lowest row with an even modulus."""
        return self._like(self._residues.halve())

    def invert(self) -> Residues:
        """Returns the inverses. Raises `NoInverseError` for the lowest row without one."""
        return self._modulus.residues(self.to_array().invert(self._modulus.value))

    def is_zero(self) -> Mask:
        """Returns a mask of the rows that are zero."""
        return Mask._of(self._residues.is_zero_mask(), self._modulus.device)

    def select(self, mask: Bools, other: Residues | int) -> Residues:
        """Returns the rows of `self` where the mask is set, and the rows of `other` elsewhere."""
        bits = _mask(mask, self._modulus.device)
        return self._like(self._residues.select(bits, self._operand(other)))

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        if not isinstance(other, Residues) and as_int(other) is None:
            return NotImplemented
        equal = self._residues.eq_mask(self._operand(other))
        return Mask._of(equal, self._modulus.device)

    def __ne__(self, other: object) -> Mask:  # type: ignore[override]
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else ~equal

    @classmethod
    def _of(cls, residues: _gpuint.Residues, modulus: Modulus) -> Residues:
        new = cls.__new__(cls)
        new._residues = residues
        new._modulus = modulus
        return new

    def _like(self, residues: _gpuint.Residues) -> Residues:
        return Residues._of(residues, self._modulus)

    def _apply(
        self,
        other: Residues | int,
        operation: Callable[[_gpuint.Residues, _gpuint.Residues], _gpuint.Residues],
    ) -> Residues:
        if not isinstance(other, Residues) and as_int(other) is None:
            return NotImplemented  # type: ignore[no-any-return]
        return self._like(operation(self._residues, self._operand(other)))

    def _operand(self, other: object) -> _gpuint.Residues:
        """An operand as residues; an int may be any."""
        if isinstance(other, Residues):
            return other._residues
        value = operator.index(other)  # type: ignore[arg-type]
        magnitude = full(len(self), abs(value), device=self._modulus.device)
        residues = self._modulus.residues(magnitude)
        return (residues if value >= 0 else -residues)._residues


class FixedBase:
    """Powers of one base modulo one number, prepared for many exponents.

    A power takes a product for every 8 bits of an exponent, where `pow` takes about 10. The table
    has 256 rows for every 8 bits of `exponent_bits`.
    """

    __slots__ = ("_bits", "_device", "_exponent_bits", "_powers")
    _bits: int
    _device: Device
    _exponent_bits: int
    _powers: _gpuint.FixedBase

    def __init__(
        self, base: int, modulus: int, exponent_bits: int, device: DeviceLike = None
    ) -> None:
        """Prepares the powers of `base` modulo `modulus` for exponents below `2**exponent_bits`.

        The width of the powers is that of `base` and `modulus`.
        """
        base, modulus = check_sign(operator.index(base)), check_sign(operator.index(modulus))
        self._device = Device(device)
        self._bits = narrowest(max(base.bit_length(), modulus.bit_length()), self._device)
        self._exponent_bits = exponent_bits = _count(exponent_bits)
        handle = self._device._handle
        self._powers = _gpuint.FixedBase.prepare(handle, self._bits, base, modulus, exponent_bits)

    @property
    def bits(self) -> int:
        """Width of the powers, in bits."""
        return self._bits

    @property
    def exponent_bits(self) -> int:
        """Bits of the longest exponent."""
        return self._exponent_bits

    def pow(self, exponents: Array | Sequence[int]) -> Array:
        """Returns the powers by the rows of an array, or by a list of ints.

        Raises `RangeError` for the lowest row that is longer than `exponent_bits`.
        """
        if isinstance(exponents, Array):
            powers = self._powers.pow(exponents._batch)
        else:
            powers = self._powers.pow_rows(exponents_of(exponents))
        return Array._of(powers, self._device)
