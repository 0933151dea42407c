"""Rows of all kinds: selection, order, comparison and copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ._arguments import as_int, count, int64s, items, wrong_type
from ._device import Device
from ._numpy import NumpyProtocol
from .errors import MismatchError, OutOfMemoryError, RowError, reporting_memory

if TYPE_CHECKING:
    from ._mask import Mask

_Value = TypeVar("_Value")
# No machine has memory for the numbers of more rows.
_MAX_ROWS = 2**40
Numbers: TypeAlias = Iterable[int] | npt.NDArray[np.integer[Any]]
"""Numbers of rows. Negative numbers count from the end."""
Key: TypeAlias = "slice | Mask | Sequence[int] | Sequence[bool] | npt.NDArray[Any]"
"""A selection of rows."""


class Rows(NumpyProtocol, Generic[_Value]):
    """Values on a device, one a row. They do not change."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @property
    def device(self) -> Device:
        """The device that the rows live on."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def tolist(self) -> list[_Value]:
        """Returns the values."""
        raise NotImplementedError

    def _at_row(self, row: int) -> _Value:
        """The value of a row, counted from the start."""
        raise NotImplementedError

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        raise NotImplementedError

    def _slice(self, start: int, stop: int) -> Self:
        return self._gather(np.arange(start, stop, dtype=np.int64))

    def _selected(self) -> npt.NDArray[np.bool_] | None:
        """The bits by which this selects rows as a key; `None` if it is no key."""
        return None

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        raise NotImplementedError

    def _equal(self, other: object) -> Mask | None:
        """A mask of the equal rows; `None` if this class has no values of that type."""
        raise NotImplementedError

    # Shape

    @property
    def shape(self) -> tuple[int]:
        """The number of rows, as numpy has it."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """The number of dimensions: 1."""
        return 1

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self)

    def __iter__(self) -> Iterator[_Value]:
        return iter(self.tolist())

    def __bool__(self) -> bool:
        if len(self) != 1:
            raise ValueError(
                f"the truth of {len(self)} rows is ambiguous: compare them, and use any() or all() "
                "of the mask"
            )
        return bool(self._at_row(0))

    def __bytes__(self) -> bytes:
        raise TypeError(f"{type(self).__name__} has no bytes: see Array.tobytes()")

    # Selection

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> _Value: ...
    @overload
    def __getitem__(self, key: Key) -> Self: ...
    def __getitem__(self, key: int | np.integer[Any] | Key) -> _Value | Self:
        """Returns the value of a row, or a copy of rows.

        Rows are those of a slice, those of a list or numpy array of numbers, or those whose bit is
        set in a mask or list of bools. Negative numbers count from the end.
        """
        row = as_int(key)
        if row is not None:
            return self._at_row(self._row(row))
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._slice(start, max(start, stop))
        return self._gather(selected(key, len(self), "key"))

    def gather(self, rows: Numbers) -> Self:
        """Returns the rows of these numbers, in this order; a row may come several times."""
        return self._gather(int64s(rows, "rows"))

    def reverse(self) -> Self:
        """Returns the rows in the opposite order."""
        return self[::-1]

    def repeat(self, repeats: int) -> Self:
        """Returns each row `repeats` times, one after the other."""
        return self._ordered(np.repeat, repeats)

    def tile(self, repeats: int) -> Self:
        """Returns all rows `repeats` times, one after the other."""
        return self._ordered(np.tile, repeats)

    def _ordered(self, order: Callable[..., npt.NDArray[np.int64]], repeats: int) -> Self:
        rows = len(self) * count(repeats, "repeats")
        if rows > _MAX_ROWS:
            raise OutOfMemoryError(f"out of memory: repeats makes {rows} rows")
        with reporting_memory():
            numbers = order(np.arange(len(self), dtype=np.int64), repeats)
        return self._gather(numbers)

    def _row(self, row: int) -> int:
        """The number of a row, counted from the start."""
        if not -len(self) <= row < len(self):
            raise RowError(f"row {row} does not exist in an array of {len(self)} rows", row)
        return row % len(self)

    # Comparison

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        return self._compared(other)

    def __ne__(self, other: object) -> Mask:  # type: ignore[override]
        return ~self._compared(other)

    def _compared(self, other: object) -> Mask:
        """A mask of the equal rows."""
        equal = self._equal(other)
        if equal is None and isinstance(other, Rows):
            equal = other._equal(self)
        if equal is None:
            raise TypeError(
                f"{type(self).__name__} and {type(other).__name__} cannot be compared for equality"
            )
        return equal

    # Copies

    def copy(self) -> Self:
        """Returns a copy in memory of its own, on the same device."""
        return self._slice(0, len(self))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


_R = TypeVar("_R", bound=Rows[Any])


def spread(*arrays: _R, rows: int = 1) -> tuple[_R, ...]:
    """Rows of as many as the others and as `rows`: one row is repeated."""
    for array in arrays:
        rows = len(array) if rows == 1 else rows
    return tuple(array.repeat(rows) if len(array) == 1 and rows != 1 else array for array in arrays)


def concat(arrays: Iterable[_R]) -> _R:
    """Returns the rows of arrays of one type one after the other, as wide as the widest.

    They are arrays, signed arrays, masks or residues of one modulus.
    """
    parts = _parts(arrays)
    return type(parts[0])._concat(parts)


def interleave(arrays: Iterable[_R]) -> _R:
    """Returns the first rows of all arrays, then the second rows of all arrays, and so on."""
    parts = _parts(arrays)
    rows = len(parts[0])
    for part in parts:
        if len(part) != rows:
            raise MismatchError(f"arrays have different numbers of rows: {rows} and {len(part)}")
    order = np.arange(rows * len(parts), dtype=np.int64).reshape(len(parts), rows)
    return concat(parts)._gather(np.ascontiguousarray(order.T).reshape(-1))


def _parts(arrays: Iterable[_R]) -> list[_R]:
    """Arrays of one type, at least one."""
    parts = items(arrays, "arrays", "an iterable of arrays")
    if not parts:
        raise MismatchError("arrays has no array")
    kind = type(parts[0])
    for part in parts:
        if not isinstance(part, Rows) or type(part) is not kind:
            raise wrong_type("arrays", f"of arrays of one type, as {kind.__name__}", part)
    return parts


def selected(key: object, rows: int, name: str) -> npt.NDArray[np.int64]:
    """Returns the numbers of the rows that a key selects, which is no int."""
    if isinstance(key, slice):
        return np.arange(*key.indices(rows), dtype=np.int64)
    bits = _bits_of(key)
    if bits is None:
        if not isinstance(key, (list, range, np.ndarray)):
            expected = "an int, a slice, a Mask, or a list or numpy array of ints or bools"
            raise wrong_type(name, expected, key)
        return int64s(key, name)
    if bits.shape != (rows,):
        raise MismatchError(f"{name} has the shape {bits.shape} and the rows {(rows,)}")
    return np.flatnonzero(bits).astype(np.int64)


def _bits_of(key: object) -> npt.NDArray[np.bool_] | None:
    """The bits of a key of bools, and `None` for any other key."""
    if isinstance(key, Rows):
        return key._selected()
    if isinstance(key, list) and len(key) > 0 and isinstance(key[0], (bool, np.bool_)):
        key = np.asarray(key)
    return key if isinstance(key, np.ndarray) and key.dtype == np.bool_ else None
