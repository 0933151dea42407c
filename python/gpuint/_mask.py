"""Masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._arguments import column, items
from ._device import Device, DeviceLike
from ._rows import Rows

Bools: TypeAlias = "Mask | Iterable[bool] | npt.NDArray[np.bool_]"
"""One bool a row."""


class Mask(Rows[bool]):
    """One bit a row, on a device: result of comparisons, carries and borrows.

    Operators work row by row, with bools of as many rows or with one bool for all rows.
    """

    __slots__ = ("_bits", "_device")
    _bits: _gpuint.Mask
    _device: Device

    def __init__(self, bits: Bools, device: DeviceLike = None) -> None:
        """Makes a mask of bools, one a row, on a device."""
        self._device = Device(device)
        values = bits.to_numpy() if isinstance(bits, Mask) else bools(bits, "bits")
        self._bits = _gpuint.Mask.from_bytes(self._device._handle, values.view(np.uint8))

    @property
    def dtype(self) -> str:
        """Type of a row as numpy names it: `bool`."""
        return "bool"

    @property
    def device(self) -> Device:
        """The device that the bits live on."""
        return self._device

    def tolist(self) -> list[bool]:
        """Returns the bits."""
        bits: list[bool] = self.to_numpy().tolist()
        return bits

    def to_numpy(self) -> npt.NDArray[np.bool_]:
        """Returns the bits as a new array."""
        return np.frombuffer(self._bits.to_bytes(), dtype=np.bool_)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("copy is False, but the bits are not in numpy's memory")
        return self.to_numpy().astype(np.bool_ if dtype is None else dtype, copy=False)

    def indices(self) -> npt.NDArray[np.intp]:
        """Returns the numbers of the rows whose bit is set, in increasing order."""
        return np.flatnonzero(self.to_numpy())

    def count(self) -> int:
        """Returns the number of rows whose bit is set."""
        return self._bits.count()

    def any(self) -> bool:
        """Returns true if some bit is set."""
        return self.count() > 0

    def all(self) -> bool:
        """Returns true if every bit is set."""
        return self.count() == len(self)

    def select(self, mask: Bools, other: Bools | bool) -> Mask:
        """Returns the bits of `self` where the mask is set, and the bits of `other` elsewhere."""
        chosen = Mask._from(mask, self._device, "mask")
        others = self._operand(other, "other")
        return (self & chosen) | (others & ~chosen)

    def __reduce__(self) -> tuple[Any, ...]:
        return Mask, (self.to_numpy(), self._device)

    def __len__(self) -> int:
        return len(self._bits)

    def __and__(self, other: Bools | bool) -> Mask:
        operand = self._coerced(other, "other")
        return NotImplemented if operand is None else self._like(self._bits.and_(operand._bits))

    def __or__(self, other: Bools | bool) -> Mask:
        operand = self._coerced(other, "other")
        return NotImplemented if operand is None else self._like(self._bits.or_(operand._bits))

    def __xor__(self, other: Bools | bool) -> Mask:
        operand = self._coerced(other, "other")
        return NotImplemented if operand is None else self._like(self._bits.xor(operand._bits))

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Mask:
        return self._like(self._bits.not_())

    def __repr__(self) -> str:
        return f"Mask(rows={len(self)}, set={self.count()}, device='{self._device}')"

    def _at_row(self, row: int) -> bool:
        return self._bits.row(row)

    def _selected(self) -> npt.NDArray[np.bool_]:
        return self.to_numpy()

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        return self._like(self._bits.gather(rows))

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        return parts[0]._like(
            cls(np.concatenate([part.to_numpy() for part in parts]), parts[0]._device)._bits
        )

    def _equal(self, other: object) -> Mask | None:
        operand = self._coerced(other, "other")
        return None if operand is None else ~(self ^ operand)

    def _coerced(self, other: object, name: str) -> Mask | None:
        """An operand as a mask; one bool stands for all rows."""
        if isinstance(other, Mask):
            return other
        if isinstance(other, (bool, np.bool_)):
            return self._full(len(self), bool(other), self._device)
        if isinstance(other, (list, tuple, np.ndarray)):
            return Mask(bools(other, name), self._device)
        return None

    def _operand(self, other: object, name: str) -> Mask:
        operand = self._coerced(other, name)
        return self._from(other, self._device, name) if operand is None else operand

    def _like(self, bits: _gpuint.Mask) -> Self:
        return self._of(bits, self._device)

    @classmethod
    def _full(cls, rows: int, bit: bool, device: DeviceLike = None) -> Mask:
        """Makes a mask of `rows` rows, all of one bit."""
        return Mask(np.full(rows, bit), device)

    @classmethod
    def _from(cls, bits: Any, device: Device, name: str) -> Mask:
        return bits if isinstance(bits, Mask) else Mask(bools(bits, name), device)

    @classmethod
    def _of(cls, bits: _gpuint.Mask, device: Device) -> Self:
        mask = cls.__new__(cls)
        mask._bits = bits
        mask._device = device
        return mask


def bools(bits: Any, name: str) -> npt.NDArray[np.bool_]:
    """Returns bools of an iterable as a numpy array."""
    given = bits if isinstance(bits, np.ndarray) else items(bits, name, "a Mask or bools")
    values = column(np.asarray(given), name)
    if values.dtype != np.bool_ and values.size > 0:
        raise TypeError(f"{name} is of bools, not of {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.bool_)
