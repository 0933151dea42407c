"""Signed arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._arguments import as_int, choice, wrong_type
from ._array import Array, Integers, _first, _supported, signed_rows
from ._creation import Values, full
from ._device import Device, DeviceLike
from ._mask import Bools, Mask
from ._rows import Rows, spread
from .errors import RangeError

_Batch = _gpuint.SignedBatch
Signed: TypeAlias = "SignedArray | Integers"
"""Integers of either sign: one for all rows, or one a row."""
Rounding: TypeAlias = Literal["floor", "zero", "euclid"]
"""Rounding of quotients: down, to zero, or so that remainders are not negative."""


class SignedArray(Rows[int]):
    """Signed integers on a device, one a row: a sign and a magnitude of `bits` bits.

    Operators work row by row, with a signed array, an `Array`, a list or a numpy array of as many
    rows; one int, or one row, stands for all rows. The result is as wide as the wider operand. As
    with Python's integers, `//`, `%` and `divmod` round down. `+`, `-` and `*` do not wrap: they
    raise `RangeError` for the lowest row whose magnitude needs more bits; `overflowing_add`,
    `overflowing_sub`, `overflowing_mul` and `widening_mul` do not. Comparisons return a `Mask`.
    """

    __slots__ = ("_batch", "_device")
    _batch: _gpuint.SignedBatch
    _device: Device

    def __init__(self, values: Values, bits: int | None = None, device: DeviceLike = None) -> None:
        """Makes an array of integers of either sign.

        The magnitudes get the narrowest built width that holds `bits` bits, without `bits` that
        holds all of them. Raises `RangeError` for the lowest row that does not fit.
        """
        magnitude, negative = signed_rows(values, "values", device)
        if bits is not None:
            magnitude = magnitude.resized(bits)
        made = self._of_parts(magnitude, negative)
        self._batch, self._device = made._batch, made._device

    @classmethod
    def of(cls, magnitude: Array, negative: Bools) -> SignedArray:
        """Makes an array of magnitudes and a mask of the rows that are negative."""
        if not isinstance(magnitude, Array):
            raise wrong_type("magnitude", "an Array", magnitude)
        return cls._of_parts(magnitude, Mask._from(negative, magnitude.device, "negative"))

    @classmethod
    def _of_parts(cls, magnitude: Array, negative: Mask | None) -> Self:
        if negative is None:
            negative = Mask._full(len(magnitude), False, magnitude.device)
        batch = _Batch.of_parts(magnitude._batch, negative._bits)
        return cls._of(batch, magnitude.device)

    @property
    def bits(self) -> int:
        """Width of a magnitude, in bits."""
        return self._batch.bits

    @property
    def dtype(self) -> str:
        """Type of a row as numpy would name it: `int` and the bits of a magnitude and a sign."""
        return f"int{self.bits + 1}"

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

    def select(self, mask: Bools, other: Signed) -> SignedArray:
        """Returns the rows of `self` where the mask is set, and the rows of `other` elsewhere."""
        rows, others = spread(self, self._operand(other, "other"))
        chosen = Mask._from(mask, self._device, "mask")
        magnitude = abs(rows).select(chosen, abs(others))
        return self._of_parts(magnitude, rows.negative.select(chosen, others.negative))

    def __reduce__(self) -> tuple[Any, ...]:
        return SignedArray._of_parts, (abs(self), self.negative)

    def __repr__(self) -> str:
        return f"SignedArray({abs(self)}, negative={self.negative.count()})"

    def __abs__(self) -> Array:
        return Array._of(self._batch.magnitude(), self._device)

    def __neg__(self) -> SignedArray:
        return self._like(self._batch.neg())

    def __add__(self, other: Signed) -> SignedArray:
        return self._exact(other, _Batch.overflowing_add, "sum")

    __radd__ = __add__

    def __sub__(self, other: Signed) -> SignedArray:
        return self._exact(other, _Batch.overflowing_sub, "difference")

    def __rsub__(self, other: Array | int) -> SignedArray:
        return -self + other

    def __mul__(self, other: Signed) -> SignedArray:
        return self._exact(other, _Batch.overflowing_mul, "product")

    __rmul__ = __mul__

    def overflowing_add(self, other: Signed) -> tuple[SignedArray, Mask]:
        """Returns sums modulo `2**bits` of magnitudes, and a mask of the rows that wrapped."""
        return self._masked(_Batch.overflowing_add(*self._pair(other)))

    def overflowing_sub(self, other: Signed) -> tuple[SignedArray, Mask]:
        """Returns differences modulo `2**bits` of magnitudes, and a mask of those that wrapped."""
        return self._masked(_Batch.overflowing_sub(*self._pair(other)))

    def overflowing_mul(self, other: Signed) -> tuple[SignedArray, Mask]:
        """Returns products modulo `2**bits` of magnitudes, and a mask of those that wrapped."""
        return self._masked(_Batch.overflowing_mul(*self._pair(other)))

    def widening_mul(self, other: Signed) -> SignedArray:
        """Returns the products without loss, with magnitudes of twice the width."""
        return self._like(_Batch.widening_mul(*self._pair(other)))

    def div_rem(
        self, other: Signed, rounding: Rounding = "floor"
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
        }
        chosen = divide[choice(rounding, "rounding", divide)]
        quotient, remainder = chosen(*self._pair(other))
        return self._like(quotient), self._like(remainder)

    def __divmod__(self, other: Signed) -> tuple[SignedArray, SignedArray]:
        operand = self._coerced(other, "other")
        return _supported(None if operand is None else self.div_rem(operand))

    def __floordiv__(self, other: Signed) -> SignedArray:
        operand = self._coerced(other, "other")
        return _supported(None if operand is None else self.div_rem(operand)[0])

    def __mod__(self, other: Signed) -> SignedArray:
        operand = self._coerced(other, "other")
        return _supported(None if operand is None else self.div_rem(operand)[1])

    def __rdivmod__(self, other: Integers) -> tuple[SignedArray, SignedArray]:
        operand = self._coerced(other, "other")
        return _supported(None if operand is None else operand.div_rem(self))

    def __rfloordiv__(self, other: Integers) -> SignedArray:
        operand = self._coerced(other, "other")
        return _supported(None if operand is None else operand.div_rem(self)[0])

    def __rmod__(self, other: Integers) -> SignedArray:
        operand = self._coerced(other, "other")
        return _supported(None if operand is None else operand.div_rem(self)[1])

    def compare(self, other: Signed) -> npt.NDArray[np.int8]:
        """Returns -1, 0 or 1 for each row: less than, equal to or greater than the other."""
        return np.frombuffer(_Batch.cmp(*self._pair(other)), dtype=np.int8)

    def __lt__(self, other: Signed) -> Mask:
        return _supported(self._test(other, _Batch.lt_mask))

    def __gt__(self, other: Signed) -> Mask:
        return _supported(self._test(other, _greater))

    def __le__(self, other: Signed) -> Mask:
        greater = self._test(other, _greater)
        return _supported(greater if greater is None else ~greater)

    def __ge__(self, other: Signed) -> Mask:
        less = self._test(other, _Batch.lt_mask)
        return _supported(less if less is None else ~less)

    # Rows

    def _at_row(self, row: int) -> int:
        return self._slice(row, row + 1).tolist()[0]

    def _slice(self, start: int, stop: int) -> Self:
        return self._of_parts(abs(self)[start:stop], self.negative[start:stop])

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        return self._of_parts(abs(self)._gather(rows), self.negative._gather(rows))

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        magnitude = Array._concat([abs(part) for part in parts])
        return cls._of_parts(magnitude, Mask._concat([part.negative for part in parts]))

    def _equal(self, other: object) -> Mask | None:
        return self._test(other, _Batch.eq_mask)

    # Operands

    @classmethod
    def _of(cls, batch: _gpuint.SignedBatch, device: Device) -> Self:
        new = cls.__new__(cls)
        new._batch = batch
        new._device = device
        return new

    def _like(self, batch: _gpuint.SignedBatch) -> Self:
        return self._of(batch, self._device)

    def _masked(self, result: tuple[_gpuint.SignedBatch, _gpuint.Mask]) -> tuple[SignedArray, Mask]:
        batch, mask = result
        return self._like(batch), Mask._of(mask, self._device)

    def _exact(
        self,
        other: Signed,
        operation: Callable[..., tuple[_gpuint.SignedBatch, _gpuint.Mask]],
        name: str,
    ) -> SignedArray:
        operand = self._coerced(other, "other")
        if operand is None:
            return NotImplemented  # type: ignore[no-any-return]
        result, overflow = self._masked(operation(*self._pair(operand)))
        row = _first(overflow)
        if row is not None:
            raise RangeError(f"the {name} of row {row} needs more than {result.bits} bits", row)
        return result

    def _test(self, other: object, operation: Callable[..., _gpuint.Mask]) -> Mask | None:
        operand = self._coerced(other, "other")
        if operand is None:
            return None
        return Mask._of(operation(*self._pair(operand)), self._device)

    def _coerced(self, other: object, name: str) -> SignedArray | None:
        """An operand as a signed array; `None` if it is of another type."""
        if isinstance(other, SignedArray):
            return other
        if isinstance(other, Array):
            return self._of_parts(other, None)
        value = as_int(other)
        if value is not None:
            magnitude = full(len(self), abs(value), device=self._device)
            return self._of_parts(magnitude, Mask._full(len(self), value < 0, self._device))
        if not isinstance(other, (list, tuple, range, np.ndarray)):
            return None
        return self._of_parts(*signed_rows(other, name, self._device))

    def _operand(self, other: object, name: str) -> SignedArray:
        """An operand as a signed array."""
        operand = self._coerced(other, name)
        if operand is None:
            expected = "a SignedArray, an Array, an int, or a list or numpy array of ints"
            raise wrong_type(name, expected, other)
        return operand

    def _pair(self, other: object) -> tuple[_gpuint.SignedBatch, _gpuint.SignedBatch]:
        """Both operands at the wider one's width, one row spread to all."""
        rows, others = spread(self, self._operand(other, "other"))
        bits = max(rows.bits, others.bits)
        left, right = (side if side.bits == bits else side.resized(bits) for side in (rows, others))
        return left._batch, right._batch


def _greater(rows: _gpuint.SignedBatch, others: _gpuint.SignedBatch) -> _gpuint.Mask:
    return others.lt_mask(rows)
