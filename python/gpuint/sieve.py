"""Small prime factors of numbers of a form, and numbers without small factors.

A prime p divides about one number in p, and a sieve finds which: it solves a congruence modulo p,
in place of a division of every number. `Progression` has numbers `k * a + c`, `Exponents` numbers
`k * base**n + c`, and `smallest_factors` takes any others. A `Family` has a number for each index,
and a `Constellation` several families, whose numbers survive together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._arguments import column, count, integer, items, of_width, unsigned, wrong_type
from ._device import Device, DeviceLike
from ._mask import Mask
from .errors import RangeError

__all__ = ["Constellation", "Exponents", "Family", "Progression", "primes", "smallest_factors"]

_WORD = 64

Words: TypeAlias = Iterable[int] | npt.NDArray[np.integer[Any]]
"""Integers from 0 to `2**64 - 1`."""


def primes(start: int, stop: int) -> npt.NDArray[np.uint64]:
    """Returns the primes from `start` on and below `stop`, in ascending order.

    The sieve of Eratosthenes takes memory for a segment, for the primes up to the root of `stop`
    and for the result. Both bounds have at most 64 bits.

    >>> from gpuint import sieve
    >>> sieve.primes(90, 110).tolist()
    [97, 101, 103, 107, 109]
    """
    bounds = of_width(start, _WORD, "start"), of_width(stop, _WORD, "stop")
    return _unpacked(_gpuint.primes(*bounds))


def smallest_factors(numbers: Iterable[int], limit: int) -> npt.NDArray[np.uint64]:
    """Returns the smallest prime factor below `limit` of each number, and 0 where there is none.

    A prime is no factor of itself: 7 has none. 0 has the factor 2. The time of a number is
    proportional to its length and to the number of primes below `limit`, which has at most 32 bits.

    >>> from gpuint import sieve
    >>> sieve.smallest_factors([91, 97, 1, 10403], limit=100).tolist()
    [7, 0, 0, 0]
    """
    values = [unsigned(number, "numbers") for number in items(numbers, "numbers", "ints")]
    return _unpacked(_gpuint.smallest_factors(values, of_width(limit, 32, "limit")))


class Progression:
    """The numbers `k * a + c`, for k of 64 bits.

    These are the terms of an arithmetic progression, candidates `k * base**n + c` of one exponent
    n, and numbers at distances k from a number c.

    >>> from gpuint.sieve import Progression
    >>> Progression(1, 10**50).smallest_factors([1, 3, 9, 151], limit=1000).tolist()
    [101, 19, 53, 0]
    """

    __slots__ = ("_a", "_c")
    _a: int | tuple[int, int]
    _c: int

    def __init__(self, a: int, c: int) -> None:
        """Makes the numbers `k * a + c` with `a >= 0`."""
        self._a = unsigned(a, "a")
        self._c = integer(c, "c")

    @classmethod
    def of_power(cls, base: int, exponent: int, c: int) -> Self:
        """Makes the numbers `k * base**exponent + c`, of which no power is computed."""
        new = cls.__new__(cls)
        new._a = of_width(base, _WORD, "base"), of_width(exponent, _WORD, "exponent")
        new._c = integer(c, "c")
        return new

    def smallest_factors(self, terms: Words, limit: int) -> npt.NDArray[np.uint64]:
        """Returns the smallest prime factor below `limit` for each k of `terms`, and 0 for none.

        A prime is no factor of itself. 0 has the factor 2.
        """
        words = _words(terms, "terms")
        return _unpacked(_gpuint.progression_factors(self._a, self._c, words, _limit(limit)))

    def __repr__(self) -> str:
        if isinstance(self._a, int):
            return f"Progression({self._a}, {self._c})"
        return f"Progression.of_power({self._a[0]}, {self._a[1]}, {self._c})"


class Exponents:
    """The numbers `k * base**n + c`, for exponents n of 64 bits.

    >>> from gpuint.sieve import Exponents
    >>> Exponents(1, 2, -1).smallest_factors([11, 23, 29, 31, 37], limit=1000).tolist()
    [23, 47, 233, 0, 223]
    """

    __slots__ = ("_base", "_c", "_k")
    _base: int
    _c: int
    _k: int

    def __init__(self, k: int, base: int, c: int) -> None:
        """Makes the numbers `k * base**n + c`, with k and base of 64 bits."""
        self._k = of_width(k, _WORD, "k")
        self._base = of_width(base, _WORD, "base")
        self._c = integer(c, "c")

    def smallest_factors(self, exponents: Words, limit: int) -> npt.NDArray[np.uint64]:
        """Returns the smallest prime factor below `limit` for each exponent, and 0 for none.

        A prime is no factor of itself. 0 has the factor 2. The time of a prime is proportional to
        the square root of the range of the exponents.
        """
        words = _words(exponents, "exponents")
        factors = _gpuint.power_factors(self._k, self._base, self._c, words, _limit(limit))
        return _unpacked(factors)

    def __repr__(self) -> str:
        return f"Exponents({self._k}, {self._base}, {self._c})"


@dataclasses.dataclass(frozen=True, init=False)
class Family:
    """Numbers for the indices 0, 1, 2, ...; `terms` and `powers` make them.

    >>> from gpuint.sieve import Family
    >>> Family.terms(10**100 + 1, 2).survivors(100, limit=1000).indices()[:3].tolist()
    [4, 18, 19]
    """

    _numbers: tuple[int, int] | tuple[int, int, int, int]

    def __init__(self, *arguments: object, **named: object) -> None:
        """Raises `TypeError`: `terms` and `powers` make families."""
        raise TypeError("Family is made by Family.terms or Family.powers")

    @classmethod
    def _of(cls, numbers: tuple[int, int] | tuple[int, int, int, int]) -> Self:
        family = cls.__new__(cls)
        object.__setattr__(family, "_numbers", numbers)
        return family

    @classmethod
    def terms(cls, first: int, step: int) -> Self:
        """Makes the numbers `first + i * step`: `k * base**n + c` with different k, offsets around
        a multiple of a primorial. Both may be negative, and the step 0.
        """
        return cls._of((integer(first, "first"), integer(step, "step")))

    @classmethod
    def powers(cls, k: int, base: int, first: int, c: int) -> Self:
        """Makes the numbers `k * base**n + c` for the exponents `n = first + i`.

        Exponents above `2**64 - 1` have no number, and their index survives.
        """
        k, base = of_width(k, _WORD, "k"), of_width(base, _WORD, "base")
        return cls._of((k, base, of_width(first, _WORD, "first"), integer(c, "c")))

    def shifted(self, distance: int) -> Self:
        """Returns the family of the numbers at a distance from these."""
        distance = integer(distance, "distance")
        if len(self._numbers) == 2:
            first, step = self._numbers
            return self._of((first + distance, step))
        k, base, first, c = self._numbers
        return self._of((k, base, first, c + distance))

    def survivors(self, rows: int, limit: int, device: DeviceLike = None) -> Mask:
        """Returns a mask of the indices below `rows` without a factor: see `Constellation`."""
        return Constellation([self]).survivors(rows, limit, device)

    def __repr__(self) -> str:
        name = "terms" if len(self._numbers) == 2 else "powers"
        return f"Family.{name}({', '.join(map(str, self._numbers))})"


@dataclasses.dataclass(frozen=True, init=False)
class Constellation:
    """Families of numbers that are prime at the same index: twins, safe primes, tuplets.

    >>> from gpuint.sieve import Constellation, Family
    >>> safe = Constellation([Family.terms(1, 2), Family.terms(3, 4)])  # q and 2 q + 1
    >>> [2 * i + 1 for i in safe.survivors(50, limit=100).indices().tolist()]
    [1, 3, 5, 11, 23, 29, 41, 53, 83, 89]
    """

    families: tuple[Family, ...]

    def __init__(self, families: Iterable[Family]) -> None:
        """Joins families whose numbers survive together."""
        given = items(families, "families", "Family objects")
        for family in given:
            if not isinstance(family, Family):
                raise wrong_type("families", "Family objects", family)
        object.__setattr__(self, "families", tuple(given))

    @classmethod
    def tuplet(cls, family: Family, offsets: Iterable[int]) -> Self:
        """Joins the numbers of a family and those at `offsets` from them: 0 and 2 for twins."""
        if not isinstance(family, Family):
            raise wrong_type("family", "a Family", family)
        given = [integer(offset, "offsets") for offset in items(offsets, "offsets", "ints")]
        return cls(map(family.shifted, given))

    def survivors(self, rows: int, limit: int, device: DeviceLike = None) -> Mask:
        """Returns a mask of the indices below `rows` at which no number has a small factor.

        A factor is a prime below `limit`. A prime is no factor of itself: 7 survives, and -7 does
        not. 0 has the factor 2; 1 and -1 survive. A GPU strikes terms by the primes below `2**32`;
        the threads of the CPU strike powers, and terms by larger primes.
        """
        device = Device(device)
        families = [family._numbers for family in self.families]
        length = count(rows, "rows")
        return Mask._of(_gpuint.survivors(device._handle, families, length, _limit(limit)), device)


def _limit(limit: int) -> int:
    return of_width(limit, _WORD, "limit")


def _words(values: Words, name: str) -> npt.NDArray[np.uint64]:
    """Integers of 64 bits as a contiguous array."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        numbers = column(values, name)
        if numbers.size > 0 and numbers.min() < 0:
            raise RangeError(f"{name} has the negative number {numbers.min()}")
        return np.ascontiguousarray(numbers, dtype=np.uint64)
    given = [of_width(value, _WORD, name) for value in items(values, name, "an iterable of ints")]
    return np.array(given, dtype=np.uint64)


def _unpacked(words: bytearray) -> npt.NDArray[np.uint64]:
    return np.frombuffer(words, dtype=np.uint64)
