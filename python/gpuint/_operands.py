"""Values of Python and numpy as batches."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._arguments import column, count, integer, items, wrong_type
from ._device import Device
from ._widths import check, encode, fitting, narrowest
from .errors import MismatchError, RangeError, reporting_memory

Magnitudes: TypeAlias = "list[int] | npt.NDArray[np.uint64]"


def magnitudes(values: Any, name: str) -> tuple[Magnitudes, npt.NDArray[np.bool_]]:
    """Returns the absolute values of integers, and which of them are negative."""
    if isinstance(values, np.ndarray):
        numbers = column(values, name)
        if numbers.dtype.kind in "iu":
            with reporting_memory():
                negative = numbers < 0
                unsigned = numbers.astype(np.uint64)
                # Two's complement negates the least int64, too.
                return np.where(negative, ~unsigned + np.uint64(1), unsigned), negative
        if numbers.dtype != np.object_ and numbers.size > 0:
            raise TypeError(f"{name} is of integers, not of {numbers.dtype}")
    given = items(values, name, "an iterable of ints or a numpy array of integers")
    if not all(type(value) is int for value in given):
        given = [integer(value, name) for value in given]
    signs = np.fromiter((value < 0 for value in given), np.bool_, len(given))
    return [abs(value) for value in given] if signs.any() else given, signs


def unsigned(values: Any, name: str) -> Magnitudes:
    """Returns integers, which must not be negative."""
    numbers, negative = magnitudes(values, name)
    check_signs(negative, name)
    return numbers


def check_signs(negative: npt.NDArray[np.bool_], name: str) -> None:
    """Raises `RangeError` for the lowest negative row."""
    for row in np.flatnonzero(negative)[:1].tolist():
        raise RangeError(f"{name} is negative in row {row}, and rows are unsigned", row)


def width_of(values: Magnitudes, device: Device) -> int:
    """Returns the narrowest width of a device that holds all values."""
    if isinstance(values, np.ndarray):
        return narrowest(int(values.max(initial=0)).bit_length(), device)
    return fitting(values, device)


def batch_of(values: Magnitudes, width: int, device: Device) -> _gpuint.Batch:
    """Makes a batch of values of a width that the device has."""
    if isinstance(values, np.ndarray):
        with reporting_memory():
            limbs = values.astype("<u8").reshape(-1, 1)
        return batch_of_bytes(limbs.view(np.uint8), width, device)
    return _gpuint.Batch.from_le_bytes(device._handle, width, encode(values, width))


def batch_of_bytes(rows: npt.NDArray[np.uint8], width: int, device: Device) -> _gpuint.Batch:
    """Makes a batch of a matrix of bytes, a row an integer, least significant byte first."""
    size = width // 8
    for row in np.flatnonzero(rows[:, size:].any(axis=1))[:1].tolist():
        check(int.from_bytes(rows[row].tobytes(), "little"), width, row)
    if rows.shape[1] != size:
        with reporting_memory():
            resized = np.zeros((rows.shape[0], size), np.uint8)
        resized[:, : rows.shape[1]] = rows[:, :size]
        rows = resized
    with reporting_memory():
        flat = np.ascontiguousarray(rows).reshape(-1)
    return _gpuint.Batch.from_le_bytes(device._handle, width, flat)


def row_bytes(data: object, bits: int, name: str) -> npt.NDArray[np.uint8]:
    """Returns a buffer of rows of `bits` bits as a matrix of bytes, without a copy."""
    size, rest = divmod(count(bits, "bits", least=1), 8)
    if rest != 0:
        raise MismatchError(f"bits is a whole number of bytes, not {bits}")
    try:
        flat: npt.NDArray[np.uint8] = np.frombuffer(data, np.uint8)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise wrong_type(name, "bytes or another contiguous buffer", data) from None
    if flat.size % size != 0:
        raise MismatchError(f"{name} has {flat.size} bytes, not whole rows of {bits} bits")
    return flat.reshape(-1, size)
