"""Exceptions. Each is also the builtin exception that Python raises for the same mistake."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class GpuintError(Exception):
    """Base of all exceptions of this package.

    `row` is the lowest row at fault, `None` where the fault is of no row.
    """

    row: int | None

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row

    def __reduce__(self) -> tuple[type[GpuintError], tuple[str, int | None]]:
        return type(self), (str(self), self.row)


class DivisionByZeroError(GpuintError, ZeroDivisionError):
    """A divisor or modulus is zero."""


class NoInverseError(GpuintError, ZeroDivisionError, ValueError):
    """A row has no inverse: it has a divisor in common with the modulus.

    Python's `pow` raises `ValueError` for it, gmpy2 `ZeroDivisionError`.
    """


class RangeError(GpuintError, OverflowError, ValueError):
    """An integer is negative, needs more bits than a row has, or is not in an argument's range."""


class MismatchError(GpuintError, ValueError):
    """Operands have different lengths or devices, or no kernels are built for a width."""


class ParseError(GpuintError, ValueError):
    """A text is not a number in its base."""


class RowError(GpuintError, IndexError):
    """A row does not exist."""


class OutOfMemoryError(GpuintError, MemoryError):
    """The device or the host has no memory for a result."""


class DeviceError(GpuintError, RuntimeError):
    """There is no such device, it lacks a kernel, or its driver refused a call."""


class DeviceLostError(DeviceError):
    """The GPU is lost to this process. Start a new process."""


class FaultyDeviceError(DeviceError):
    """The device computes wrong results: those of `row` failed their check twice.

    Only arrays of `Device(verified=True)` are checked.
    """


class ForkedError(DeviceError):
    """The GPU was opened before a fork, and does not work in the child process.

    Open it in the child only, or start processes by `multiprocessing.get_context("spawn")`.
    """


@contextlib.contextmanager
def reporting_memory() -> Iterator[None]:
    """Raises `OutOfMemoryError` for the `MemoryError` of numpy or of Python."""
    try:
        yield
    except OutOfMemoryError:
        raise
    except MemoryError as error:
        raise OutOfMemoryError(
            f"out of memory: {error}" if str(error) else "out of memory"
        ) from None
