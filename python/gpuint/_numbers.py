"""Arrays of random numbers, factorials, primorials and binomial coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arguments import LARGEST, count, int64s, wrong_type
from ._array import Array
from ._creation import array
from ._device import Device, DeviceLike
from ._widths import check_room, narrowest
from .errors import MismatchError, RangeError, reporting_memory

Counts = Sequence[int] | npt.NDArray[np.integer[Any]] | int
"""Small integers, one a row."""

# Bits of the widest rows.
_MAX_BITS = 1 << 20


def random(
    rows: int, bits: int, rng: np.random.Generator | None = None, device: DeviceLike = None
) -> Array:
    """Makes an array of random integers, each drawn evenly from 0 to `2**bits - 1`.

    `rng` is a generator of numpy, `numpy.random.default_rng()` by default. Its numbers can be
    predicted: make keys of `secrets.token_bytes`, by `from_bytes`.
    """
    rows, bits = count(rows, "rows"), count(bits, "bits")
    rng = np.random.default_rng() if rng is None else rng
    if not isinstance(rng, np.random.Generator):
        raise wrong_type("rng", "a numpy.random.Generator", rng)
    device = Device(device)
    width = narrowest(bits, device)
    check_room(rows, width)
    with reporting_memory():
        data = np.frombuffer(rng.bytes(rows * (width // 8)), np.uint8)
    data = data.reshape(rows, width // 8)
    return Array._of_bytes(data, width, device).low_bits(bits)


def factorial(n: Counts, bits: int | None = None, device: DeviceLike = None) -> Array:
    """Returns the factorials of integers, one a row.

    Each different factorial is computed once, on the host.
    """
    numbers = _counts(n, "n")
    # n! > (n / e)^n, by Stirling's formula.
    logarithms = numbers * np.log2(np.maximum(numbers, 1) / math.e)
    for row in np.flatnonzero(logarithms > _MAX_BITS)[:1].tolist():
        raise _too_wide("n", int(numbers[row]), row)
    return _of_distinct(numbers.reshape(-1, 1), math.factorial, bits, device)


def primorial(n: Counts, bits: int | None = None, device: DeviceLike = None) -> Array:
    """Returns the products of all primes that are at most `n`, one `n` a row.

    Each different product is computed once, on the host.
    """
    numbers = _counts(n, "n")
    # The logarithm of the product of the primes up to n is about n.
    for row in np.flatnonzero(numbers > _MAX_BITS)[:1].tolist():
        raise _too_wide("n", int(numbers[row]), row)
    primes = _primes(int(numbers.max(initial=0)))
    product = _products(primes)
    ends = np.searchsorted(primes, numbers, side="right")
    return _of_distinct(ends.reshape(-1, 1), product, bits, device)


def binomial(n: Counts, k: Counts, bits: int | None = None, device: DeviceLike = None) -> Array:
    """Returns the binomial coefficients of pairs of integers; one `n` or `k` stands for all rows.

    Each different coefficient is computed once, on the host.
    """
    above, below = _counts(n, "n"), _counts(k, "k")
    if len(above) != len(below) and 1 not in (len(above), len(below)):
        raise MismatchError(f"n has {len(above)} rows and k {len(below)}")
    pairs = np.stack(np.broadcast_arrays(above, below), axis=1)
    least = np.minimum(pairs[:, 1], pairs[:, 0] - pairs[:, 1])
    # A coefficient is at least (n / least)^least.
    logarithms = least * np.log2(np.maximum(pairs[:, 0], 1) / np.maximum(least, 1))
    for row in np.flatnonzero(logarithms > _MAX_BITS)[:1].tolist():
        raise _too_wide("n", int(pairs[row, 0]), row)
    return _of_distinct(pairs, math.comb, bits, device)


def _counts(values: Counts, name: str) -> npt.NDArray[np.int64]:
    """An argument of integers that are not negative: one, or one a row."""
    numbers = int64s([values] if isinstance(values, (int, np.integer)) else values, name)
    for row in np.flatnonzero((numbers < 0) | (numbers == LARGEST))[:1].tolist():
        raise RangeError(f"{name} is from 0 to 2**63 - 2, not in row {row}", row)
    return numbers


def _of_distinct(
    arguments: npt.NDArray[np.int64],
    function: Callable[..., int],
    bits: int | None,
    device: DeviceLike,
) -> Array:
    """An array of a function of the integers of each row."""
    distinct, rows = np.unique(arguments, axis=0, return_inverse=True)
    values = [function(*row) for row in distinct.tolist()]
    return array(values, bits, device).gather(rows.reshape(-1))


def _primes(most: int) -> npt.NDArray[np.int64]:
    """The primes up to a number, by the sieve of Eratosthenes."""
    is_prime = np.ones(most + 1, np.bool_)
    is_prime[:2] = False
    for number in range(2, math.isqrt(most) + 1):
        if is_prime[number]:
            is_prime[number * number :: number] = False
    return np.flatnonzero(is_prime)


def _products(factors: npt.NDArray[np.int64]) -> Callable[[int], int]:
    """A function that returns the product of the first factors: by halves, of like lengths."""
    numbers = factors.tolist()

    def between(start: int, stop: int) -> int:
        if stop - start <= 8:
            return math.prod(numbers[start:stop])
        middle = (start + stop) // 2
        return between(start, middle) * between(middle, stop)

    return lambda stop: between(0, stop)


def _too_wide(name: str, value: int, row: int) -> RangeError:
    return RangeError(f"{name} is {value} in row {row}: no width holds the result", row)
