"""Signed arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._array import Array, _first, _mask, array
from ._device import Device, DeviceLike
from ._mask import Bools, Mask
from ._widths import as_int
from .errors import RangeError

_Batch = _gpuint.SignedBatch
Rounding: TypeAlias = Literal["floor", "zero", "euclid"]
"""Rounding of quotients: down, to zero, or so that remainders are not negative."""


class SignedArray:
    """Signed integers on a device, one a row: a sign and a magnitude of `bits` bits.

    Operators work row by row, with a signed array of as many rows, an `Array` or one Python int
    for all rows; the result is as wide as the wider operand. As with Python's integers, `//`, `%`
    and `divmod` round down. `+`, `-` and `*` do not wrap: they raise `RangeError` for the lowest
    row whose magnitude needs more bits; `overflowing_add`, `overflowing_sub`, `overflowing_mul` and
    `widening_mul` do not. Comparisons return a `Mask`.
    """

    __slots__ = ("_batch", "_device")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    _batch: _gpuint.SignedBatch
    _device: Device

    def __init__(
        self, values: Iterable[int], bits: int | None = None, device: DeviceLike = None
    ) -> None:
        """Makes an array of integers of either sign.

        The magnitudes get the narrowest built width that holds `bits` bits, without `bits` that
        holds all of them. Raises `RangeError` for the lowest row that does not fit.
        """
        numbers = [operator.index(value) for value in values]
        magnitude = array([abs(number) for number in numbers], bits, device)
        self._device = magnitude.device
        negative = _mask([number < 0 for number in numbers], self._device)
        self._batch = _Batch.of_parts(magnitude._batch, negative)

    @classmethod
    def of(cls, magnitude: Array, negative: Bools) -> SignedArray:
        """Makes an array of magnitudes and a mask of the rows that are negative."""
        bits = _mask(negative, magnitude.device)
        return cls._of(_Batch.of_parts(magnitude._batch, bits), magnitude.device)

    @property
    def bits(self) -> int:
        """Width of a magnitude, in bits."""
        return self._batch.bits

    @property
    def device(self) -> Device:
        """The device that the rows live on."""
        return self._device

    @property
    def negative(self) -> Mask:
        """A mask of the rows that are negative."""
        return Mask._of(self._batch.negative(), self._device)

    def tolist(self) -> list[int]:
        """Returns the values."""
        signs = self.negative.tolist()
        return [-value if sign else value for value, sign in zip(abs(self).tolist(), signs)]

    def resized(self, bits: int) -> SignedArray:
        """Returns the values with magnitudes of the narrowest width that holds `bits` bits.

        Raises `RangeError` for the lowest row that does not fit.
        """
        return SignedArray.of(abs(self).resized(bits), self.negative)

    def __len__(self) -> int:
        return len(self._batch)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"SignedArray({abs(self)}, negative={self.negative.count()})"

    def __abs__(self) -> Array:
        return Array._of(self._batch.magnitude(), self._device)

    def __neg__(self) -> SignedArray:
        return self._like(self._batch.neg())

    def __add__(self, other: SignedArray | Array | int) -> SignedArray:
        return self._exact(other, _Batch.overflowing_add, "sum")

    __radd__ = __add__

    def __sub__(self, other: SignedArray | Array | int) -> SignedArray:
        return self._exact(other, _Batch.overflowing_sub, "difference")

    def __rsub__(self, other: Array | int) -> SignedArray:
        return -self + other

    def __mul__(self, other: SignedArray | Array | int) -> SignedArray:
        return self._exact(other, _Batch.overflowing_mul, "product")

    __rmul__ = __mul__

    def overflowing_add(self, other: SignedArray | Array | int) -> tuple[SignedArray, Mask]:
        """Returns sums modulo `2**bits` of magnitudes, and a mask of the rows that wrapped."""
        return self._masked(_Batch.overflowing_add(*self._pair(other)))

    def overflowing_sub(self, other: SignedArray | Array | int) -> tuple[SignedArray, Mask]:
        """Returns differences modulo `2**bits` of magnitudes, and a mask of those that wrapped."""
        return self._masked(_Batch.overflowing_sub(*self._pair(other)))

    def overflowing_mul(self, other: SignedArray | Array | int) -> tuple[SignedArray, Mask]:
        """Returns products modulo `2**bits` of magnitudes, and a mask of those that wrapped."""
        return self._masked(_Batch.overflowing_mul(*self._pair(other)))

    def widening_mul(self, other: SignedArray | Array | int) -> SignedArray:
        """Returns the products without loss, with magnitudes of twice the width."""
        return self._like(_Batch.widening_mul(*self._pair(other)))

    def div_rem(
        self, other: SignedArray | Array | int, rounding: Rounding = "floor"
    ) -> tuple[SignedArray, SignedArray]:
        """Returns quotients and remainders.

        A remainder has the sign of the divisor (`"floor"`), of the dividend (`"zero"`), or is not
        negative (`"euclid"`). Raises `DivisionByZeroError` with the lowest row whose divisor is
        zero.
        """
        divide = {
            "floor": _Batch.div_rem_floor,
            "zero": _Batch.div_rem,
            "euclid": _Batch.div_rem_euclid,
        }.get(rounding)
        if divide is None:
            raise ValueError(f'rounding is "floor", "zero" or "euclid", not "{rounding}"')
        quotient, remainder = divide(*self._pair(other))
        return self._like(quotient), self._like(remainder)

    def __divmod__(self, other: SignedArray | Array | int) -> tuple[SignedArray, SignedArray]:
        return self.div_rem(other) if _is_operand(other) else NotImplemented

    def __floordiv__(self, other: SignedArray | Array | int) -> SignedArray:
        return self.div_rem(other)[0] if _is_operand(other) else NotImplemented

    def __mod__(self, other: SignedArray | Array | int) -> SignedArray:
        return self.div_rem(other)[1] if _is_operand(other) else NotImplemented

    def __rdivmod__(self, other: Array | int) -> tuple[SignedArray, SignedArray]:
        return self._operand(other).div_rem(self) if _is_operand(other) else NotImplemented

    def __rfloordiv__(self, other: Array | int) -> SignedArray:
        return self._operand(other) // self if _is_operand(other) else NotImplemented

    def __rmod__(self, other: Array | int) -> SignedArray:
        return self._operand(other) % self if _is_operand(other) else NotImplemented

    def compare(self, other: SignedArray | Array | int) -> npt.NDArray[np.int8]:
        """Returns -1, 0 or 1 for each row: less than, equal to or greater than the other."""
        return np.frombuffer(_Batch.cmp(*self._pair(other)), dtype=np.int8)

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        return self._test(other, _Batch.eq_mask)

    def __ne__(self, other: object) -> Mask:  # type: ignore[override]
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else ~equal

    def __lt__(self, other: SignedArray | Array | int) -> Mask:
        return self._test(other, _Batch.lt_mask)

    def __ge__(self, other: SignedArray | Array | int) -> Mask:
        less = self.__lt__(other)
        return NotImplemented if less is NotImplemented else ~less

    def __gt__(self, other: SignedArray | Array | int) -> Mask:
        return self._test(other, lambda rows, others: others.lt_mask(rows))

    def __le__(self, other: SignedArray | Array | int) -> Mask:
        greater = self.__gt__(other)
        return NotImplemented if greater is NotImplemented else ~greater

    @classmethod
    def _of(cls, batch: _gpuint.SignedBatch, device: Device) -> SignedArray:
        new = cls.__new__(cls)
        new._batch = batch
        new._device = device
        return new

    def _like(self, batch: _gpuint.SignedBatch) -> SignedArray:
        return SignedArray._of(batch, self._device)

    def _masked(self, result: tuple[_gpuint.SignedBatch, _gpuint.Mask]) -> tuple[SignedArray, Mask]:
        batch, mask = result
        return self._like(batch), Mask._of(mask, self._device)

    def _exact(
        self,
        other: SignedArray | Array | int,
        operation: Callable[..., tuple[_gpuint.SignedBatch, _gpuint.Mask]],
        name: str,
    ) -> SignedArray:
        if not _is_operand(other):
            return NotImplemented  # type: ignore[no-any-return]
        result, overflow = self._masked(operation(*self._pair(other)))
        row = _first(overflow)
        if row is not None:
            raise RangeError(f"the {name} of row {row} needs more than {result.bits} bits", row)
        return result

    def _test(self, other: object, operation: Callable[..., _gpuint.Mask]) -> Mask:
        if not _is_operand(other):
            return NotImplemented  # type: ignore[no-any-return]
        return Mask._of(operation(*self._pair(other)), self._device)

    def _operand(self, other: Any) -> SignedArray:
        """An operand as a signed array; an int may be any."""
        if isinstance(other, SignedArray):
            return other
        if isinstance(other, Array):
            return SignedArray.of(other, [False] * len(other))
        return SignedArray([operator.index(other)] * len(self), device=self._device)

    def _pair(self, other: Any) -> tuple[_gpuint.SignedBatch, _gpuint.SignedBatch]:
        """Both operands at the wider one's width."""
        other = self._operand(other)
        bits = max(self.bits, other.bits)
        rows, others = (side if side.bits == bits else side.resized(bits) for side in (self, other))
        return rows._batch, others._batch


def _is_operand(value: object) -> bool:
    return isinstance(value, (SignedArray, Array)) or as_int(value) is not None
