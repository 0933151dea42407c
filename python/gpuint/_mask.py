"""Masks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._device import Device, DeviceLike

Bools: TypeAlias = "Mask | Iterable[bool] | npt.NDArray[np.bool_]"
"""One bool a row."""


class Mask:
    """One bit a row, on a device: result of comparisons, carries and borrows."""

    __slots__ = ("_bits", "_device")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    _bits: _gpuint.Mask
    _device: Device

    def __init__(self, bits: Bools, device: DeviceLike = None) -> None:
        """Makes a mask of bools, one a row, on a device."""
        self._device = Device(device)
        values = bits.to_numpy() if isinstance(bits, Mask) else _bools(bits)
        self._bits = _gpuint.Mask.from_bytes(self._device._handle, values.view(np.uint8))

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
            raise ValueError("a mask is not in host memory: it cannot be used without a copy")
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

    def __reduce__(self) -> tuple[Any, ...]:
        return Mask, (self.to_numpy(), self._device)

    def __len__(self) -> int:
        return len(self._bits)

    def __iter__(self) -> Iterator[bool]:
        return iter(self.tolist())

    def __getitem__(self, row: int) -> bool:
        return bool(self.to_numpy()[row])

    def __bool__(self) -> bool:
        raise ValueError("the truth of a mask is ambiguous: use any() or all()")

    def __and__(self, other: Bools) -> Mask:
        return self._of(self._bits.and_(self._other(other)), self._device)

    def __or__(self, other: Bools) -> Mask:
        return self._of(self._bits.or_(self._other(other)), self._device)

    def __xor__(self, other: Bools) -> Mask:
        return self._of(self._bits.xor(self._other(other)), self._device)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Mask:
        return self._of(self._bits.not_(), self._device)

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        if not isinstance(other, (Mask, list, np.ndarray)):
            return NotImplemented
        return ~(self ^ other)

    def __ne__(self, other: object) -> Mask:  # type: ignore[override]
        if not isinstance(other, (Mask, list, np.ndarray)):
            return NotImplemented
        return self ^ other

    def __repr__(self) -> str:
        return f"Mask(rows={len(self)}, set={self.count()}, device='{self._device}')"

    def _other(self, other: Bools) -> _gpuint.Mask:
        return other._bits if isinstance(other, Mask) else Mask(other, self._device)._bits

    @classmethod
    def _of(cls, bits: _gpuint.Mask, device: Device) -> Mask:
        mask = cls.__new__(cls)
        mask._bits = bits
        mask._device = device
        return mask


def _bools(bits: Iterable[bool]) -> npt.NDArray[np.bool_]:
    values = np.asarray(bits if isinstance(bits, np.ndarray) else list(bits))
    if values.ndim != 1:
        raise ValueError(f"a mask has one dimension, not {values.ndim}")
    if values.dtype != np.bool_ and values.size > 0:
        raise TypeError(f"a mask is of bools, not of {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.bool_)
