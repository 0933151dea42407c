"""Calls on lists with gmpy2's names and arguments."""

from __future__ import annotations

from collections.abc import Iterable

from ._arguments import integer, items
from ._array import nonzero
from ._creation import array
from ._device import DeviceLike
from .errors import NoInverseError


def powmod_base_list(
    bases: Iterable[int], exponent: int, modulus: int, *, device: DeviceLike = None
) -> list[int]:
    """Returns `pow(base, exponent, modulus)` for each base.

    The arguments are those of `gmpy2.powmod_base_list`; the results are Python ints.
    """
    exponent = integer(exponent, "exponent")
    modulus = nonzero(integer(modulus, "modulus"))
    positive = abs(modulus)
    reduced = _reduced(bases, positive, "bases")
    if not reduced:
        return []
    rows = array(reduced, positive.bit_length(), device)
    return _signed(rows.powmod(exponent, positive).tolist(), modulus)


def powmod_exp_list(
    base: int, exponents: Iterable[int], modulus: int, *, device: DeviceLike = None
) -> list[int]:
    """Returns `pow(base, exponent, modulus)` for each exponent.

    The arguments are those of `gmpy2.powmod_exp_list`; the results are Python ints.
    """
    modulus = nonzero(integer(modulus, "modulus"))
    positive = abs(modulus)
    base = integer(base, "base") % positive
    powers = _integers(exponents, "exponents")
    if not powers:
        return []
    bases = [base] * len(powers)
    negative = [row for row, power in enumerate(powers) if power < 0]
    if negative:
        try:
            inverse = pow(base, -1, positive)
        except ValueError:
            row = negative[0]
            raise NoInverseError(f"the base of row {row} has no inverse", row) from None
        for row in negative:
            bases[row], powers[row] = inverse, -powers[row]
    rows = array(bases, positive.bit_length(), device)
    return _signed(rows.powmod(powers, positive).tolist(), modulus)


def invert_list(values: Iterable[int], modulus: int, *, device: DeviceLike = None) -> list[int]:
    """Returns the inverse of each value: `gmpy2.invert` for a list.

    Raises `NoInverseError`, a `ZeroDivisionError` as gmpy2's, for the lowest row without one.
    """
    positive = abs(nonzero(integer(modulus, "modulus")))
    reduced = _reduced(values, positive, "values")
    if not reduced:
        return []
    return array(reduced, positive.bit_length(), device).invert(positive).tolist()


def _integers(values: Iterable[int], name: str) -> list[int]:
    return [integer(value, name) for value in items(values, name, "an iterable of ints")]


def _reduced(values: Iterable[int], modulus: int, name: str) -> list[int]:
    """The values modulo a positive modulus."""
    numbers = _integers(values, name)
    return [number if 0 <= number < modulus else number % modulus for number in numbers]


def _signed(powers: list[int], modulus: int) -> list[int]:
    """Powers with the sign of the modulus, as Python's `pow` returns them."""
    if modulus > 0:
        return powers
    return [power + modulus if power else 0 for power in powers]
