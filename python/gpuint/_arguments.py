"""Checks of arguments. Each error names the argument."""

from __future__ import annotations

import operator
import os
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import MismatchError, RangeError

LARGEST = 2**63 - 1
_SHOWN_DIGITS = 18


def short(value: int) -> str:
    """Returns a text of a value, abbreviated in the middle."""
    text = f"{value:#x}"
    return text if len(text) <= _SHOWN_DIGITS else f"{text[:10]}..{text[-6:]}"


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    """Makes the error for an argument of the wrong type."""
    return TypeError(f"{name} is {expected}, not {type(value).__name__}")


def as_int(value: Any) -> int | None:
    """Returns an integer of any type as an `int`, and `None` for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def integer(value: object, name: str) -> int:
    """Returns an integer of any type as an `int`."""
    number = as_int(value)
    if number is None:
        raise wrong_type(name, "an int", value)
    return number


def count(value: object, name: str, least: int = 0) -> int:
    """Returns an integer that is at least `least` and fits in 63 bits."""
    number = integer(value, name)
    if not least <= number <= LARGEST:
        raise RangeError(f"{name} is from {least} to 2**63 - 1, not {short(number)}")
    return number


def unsigned(value: object, name: str) -> int:
    """Returns an integer that is not negative."""
    number = integer(value, name)
    if number < 0:
        raise RangeError(f"{name} is {short(number)}, and rows are unsigned")
    return number


def of_width(value: object, bits: int, name: str) -> int:
    """Returns an integer of `bits` bits that is not negative."""
    number = unsigned(value, name)
    if number.bit_length() > bits:
        raise _too_wide(number, bits, name)
    return number


def wrapped(value: int, bits: int, name: str) -> int:
    """Returns an integer of `bits` bits and either sign modulo `2**bits`."""
    if value.bit_length() > bits:
        raise _too_wide(value, bits, name)
    return value if value >= 0 else value + (1 << bits)


def choice(value: object, name: str, choices: Collection[str]) -> str:
    """Returns a text that is one of the choices."""
    chosen = string(value, name)
    if chosen not in choices:
        shown = ", ".join(f'"{other}"' for other in choices)
        raise ValueError(f'{name} is one of {shown}, not "{chosen}"')
    return chosen


def string(value: object, name: str) -> str:
    """Returns a `str`."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    return value


def path(file: object) -> str:
    """Returns the path of an argument `file`."""
    if not isinstance(file, (str, os.PathLike)):
        raise wrong_type("file", "a path", file)
    return os.fspath(file)


def text_base(value: object, name: str) -> int:
    """Returns a base of text, which must be 10 or 16."""
    base = integer(value, name)
    if base not in (10, 16):
        raise ValueError(f"{name} is 10 or 16, not {short(base)}")
    return base


def items(values: object, name: str, expected: str) -> list[Any]:
    """Returns the elements of an iterable."""
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not isinstance(values, Iterable):
        raise wrong_type(name, expected, values)
    return list(values)


def column(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Returns a numpy array, which must have one dimension."""
    if values.ndim != 1:
        raise MismatchError(f"{name} has one dimension, not {values.ndim}")
    return values


def int64s(values: object, name: str) -> npt.NDArray[np.int64]:
    """Returns integers as a contiguous array; those of more than 63 bits become the nearest."""
    expected = "an iterable of ints"
    given = values if isinstance(values, np.ndarray) else items(values, name, expected)
    numbers = column(np.asarray(given), name) if len(given) > 0 else np.empty(0, np.int64)
    if numbers.dtype.kind not in "iu":
        # Integers of several types, or of more than 64 bits.
        if isinstance(given, np.ndarray) and given.dtype != np.object_:
            raise TypeError(f"{name} is of integers, not of {given.dtype}")
        clipped = [max(min(integer(value, name), LARGEST), -LARGEST) for value in given]
        numbers = np.array(clipped, dtype=np.int64)
    if numbers.dtype == np.uint64:
        numbers = np.minimum(numbers, np.uint64(LARGEST))
    return np.ascontiguousarray(numbers, dtype=np.int64)


def _too_wide(value: int, bits: int, name: str) -> RangeError:
    return RangeError(f"{name} has {value.bit_length()} bits, but rows are {bits} bits wide")
