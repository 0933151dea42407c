"""Operands that are secret."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _array, _gpuint
from ._arguments import count, short, wrong_type
from ._device import Device, DeviceLike
from ._mask import Mask
from ._operands import row_bytes
from ._widths import narrowest
from .errors import MismatchError, RangeError

if TYPE_CHECKING:
    from ._array import Array

Secret: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[np.uint8]
"""The bytes of rows one after the other, `bits / 8` a row, each least significant byte first.

They are read where they are. Overwrite them when the operand is made.
"""
_MAX_BITS = 8192
_MULTIPLE = 1024


class SecretBatch:
    """Integers on a device whose memory is overwritten before it is freed.

    Powers and products take the same instructions, branches and addresses for all values of one
    width and length. `SECURITY.md` of the repository lists what that covers. The time of Python's
    ints depends on their values, and their memory is not overwritten: secrets come and go as bytes.

    The number of rows, the width and the length of exponents are public. An operand of one row
    stands for all rows.

    >>> import gpuint
    >>> width, prime = 1024, (2**127 - 1).to_bytes(128, "little")
    >>> modulus = gpuint.SecretModulus(prime, width)
    >>> exponent = gpuint.SecretExponents(bytes([200]) + bytes(127), width, exponent_bits=8)
    >>> bases = gpuint.SecretBatch(bytes([3]) + bytes(127), width)
    >>> powers = bases.pow_secret(exponent, modulus)
    >>> powers.reveal().tolist() == [pow(3, 200, 2**127 - 1)]
    True
    """

    __slots__ = ("_batch", "_device")
    _batch: _gpuint.SecretBatch
    _device: Device

    def __init__(self, data: Secret, bits: int, device: DeviceLike = None) -> None:
        """Makes rows of bytes. `bits` is a built width, a multiple of 1024 up to 8192."""
        self._device = Device(device)
        width = _width(bits, self._device)
        rows = row_bytes(data, width, "data")
        self._batch = _gpuint.SecretBatch.from_le_bytes(self._device._handle, width, rows)

    @classmethod
    def _of(cls, batch: _gpuint.SecretBatch, device: Device) -> SecretBatch:
        secret = cls.__new__(cls)
        secret._batch = batch
        secret._device = device
        return secret

    @property
    def bits(self) -> int:
        """Width of a row, in bits."""
        return self._batch.bits

    @property
    def device(self) -> Device:
        """The device that the rows live on."""
        return self._device

    def tobytes(self) -> bytearray:
        """Returns the bytes of the rows, least significant first, for the caller to overwrite."""
        return self._batch.to_le_bytes()

    def reveal(self) -> Array:
        """Returns a copy of the rows that is not secret."""
        return _array.Array._of(self._batch.reveal(), self._device)

    def is_zero(self) -> Mask:
        """Returns a mask of the rows that are 0. The mask is not secret."""
        return Mask._of(self._batch.is_zero_mask(), self._device)

    def pow_secret(self, exponents: SecretExponents, modulus: SecretModulus) -> SecretBatch:
        """Returns `self**exponents` modulo secret moduli. Rows may exceed the moduli."""
        return pow_secret(self._batch, self._device, exponents, modulus)

    def mul_add_secret(self, factor: SecretFactor, addend: SecretBatch) -> SecretBatch:
        """Returns `self * factor + addend` modulo the moduli of the factor.

        Rows, factors and addends may exceed the moduli.
        """
        return mul_add_secret(self._batch, self._device, factor, addend)

    def __len__(self) -> int:
        return len(self._batch)

    def __repr__(self) -> str:
        return f"SecretBatch(rows={len(self)}, bits={self.bits}, device='{self._device}')"


class SecretExponents:
    """Secret exponents: one for all rows, or one a row."""

    __slots__ = ("_bits", "_exponent_bits", "_exponents")
    _bits: int
    _exponent_bits: int
    _exponents: _gpuint.SecretExponents

    def __init__(
        self, data: Secret, bits: int, exponent_bits: int, device: DeviceLike = None
    ) -> None:
        """Makes exponents of bytes. Each has at most `exponent_bits` bits, which is public.

        Raises `RangeError` with the lowest row whose exponent is longer.
        """
        device = Device(device)
        self._bits = _width(bits, device)
        length = count(exponent_bits, "exponent_bits", least=1)
        if length > self._bits:
            raise RangeError(f"exponent_bits is at most {self._bits}, not {short(length)}")
        self._exponent_bits = length
        rows = row_bytes(data, self._bits, "data")
        self._exponents = _gpuint.SecretExponents.of_le_bytes(
            device._handle, self._bits, length, rows
        )

    @property
    def bits(self) -> int:
        """Width of a row, in bits."""
        return self._bits

    @property
    def exponent_bits(self) -> int:
        """Public length of the exponents, in bits."""
        return self._exponent_bits

    def __repr__(self) -> str:
        return f"SecretExponents(bits={self._bits}, exponent_bits={self._exponent_bits})"


class SecretModulus:
    """Secret odd moduli: one for all rows, or one a row."""

    __slots__ = ("_bits", "_modulus")
    _bits: int
    _modulus: _gpuint.SecretModulus

    def __init__(self, data: Secret, bits: int, device: DeviceLike = None) -> None:
        """Prepares moduli of bytes.

        Raises `MismatchError` with the lowest row that is even.
        """
        device = Device(device)
        self._bits = _width(bits, device)
        rows = row_bytes(data, self._bits, "data")
        self._modulus = _gpuint.SecretModulus.of_le_bytes(device._handle, self._bits, rows)

    @property
    def bits(self) -> int:
        """Width of a row, in bits."""
        return self._bits

    def __repr__(self) -> str:
        return f"SecretModulus(bits={self._bits})"


class SecretFactor:
    """Secret factors modulo secret odd moduli: one of both for all rows, or one of both a row."""

    __slots__ = ("_bits", "_factor")
    _bits: int
    _factor: _gpuint.SecretFactor

    def __init__(
        self, factors: Secret, moduli: Secret, bits: int, device: DeviceLike = None
    ) -> None:
        """Prepares as many factors as moduli, both of bytes.

        Raises `MismatchError` with the lowest row whose modulus is even.
        """
        device = Device(device)
        self._bits = _width(bits, device)
        rows, odd = (
            row_bytes(data, self._bits, name)
            for data, name in ((factors, "factors"), (moduli, "moduli"))
        )
        if len(rows) != len(odd):
            raise MismatchError(f"factors has {len(rows)} rows and moduli {len(odd)}")
        self._factor = _gpuint.SecretFactor.of_le_bytes(device._handle, self._bits, rows, odd)

    @property
    def bits(self) -> int:
        """Width of a row, in bits."""
        return self._bits

    def __repr__(self) -> str:
        return f"SecretFactor(bits={self._bits})"


def pow_secret(
    rows: _gpuint.Batch | _gpuint.SecretBatch,
    device: Device,
    exponents: SecretExponents,
    modulus: SecretModulus,
) -> SecretBatch:
    """Returns powers of rows."""
    if not isinstance(exponents, SecretExponents):
        raise wrong_type("exponents", "SecretExponents", exponents)
    if not isinstance(modulus, SecretModulus):
        raise wrong_type("modulus", "a SecretModulus", modulus)
    rows = _widened(rows, modulus.bits)
    return SecretBatch._of(rows.pow_secret(exponents._exponents, modulus._modulus), device)


def mul_add_secret(
    rows: _gpuint.Batch | _gpuint.SecretBatch,
    device: Device,
    factor: SecretFactor,
    addend: SecretBatch,
) -> SecretBatch:
    """Returns sums of products of rows."""
    if not isinstance(factor, SecretFactor):
        raise wrong_type("factor", "a SecretFactor", factor)
    if not isinstance(addend, SecretBatch):
        raise wrong_type("addend", "a SecretBatch", addend)
    rows = _widened(rows, factor.bits)
    return SecretBatch._of(rows.mul_add_secret(factor._factor, addend._batch), device)


def _widened(
    rows: _gpuint.Batch | _gpuint.SecretBatch, bits: int
) -> _gpuint.Batch | _gpuint.SecretBatch:
    """Returns rows that are not secret in a width of at least `bits` bits."""
    if isinstance(rows, _gpuint.Batch) and rows.bits < bits:
        return rows.resized(bits)
    return rows


def _width(bits: int, device: Device) -> int:
    """Returns a width that has powers of secrets."""
    width = count(bits, "bits", least=1)
    if width > _MAX_BITS or width % _MULTIPLE != 0 or narrowest(width, device) != width:
        raise MismatchError(
            f"bits is a built width, a multiple of {_MULTIPLE} up to {_MAX_BITS}, not {width}"
        )
    return width
