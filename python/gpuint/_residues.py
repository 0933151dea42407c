"""Residues, and powers of one base."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from . import _arguments, _gpuint
from ._arguments import as_int, count, integer, items, of_width, short, unsigned, wrong_type
from ._array import (
    Array,
    Integers,
    by_exponents,
    exponents_of,
    nonzero,
    one_of,
    rows_of,
    signed_rows,
)
from ._creation import Values, full
from ._device import Device, DeviceLike
from ._mask import Bools, Mask
from ._prepared import Divisor, Prepared
from ._rows import Rows, spread
from ._widths import narrowest
from .errors import MismatchError, RangeError

# Ints that a modulus keeps as residues.
_CONSTANTS = 8


@dataclasses.dataclass(frozen=True)
class SpecialModulus:
    """A number `k * base**n + c`, with base 2 a Mersenne, Fermat, Proth or Riesel number.

    `k`, `n` and `base` are from 0 to `2**32 - 1`, and `c` is from `-2**31` to `2**31 - 1`. Residues
    have special arithmetic modulo numbers of base 2.

    >>> import gpuint
    >>> proth = gpuint.SpecialModulus(3, 189, 1)
    >>> gpuint.SpecialModulus.recognize(3 * 2**189 + 1) == proth
    True
    >>> gpuint.SpecialModulus(1, 8, 1, base=10).value
    100000001
    """

    k: int
    n: int
    c: int
    base: int = 2

    def __post_init__(self) -> None:
        of_width(self.k, 32, "k")
        of_width(self.n, 32, "n")
        of_width(self.base, 32, "base")
        if not -(2**31) <= integer(self.c, "c") < 2**31:
            raise RangeError(f"c is from -2**31 to 2**31 - 1, not {short(self.c)}")

    @classmethod
    def recognize(cls, number: int) -> Self | None:
        """Returns the form with base 2, odd `k < 2**31`, `n >= 128` and `0 < |c| <= 2**13`.

        Other numbers give `None`.
        """
        form = _gpuint.recognize_special(unsigned(number, "number"))
        return None if form is None else cls(*form)

    @property
    def value(self) -> int:
        """The number."""
        power: int = self.base**self.n
        return self.k * power + self.c


def _check_width(modulus: SpecialModulus, row: int | None) -> None:
    """Raises `RangeError` if no width holds the number, whose power might take hours."""
    if modulus.k > 0:
        narrowest(modulus.n * max(modulus.base.bit_length() - 1, 0), row=row)


class Modulus(Prepared):
    """Moduli for chains of operations: `Residues` stay in the form with the fastest products.

    One int for all rows, or the rows of an array, each for the same row of residues. Above 16384
    bits, products are reduced in linear time if all numbers are `k * 2**n + c` with small `k` and
    `c`: Mersenne, Fermat, Proth and Riesel numbers. `of_special` does so at any width.
    """

    __slots__ = ("_constants", "_modulus", "_special")
    _constants: dict[tuple[int, int], _gpuint.Residues]
    _modulus: _gpuint.Modulus
    # `None` for moduli that were not told to be special.
    _special: list[SpecialModulus] | None

    def __init__(self, value: Integers, bits: int | None = None, device: DeviceLike = None) -> None:
        """Prepares an int on a device, or the rows of an array on its device.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        super().__init__(value, bits, device)
        self._constants = {}
        self._special = None
        one = self._one
        if one is None:
            self._modulus = _gpuint.Modulus.of_rows(self._array()._at(self._bits))
        else:
            self._modulus = _gpuint.Modulus.splat(self._device._handle, self._bits, one)

    @classmethod
    def of_special(
        cls,
        value: SpecialModulus | Iterable[SpecialModulus],
        bits: int | None = None,
        device: DeviceLike = None,
    ) -> Self:
        """Prepares one special modulus for all rows, or one for each row.

        A product of residues is then one product and a fold in linear time, where other moduli take
        three products (`is_special`). Moduli with large k or c are prepared as any others. Raises
        `RangeError` with the lowest row that is negative, and `DivisionByZeroError` with one that
        is zero.

        >>> import gpuint
        >>> number = gpuint.SpecialModulus(3, 189, 1)
        >>> modulus = gpuint.Modulus.of_special(number)
        >>> power = modulus.residues([5]) ** (number.value // 2)  # F. Proth: prime if it is -1
        >>> power.tolist() == [number.value - 1]
        True
        """
        new = cls.__new__(cls)
        if isinstance(value, SpecialModulus):
            special = [value]
            _check_width(value, None)
            Prepared.__init__(new, value.value, bits, device)
        else:
            special = items(value, "value", "SpecialModulus objects")
            for row, modulus in enumerate(special):
                if not isinstance(modulus, SpecialModulus):
                    raise wrong_type("value", "SpecialModulus objects", modulus)
                _check_width(modulus, row)
            Prepared.__init__(new, [modulus.value for modulus in special], bits, device)
        new._constants = {}
        new._special = special
        handle, parts = new._device._handle, [(it.k, it.base, it.n, it.c) for it in special]
        if new._one is None:
            new._modulus = _gpuint.Modulus.of_special(handle, new._bits, parts)
        else:
            new._modulus = _gpuint.Modulus.splat_special(handle, new._bits, parts[0])
        return new

    def is_special(self) -> bool:
        """Returns true if products are reduced in linear time."""
        return self._modulus.is_special()

    def residues(self, values: Values) -> Residues:
        """Returns the residues of integers that are not negative, one a row."""
        rows = rows_of(values, "values", self._device)
        rows = rows if rows.bits <= self._bits else rows % self._value
        batch = rows._at(self._bits)
        return Residues._of(_gpuint.Residues.of_batch(batch, self._modulus), self)

    def _slice(self, start: int, stop: int) -> Self:
        if self._special is None:
            return super()._slice(start, stop)
        return self._gather(np.arange(start, max(start, stop), dtype=np.int64))

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        values = self._array()._gather(rows)
        if self._special is None:
            return type(self)(values, self._bits)
        special = [self._special[row] for row in rows]
        return self.of_special(special, self._bits, self._device)

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        told = [part._special for part in parts if part._special is not None]
        if len(told) < len(parts):
            return super()._concat(parts)
        for part in parts:
            part._array()
        bits = max(part._bits for part in parts)
        return cls.of_special([it for part in told for it in part], bits, parts[0]._device)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._special is None:
            return super().__reduce__()
        value = self._special[0] if isinstance(self._value, int) else self._special
        return type(self).of_special, (value, self._bits, self._device)

    def _constant(self, value: int, rows: int) -> _gpuint.Residues:
        """Residues of one integer of either sign. The last ones stay on the device."""
        key = value, rows
        constant = self._constants.get(key)
        if constant is None:
            residues = self.residues(full(rows, abs(value), device=self._device))
            constant = (residues if value >= 0 else -residues)._residues
            if len(self._constants) == _CONSTANTS:
                self._constants.clear()
            self._constants[key] = constant
        return constant


class Residues(Rows[int]):
    """Residues modulo a `Modulus`, one a row.

    They are made by `Modulus.residues`. Operators work row by row, with residues of the same
    `Modulus` object, with an array, list or numpy array of integers, or with one int of either sign
    for all rows. Pickled residues have another `Modulus` object, unless it is in the same pickle.
    """

    __slots__ = ("_modulus", "_residues")
    _modulus: Modulus
    _residues: _gpuint.Residues

    def __init__(self, *arguments: object, **named: object) -> None:
        """Raises `TypeError`: `Modulus.residues` makes residues of integers."""
        raise TypeError("Residues are made by Modulus.residues or Residues.powers_of")

    @property
    def modulus(self) -> Modulus:
        """The moduli."""
        return self._modulus

    @property
    def device(self) -> Device:
        """The device that the rows live on."""
        return self._modulus.device

    @classmethod
    def powers_of(cls, base: int, exponents: Values, modulus: Modulus) -> Self:
        """Computes `base**exponents`, an exponent for each row, with a base below `2**32`.

        Modulo special moduli of at least 32768 bits, or 1024 bits on the CPU, a bit of the
        exponents takes one square; the base then costs nothing.
        """
        base = of_width(base, 32, "base")
        if not isinstance(modulus, Modulus):
            raise wrong_type("modulus", "a Modulus", modulus)
        rows = rows_of(exponents, "exponents", modulus.device)
        batch = rows._batch
        return cls._of(_gpuint.Residues.powers_of(base, batch, modulus._modulus), modulus)

    def to_array(self) -> Array:
        """Returns the numbers from 0 to `modulus - 1`."""
        return Array._of(self._residues.to_batch(), self._modulus.device)

    def tolist(self) -> list[int]:
        """Returns the numbers from 0 to `modulus - 1`."""
        return self.to_array().tolist()

    def __len__(self) -> int:
        return len(self._residues)

    def __reduce__(self) -> tuple[Any, ...]:
        return Modulus.residues, (self._modulus, self.to_array())

    def __repr__(self) -> str:
        return f"Residues({self.to_array()}, {self._modulus})"

    def __add__(self, other: Residues | Integers) -> Residues:
        return self._apply(other, _gpuint.Residues.add)

    __radd__ = __add__

    def __sub__(self, other: Residues | Integers) -> Residues:
        return self._apply(other, _gpuint.Residues.sub)

    def __rsub__(self, other: Integers) -> Residues:
        return (-self).__add__(other)

    def __mul__(self, other: Residues | Integers) -> Residues:
        return self._apply(other, _gpuint.Residues.mul)

    __rmul__ = __mul__

    def __neg__(self) -> Residues:
        return self._like(self._residues.neg())

    def __pow__(self, exponent: Integers) -> Residues:
        """Powers by one exponent, or by an array or a list of one a row, of any length."""
        power = one_of(exponent)
        if power is None:
            if not isinstance(exponent, (Array, list, tuple, range, np.ndarray)):
                return NotImplemented
            powers = exponents_of(exponent, "exponent")
            (base,) = spread(self, rows=len(powers))
            rows = base._residues
            return self._like(by_exponents(powers, len(base), rows.pow, rows.pow_rows))
        if power < 0:
            return self.invert() ** -power
        return self._like(self._residues.pow_all(power))

    def square(self) -> Residues:
        """Returns the squares."""
        return self._like(self._residues.square())

    def square_repeatedly(self, count: int) -> Residues:
        """Returns `self**(2**count)`, by `count` squares one after the other."""
        return self._like(self._residues.square_repeatedly(_arguments.count(count, "count")))

    def double(self) -> Residues:
        """Returns the doubles."""
        return self._like(self._residues.double())

    def halve(self) -> Residues:
        """Returns the halves. Raises `MismatchError` for the lowest row with an even modulus."""
        return self._like(self._residues.halve())

    def invert(self) -> Residues:
        """Returns the inverses. Raises `NoInverseError` for the lowest row without one."""
        return self._modulus.residues(self.to_array().invert(self._modulus.value))

    def is_zero(self) -> Mask:
        """Returns a mask of the rows that are zero."""
        return Mask._of(self._residues.is_zero_mask(), self._modulus.device)

    def select(self, mask: Bools, other: Residues | Integers) -> Residues:
        """Returns the rows of `self` where the mask is set, and the rows of `other` elsewhere."""
        bits = Mask._from(mask, self.device, "mask")._bits
        operand = self._coerced(other, "other")
        if operand is None:
            raise wrong_type("other", "Residues, an Array, an int or a list of ints", other)
        rows, others = spread(self, operand)
        return self._like(rows._residues.select(bits, others._residues))

    # Rows

    def _at_row(self, row: int) -> int:
        return self._gather(np.array([row])).tolist()[0]

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        modulus = self._modulus if self._modulus._rows is None else self._modulus.gather(rows)
        return self._of(modulus.residues(self.to_array()._gather(rows))._residues, modulus)

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        modulus = parts[0]._modulus
        if modulus._rows is not None:
            moduli = [part._modulus for part in parts if part._modulus._rows is not None]
            if len(moduli) != len(parts):
                raise MismatchError("arrays have a modulus for each row and one for all rows")
            modulus = Modulus._concat(moduli)
        elif any(part._modulus is not modulus for part in parts):
            raise MismatchError("arrays have different Modulus objects")
        rows = Array._concat([part.to_array() for part in parts])
        return cls._of(modulus.residues(rows)._residues, modulus)

    def _equal(self, other: object) -> Mask | None:
        operand = self._coerced(other, "other")
        if operand is None:
            return None
        rows, others = spread(self, operand)
        return Mask._of(rows._residues.eq_mask(others._residues), self.device)

    # Operands

    @classmethod
    def _of(cls, residues: _gpuint.Residues, modulus: Modulus) -> Self:
        new = cls.__new__(cls)
        new._residues = residues
        new._modulus = modulus
        return new

    def _like(self, residues: _gpuint.Residues) -> Self:
        return self._of(residues, self._modulus)

    def _apply(
        self,
        other: Residues | Integers,
        operation: Callable[[_gpuint.Residues, _gpuint.Residues], _gpuint.Residues],
    ) -> Residues:
        operand = self._coerced(other, "other")
        if operand is None:
            return NotImplemented  # type: ignore[no-any-return]
        rows, others = spread(self, operand)
        return self._like(operation(rows._residues, others._residues))

    def _coerced(self, other: object, name: str) -> Residues | None:
        """An operand as residues; integers may be any."""
        if isinstance(other, Residues):
            return other
        if not isinstance(other, Array):
            value = as_int(other)
            if value is not None:
                return self._like(self._modulus._constant(value, len(self)))
            if not isinstance(other, (list, tuple, range, np.ndarray)):
                return None
        rows, negative = signed_rows(other, name, self.device)
        if len(rows) == 1:
            rows = rows.repeat(len(self))
        residues = self._modulus.residues(rows)
        if negative is not None:
            residues = (-residues).select(negative, residues)
        return residues


class FixedBase:
    """Powers of one or several bases modulo one number, prepared for many exponents.

    A power takes a product for every 8 bits of an exponent, where `pow` takes about 10. The table
    of a base has 256 rows for every 8 bits of `exponent_bits`.
    """

    __slots__ = ("_bases", "_bits", "_device", "_divisor", "_exponent_bits", "_modulus", "_powers")
    _bases: list[int]
    _bits: int
    _device: Device
    _divisor: Divisor
    _exponent_bits: int
    _modulus: int
    _powers: list[_gpuint.FixedBase]

    def __init__(
        self,
        bases: int | Sequence[int],
        modulus: int,
        exponent_bits: int,
        device: DeviceLike = None,
    ) -> None:
        """Prepares the powers of `bases` modulo `modulus` for exponents below `2**exponent_bits`.

        The width of the powers is that of the bases and `modulus`.
        """
        given = [bases] if as_int(bases) is not None else items(bases, "bases", "ints")
        self._bases = [unsigned(base, "bases") for base in given]
        if not self._bases:
            raise MismatchError("bases has no base")
        self._modulus = modulus = nonzero(unsigned(modulus, "modulus"))
        self._exponent_bits = count(exponent_bits, "exponent_bits")
        self._device = device = Device(device)
        self._bits = narrowest(max(map(int.bit_length, [*self._bases, modulus])), device)
        self._divisor = Divisor(modulus, self._bits, device)
        self._powers = [
            _gpuint.FixedBase.prepare(
                device._handle, self._bits, base, modulus, self._exponent_bits
            )
            for base in self._bases
        ]

    @property
    def bits(self) -> int:
        """Width of the powers, in bits."""
        return self._bits

    @property
    def exponent_bits(self) -> int:
        """Bits of the longest exponent."""
        return self._exponent_bits

    def pow(self, *exponents: Values, factor: Integers | None = None) -> Array:
        """Returns the products of the powers of all bases, row by row.

        Each base has its exponents, in the order of the bases: the rows of an array, or a list of
        ints. The products are multiplied by the rows of `factor`, such as powers of bases that
        vary. Raises `RangeError` for the lowest row that is longer than `exponent_bits`.

        >>> import gpuint
        >>> gpuint.FixedBase([2, 3], 101, exponent_bits=8).pow([1, 2], [3, 1], factor=5).tolist()
        [68, 60]
        """
        if len(exponents) != len(self._bases):
            raise MismatchError(
                f"exponents of {len(self._bases)} bases are expected, not of {len(exponents)}"
            )
        rows = []
        for powers, values in zip(self._powers, exponents):
            given = exponents_of(values, "exponents")
            power = by_exponents(given, len(given), powers.pow, powers.pow_rows)
            rows.append(Array._of(power, self._device))
        product = functools.reduce(lambda a, b: a.mul_mod(b, self._divisor), rows)
        return product if factor is None else product.mul_mod(factor, self._divisor)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self._bases, self._modulus, self._exponent_bits, self._device)
        return FixedBase, arguments

    def __repr__(self) -> str:
        bases = ", ".join(map(short, self._bases))
        return (
            f"FixedBase([{bases}], {short(self._modulus)}, "
            f"exponent_bits={self._exponent_bits}, device='{self._device}')"
        )
