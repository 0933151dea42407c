"""Widths and conversions of Python integers."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from . import _gpuint
from ._arguments import count
from ._device import Device, DeviceLike
from .errors import OutOfMemoryError, RangeError

_WIDTHS = tuple(_gpuint.widths())
# Bits of the longest rows: `MAX_LONG_BITS` of the crate.
_LONGEST = 1 << 31
_BUILT = _gpuint.Device.cpu()
# Bytes of the rows that are converted at a time.
_PART_BYTES = 1 << 20
_MAX_BITS = 1 << 50


def widths() -> tuple[int, ...]:
    """Returns the widths that are built, in bits, in increasing order.

    Above 2^20 bits, any multiple of 64 up to 2^31 is a width, too.
    """
    return _WIDTHS


def narrowest(bits: int, device: DeviceLike = None, row: int | None = None) -> int:
    """Returns the narrowest width that holds integers of `bits` bits.

    It is one of `widths()`, or any multiple of 256 bits for a device with `jit`. Above 2^20 it is
    any multiple of 64, up to 2^31.
    """
    handle = _BUILT if device is None else Device(device)._handle
    width = handle.narrowest(count(bits, "bits"))
    if width is None:
        raise RangeError(
            f"{_of_row(row)} has {bits} bits, but the widest rows have {_LONGEST}", row
        )
    return width


def fitting(values: Sequence[int], device: Device) -> int:
    """Returns the narrowest width of a device that holds all values."""
    bits = max(map(int.bit_length, values), default=0)
    if bits <= _LONGEST:
        return narrowest(bits, device)
    row = next(row for row, value in enumerate(values) if value.bit_length() > _LONGEST)
    return narrowest(values[row].bit_length(), device, row)


def check_sign(value: int, row: int | None = None) -> int:
    """Returns the value, which must not be negative."""
    if value < 0:
        raise RangeError(f"{_of_row(row)} is negative, and rows are unsigned", row)
    return value


def check(value: int, width: int, row: int | None = None) -> int:
    """Returns the value, which must be one of `width` bits."""
    check_sign(value, row)
    if value.bit_length() > width:
        raise RangeError(
            f"{_of_row(row)} has {value.bit_length()} bits, but rows are {width} bits wide", row
        )
    return value


def check_room(rows: int, width: int) -> None:
    """Raises `OutOfMemoryError` for more rows than any machine has memory for."""
    if rows * width > _MAX_BITS:
        raise _out_of_memory(rows, width // 8)


def encode(values: Sequence[int], width: int) -> bytearray:
    """Returns the bytes of the values, `width / 8` each, least significant first."""
    size = width // 8
    to_bytes = int.to_bytes
    # The objects of all rows would take as much memory as the result, and more for short rows.
    part = max(_PART_BYTES // size, 1)
    try:
        data = bytearray(len(values) * size)
        for first in range(0, len(values), part):
            rows = [to_bytes(value, size, "little") for value in values[first : first + part]]
            data[first * size : (first + len(rows)) * size] = b"".join(rows)
        return data
    except OverflowError:
        for row, value in enumerate(values):
            check(value, width, row)
        raise
    except MemoryError:
        raise _out_of_memory(len(values), size) from None


def decode(data: bytes | bytearray, width: int) -> list[int]:
    """Returns the values of these bytes: the inverse of `encode`."""
    from_bytes = int.from_bytes
    size = width // 8
    try:
        return [from_bytes(row, "little") for (row,) in struct.iter_unpack(f"{size}s", data)]
    except MemoryError:
        raise _out_of_memory(len(data) // size, size) from None


def _out_of_memory(rows: int, size: int) -> OutOfMemoryError:
    return OutOfMemoryError(f"out of memory: {rows * size} bytes requested")


def _of_row(row: int | None) -> str:
    return "the value" if row is None else f"the value of row {row}"
