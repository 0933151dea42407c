"""Arrays and prepared divisors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._device import Device, DeviceLike
from ._mask import Bools, Mask
from ._widths import (
    as_int,
    check,
    check_sign,
    decode,
    encode,
    exponents_of,
    fitting,
    narrowest,
    widths,
)
from .errors import DivisionByZeroError, MismatchError, NoInverseError, RangeError, RowError

_Batch = _gpuint.Batch
_R = TypeVar("_R")
_W = TypeVar("_W")
_SHOWN_ROWS = 3
_SHOWN_DIGITS = 18
_DLPACK_CPU = 1
_DLPACK_CUDA = 2
# Signed and unsigned.
_DLPACK_INTEGERS = (0, 1)


class Array:
    """Unsigned integers of one width on a device, one a row.

    Arrays are made by `gpuint.array`, `from_limbs`, `from_bytes`, `full` and by operations. They do
    not change.

    Operators work row by row, with an array of as many rows or with one Python int for all rows.
    The result is as wide as the wider array. `+`, `-`, `*` and `<<` wrap: they are modulo
    `2**bits`. An int beside them must be one of `bits` bits, else `RangeError` (an
    `OverflowError`). Comparisons return a `Mask`.

    Divisors and moduli are arrays, ints or prepared `Divisor`s. Ints of any built width are
    admitted: the result is as wide as the widest operand.
    """

    __slots__ = ("_batch", "_device")
    # numpy leaves operators to this class.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    _batch: _gpuint.Batch
    _device: Device

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
            rows = np.pad(rows, ((0, 0), (0, -rows.shape[1] % 8)))
        return rows.view("<u8").astype(np.uint64, copy=False)

    def tobytes(self, byteorder: Literal["little", "big"] = "little") -> bytes:
        """Returns the bytes of the rows one after the other, `bits / 8` a row."""
        if _is_little(byteorder):
            return bytes(self._batch.to_le_bytes())
        return self._rows()[:, ::-1].tobytes()

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
        if device == self._device and device.jit == self._device.jit:
            return self
        return _from_rows(self._rows(), self.bits, device)

    def __reduce__(self) -> tuple[Any, ...]:
        return from_bytes, (self.tobytes(), self.bits, "little", self._device)

    def __len__(self) -> int:
        return len(self._batch)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __repr__(self) -> str:
        rows = [_short(self._batch.row(row)) for row in range(min(len(self), _SHOWN_ROWS))]
        if len(self) > _SHOWN_ROWS:
            rows.append("...")
        return (
            f"Array([{', '.join(rows)}], rows={len(self)}, bits={self.bits}, "
            f"device='{self._device}')"
        )

    # Rows

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> int: ...
    @overload
    def __getitem__(
        self, key: slice | Mask | Sequence[int] | Sequence[bool] | npt.NDArray[Any]
    ) -> Array: ...
    def __getitem__(
        self,
        key: int
        | np.integer[Any]
        | slice
        | Mask
        | Sequence[int]
        | Sequence[bool]
        | npt.NDArray[Any],
    ) -> int | Array:
        """Returns the value of a row, or a copy of rows.

        Rows are those of a slice, those of a list or numpy array of numbers, or those whose bit is
        set in a mask or list of bools. Negative numbers count from the end.
        """
        row = as_int(key)
        if row is not None:
            return self._batch.row(self._row(row))
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                return self._like(self._batch.slice(start, max(start, stop)))
            return self._like(self._batch.gather(list(range(start, stop, step))))
        if isinstance(key, Mask):
            return self._like(self._batch.filter(key._bits))
        if isinstance(key, (list, range, np.ndarray)):
            numbers = np.asarray(key)
            if numbers.dtype == np.bool_:
                return self[Mask(numbers, self._device)]
            if numbers.ndim == 1 and (numbers.size == 0 or numbers.dtype.kind in "iu"):
                return self.gather(numbers.tolist())
        raise TypeError(
            "rows are selected by an int, a slice, a list of ints or bools, a one-dimensional "
            f"numpy array of them or a Mask, not by {type(key).__name__}"
        )

    def gather(self, rows: Iterable[int]) -> Array:
        """Returns the rows of these numbers, in this order; a row may come several times."""
        return self._like(self._batch.gather([self._row(row) for row in rows]))

    def reverse(self) -> Array:
        """Returns the rows in the opposite order."""
        return self._like(self._batch.reverse())

    def select(self, mask: Bools, other: Array | int) -> Array:
        """Returns the rows of `self` where the mask is set, and the rows of `other` elsewhere."""
        rows, others = self._pair(self._operand(other))
        return self._like(rows.select(_mask(mask, self._device), others))

    def swap(self, mask: Bools, other: Array) -> tuple[Array, Array]:
        """Returns both arrays, `self` first, with the rows exchanged where the mask is set."""
        rows, others = self._pair(other)
        return self._both(rows.swap(_mask(mask, self._device), others))

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

    def join(self, high: Array) -> Array:
        """Returns rows of twice the width: `self + (high << bits)`."""
        return self._like(_Batch.join(*self._pair(high)))

    def split(self) -> tuple[Array, Array]:
        """Returns the low and high halves of the rows, in rows of half the width."""
        return self._both(self._batch.split())

    def is_equal(self, other: Array) -> bool:
        """Returns true if both arrays have the same number of rows and the same values."""
        return _Batch.is_equal(*self._pair(other))

    # Sums and products

    def __add__(self, other: Array | int) -> Array:
        return self._apply(other, _Batch.wrapping_add, _Batch.wrapping_add_all)

    __radd__ = __add__

    def __sub__(self, other: Array | int) -> Array:
        return self._apply(other, _Batch.wrapping_sub, _Batch.wrapping_sub_all)

    def __rsub__(self, other: int) -> Array:
        return NotImplemented if as_int(other) is None else self._operand(other) - self

    def __mul__(self, other: Array | int) -> Array:
        return self._apply(other, _Batch.wrapping_mul, _Batch.wrapping_mul_all)

    __rmul__ = __mul__

    def overflowing_add(self, other: Array | int) -> tuple[Array, Mask]:
        """Returns the sums modulo `2**bits`, and a mask of the rows that wrapped."""
        return self._masked(_Batch.overflowing_add(*self._pair(self._operand(other))))

    def overflowing_sub(self, other: Array | int) -> tuple[Array, Mask]:
        """Returns the differences modulo `2**bits`, and a mask of the rows that wrapped."""
        return self._masked(_Batch.overflowing_sub(*self._pair(self._operand(other))))

    def mul_add(self, factor: Array | int, summand: Array | int) -> Array:
        """Returns `self * factor + summand` modulo `2**bits`."""
        factor, summand = self._operand(factor), self._operand(summand)
        bits = max(self.bits, factor.bits, summand.bits)
        return self._like(self._at(bits).mul_add(factor._at(bits), summand._at(bits)))

    def mul_sub(self, factor: Array | int, subtrahend: Array | int) -> Array:
        """Returns `self * factor - subtrahend` modulo `2**bits`."""
        factor, subtrahend = self._operand(factor), self._operand(subtrahend)
        bits = max(self.bits, factor.bits, subtrahend.bits)
        return self._like(self._at(bits).mul_sub(factor._at(bits), subtrahend._at(bits)))

    def square(self) -> Array:
        """Returns the squares modulo `2**bits`."""
        return self._like(self._batch.wrapping_square())

    def mul_lo_hi(self, other: Array | int) -> tuple[Array, Array]:
        """Returns the low and high halves of the products."""
        return self._both(_Batch.mul_lo_hi(*self._pair(self._operand(other))))

    def widening_mul(self, other: Array | int) -> Array:
        """Returns the products without loss, in rows of twice the width."""
        return self._like(_Batch.widening_mul(*self._pair(self._operand(other))))

    def wrapping_sum(self) -> int:
        """Returns the sum of all rows, modulo `2**bits`."""
        return self._batch.wrapping_sum()

    def wrapping_dot(self, other: Array) -> int:
        """Returns the sum of the products of the rows, modulo `2**bits`."""
        return _Batch.wrapping_dot(*self._pair(other))

    def polynomial(self, coefficients: Sequence[int]) -> Array:
        """Returns `c[0] + c[1] * x + c[2] * x**2 + ...` modulo `2**bits` at each row `x`."""
        values = [check(operator.index(value), self.bits) for value in coefficients]
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
        return self._like(self._batch.wrapping_pow(_count(exponent)))

    def overflowing_pow(self, exponent: int) -> tuple[Array, Mask]:
        """Returns `self**exponent`, modulo `2**bits`, and a mask of the rows that overflowed."""
        power, overflowed = self._batch.overflowing_pow(_count(exponent))
        return self._like(power), self._bits_of(overflowed)

    def nth_root(self, n: int) -> Array:
        """Returns the roots of degree `n`, rounded down."""
        return self._like(self._batch.nth_root(_count(n, 1)))

    def nth_root_rem(self, n: int) -> tuple[Array, Array]:
        """Returns the roots of degree `n`, rounded down, and `self - root**n`."""
        return self._both(self._batch.nth_root_rem(_count(n, 1)))

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

    def __floordiv__(self, other: Array | Divisor | int) -> Array:
        return self._divide(other, _Batch.div, _Batch.div_by, self._like)

    def __mod__(self, other: Array | Divisor | int) -> Array:
        return self._divide(other, _Batch.rem, _Batch.rem_by, self._like)

    def __divmod__(self, other: Array | Divisor | int) -> tuple[Array, Array]:
        return self._divide(other, _Batch.div_rem, _Batch.div_rem_by, self._both)

    def __rfloordiv__(self, other: int) -> Array:
        return NotImplemented if as_int(other) is None else self._widened(other) // self

    def __rmod__(self, other: int) -> Array:
        return NotImplemented if as_int(other) is None else self._widened(other) % self

    def __rdivmod__(self, other: int) -> tuple[Array, Array]:
        return NotImplemented if as_int(other) is None else divmod(self._widened(other), self)

    def divmod_masked(self, other: Array) -> tuple[Array, Array, Mask]:
        """Returns quotients, remainders, and a mask of the rows whose divisor is zero.

        No divisor is an error.
        """
        rows, divisors = self._pair(other)
        quotient, remainder, zero = rows.div_rem_masked(divisors)
        return self._like(quotient), self._like(remainder), Mask._of(zero, self._device)

    def div_exact(self, other: Array) -> Array:
        """Returns quotients by divisors that divide, by half the products of `//` in short rows.

        The quotient of a row that the divisor does not divide is unspecified.
        """
        rows, divisors = self._pair(other)
        return self._like(rows.div_exact(divisors))

    def div_exact_masked(self, other: Array) -> tuple[Array, Mask]:
        """Returns quotients, and a mask of the rows that the divisor does not divide.

        The quotients of those rows are 0. A divisor of 0 divides no row and is no error.
        """
        return self._masked(_Batch.div_exact_masked(*self._pair(other)))

    def inverse_mod_pow2(self) -> tuple[Array, Mask]:
        """Returns the inverses modulo `2**bits`, and a mask of the even rows, which are 0."""
        return self._masked(self._batch.inverse_mod_pow2())

    def shifted_inverse(self, h: int) -> Array:
        """Returns `2**(digit_bits * h) // self`, exactly.

        Raises `RangeError` for the lowest row whose result does not fit.
        """
        return self._like(self._batch.shifted_inverse(h))

    # Modular arithmetic

    def __pow__(
        self,
        exponent: Array | Sequence[int] | int,
        modulus: Array | Divisor | int | None = None,
    ) -> Array:
        if modulus is None:
            raise TypeError("powers need a modulus: pow(a, e, m)")
        return self.powmod(exponent, modulus)

    def powmod(
        self, exponent: Array | Sequence[int] | int, modulus: Array | Divisor | int
    ) -> Array:
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
        if isinstance(exponent, Array):
            batch = exponent._batch
            return self._powers(modulus, lambda rows, by: rows.pow_mod(batch, by))
        powers = exponents_of(exponent)
        return self._powers(modulus, lambda rows, by: rows.pow_mod_rows(powers, by))

    def square_mod_repeatedly(self, count: int, modulus: Array | Divisor | int) -> Array:
        """Returns `self**(2**count) % modulus`, by `count` squares one after the other.

        The exponent is not stored: time-lock puzzles and delay functions have counts of millions.
        """
        count = _count(count)
        return self._powers(modulus, lambda rows, by: rows.square_mod_repeatedly(count, by))

    def powmod_product(
        self, exponents: Array | Sequence[int] | int, bases: int, modulus: Array | Divisor | int
    ) -> Array:
        """Returns the product of `self**exponents % modulus` over each group of `bases` rows.

        The exponents are one int for all rows, or an array or a list of one a row, of any length.
        The squares are shared by the bases of a group. An array of moduli has a row for each group.
        The time depends on the exponents: do not use it where these are secret.
        """
        rows, divisor = self._by(modulus)
        if isinstance(exponents, Array):
            return self._like(rows.pow_product_mod(exponents._batch, bases, divisor))
        power = as_int(exponents)
        powers = exponents_of(exponents if power is None else [power] * len(self))
        return self._like(rows.pow_product_mod_rows(powers, bases, divisor))

    def add_mod(self, other: Array | int, modulus: Array | Divisor | int) -> Array:
        """Returns `(self + other) % modulus`; nothing wraps."""
        return self._modular(_Batch.add_mod, other, modulus)

    def sub_mod(self, other: Array | int, modulus: Array | Divisor | int) -> Array:
        """Returns `(self - other) % modulus`; nothing wraps."""
        return self._modular(_Batch.sub_mod, other, modulus)

    def neg_mod(self, modulus: Array | Divisor | int) -> Array:
        """Returns `-self % modulus`."""
        rows, divisor = self._by(modulus)
        return self._like(rows.neg_mod(divisor))

    def mul_mod(self, other: Array | int, modulus: Array | Divisor | int) -> Array:
        """Returns `self * other % modulus`, of the whole product."""
        return self._modular(_Batch.mul_mod, other, modulus)

    def square_mod(self, modulus: Array | Divisor | int) -> Array:
        """Returns `self * self % modulus`, of the whole square."""
        rows, divisor = self._by(modulus)
        return self._like(rows.square_mod(divisor))

    def invert(self, modulus: Array | Divisor | int) -> Array:
        """Returns the inverse of each row, below the modulus.

        Raises `NoInverseError` for the lowest row without one.
        """
        inverse, without = self.inverse_mod(modulus)
        if (row := _first(without)) is not None:
            raise NoInverseError(f"row {row} has no inverse modulo its modulus", row)
        return inverse

    def inverse_mod(self, modulus: Array | Divisor | int) -> tuple[Array, Mask]:
        """Returns the inverse of each row, and a mask of the rows without one, which are 0."""
        if isinstance(modulus, Divisor):
            modulus = modulus.value
        if isinstance(modulus, Array):
            return self._masked(_Batch.inverse_mod(*self._pair(modulus)))
        modulus = check_sign(operator.index(modulus))
        rows = self._at(narrowest(max(self.bits, modulus.bit_length()), self._device))
        return self._masked(rows.inverse_mod_all(modulus))

    def rational_reconstruction(
        self, modulus: Array | int, numerators: Array | int, denominators: Array | int
    ) -> tuple[Array, Array, Mask, Mask]:
        """Returns `(n, d, is_negative, without)` with `n / d = self` modulo `modulus`.

        `n` is at most `numerators` without its sign, and `d` at most `denominators`. Rows without
        such a fraction are in the last mask, and 0. Fractions are found, and are unique, if twice
        the product of both bounds is below the modulus.
        """
        others = [self._widened(value) for value in (modulus, numerators, denominators)]
        bits = max(self.bits, *(other.bits for other in others))
        rows, operands = self._at(bits), (other._at(bits) for other in others)
        n, d, negative, without = rows.rational_reconstruction(*operands)
        return self._like(n), self._like(d), self._bits_of(negative), self._bits_of(without)

    def gcd(self, other: Array | int) -> Array:
        """Returns the greatest common divisors."""
        return self._like(_Batch.gcd(*self._pair(self._widened(other))))

    def xgcd(self, other: Array | int) -> tuple[Array, Array, Array, Mask]:
        """Returns `(g, x, y, negative)`: `g = a * x - b * y`, or `b * y - a * x` where `negative`.

        `g` is the greatest common divisor of `a`, a row, and `b`; `x` and `y` are the least ones.
        """
        gcd, x, y, negative = _Batch.xgcd(*self._pair(self._widened(other)))
        return self._like(gcd), self._like(x), self._like(y), Mask._of(negative, self._device)

    def batch_gcd(self) -> Array:
        """Returns the greatest common divisors of each row and the product of all other rows.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        return self._like(self._batch.batch_gcd())

    def lcm(self, other: Array | int) -> Array:
        """Returns the least common multiples.

        Raises `RangeError` for the lowest row that does not fit: widen the rows by `resized`.
        """
        multiple, wrapped = self.overflowing_lcm(other)
        if (row := _first(wrapped)) is not None:
            raise RangeError(f"the multiple of row {row} needs more than {multiple.bits} bits", row)
        return multiple

    def overflowing_lcm(self, other: Array | int) -> tuple[Array, Mask]:
        """Returns the least common multiples modulo `2**bits`, and a mask of the wrapped rows."""
        return self._masked(_Batch.overflowing_lcm(*self._pair(self._widened(other))))

    def jacobi(self, modulus: Array | int) -> npt.NDArray[np.int8]:
        """Returns the Jacobi symbols: -1, 0 or 1; for even moduli the symbols are Kronecker's."""
        rows, moduli = self._pair(self._widened(modulus))
        return np.frombuffer(rows.jacobi(moduli), dtype=np.int8)

    # Bits

    def __and__(self, other: Array | int) -> Array:
        return self._apply(other, _Batch.and_, _Batch.and_all)

    def __or__(self, other: Array | int) -> Array:
        return self._apply(other, _Batch.or_, _Batch.or_all)

    def __xor__(self, other: Array | int) -> Array:
        return self._apply(other, _Batch.xor, _Batch.xor_all)

    __rand__ = __and__
    __ror__ = __or__
    __rxor__ = __xor__

    def __invert__(self) -> Array:
        return self._like(self._batch.not_())

    def __lshift__(self, distance: int | Sequence[int] | npt.NDArray[Any]) -> Array:
        """Shifts by one distance, or by a list or numpy array of one a row."""
        return self._shift(distance, _Batch.shl, _Batch.shl_rows)

    def __rshift__(self, distance: int | Sequence[int] | npt.NDArray[Any]) -> Array:
        """Shifts by one distance, or by a list or numpy array of one a row."""
        return self._shift(distance, _Batch.shr, _Batch.shr_rows)

    def rotate_left(self, distance: int | Sequence[int] | npt.NDArray[Any]) -> Array:
        """Rotates by one distance, or by a list or numpy array of one a row.

        A negative distance rotates to the right.
        """
        bits = as_int(distance)
        if bits is not None:
            return self._like(self._batch.rotate_left(bits % self.bits))
        numbers = [operator.index(bits) for bits in distance]  # type: ignore[union-attr]
        distances = [bits % self.bits for bits in numbers]
        return self._like(self._batch.rotate_left_rows(distances))

    def low_bits(self, bits: int) -> Array:
        """Returns `self % 2**bits`."""
        return self._like(self._batch.low_bits(min(bits, self.bits)))

    def with_bit(self, bit: int) -> Array:
        """Returns the rows with one bit set."""
        return self._like(self._batch.with_bit(bit))

    def without_bit(self, bit: int) -> Array:
        """Returns the rows with one bit cleared."""
        return self._like(self._batch.without_bit(bit))

    def bit(self, bit: int) -> Mask:
        """Returns a mask of the rows with this bit set."""
        return self._bits_of(self._batch.bit_mask(min(bit, self.bits)))

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

    def __eq__(self, other: object) -> Mask:  # type: ignore[override]
        if isinstance(other, Array):
            return self._bits_of(_Batch.eq_mask(*self._pair(other)))
        value = as_int(other)
        if value is None:
            return NotImplemented
        if value < 0 or value.bit_length() > self.bits:
            return self._constant(False)
        return self._bits_of(self._batch.eq_mask_all(value))

    def __ne__(self, other: object) -> Mask:  # type: ignore[override]
        equal = self.__eq__(other)
        return NotImplemented if equal is NotImplemented else ~equal

    def __lt__(self, other: Array | int) -> Mask:
        if isinstance(other, Array):
            return self._bits_of(_Batch.lt_mask(*self._pair(other)))
        value = as_int(other)
        return NotImplemented if value is None else self._below(value)

    def __gt__(self, other: Array | int) -> Mask:
        if isinstance(other, Array):
            return other < self
        value = as_int(other)
        return NotImplemented if value is None else ~self._below(value + 1)

    def __le__(self, other: Array | int) -> Mask:
        greater = self.__gt__(other)
        return NotImplemented if greater is NotImplemented else ~greater

    def __ge__(self, other: Array | int) -> Mask:
        less = self.__lt__(other)
        return NotImplemented if less is NotImplemented else ~less

    def cmp(self, other: Array | int) -> npt.NDArray[np.int8]:
        """Returns -1, 0 or 1 where the row is less than, equal to or greater than `other`."""
        if isinstance(other, Array):
            orders = _Batch.cmp(*self._pair(other))
        else:
            orders = self._batch.cmp_all(check(operator.index(other), self.bits))
        return np.frombuffer(orders, dtype=np.int8)

    # Operands

    @classmethod
    def _of(cls, batch: _gpuint.Batch, device: Device) -> Array:
        array = cls.__new__(cls)
        array._batch = batch
        array._device = device
        return array

    def _like(self, batch: _gpuint.Batch) -> Array:
        return Array._of(batch, self._device)

    def _both(self, batches: tuple[_gpuint.Batch, _gpuint.Batch]) -> tuple[Array, Array]:
        return self._like(batches[0]), self._like(batches[1])

    def _masked(self, result: tuple[_gpuint.Batch, _gpuint.Mask]) -> tuple[Array, Mask]:
        return self._like(result[0]), self._bits_of(result[1])

    def _bits_of(self, bits: _gpuint.Mask) -> Mask:
        return Mask._of(bits, self._device)

    def _constant(self, bit: bool) -> Mask:
        return Mask(np.full(len(self), bit), self._device)

    def _rows(self) -> npt.NDArray[np.uint8]:
        """The bytes of the rows, in a matrix."""
        rows = np.empty((len(self), self.bits // 8), dtype=np.uint8)
        self._batch.read_le_bytes(rows)
        return rows

    def _row(self, row: int) -> int:
        """The number of a row, counted from the start."""
        if not -len(self) <= row < len(self):
            raise RowError(f"row {row} does not exist in an array of {len(self)} rows", row)
        return row % len(self)

    def _at(self, bits: int) -> _gpuint.Batch:
        """The rows at a built width."""
        return self._batch if bits == self.bits else self._batch.resized(bits)

    def _operand(self, other: Array | int) -> Array:
        """An operand as an array; an int must fit in the width."""
        if isinstance(other, Array):
            return other
        return full(len(self), check(operator.index(other), self.bits), self.bits, self._device)

    def _widened(self, other: Array | int) -> Array:
        """An operand as an array; an int may be wider than the rows."""
        if isinstance(other, Array):
            return other
        value = check_sign(operator.index(other))
        return full(len(self), value, max(self.bits, value.bit_length()), self._device)

    def _pair(self, other: Array) -> tuple[_gpuint.Batch, _gpuint.Batch]:
        """Both operands at the wider width."""
        if not isinstance(other, Array):
            raise TypeError(f"an operand is an Array, not {type(other).__name__}")
        bits = max(self.bits, other.bits)
        return self._at(bits), other._at(bits)

    def _apply(
        self,
        other: Array | int,
        rows: Callable[[_gpuint.Batch, _gpuint.Batch], _gpuint.Batch],
        one: Callable[[_gpuint.Batch, int], _gpuint.Batch],
    ) -> Array:
        """An operation with rows, or with one value for all rows."""
        if isinstance(other, Array):
            return self._like(rows(*self._pair(other)))
        value = as_int(other)
        if value is None:
            return NotImplemented  # type: ignore[no-any-return]
        return self._like(one(self._batch, check(value, self.bits)))

    def _divide(
        self,
        other: Array | Divisor | int,
        rows: Callable[[_gpuint.Batch, _gpuint.Batch], _R],
        prepared: Callable[[_gpuint.Batch, _gpuint.Divisor], _R],
        wrap: Callable[[_R], _W],
    ) -> _W:
        """A division by rows, or by prepared divisors."""
        if isinstance(other, Array):
            return wrap(rows(*self._pair(other)))
        if isinstance(other, Divisor) or as_int(other) is not None:
            return wrap(prepared(*self._by(other)))
        return NotImplemented  # type: ignore[no-any-return]

    def _powers(
        self,
        modulus: Array | Divisor | int,
        power: Callable[[_gpuint.Batch, _gpuint.Divisor], _gpuint.Batch],
    ) -> Array:
        """Powers modulo numbers, in arithmetic as wide as the moduli."""
        if not isinstance(modulus, Divisor):
            modulus = Divisor(modulus, device=self._device)
        rows = self if self.bits <= modulus.bits else self % modulus
        powers = self._like(power(rows._at(modulus.bits), modulus._at(modulus.bits)))
        return self._like(powers._at(max(self.bits, modulus.bits)))

    def _by(
        self, modulus: Array | Divisor | int, bits: int = 0
    ) -> tuple[_gpuint.Batch, _gpuint.Divisor]:
        """The rows and the prepared modulus, both at the widest width of all operands."""
        if not isinstance(modulus, Divisor):
            modulus = Divisor(modulus, device=self._device)
        bits = max(self.bits, modulus.bits, bits)
        return self._at(bits), modulus._at(bits)

    def _modular(
        self,
        operation: Callable[[_gpuint.Batch, _gpuint.Batch, _gpuint.Divisor], _gpuint.Batch],
        other: Array | int,
        modulus: Array | Divisor | int,
    ) -> Array:
        """An operation with two operands and a modulus."""
        other = self._widened(other)
        rows, divisor = self._by(modulus, other.bits)
        return self._like(operation(rows, other._at(rows.bits), divisor))

    def _shift(
        self,
        distance: int | Sequence[int] | npt.NDArray[Any],
        one: Callable[[_gpuint.Batch, int], _gpuint.Batch],
        each: Callable[[_gpuint.Batch, list[int]], _gpuint.Batch],
    ) -> Array:
        bits = as_int(distance)
        if bits is not None:
            return self._like(one(self._batch, self._distance(bits)))
        if not isinstance(distance, (list, tuple, range, np.ndarray)):
            return NotImplemented  # type: ignore[no-any-return]
        distances = [self._distance(operator.index(bits)) for bits in distance]
        return self._like(each(self._batch, distances))

    def _distance(self, bits: int) -> int:
        if bits < 0:
            raise ValueError("negative shift count")
        return min(bits, self.bits)

    def _below(self, value: int) -> Mask:
        """The rows below a value, which may be any integer."""
        if value <= 0 or value.bit_length() > self.bits:
            return self._constant(value > 0)
        return self._bits_of(self._batch.lt_mask_all(value))


class Prepared:
    """An int for all rows, or the rows of an array, prepared for operations on a device."""

    __slots__ = ("_bits", "_device", "_value")
    _bits: int
    _device: Device
    _value: Array | int

    def __init__(
        self, value: Array | int, bits: int | None = None, device: DeviceLike = None
    ) -> None:
        if isinstance(value, Array):
            self._value = value if device is None else value.to(device)
            self._device = self._value.device
            width = value.bits
        else:
            self._value = check_sign(operator.index(value))
            self._device = Device(device)
            width = self._value.bit_length()
        self._bits = narrowest(max(width, bits or 0), self._device)

    @property
    def value(self) -> Array | int:
        """The prepared numbers: an int for all rows, or an array."""
        return self._value

    @property
    def bits(self) -> int:
        """Width of the narrowest rows that the numbers are for, in bits."""
        return self._bits

    @property
    def device(self) -> Device:
        """The device that the numbers live on."""
        return self._device

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._value, self._bits, self._device)

    def __repr__(self) -> str:
        value = self._value if isinstance(self._value, Array) else _short(self._value)
        return f"{type(self).__name__}({value}, bits={self._bits}, device='{self._device}')"


class Divisor(Prepared):
    """Divisors prepared once for many divisions and modular products and powers.

    One int for all rows, or the rows of an array, each for the same row of other arrays. Divisors
    are prepared for rows of their own width, or of `bits` bits. The first use with wider rows
    prepares them for that width and keeps the result.
    """

    __slots__ = ("_prepared",)
    _prepared: dict[int, _gpuint.Divisor]

    def __init__(
        self, value: Array | int, bits: int | None = None, device: DeviceLike = None
    ) -> None:
        """Prepares an int on a device, or the rows of an array on its device.

        Raises `DivisionByZeroError` with the lowest row that is zero.
        """
        super().__init__(value, bits, device)
        self._prepared = {}
        self._at(self._bits)

    def _at(self, bits: int) -> _gpuint.Divisor:
        """The divisors, prepared for rows of a built width."""
        prepared = self._prepared.get(bits)
        if prepared is None:
            if isinstance(self._value, Array):
                prepared = self._value._at(bits).prepare()
            else:
                prepared = _gpuint.Divisor.splat(self._device._handle, bits, self._value)
            self._prepared[bits] = prepared
        return prepared


Values: TypeAlias = Array | Iterable[int] | npt.NDArray[Any]
"""Integers, one a row."""


def array(values: Values, bits: int | None = None, device: DeviceLike = None) -> Array:
    """Makes an array of integers.

    `values` are Python ints or integers of any type that has `__index__`; a one-dimensional numpy
    array of integers; a two-dimensional one of 64-bit limbs (see `from_limbs`); or an `Array`,
    whose device and width are the defaults.

    The rows get the narrowest built width that holds `bits` bits, without `bits` that holds all
    values. Raises `RangeError` for the lowest row that is negative or does not fit.
    """
    if isinstance(values, Array):
        moved = values if device is None else values.to(device)
        return moved if bits is None else moved.resized(bits)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return from_limbs(values, bits, device)
    if isinstance(values, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"an array is of integers, not of {type(values).__name__}: see from_bytes")
    numbers = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if not all(type(number) is int for number in numbers):
        numbers = [operator.index(number) for number in numbers]
    device = Device(device)
    width = fitting(numbers, device) if bits is None else narrowest(bits, device)
    return Array._of(_Batch.from_le_bytes(device._handle, width, encode(numbers, width)), device)


def full(rows: int, value: int, bits: int | None = None, device: DeviceLike = None) -> Array:
    """Makes an array of `rows` rows, all of one value."""
    value = check_sign(operator.index(value))
    device = Device(device)
    width = narrowest(value.bit_length() if bits is None else bits, device)
    batch = _Batch.splat(device._handle, width, check(value, width), rows)
    return Array._of(batch, device)


def from_limbs(
    limbs: npt.NDArray[np.uint64], bits: int | None = None, device: DeviceLike = None
) -> Array:
    """Makes an array of a matrix of 64-bit limbs, a row an integer, least significant limb first.

    The rows get the narrowest built width that holds `bits` bits, without `bits` that holds all
    limbs. A contiguous matrix of a built width is read where it is, without Python's lock: do not
    write to it at the same time.
    """
    matrix = np.asarray(limbs)
    if matrix.dtype != np.uint64:
        raise TypeError(f"limbs are of numpy.uint64, not of {matrix.dtype}")
    if matrix.ndim != 2:
        raise MismatchError(f"limbs have two dimensions, (rows, limbs), not {matrix.ndim}")
    little = np.ascontiguousarray(matrix, dtype="<u8")
    rows, columns = matrix.shape
    width = 64 * columns if bits is None else bits
    return _from_rows(little.view(np.uint8).reshape(rows, 8 * columns), width, device)


def from_cuda(limbs: Any, device: DeviceLike = "cuda") -> Array:
    """Makes an array of a matrix of 64-bit limbs on the GPU, as `from_limbs`, without a copy.

    `limbs` is a contiguous array of cupy, torch or numba: an object with
    `__cuda_array_interface__`. Its width must be built. The array keeps the object and waits for
    the work on its stream. Do not write to the memory while the array exists, and make one array
    of it only.
    """
    interface = getattr(limbs, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(f"{type(limbs).__name__} has no memory on a GPU: see from_limbs")
    if interface["typestr"] not in ("<u8", "<i8"):
        raise TypeError(f'limbs are of 64-bit integers, not of "{interface["typestr"]}"')
    shape, strides = interface["shape"], interface.get("strides")
    address, stream = interface["data"][0], interface.get("stream")
    elements = None if strides is None else tuple(stride / 8 for stride in strides)
    return _over_memory(shape, elements, address, stream, limbs, device)


def from_dlpack(limbs: Any, device: DeviceLike = None) -> Array:
    """Makes an array of a matrix of 64-bit limbs of another library, by DLPack.

    `limbs` is a tensor of torch, cupy, jax or numpy: an object with `__dlpack__`. Its memory on a
    GPU is used without a copy, under the rules of `from_cuda`, and `device` must be that GPU.
    Memory of the host is copied to `device`, under the rules of `from_limbs`.
    """
    if not hasattr(limbs, "__dlpack_device__"):
        raise TypeError(f"{type(limbs).__name__} has no __dlpack__: see from_limbs")
    kind, number = limbs.__dlpack_device__()
    if kind != _DLPACK_CUDA:
        matrix: npt.NDArray[Any] = np.from_dlpack(limbs)
        is_signed = matrix.dtype == np.int64
        return from_limbs(matrix.view(np.uint64) if is_signed else matrix, device=device)
    target = Device(f"cuda:{number}" if device is None else device)
    if target._handle.ordinal != number:
        raise MismatchError(f"the limbs are on cuda:{number}, not on {target}")
    stream = target._handle.stream
    try:
        capsule = limbs.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # before version 1 of DLPack
        capsule = limbs.__dlpack__(stream=stream)
    return _over_tensor(_gpuint.Tensor(capsule), target)


def _over_tensor(tensor: _gpuint.Tensor, device: Device) -> Array:
    kind, bits, lanes = tensor.element
    if (bits, lanes) != (64, 1) or kind not in _DLPACK_INTEGERS:
        raise TypeError(f"limbs are of 64-bit integers, not of kind {kind} with {bits} bits")
    strides = None if tensor.strides is None else tuple(tensor.strides)
    # The producer made the device's stream wait for its work.
    return _over_memory(tuple(tensor.shape), strides, tensor.address, None, tensor, device)


def _over_memory(
    shape: tuple[int, ...],
    strides: tuple[float, ...] | None,
    address: int,
    stream: int | None,
    owner: object,
    device: DeviceLike,
) -> Array:
    """Makes an array over memory on a GPU; strides are in limbs."""
    if len(shape) != 2:
        raise MismatchError(f"limbs have two dimensions, (rows, limbs), not {len(shape)}")
    rows, columns = shape
    if strides is not None and not (
        (strides[0] == columns or rows <= 1) and (strides[1] == 1 or columns <= 1)
    ):
        raise MismatchError("limbs on a GPU must be contiguous")
    bits = 64 * columns
    # Before the device is opened: only a `Device` can have `jit`.
    known = device if isinstance(device, Device) else None
    if bits > widths()[-1] or narrowest(bits, known) != bits:
        raise MismatchError(
            f"no kernels are built for {bits} bits; see gpuint.widths() and gpuint.Device(jit=True)"
        )
    device = Device(device)
    if rows == 0:
        return full(0, 0, bits, device)
    batch = _Batch.from_device_pointer(device._handle, bits, rows, address, stream, owner)
    return Array._of(batch, device)


def from_bytes(
    data: bytes | bytearray | memoryview,
    bits: int,
    byteorder: Literal["little", "big"] = "little",
    device: DeviceLike = None,
) -> Array:
    """Makes an array of the bytes of its rows one after the other, `bits / 8` a row.

    The rows get the narrowest built width that holds `bits` bits.
    """
    if bits <= 0 or bits % 8 != 0:
        raise ValueError(f"a row is a positive number of whole bytes, not {bits} bits")
    row = bits // 8
    flat = np.frombuffer(data, dtype=np.uint8)
    if flat.size % row != 0:
        raise MismatchError(f"{flat.size} bytes are not whole rows of {row}")
    rows = flat.reshape(-1, row)
    return _from_rows(rows if _is_little(byteorder) else rows[:, ::-1], bits, device)


def concat(arrays: Iterable[Array]) -> Array:
    """Returns the rows of arrays one after the other, as wide as the widest."""
    parts = list(arrays)
    if not parts:
        raise MismatchError("there is no array to concatenate")
    bits = max(part.bits for part in parts)
    return parts[0]._like(_Batch.concat([part._at(bits) for part in parts]))


def sum_of_products(pairs: Iterable[tuple[Array, Array]]) -> Array:
    """Returns `a0 * b0 + a1 * b1 + ...` modulo `2**bits` for each row of pairs of arrays.

    The result is as wide as the widest array. One pass over the rows adds up to 32 products.
    """
    first, batches = _pairs(pairs)
    return first._like(_Batch.wrapping_sum_of_products(batches))


def widening_sum_of_products(pairs: Iterable[tuple[Array, Array]]) -> tuple[Array, Mask]:
    """Returns the sums in rows of twice the width, and a mask of the rows that wrapped."""
    first, batches = _pairs(pairs)
    return first._masked(_Batch.widening_sum_of_products(batches))


def _pairs(
    pairs: Iterable[tuple[Array, Array]],
) -> tuple[Array, list[tuple[_gpuint.Batch, _gpuint.Batch]]]:
    """Pairs of arrays at the widest one's width, and the first array."""
    arrays = list(pairs)
    if not arrays:
        raise MismatchError("there is no product to add")
    bits = max(side.bits for pair in arrays for side in pair)
    return arrays[0][0], [(a._at(bits), b._at(bits)) for a, b in arrays]


def powmod(
    base: Array | int, exponent: Array | Sequence[int] | int, modulus: Array | Divisor | int
) -> Array:
    """Returns `base**exponent % modulus`; one of base, exponent and modulus is an array."""
    if not isinstance(base, Array):
        other = modulus.value if isinstance(modulus, Divisor) else modulus
        if isinstance(other, Array):
            base = other._widened(base)
        elif isinstance(exponent, Array):
            base = full(len(exponent), base % _modulus(other), device=exponent.device)
        else:
            raise TypeError("one of base, exponent and modulus must be an Array")
    return base.powmod(exponent, modulus)


def _count(value: int, least: int = 0) -> int:
    """A count of squares, factors or a degree, which fits in a machine word."""
    value = operator.index(value)
    if not least <= value < 2**64:
        raise RangeError(f"{_short(value)} is not in the range {least} to 2**64 - 1")
    return value


def _modulus(modulus: int) -> int:
    """A modulus that is not zero."""
    if modulus == 0:
        raise DivisionByZeroError("the modulus is zero")
    return modulus


def _from_rows(rows: npt.NDArray[np.uint8], bits: int, device: DeviceLike) -> Array:
    """Makes an array of a matrix of bytes, least significant first."""
    device = Device(device)
    width = narrowest(bits, device)
    size = width // 8
    for row in np.flatnonzero(rows[:, size:].any(axis=1))[:1].tolist():
        check(int.from_bytes(rows[row].tobytes(), "little"), width, row)
    if rows.shape[1] != size:
        resized = np.zeros((rows.shape[0], size), np.uint8)
        resized[:, : rows.shape[1]] = rows[:, :size]
        rows = resized
    flat = np.ascontiguousarray(rows).reshape(-1)
    return Array._of(_Batch.from_le_bytes(device._handle, width, flat), device)


def _mask(mask: Bools, device: Device) -> _gpuint.Mask:
    return (mask if isinstance(mask, Mask) else Mask(mask, device))._bits


def _first(mask: Mask) -> int | None:
    """The lowest row whose bit is set."""
    rows = mask.indices()
    return int(rows[0]) if rows.size > 0 else None


def _is_little(byteorder: str) -> bool:
    if byteorder not in ("little", "big"):
        raise ValueError('byteorder must be either "little" or "big"')
    return byteorder == "little"


def _short(value: int) -> str:
    text = f"{value:#x}"
    return text if len(text) <= _SHOWN_DIGITS else f"{text[:10]}..{text[-6:]}"
