"""Arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from . import _arguments, _gpuint, _prepared, _secret
from ._arguments import (
    LARGEST,
    as_int,
    choice,
    count,
    int64s,
    integer,
    items,
    of_width,
    short,
    unsigned,
    wrapped,
    wrong_type,
)
from ._device import Device, DeviceLike
from ._mask import Bools, Mask
from ._operands import batch_of, batch_of_bytes, check_signs, magnitudes, width_of
from ._operands import unsigned as unsigned_values
from ._rows import Numbers, Rows, spread
from ._widths import decode, narrowest
from .errors import (
    DivisionByZeroError,
    MismatchError,
    NoInverseError,
    RangeError,
    reporting_memory,
)

_Batch = _gpuint.Batch
_H = TypeVar("_H")
_R = TypeVar("_R")
_W = TypeVar("_W")
_SHOWN_ROWS = 3
_DLPACK_CPU = 1
_DLPACK_CUDA = 2

Integers: TypeAlias = "Array | int | np.integer[Any] | Sequence[int] | npt.NDArray[Any]"
"""Integers: one for all rows, or one a row. An array of one row stands for all rows, too."""
Moduli: TypeAlias = "Integers | _prepared.Divisor"
"""Divisors: integers, or prepared."""
Factors: TypeAlias = "Integers | _prepared.Factor"
"""Factors: integers, or prepared."""
Distances: TypeAlias = Integers
"""Distances of shifts in bits."""
Negatives: TypeAlias = Literal["wrap", "refuse", "drop"]
"""Meaning of negative integers: modulo the width, an error, or without their sign."""


class Array(Rows[int]):
    """Unsigned integers of one width on a device, one a row.

    Arrays are made by `gpuint.array`, `from_limbs`, `from_bytes`, `full` and by operations. They do
    not change.

    Operators and methods work row by row, with an array, a list or a numpy array of as many
    integers. One int, or an array of one row, stands for all rows. The result is as wide as the
    wider array.

    `+ - * ** << & | ^` wrap: they are modulo `2**bits`. An int beside them has at most `bits` bits,
    else `RangeError` (an `OverflowError`), and a negative one stands for its residue modulo
    `2**bits`. In modular operations a negative int stands for its residue modulo the modulus, and
    `gcd` and `lcm` ignore signs. Elsewhere negative ints raise `RangeError`; comparisons take any
    int and return a `Mask`.

    Factors of `*`, `mul_lo_hi` and `cyclic_mul` are integers or prepared `Factor`s, which may be
    wider than the rows.

    Divisors and moduli are integers or prepared `Divisor`s. They, and operands of modular
    operations, `gcd` and `lcm` may be wider than the rows: the result is as wide as the widest
    operand. Exponents have any length and do not set the width.
    """

    __slots__ = ("_batch", "_device")
    _batch: _gpuint.Batch
    _device: Device

    def __init__(self, *arguments: object, **named: object) -> None:
        """Raises `TypeError`: `gpuint.array` makes arrays of integers."""
        raise TypeError("Array is made by gpuint.array, from_limbs, from_bytes, full or from_text")

    # Properties and conversion

    @property
    def bits(self) -> int:
        """Width of a row, in bits."""
        return self._batch.bits

    @property
    def digit_bits(self) -> int:
        """Width of a digit, in bits: see `shifted_inverse`."""
        return self._batch.digit_bits

    @property
    def dtype(self) -> str:
        """Type of a row as numpy would name it, such as `uint1024`; numpy itself has `object`."""
        return f"uint{self.bits}"

    @property
    def nbytes(self) -> int:
        """Size of the rows on the device, in bytes."""
        return len(self) * self.bits // 8

    @property
    def device(self) -> Device:
        """The device that the rows live on."""
        return self._device

    def tolist(self) -> list[int]:
        """Returns the values."""
        return decode(self._batch.to_le_bytes(), self.bits)

    def to_limbs(self) -> npt.NDArray[np.uint64]:
        """Returns a new array of shape `(rows, limbs)`: 64-bit limbs, least significant first."""
        rows = self._rows()
        if self.bits % 64 != 0:
            with reporting_memory():
                rows = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 8)))
        return rows.view("<u8").astype(np.uint64, copy=False)

    def tobytes(self, byteorder: Literal["little", "big"] = "little") -> bytes:
        """Returns the bytes of the rows one after the other, `bits / 8` a row."""
        if _is_little(byteorder):
            with reporting_memory():
                return bytes(self._batch.to_le_bytes())
        with reporting_memory():
            return self._rows()[:, ::-1].tobytes()

    def to_decimal(self) -> list[str]:
        """Returns the values in decimal."""
        return self._batch.to_text(10)

    def to_hex(self) -> list[str]:
        """Returns the values in hexadecimal, in lower case without `0x`."""
        return self._batch.to_text(16)

    def to_text(self, base: Literal[10, 16] = 10) -> bytes:
        """Returns the values in decimal or hexadecimal, one a line: see `gpuint.from_text`.

        Hexadecimal numbers have the prefix `0x`.
        """
        with reporting_memory():
            return self._batch.to_lines(_arguments.text_base(base, "base"))

    def __format__(self, spec: str) -> str:
        """Formats each row as an int: `f"{a:x}"` is `"[ff, 100]"`, and `f"{a}"` is `str(a)`."""
        if spec == "":
            return str(self)
        by_device = {"d": self.to_decimal, "x": self.to_hex}.get(spec)
        texts = by_device() if by_device else [format(value, spec) for value in self]
        return f"[{', '.join(texts)}]"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The rows on the GPU for cupy, torch and numba: 64-bit limbs, not copied.

        Do not write to them. Arrays on the CPU do not have this attribute.
        """
        stream = self._device._handle.stream
        if stream is None:
            raise AttributeError("the array is not on a GPU")
        return {
            "shape": (len(self), self.bits // 64),
            "typestr": "<u8",
            "data": (self._batch.device_pointer() if len(self) > 0 else 0, False),
            "strides": None,
            "stream": stream,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the kind (1: CPU, 2: GPU) and the number of the device, for `from_dlpack`."""
        ordinal = self._device._handle.ordinal
        return (_DLPACK_CPU, 0) if ordinal is None else (_DLPACK_CUDA, ordinal)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns the rows for `from_dlpack` of numpy, torch, cupy and jax: 64-bit limbs.

        They are not copied, unless `copy` is true or `dl_device` is the CPU and the array on a GPU.
        Do not write to rows that are not copied. `stream` is the CUDA stream on which the consumer
        works next: 1 or `None` for the default stream, -1 for no order. Before the last tensor of
        the consumer is dropped, its work on other streams than the default ones must have ended.
        """
        array = self
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            if copy is False or tuple(dl_device) != (_DLPACK_CPU, 0):
                raise BufferError(f"rows on {self._device} are no memory of device {dl_device}")
            array, copy = self.to("cpu"), True
        elif copy:
            array = self[:]
        ordinal = array._device._handle.ordinal
        if ordinal is None and stream is not None and array is self:
            raise ValueError("the CPU has no streams")
        if stream == 0 or (stream is not None and stream < -1):
            raise ValueError(f"stream {stream} is ambiguous: 1 is the default stream")
        order = None if ordinal is None or stream == -1 else stream or 1
        is_versioned = max_version is not None and max_version[0] >= 1
        return array._batch.to_dlpack(ordinal, order, is_versioned, bool(copy))

    def to(self, device: DeviceLike) -> Array:
        """Returns the array on a device, by way of the host if it is another device.

        A width that the device has only with `jit` becomes the next built one without it.
        """
        device = Device(device)
        if device == self._device and device._kind == self._device._kind:
            return self
        return Array._of_bytes(self._rows(), self.bits, device)

    def __reduce__(self) -> tuple[Any, ...]:
        return Array._of_bytes, (self._rows(), self.bits, self._device)

    def __len__(self) -> int:
        return len(self._batch)

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __repr__(self) -> str:
        rows = [short(self._batch.row(row)) for row in range(min(len(self), _SHOWN_ROWS))]
        if len(self) > _SHOWN_ROWS:
            rows.append("...")
        return (
            f"Array([{', '.join(rows)}], rows={len(self)}, bits={self.bits}, "
            f"device='{self._device}')"
        )

    # Rows

    def select(self, mask: Bools, other: Integers) -> Array:
        """Returns the rows of `self` where the mask is set, and the rows of `other` elsewhere."""
        rows, others = self._pair(self._operand(other, "other"))
        return self._like(rows.select(Mask._from(mask, self._device, "mask")._bits, others))

    def scatter(self, rows: Numbers, values: Integers) -> Array:
        """Returns a copy in which the rows of these numbers are the rows of `values`, in order.

        Negative numbers count from the end. Of values for one row the last one stays.
        """
        numbers = int64s(rows, "rows")
        value = one_of(values)
        given = self._operand(values if value is None else [value], "values")
        (given,) = spread(given, rows=len(numbers))
        bits = max(self.bits, given.bits)
        return self._like(self._at(bits).scatter(numbers, given._at(bits)))

    def swap(self, mask: Bools, other: Integers) -> tuple[Array, Array]:
        """Returns both arrays, `self` first, with the rows exchanged where the mask is set."""
        rows, others = self._pair(self._operand(other, "other"))
        return self._both(rows.swap(Mask._from(mask, self._device, "mask")._bits, others))

    def min(self) -> int:
        """Returns the least value."""
        return self._sorted_row("min", 0)

    def max(self) -> int:
        """Returns the greatest value."""
        return self._sorted_row("max", -1)

    def sum(self) -> int:
        """Returns the sum of all rows, exactly."""
        bits = self.bits + len(self).bit_length()
        if self._device._handle.narrowest(bits) is not None:
            return self._at(narrowest(bits, self._device)).wrapping_sum()
        low, high = self.split()
        return low.sum() + (high.sum() << low.bits)

    def sort(self) -> Array:
        """Returns the rows in ascending order of their values."""
        return self._like(self._batch.sort())

    def argsort(self) -> npt.NDArray[np.uint64]:
        """Returns the numbers of the rows in ascending order of their values.

        Equal rows keep their order.
        """
        return np.frombuffer(self._batch.sort_indices(), dtype=np.uint64)

    def unique(self) -> Array:
        """Returns the different values, each once, in ascending order."""
        return self._like(self._batch.unique())

    def resized(self, bits: int) -> Array:
        """Returns the values in rows of the narrowest width of the device that holds `bits` bits.

        Raises `RangeError` for the lowest row that does not fit.
        """
        return self._like(self._at(narrowest(bits, self._device)))

    def join(self, high: Integers) -> Array:
        """Returns rows of twice the width: `self + (high << bits)`."""
        return self._like(_Batch.join(*self._pair(self._operand(high, "high"))))

    def split(self) -> tuple[Array, Array]:
        """Returns the low and high halves of the rows, in rows of half the width."""
        return self._both(self._batch.split())

    def is_equal(self, other: Array | Sequence[int] | npt.NDArray[Any]) -> bool:
        """Returns true if both arrays have the same number of rows and the same values."""
        if as_int(other) is not None:
            raise wrong_type("other", "an Array or a list or numpy array of ints", other)
        others = self._operand(other, "other", "refuse")
        return len(self) == len(others) and _Batch.is_equal(*self._pair(others))

    # Sums and products

    def __add__(self, other: Integers) -> Array:
        return self._apply(other, _Batch.wrapping_add, _Batch.wrapping_add_all)

    __radd__ = __add__

    def __sub__(self, other: Integers) -> Array:
        return self._apply(other, _Batch.wrapping_sub, _Batch.wrapping_sub_all)

    def __rsub__(self, other: Integers) -> Array:
        left = self._coerced(other, "other", "wrap")
        return NotImplemented if left is None else left - self

    def __mul__(self, other: Factors) -> Array:
        if isinstance(other, _prepared.Factor):
            return self._like(_Batch.wrapping_mul_by(*self._by_factor(other)))
        return self._apply(other, _Batch.wrapping_mul, _Batch.wrapping_mul_all)

    __rmul__ = __mul__

    def overflowing_add(self, other: Integers) -> tuple[Array, Mask]:
        """Returns the sums modulo `2**bits`, and a mask of the rows that wrapped."""
        return self._masked(_Batch.overflowing_add(*self._pair(self._operand(other, "other"))))

    def overflowing_sub(self, other: Integers) -> tuple[Array, Mask]:
        """Returns the differences modulo `2**bits`, and a mask of the rows that wrapped."""
        return self._masked(_Batch.overflowing_sub(*self._pair(self._operand(other, "other"))))

    def mul_add(self, factor: Integers, summand: Integers) -> Array:
        """Returns `self * factor + summand` modulo `2**bits`."""
        operands = self._operand(factor, "factor"), self._operand(summand, "summand")
        rows, factors, summands = self._together(*operands)
        return self._like(rows.mul_add(factors, summands))

    def mul_sub(self, factor: Integers, subtrahend: Integers) -> Array:
        """Returns `self * factor - subtrahend` modulo `2**bits`."""
        operands = self._operand(factor, "factor"), self._operand(subtrahend, "subtrahend")
        rows, factors, subtrahends = self._together(*operands)
        return self._like(rows.mul_sub(factors, subtrahends))

    def square(self) -> Array:
        """Returns the squares modulo `2**bits`."""
        return self._like(self._batch.wrapping_square())

    def cyclic_mul(self, other: Factors) -> Array:
        """Returns the products modulo `2**bits - 1`: 0 only where a factor is 0."""
        if isinstance(other, _prepared.Factor):
            return self._like(_Batch.cyclic_mul_by(*self._by_factor(other)))
        return self._like(_Batch.cyclic_mul(*self._pair(self._operand(other, "other"))))

    def negacyclic_mul(self, other: Integers) -> tuple[Array, Mask]:
        """Returns the products modulo `2**bits + 1`, and a mask of the rows that are `2**bits`.

        The rows of the mask are 0, since `2**bits`, which is -1, does not fit.
        """
        return self._masked(_Batch.negacyclic_mul(*self._pair(self._operand(other, "other"))))

    def mul_lo_hi(self, other: Factors) -> tuple[Array, Array]:
        """Returns the low and high halves of the products."""
        if isinstance(other, _prepared.Factor):
            return self._both(_Batch.mul_lo_hi_by(*self._by_factor(other)))
        return self._both(_Batch.mul_lo_hi(*self._pair(self._operand(other, "other"))))

    def widening_mul(self, other: Integers) -> Array:
        """Returns the products without loss, in rows of twice the width."""
        return self._like(_Batch.widening_mul(*self._pair(self._operand(other, "other"))))

    def wrapping_sum(self) -> int:
        """Returns the sum of all rows, modulo `2**bits`."""
        return self._batch.wrapping_sum()

    def wrapping_dot(self, other: Integers) -> int:
        """Returns the sum of the products of the rows, modulo `2**bits`."""
        return _Batch.wrapping_dot(*self._pair(self._operand(other, "other")))

    def polynomial(self, coefficients: Sequence[int]) -> Array:
        """Returns `c[0] + c[1] * x + c[2] * x**2 + ...` modulo `2**bits` at each row `x`."""
        given = items(coefficients, "coefficients", "a list of ints")
        values = [integer(value, "coefficients") for value in given]
        values = [wrapped(value, self.bits, "coefficients") for value in values]
        return self._like(self._batch.wrapping_polynomial(values))

    def isqrt(self) -> Array:
        """Returns the square roots, rounded down."""
        return self._like(self._batch.isqrt())

    def isqrt_rem(self) -> tuple[Array, Array]:
        """Returns the square roots, rounded down, and `self - root**2`."""
        return self._both(self._batch.isqrt_rem())

    def is_square(self) -> Mask:
        """Returns a mask of the rows that are squares."""
        return self._bits_of(self._batch.is_square())

    def wrapping_pow(self, exponent: int) -> Array:
        """Returns `self**exponent`, modulo `2**bits`."""
        return self._like(self._batch.wrapping_pow(count(exponent, "exponent")))

    def overflowing_pow(self, exponent: int) -> tuple[Array, Mask]:
        """Returns `self**exponent`, modulo `2**bits`, and a mask of the rows that overflowed."""
        power, overflowed = self._batch.overflowing_pow(count(exponent, "exponent"))
        return self._like(power), self._bits_of(overflowed)

    def nth_root(self, n: int) -> Array:
        """Returns the roots of degree `n`, rounded down."""
        return self._like(self._batch.nth_root(count(n, "n", least=1)))

    def nth_root_rem(self, n: int) -> tuple[Array, Array]:
        """Returns the roots of degree `n`, rounded down, and `self - root**n`."""
        return self._both(self._batch.nth_root_rem(count(n, "n", least=1)))

    def perfect_powers(self) -> tuple[Array, npt.NDArray[np.uint64]]:
        """Returns `(bases, exponents)` with `self = base**exponent` and the largest exponents.

        The exponent is 1 for rows that are no perfect powers, and 0 for 0 and 1.
        """
        bases, exponents = self._batch.perfect_powers()
        return self._like(bases), np.frombuffer(exponents, dtype=np.uint64)

    def is_perfect_power(self) -> Mask:
        """Returns a mask of the rows that are perfect powers; 0 and 1 are."""
        return self._bits_of(self._batch.is_perfect_power())

    # Division

    def __floordiv__(self, other: Moduli) -> Array:
        return self._divide(other, _Batch.div, _Batch.div_by, self._like)

    def __mod__(self, other: Moduli) -> Array:
        return self._divide(other, _Batch.rem, _Batch.rem_by, self._like)

    def __divmod__(self, other: Moduli) -> tuple[Array, Array]:
        return self._divide(other, _Batch.div_rem, _Batch.div_rem_by, self._both)

    def __rfloordiv__(self, other: Integers) -> Array:
        left = self._coerced(other, "other", "refuse")
        return NotImplemented if left is None else left // self

    def __rmod__(self, other: Integers) -> Array:
        left = self._coerced(other, "other", "refuse")
        return NotImplemented if left is None else left % self

    def __rdivmod__(self, other: Integers) -> tuple[Array, Array]:
        left = self._coerced(other, "other", "refuse")
        return NotImplemented if left is None else divmod(left, self)

    def divmod_masked(self, other: Integers) -> tuple[Array, Array, Mask]:
        """Returns quotients, remainders, and a mask of the rows whose divisor is zero.

        No divisor is an error.
        """
        rows, divisors = self._pair(self._operand(other, "other", "refuse"))
        quotient, remainder, zero = rows.div_rem_masked(divisors)
        return self._like(quotient), self._like(remainder), Mask._of(zero, self._device)

    def div_rem_digit(self, divisor: int) -> tuple[Array, npt.NDArray[np.uint64]]:
        """Returns quotients and remainders by an int of at most `digit_bits` bits.

        The time is linear in the width.
        """
        divisor = of_width(integer(divisor, "divisor"), self.digit_bits, "divisor")
        quotient, remainders = self._batch.div_rem_digit(divisor)
        return self._like(quotient), np.frombuffer(remainders, dtype=np.uint64)

    def rem_digit(self, divisor: int) -> npt.NDArray[np.uint64]:
        """Returns remainders by an int of at most `digit_bits` bits, such as a small prime."""
        divisor = of_width(integer(divisor, "divisor"), self.digit_bits, "divisor")
        return np.frombuffer(self._batch.rem_digit(divisor), dtype=np.uint64)

    def mod(self, modulus: Moduli) -> Array:
        """Returns `self % modulus` in rows as wide as the modulus.

        `%` keeps the width of wider rows. Use this after `widening_mul`.
        """
        if not isinstance(modulus, Array):
            modulus = self._divisor(modulus, "modulus")
        return self._like((self % modulus)._at(modulus.bits))

    def div_exact(self, other: Integers) -> Array:
        """Returns quotients by divisors that divide, by half the products of `//` in short rows.

        The quotient of a row that the divisor does not divide is unspecified.
        """
        rows, divisors = self._pair(self._operand(other, "other", "refuse"))
        return self._like(rows.div_exact(divisors))

    def div_exact_masked(self, other: Integers) -> tuple[Array, Mask]:
        """Returns quotients, and a mask of the rows that the divisor does not divide.

        The quotients of those rows are 0. A divisor of 0 divides no row and is no error.
        """
        divisors = self._operand(other, "other", "refuse")
        return self._masked(_Batch.div_exact_masked(*self._pair(divisors)))

    def inverse_mod_pow2(self) -> tuple[Array, Mask]:
        """Returns the inverses modulo `2**bits`, and a mask of the even rows, which are 0."""
        return self._masked(self._batch.inverse_mod_pow2())

    def shifted_inverse(self, h: int) -> Array:
        """Returns `2**(digit_bits * h) // self`, exactly.

        Raises `RangeError` for the lowest row whose result does not fit.
        """
        return self._like(self._batch.shifted_inverse(count(h, "h")))

    # Modular arithmetic

    def __pow__(self, exponent: Integers, modulus: Moduli | None = None) -> Array:
        """Powers modulo `2**bits` by one int, or with a modulus those of `powmod`."""
        if modulus is not None:
            return self.powmod(exponent, modulus)
        power = as_int(exponent)
        return NotImplemented if power is None else self.wrapping_pow(power)

    def __rpow__(self, base: Integers, modulus: Moduli | None = None) -> Array:
        """Powers with a modulus: Python calls this from version 3.14 on, see `gpuint.powmod`."""
        return NotImplemented if modulus is None else powmod(base, self, modulus)

    def powmod(self, exponent: Integers, modulus: Moduli) -> Array:
        """Returns `self**exponent % modulus`, as `pow(self, exponent, modulus)` does.

        The exponent is one int for all rows, or an array or a list of one a row, of any length. A
        negative int is a power of the inverse. The result is as wide as the rows and the moduli.
        The time depends on the exponents: do not use it where these are secret.
        """
        power = as_int(exponent)
        if power is not None:
            if power < 0:
                return self.invert(modulus).powmod(-power, modulus)
            return self._powers(modulus, lambda rows, by: rows.pow_mod_all(power, by))
        powers = _exponents(exponent, "exponent")
        (base,) = spread(self, rows=len(powers))
        return base._powers(
            modulus,
            lambda rows, by: by_exponents(
                powers,
                len(rows),
                lambda batch: rows.pow_mod(batch, by),
                lambda ints: rows.pow_mod_rows(ints, by),
            ),
        )

    def square_mod_repeatedly(self, count: int, modulus: Moduli) -> Array:
        """Returns `self**(2**count) % modulus`, by `count` squares one after the other.

        The exponent is not stored: time-lock puzzles and delay functions have counts of millions.
        """
        squares = _arguments.count(count, "count")
        return self._powers(modulus, lambda rows, by: rows.square_mod_repeatedly(squares, by))

    def powmod_product(self, exponents: Integers, bases: int, modulus: Moduli) -> Array:
        """Returns the product of `self**exponents % modulus` over each group of `bases` rows.

        The exponents are one int for all rows, or an array or a list of one a row, of any length.
        The squares are shared by the bases of a group. An array of moduli has a row for each group.
        The time depends on the exponents: do not use it where these are secret.
        """
        powers = _exponents(exponents, "exponents")
        (base,) = spread(self, rows=len(powers))
        bases = count(bases, "bases", least=1)
        rows, divisor = base._by(modulus, group=bases)
        product = by_exponents(
            powers,
            len(rows),
            lambda batch: rows.pow_product_mod(batch, bases, divisor),
            lambda ints: rows.pow_product_mod_rows(ints, bases, divisor),
        )
        return self._like(product)

    def add_mod(self, other: Integers, modulus: Moduli) -> Array:
        """Returns `(self + other) % modulus`; nothing wraps."""
        return self._modular(_Batch.add_mod, other, modulus)

    def sub_mod(self, other: Integers, modulus: Moduli) -> Array:
        """Returns `(self - other) % modulus`; nothing wraps."""
        return self._modular(_Batch.sub_mod, other, modulus)

    def neg_mod(self, modulus: Moduli) -> Array:
        """Returns `-self % modulus`."""
        rows, divisor = self._by(modulus)
        return self._like(rows.neg_mod(divisor))

    def mul_mod(self, other: Integers, modulus: Moduli) -> Array:
        """Returns `self * other % modulus`, of the whole product."""
        return self._modular(_Batch.mul_mod, other, modulus)

    def square_mod(self, modulus: Moduli) -> Array:
        """Returns `self * self % modulus`, of the whole square."""
        rows, divisor = self._by(modulus)
        return self._like(rows.square_mod(divisor))

    def pow_secret(
        self, exponents: _secret.SecretExponents, modulus: _secret.SecretModulus
    ) -> _secret.SecretBatch:
        """Returns `self**exponents` modulo secret moduli: see `SecretBatch`.

        Rows may exceed the moduli, but not their width.
        """
        return _secret.pow_secret(self._batch, self._device, exponents, modulus)

    def mul_add_secret(
        self, factor: _secret.SecretFactor, addend: _secret.SecretBatch
    ) -> _secret.SecretBatch:
        """Returns `self * factor + addend` modulo the moduli of a secret factor.

        Rows may exceed the moduli, but not their width.
        """
        return _secret.mul_add_secret(self._batch, self._device, factor, addend)

    def invert(self, modulus: Moduli) -> Array:
        """Returns the inverse of each row, below the modulus.

        Raises `NoInverseError` for the lowest row without one.
        """
        inverse, without = self.inverse_mod(modulus)
        if (row := _first(without)) is not None:
            raise NoInverseError(f"row {row} has no inverse modulo its modulus", row)
        return inverse

    def inverse_mod(self, modulus: Moduli) -> tuple[Array, Mask]:
        """Returns the inverse of each row, and a mask of the rows without one, which are 0."""
        if isinstance(modulus, _prepared.Divisor):
            modulus = modulus.value
        one = as_int(modulus)
        if one is None:
            moduli = self._operand(modulus, "modulus", "refuse")
            return self._masked(_Batch.inverse_mod(*self._pair(moduli)))
        one = unsigned(one, "modulus")
        rows = self._at(narrowest(max(self.bits, one.bit_length()), self._device))
        return self._masked(rows.inverse_mod_all(one))

    def rational_reconstruction(
        self, modulus: Integers, numerators: Integers, denominators: Integers
    ) -> tuple[Array, Array, Mask, Mask]:
        """Returns `(n, d, is_negative, without)` with `n / d = self` modulo `modulus`.

        `n` is at most `numerators` without its sign, and `d` at most `denominators`. Rows without
        such a fraction are in the last mask, and 0. Fractions are found, and are unique, if twice
        the product of both bounds is below the modulus.
        """
        bounds = {"modulus": modulus, "numerators": numerators, "denominators": denominators}
        others = [self._operand(value, name, "refuse") for name, value in bounds.items()]
        rows, *operands = self._together(*others)
        n, d, negative, without = rows.rational_reconstruction(*operands)
        return self._like(n), self._like(d), self._bits_of(negative), self._bits_of(without)

    def gcd(self, other: Integers) -> Array:
        """Returns the greatest common divisors."""
        return self._like(_Batch.gcd(*self._pair(self._operand(other, "other", "drop"))))

    def xgcd(self, other: Integers) -> tuple[Array, Array, Array, Mask]:
        """Returns `(g, x, y, negative)`: `g = a * x - b * y`, or `b * y - a * x` where `negative`.

        `g` is the greatest common divisor of `a`, a row, and `b`; `x` and `y` are the least ones.
        """
        others = self._operand(other, "other", "refuse")
        gcd, x, y, negative = _Batch.xgcd(*self._pair(others))
        return self._like(gcd), self._like(x), self._like(y), Mask._of(negative, self._device)

    def batch_gcd(self) -> Array:
        """Returns the greatest common divisors of each row and the product of all other rows.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        return self._like(self._batch.batch_gcd())

    def batch_gcd_against(self, numbers: Sequence[int]) -> Array:
        """Returns `batch_gcd` with these numbers among the others: products of older rows.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        given = items(numbers, "numbers", "a list of ints")
        values = [unsigned(value, "numbers") for value in given]
        return self._like(self._batch.batch_gcd_against(values))

    def lcm(self, other: Integers) -> Array:
        """Returns the least common multiples.

        Raises `RangeError` for the lowest row that does not fit: widen the rows by `resized`.
        """
        multiple, wrapped = self.overflowing_lcm(other)
        if (row := _first(wrapped)) is not None:
            raise RangeError(f"the multiple of row {row} needs more than {multiple.bits} bits", row)
        return multiple

    def overflowing_lcm(self, other: Integers) -> tuple[Array, Mask]:
        """Returns the least common multiples modulo `2**bits`, and a mask of the wrapped rows."""
        others = self._operand(other, "other", "drop")
        return self._masked(_Batch.overflowing_lcm(*self._pair(others)))

    def jacobi(self, modulus: Integers) -> npt.NDArray[np.int8]:
        """Returns the Jacobi symbols: -1, 0 or 1; for even moduli the symbols are Kronecker's."""
        rows, moduli = self._pair(self._operand(modulus, "modulus", "refuse"))
        return np.frombuffer(rows.jacobi(moduli), dtype=np.int8)

    # Primes

    def is_probable_prime(self) -> Mask:
        """Returns a mask of the rows that pass the test of Baillie, Pomerance, Selfridge, Wagstaff.

        Below `2**64` these are exactly the primes; above, no composite number is known that passes.
        """
        return self._bits_of(self._batch.is_probable_prime())

    def has_small_factor(self, limit: int) -> Mask:
        """Returns a mask of the rows with a prime factor up to `limit`, other than the row itself.

        The limit has at most 20 bits. 0 has such a factor, and 1 has not.
        """
        return self._bits_of(self._batch.has_small_factor(count(limit, "limit")))

    def next_prime(self) -> tuple[Array, Mask]:
        """Returns the least probable primes above the rows, and a mask of the rows without one.

        Above these rows there is none below `2**bits`; their result is 0.
        """
        return self._masked(self._batch.next_prime())

    def is_strong_probable_prime(self, base: Integers = 2) -> Mask:
        """Returns a mask of the strong probable primes to a base of any length, or one a row.

        Every prime passes, 2 among them; 0, 1 and other even rows do not. A base that is 0 modulo
        an odd row lets it pass.
        """
        if as_int(base) is not None:
            number = unsigned(base, "base")
            return self._bits_of(self._batch.is_strong_probable_prime(number))
        rows, bases = self._pair(self._operand(base, "base", "refuse"))
        return self._bits_of(rows.is_strong_probable_prime_rows(bases))

    def is_strong_probable_prime_bases(self, bases: Iterable[int]) -> Mask:
        """Returns a mask of the rows that are strong probable primes to each base of a list."""
        given = items(bases, "bases", "an iterable of ints")
        numbers = [unsigned(base, "bases") for base in given]
        return self._bits_of(self._batch.is_strong_probable_prime_bases(numbers))

    def is_strong_lucas_probable_prime(self) -> Mask:
        """Returns a mask of the strong Lucas probable primes with Selfridge's parameters."""
        return self._bits_of(self._batch.is_strong_lucas_probable_prime())

    def is_extra_strong_lucas_probable_prime(self) -> Mask:
        """Returns a mask of the extra strong Lucas probable primes."""
        return self._bits_of(self._batch.is_extra_strong_lucas_probable_prime())

    def fermat_residues(self, base: int = 2) -> tuple[Array, npt.NDArray[np.uint64]]:
        """Returns `base**(self - 1) % self`, and the lowest 64 bits of each residue (RES64).

        Rows that are 0 or 1 have the residue 0.
        """
        residues, words = self._batch.fermat_residues(unsigned(base, "base"))
        return self._like(residues), np.frombuffer(words, dtype=np.uint64)

    # Bits

    def __and__(self, other: Integers) -> Array:
        return self._apply(other, _Batch.and_, _Batch.and_all)

    def __or__(self, other: Integers) -> Array:
        return self._apply(other, _Batch.or_, _Batch.or_all)

    def __xor__(self, other: Integers) -> Array:
        return self._apply(other, _Batch.xor, _Batch.xor_all)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Array:
        return self._like(self._batch.not_())

    def __lshift__(self, distance: Distances) -> Array:
        """Shifts by one distance, or by one a row."""
        return self._shift(distance, _Batch.shl, _Batch.shl_rows)

    def __rshift__(self, distance: Distances) -> Array:
        """Shifts by one distance, or by one a row."""
        return self._shift(distance, _Batch.shr, _Batch.shr_rows)

    def __rlshift__(self, other: Integers) -> Array:
        left = self._coerced(other, "other", "wrap")
        return NotImplemented if left is None else left << self

    def __rrshift__(self, other: Integers) -> Array:
        left = self._coerced(other, "other", "wrap")
        return NotImplemented if left is None else left >> self

    def rotate_left(self, distance: Distances) -> Array:
        """Rotates by one distance, or by one a row. A negative distance rotates to the right."""
        bits = as_int(distance)
        if bits is not None:
            return self._like(self._batch.rotate_left(bits % self.bits))
        if isinstance(distance, Array):
            distance = (distance % self.bits).to_limbs()[:, 0]
        elif not isinstance(distance, np.ndarray):
            numbers = items(distance, "distance", "an int, an Array or a list of ints")
            distance = [integer(bits, "distance") % self.bits for bits in numbers]
        distances = np.mod(int64s(distance, "distance"), self.bits)
        return self._rowwise(distances, _Batch.rotate_left_rows)

    def low_bits(self, bits: int) -> Array:
        """Returns `self % 2**bits`."""
        return self._like(self._batch.low_bits(min(count(bits, "bits"), self.bits)))

    def with_bit(self, bit: int) -> Array:
        """Returns the rows with one bit set."""
        return self._like(self._batch.with_bit(count(bit, "bit")))

    def without_bit(self, bit: int) -> Array:
        """Returns the rows with one bit cleared."""
        return self._like(self._batch.without_bit(count(bit, "bit")))

    def bit(self, bit: int) -> Mask:
        """Returns a mask of the rows with this bit set."""
        return self._bits_of(self._batch.bit_mask(min(count(bit, "bit"), self.bits)))

    def bit_length(self) -> npt.NDArray[np.uint64]:
        """Returns the numbers of bits without leading zeros."""
        return np.frombuffer(self._batch.bit_lengths(), dtype=np.uint64)

    def count_ones(self) -> npt.NDArray[np.uint64]:
        """Returns the numbers of set bits."""
        return np.frombuffer(self._batch.count_ones(), dtype=np.uint64)

    def trailing_zeros(self) -> npt.NDArray[np.uint64]:
        """Returns the numbers of zeros below the lowest set bit, `bits` for zero."""
        return np.frombuffer(self._batch.trailing_zeros(), dtype=np.uint64)

    def leading_zeros(self) -> npt.NDArray[np.uint64]:
        """Returns the numbers of zeros above the highest set bit, `bits` for zero."""
        return np.frombuffer(self._batch.leading_zeros(), dtype=np.uint64)

    def is_zero(self) -> Mask:
        """Returns a mask of the rows that are zero."""
        return self._bits_of(self._batch.is_zero_mask())

    # Comparison

    def __lt__(self, other: Integers) -> Mask:
        return _supported(self._less(other))

    def __gt__(self, other: Integers) -> Mask:
        return _supported(self._greater(other))

    def __le__(self, other: Integers) -> Mask:
        greater = self._greater(other)
        return _supported(greater) if greater is None else ~greater

    def __ge__(self, other: Integers) -> Mask:
        less = self._less(other)
        return _supported(less) if less is None else ~less

    def cmp(self, other: Integers) -> npt.NDArray[np.int8]:
        """Returns -1, 0 or 1 where the row is less than, equal to or greater than `other`."""
        value = as_int(other)
        if value is not None:
            orders = self._batch.cmp_all(of_width(value, self.bits, "other"))
        else:
            orders = _Batch.cmp(*self._pair(self._operand(other, "other", "refuse")))
        return np.frombuffer(orders, dtype=np.int8)

    def _equal(self, other: object) -> Mask | None:
        value = one_of(other)
        if value is not None:
            if value < 0 or value.bit_length() > self.bits:
                return self._constant(False)
            return self._bits_of(self._batch.eq_mask_all(value))
        operand, negative = self._signed(other)
        if operand is None:
            return None
        mask = self._bits_of(_Batch.eq_mask(*self._pair(operand)))
        return mask if negative is None else mask & ~negative

    def _less(self, other: object) -> Mask | None:
        value = one_of(other)
        if value is not None:
            return self._below(value)
        operand, negative = self._signed(other)
        if operand is None:
            return None
        mask = self._bits_of(_Batch.lt_mask(*self._pair(operand)))
        return mask if negative is None else mask & ~negative

    def _greater(self, other: object) -> Mask | None:
        value = one_of(other)
        if value is not None:
            return ~self._below(value + 1)
        operand, negative = self._signed(other)
        if operand is None:
            return None
        mask = self._bits_of(_Batch.lt_mask(*operand._pair(self)))
        return mask if negative is None else mask | negative

    # Operands

    @classmethod
    def _of(cls, batch: _gpuint.Batch, device: Device) -> Self:
        array = cls.__new__(cls)
        array._batch = batch
        array._device = device
        return array

    @classmethod
    def _of_bytes(cls, rows: npt.NDArray[np.uint8], bits: int, device: DeviceLike) -> Self:
        """Makes an array of a matrix of bytes, least significant first."""
        device = Device(device)
        return cls._of(batch_of_bytes(rows, narrowest(bits, device), device), device)

    @classmethod
    def _of_values(
        cls, values: Any, bits: int | None, device: DeviceLike, name: str = "values"
    ) -> Self:
        """Makes an array of integers, which must not be negative."""
        numbers, negative = magnitudes(values, name)
        check_signs(negative, name)
        device = Device(device)
        width = width_of(numbers, device) if bits is None else narrowest(bits, device)
        return cls._of(batch_of(numbers, width, device), device)

    def _like(self, batch: _gpuint.Batch) -> Self:
        return self._of(batch, self._device)

    def _both(self, batches: tuple[_gpuint.Batch, _gpuint.Batch]) -> tuple[Array, Array]:
        return self._like(batches[0]), self._like(batches[1])

    def _masked(self, result: tuple[_gpuint.Batch, _gpuint.Mask]) -> tuple[Array, Mask]:
        return self._like(result[0]), self._bits_of(result[1])

    def _bits_of(self, bits: _gpuint.Mask) -> Mask:
        return Mask._of(bits, self._device)

    def _constant(self, bit: bool) -> Mask:
        return Mask._full(len(self), bit, self._device)

    def _rows(self) -> npt.NDArray[np.uint8]:
        """The bytes of the rows, in a matrix."""
        with reporting_memory():
            rows = np.empty((len(self), self.bits // 8), dtype=np.uint8)
        self._batch.read_le_bytes(rows)
        return rows

    # Rows

    def _at_row(self, row: int) -> int:
        return self._batch.row(row)

    def _slice(self, start: int, stop: int) -> Self:
        return self._like(self._batch.slice(start, stop))

    def _gather(self, rows: npt.NDArray[np.int64]) -> Self:
        return self._like(self._batch.gather(rows))

    @classmethod
    def _concat(cls, parts: Sequence[Self]) -> Self:
        bits = max(part.bits for part in parts)
        return parts[0]._like(_Batch.concat([part._at(bits) for part in parts]))

    def _sorted_row(self, name: str, row: int) -> int:
        if len(self) == 0:
            raise MismatchError(f"{name} of no rows")
        return self.sort()[row]

    # Operands

    def _at(self, bits: int) -> _gpuint.Batch:
        """The rows at a built width."""
        return self._batch if bits == self.bits else self._batch.resized(bits)

    def _coerced(self, other: object, name: str, negatives: Negatives) -> Array | None:
        """An operand as an array; `None` if it is of another type.

        Where negative integers wrap, integers have at most the bits of `self`.
        """
        if isinstance(other, Array):
            return other
        value = as_int(other)
        if value is not None:
            if negatives == "wrap":
                return self._splat(wrapped(value, self.bits, name), self.bits)
            value = unsigned(value, name) if negatives == "refuse" else abs(value)
            return self._splat(value, max(self.bits, value.bit_length()))
        if not isinstance(other, (list, tuple, range, np.ndarray)):
            return None
        values, negative = magnitudes(other, name)
        if negatives == "refuse":
            check_signs(negative, name)
        width = self.bits
        if negatives != "wrap":
            width = max(width, width_of(values, self._device))
        rows = self._like(batch_of(values, width, self._device))
        return (0 - rows).select(negative, rows) if negatives == "wrap" and negative.any() else rows

    def _operand(self, other: object, name: str, negatives: Negatives = "wrap") -> Array:
        """An operand as an array."""
        operand = self._coerced(other, name, negatives)
        if operand is None:
            raise wrong_type(name, "an Array, an int, or a list or numpy array of ints", other)
        return operand

    def _signed(self, other: object) -> tuple[Array | None, Mask | None]:
        """The absolute values of an operand, and a mask of its negative rows if there are some."""
        if not isinstance(other, (Array, list, tuple, range, np.ndarray)):
            return None, None
        rows, negative = signed_rows(other, "other", self._device)
        if negative is not None and len(rows) == 1:
            negative = negative.repeat(len(self))
        return rows, negative

    def _splat(self, value: int, bits: int) -> Array:
        """As many rows of one value."""
        width = narrowest(bits, self._device)
        return self._like(_Batch.splat(self._device._handle, width, value, len(self)))

    def _pair(self, other: Array) -> tuple[_gpuint.Batch, _gpuint.Batch]:
        """Both operands at the wider width."""
        rows, others = self._together(other)
        return rows, others

    def _together(self, *others: Array) -> list[_gpuint.Batch]:
        """The rows and other operands, at the widest width."""
        arrays = spread(self, *others)
        bits = max(array.bits for array in arrays)
        return [array._at(bits) for array in arrays]

    def _apply(
        self,
        other: Integers,
        rows: Callable[[_gpuint.Batch, _gpuint.Batch], _gpuint.Batch],
        one: Callable[[_gpuint.Batch, int], _gpuint.Batch],
    ) -> Array:
        """An operation with rows, or with one value for all rows."""
        value = one_of(other)
        if value is not None:
            return self._like(one(self._batch, wrapped(value, self.bits, "other")))
        operand = self._coerced(other, "other", "wrap")
        result = None if operand is None else self._like(rows(*self._pair(operand)))
        return _supported(result)

    def _divide(
        self,
        other: Moduli,
        rows: Callable[[_gpuint.Batch, _gpuint.Batch], _R],
        prepared: Callable[[_gpuint.Batch, _gpuint.Divisor], _R],
        wrap: Callable[[_R], _W],
    ) -> _W:
        """A division by rows, or by prepared divisors."""
        if isinstance(other, _prepared.Divisor) or one_of(other) is not None:
            return wrap(prepared(*self._by(other, name="other")))
        operand = self._coerced(other, "other", "refuse")
        return _supported(None if operand is None else wrap(rows(*self._pair(operand))))

    def _powers(
        self,
        modulus: Moduli,
        power: Callable[[_gpuint.Batch, _gpuint.Divisor], _gpuint.Batch],
    ) -> Array:
        """Powers modulo numbers, in arithmetic as wide as the moduli."""
        divisor = self._divisor(modulus, "modulus")
        bits = divisor.bits
        (rows,) = spread(self if self.bits <= bits else self % divisor, rows=divisor._rows or 1)
        powers = self._like(power(rows._at(bits), divisor._at(bits)))
        return self._like(powers._at(max(self.bits, bits)))

    def _by(
        self, modulus: Moduli, bits: int = 0, group: int = 1, name: str = "modulus"
    ) -> tuple[_gpuint.Batch, _gpuint.Divisor]:
        """The rows and the prepared modulus, both at the widest width of all operands.

        An array of moduli has a row for each group of rows.
        """
        return self._beside(self._divisor(modulus, name), bits, group)

    def _by_factor(self, factor: _prepared.Factor) -> tuple[_gpuint.Batch, _gpuint.Factor]:
        """The rows and the prepared factor, both at the wider width."""
        return self._beside(factor)

    def _beside(
        self, kept: _prepared.Kept[_H], bits: int = 0, group: int = 1
    ) -> tuple[_gpuint.Batch, _H]:
        """The rows and prepared numbers, as `_by` returns them."""
        bits = max(self.bits, kept.bits, bits)
        count = kept._rows
        (rows,) = spread(self, rows=len(self) if count is None else count * group)
        return rows._at(bits), kept._at(bits)

    def _divisor(self, modulus: Moduli, name: str) -> _prepared.Divisor:
        """A divisor or modulus, prepared."""
        if isinstance(modulus, _prepared.Divisor):
            return modulus
        value = one_of(modulus)
        if value is None:
            return _prepared.Divisor(self._operand(modulus, name, "refuse"))
        return _prepared.divisor_of(unsigned(value, name), self._device, self._device._kind)

    def _reduced(self, other: Integers, modulus: Moduli, name: str) -> Array:
        """An operand as an array; negative integers become residues modulo the modulus."""
        rows = self._operand(other, name, "drop")
        if isinstance(other, Array):
            return rows
        value = as_int(other)
        if value is not None:
            return rows if value >= 0 else rows.neg_mod(modulus)
        _, negative = magnitudes(other, name)
        return rows.neg_mod(modulus).select(negative, rows) if negative.any() else rows

    def _modular(
        self,
        operation: Callable[[_gpuint.Batch, _gpuint.Batch, _gpuint.Divisor], _gpuint.Batch],
        other: Integers,
        modulus: Moduli,
    ) -> Array:
        """An operation with two operands and a modulus."""
        left, right = spread(self, self._reduced(other, modulus, "other"))
        rows, divisor = left._by(modulus, right.bits)
        (right,) = spread(right, rows=len(rows))
        return self._like(operation(rows, right._at(rows.bits), divisor))

    def _shift(
        self,
        distance: Distances,
        one: Callable[[_gpuint.Batch, int], _gpuint.Batch],
        each: Callable[[_gpuint.Batch, npt.NDArray[np.int64]], _gpuint.Batch],
    ) -> Array:
        bits = one_of(distance)
        if bits is not None:
            if bits < 0:
                raise RangeError("distance is negative: a negative shift count")
            return self._like(one(self._batch, min(bits, self.bits)))
        if isinstance(distance, Array):
            limbs = distance.to_limbs()
            limbs[limbs[:, 1:].any(axis=1), 0] = LARGEST
            distance = limbs[:, 0]
        elif not isinstance(distance, (list, tuple, range, np.ndarray)):
            return _supported(None)
        return self._rowwise(int64s(distance, "distance"), each)

    def _rowwise(
        self,
        numbers: npt.NDArray[np.int64],
        each: Callable[[_gpuint.Batch, npt.NDArray[np.int64]], _gpuint.Batch],
    ) -> Array:
        """An operation with one small number a row; one row or number stands for all."""
        (rows,) = spread(self, rows=len(numbers))
        if len(numbers) == 1:
            numbers = np.repeat(numbers, len(rows))
        return self._like(each(rows._batch, numbers))

    def _below(self, value: int) -> Mask:
        """The rows below a value, which may be any integer."""
        if value <= 0 or value.bit_length() > self.bits:
            return self._constant(value > 0)
        return self._bits_of(self._batch.lt_mask_all(value))


def rows_of(values: object, name: str, device: DeviceLike = None) -> Array:
    """Returns an argument of integers, one a row, as an array."""
    return values if isinstance(values, Array) else Array._of_values(values, None, device, name)


def signed_rows(values: object, name: str, device: DeviceLike) -> tuple[Array, Mask | None]:
    """Returns absolute values, and a mask of the negative rows if there are some."""
    if isinstance(values, Array):
        return values, None
    numbers, negative = magnitudes(values, name)
    device = Device(device)
    rows = Array._of(batch_of(numbers, width_of(numbers, device), device), device)
    return rows, Mask(negative, device) if negative.any() else None


def one_of(value: object) -> int | None:
    """An operand that is one integer for all rows."""
    return None if isinstance(value, Array) else as_int(value)


def _supported(result: _R | None) -> _R:
    """The result of an operator; `None` stands for an operand of another type."""
    return NotImplemented if result is None else result


def sum_of_products(pairs: Iterable[tuple[Integers, Integers]]) -> Array:
    """Returns `a0 * b0 + a1 * b1 + ...` modulo `2**bits` for each row of pairs of arrays.

    The result is as wide as the widest array. One pass over the rows adds up to 32 products.
    """
    first, batches = _pairs(pairs)
    return first._like(_Batch.wrapping_sum_of_products(batches))


def widening_sum_of_products(pairs: Iterable[tuple[Integers, Integers]]) -> tuple[Array, Mask]:
    """Returns the sums in rows of twice the width, and a mask of the rows that wrapped."""
    first, batches = _pairs(pairs)
    return first._masked(_Batch.widening_sum_of_products(batches))


def _pairs(
    pairs: Iterable[tuple[Integers, Integers]],
) -> tuple[Array, list[tuple[_gpuint.Batch, _gpuint.Batch]]]:
    """Pairs of arrays at the widest one's width, and the first array."""
    sides: list[Any] = []
    for pair in items(pairs, "pairs", "an iterable of pairs of arrays"):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise wrong_type("pairs", "of pairs of an Array and a factor", pair)
        sides += pair
    first = next((side for side in sides if isinstance(side, Array)), None)
    if first is None:
        raise MismatchError("pairs has no Array")
    batches = first._together(*(first._operand(side, "pairs") for side in sides))[1:]
    return first, list(zip(batches[::2], batches[1::2]))


def powmod(base: Integers, exponent: Integers, modulus: Moduli) -> Array:
    """Returns `base**exponent % modulus`; one of base, exponent and modulus is an array."""
    if isinstance(base, Array):
        return base.powmod(exponent, modulus)
    moduli = modulus.value if isinstance(modulus, _prepared.Divisor) else modulus
    if isinstance(moduli, Array):
        like = moduli
    elif isinstance(exponent, Array):
        # Narrow: exponents do not set the width.
        like = Array._of_values([0], None, exponent.device)
    else:
        raise TypeError("one of base, exponent and modulus is an Array")
    one, divisor = as_int(base), one_of(moduli)
    if one is not None and divisor is not None:
        base = one % nonzero(unsigned(divisor, "modulus"))
    return like._reduced(base, modulus, "base").powmod(exponent, modulus)


def _exponents(value: object, name: str) -> Array | list[int]:
    """An argument of exponents, one a row or one for all rows."""
    one = one_of(value)
    if one is not None:
        return [unsigned(one, name)]
    if not isinstance(value, (Array, list, tuple, range, np.ndarray)):
        raise wrong_type(name, "an Array, an int, or a list or numpy array of ints", value)
    return exponents_of(value, name)


def exponents_of(values: object, name: str) -> Array | list[int]:
    """Returns exponents, one a row, of any length: an array, or ints that are not negative."""
    if isinstance(values, Array):
        return values
    numbers = unsigned_values(values, name)
    return numbers if isinstance(numbers, list) else numbers.tolist()


def by_exponents(
    exponents: Array | list[int],
    rows: int,
    by_batch: Callable[[_gpuint.Batch], _R],
    by_ints: Callable[[list[int]], _R],
) -> _R:
    """Returns the powers of `rows` rows; one exponent is for all of them."""
    if isinstance(exponents, Array):
        (exponents,) = spread(exponents, rows=rows)
        return by_batch(exponents._batch)
    return by_ints(exponents * rows if len(exponents) == 1 else exponents)


def nonzero(modulus: int) -> int:
    """Returns a modulus, which must not be zero."""
    if modulus == 0:
        raise DivisionByZeroError("the modulus is zero")
    return modulus


def _first(mask: Mask) -> int | None:
    """The lowest row whose bit is set."""
    rows = mask.indices()
    return int(rows[0]) if rows.size > 0 else None


def _is_little(byteorder: str) -> bool:
    return choice(byteorder, "byteorder", ("little", "big")) == "little"
