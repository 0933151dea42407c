"""Prepared divisors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from . import _array, _gpuint
from ._arguments import count, short, unsigned
from ._device import Device, DeviceLike
from ._rows import Rows
from ._widths import narrowest

if TYPE_CHECKING:
    from ._array import Array, Integers
    from ._mask import Mask

_H = TypeVar("_H")


class Prepared(Rows[int]):
    """An int for all rows, or the rows of an array, prepared for operations on a device."""

    __slots__ = ("_bits", "_device", "_value")
    _bits: int
    _device: Device
    _value: Array | int

    def __init__(self, value: Integers, bits: int | None = None, device: DeviceLike = None) -> None:
        one = _array.one_of(value)
        if one is not None:
            self._value = unsigned(one, "value")
            self._device = Device(device)
            width = one.bit_length()
        else:
            if not isinstance(value, _array.Array):
                value = _array.Array._of_values(value, None, device, "value")
            self._value = value if device is None else value.to(device)
            self._device = self._value.device
            width = self._value.bits
        least = 0 if bits is None else count(bits, "bits")
        self._bits = narrowest(max(width, least), self._device)

    @property
    def value(self) -> Array | int:
        """The prepared numbers: an int for all rows, or an array."""
        return self._value

    @property
    def bits(self) -> int:
        """Width of the narrowest rows that the numbers are for, in bits."""
        return self._bits

    @property
    def device(self) -> Device:
        """The device that the numbers live on."""
        return self._device

    @property
    def _one(self) -> int | None:
        """The number for all rows: an int, or the row of an array that has one."""
        if isinstance(self._value, _array.Array):
            return self._value[0] if len(self._value) == 1 else None
        return self._value

    @property
    def _rows(self) -> int | None:
        """The number of rows; `None` if one number is for all rows."""
        value = self._value
        return len(value) if isinstance(value, _array.Array) and len(value) != 1 else None

    def __len__(self) -> int:
        return len(self._array())

    def __bool__(self) -> bool:
        return True

    # Prepared numbers are objects of their own: compare their values.
    __eq__ = object.__eq__  # type: ignore[assignment]
    __ne__ = object.__ne__  # type: ignore[assignment]
    __hash__ = object.__hash__  # type: ignore[assignment]

    def tolist(self) -> list[int]:
        """Returns the numbers, one a row."""
        return self._array().tolist()

    def _at_row(self, row: int) -> int:
        return self._array()[row]

    def _slice(self, start: int, stop: int) -> Self:
        return type(self)(self._array()[start:stop], self._bits)

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        return type(self)(self._array()._gather(rows), self._bits)

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        values = _array.Array._concat([part._array() for part in parts])
        return cls(values, max(part._bits for part in parts))

    def _equal(self, other: object) -> Mask | None:
        return self._array()._equal(other._array() if isinstance(other, Prepared) else other)

    def _array(self) -> Array:
        if not isinstance(self._value, _array.Array):
            raise TypeError(f"the rows of a {type(self).__name__} are one int, which has no key")
        return self._value

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value, self._bits, self._device)

    def __repr__(self) -> str:
        value = self._value if isinstance(self._value, _array.Array) else short(self._value)
        return f"{type(self).__name__}({value}, bits={self._bits}, device='{self._device}')"


class Kept(Prepared, Generic[_H]):
    """Numbers whose prepared forms are kept by the width of the rows that they are for."""

    __slots__ = ("_prepared",)
    _prepared: dict[int, _H]

    def __init__(self, value: Integers, bits: int | None = None, device: DeviceLike = None) -> None:
        super().__init__(value, bits, device)
        self._prepared = {}
        self._at(self._bits)

    def _at(self, bits: int) -> _H:
        """The numbers, prepared for rows of a built width."""
        prepared = self._prepared.get(bits)
        if prepared is None:
            one = self._one
            if one is None:
                prepared = self._of_rows(self._array()._at(bits))
            else:
                prepared = self._splat(self._device._handle, bits, one)
            self._prepared[bits] = prepared
        return prepared

    @staticmethod
    def _of_rows(rows: _gpuint.Batch) -> _H:
        raise NotImplementedError

    @staticmethod
    def _splat(device: _gpuint.Device, bits: int, value: int) -> _H:
        raise NotImplementedError


class Divisor(Kept[_gpuint.Divisor]):
    """Divisors prepared once for many divisions and modular products and powers.

    One int for all rows, or the rows of an array, each for the same row of other arrays. Divisors
    are prepared for rows of their own width, or of `bits` bits. The first use with wider rows
    prepares them for that width and keeps the result.
    """

    __slots__ = ()

    def __init__(self, value: Integers, bits: int | None = None, device: DeviceLike = None) -> None:
        """Prepares an int on a device, or the rows of an array on its device.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        super().__init__(value, bits, device)

    @staticmethod
    def _of_rows(rows: _gpuint.Batch) -> _gpuint.Divisor:
        return rows.prepare()

    @staticmethod
    def _splat(device: _gpuint.Device, bits: int, value: int) -> _gpuint.Divisor:
        return _gpuint.Divisor.splat(device, bits, value)


class Factor(Kept[_gpuint.Factor]):
    """Factors prepared once for many products: `a * factor`, `a.mul_lo_hi` and `a.cyclic_mul`.

    One int for all rows, or the rows of an array, each for the same row of other arrays. Above
    2^20 bits a GPU keeps the transforms of a factor, in six times its memory, and three times for
    cyclic products. Other products take the time of those with an array. The first use with wider
    rows prepares the factors for that width and keeps the result.
    """

    __slots__ = ()

    def __init__(self, value: Integers, bits: int | None = None, device: DeviceLike = None) -> None:
        """Prepares an int on a device, or the rows of an array on its device."""
        super().__init__(value, bits, device)

    @staticmethod
    def _of_rows(rows: _gpuint.Batch) -> _gpuint.Factor:
        return rows.prepare_factor()

    @staticmethod
    def _splat(device: _gpuint.Device, bits: int, value: int) -> _gpuint.Factor:
        return _gpuint.Factor.splat(device, bits, value)


@functools.lru_cache(maxsize=16)
def divisor_of(value: int, device: Device, kind: tuple[bool, bool]) -> Divisor:
    """Prepares an int. The last ones stay on their device; `kind` tells equal devices apart."""
    return Divisor(value, device=device)
