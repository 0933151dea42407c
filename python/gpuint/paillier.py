"""Paillier's cryptosystem for columns of numbers: sums of numbers that stay encrypted.

Whoever has the public key encrypts, adds encrypted numbers, and multiplies them by known ones. Only
the private key decrypts. Numbers are encoded as by the package `phe`, and keys and numbers go to it
and back.

>>> from gpuint import paillier
>>> key = paillier.PrivateKey.generate(1024, device="cpu")  # 2048 or more for real data
>>> gradients = key.public_key.encrypt([0.5, -0.25, 1.75], exponent=-8, device="cpu")
>>> key.decrypt(gradients.sum_by([1, 0, 1], 2))
[-0.25, 2.25]
>>> key.decrypt(gradients * 3 + 1)
[2.5, 0.25, 6.25]

Decryption takes the same instructions for all keys of one length. Times of encryption and of key
generation depend on secret values: SECURITY.md of the repository states who can learn what.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._arguments import (
    as_int,
    column,
    count,
    int64s,
    integer,
    items,
    path,
    short,
    string,
    unsigned,
    wrong_type,
)
from ._device import Device, DeviceLike
from ._rows import Key, selected
from .errors import MismatchError, ParseError, RangeError

__all__ = [
    "EncryptedArray",
    "Packing",
    "PrivateKey",
    "PublicKey",
    "from_arrow",
    "read_parquet",
    "to_arrow",
    "write_parquet",
]

# Largest exponent of 16 of a number that is decrypted to an int.
_LARGEST_EXPONENT = 2**18
# Name of the key in the metadata of a table.
_KEY = b"gpuint.paillier.key"


class PublicKey:
    """A public key: its modulus `n`, and a base for short exponents where the owner published one.

    With it, encryption is many times faster.
    """

    __slots__ = ("_encryptors", "_key")
    _encryptors: dict[tuple[Device, tuple[bool, bool], bool], _gpuint.PaillierEncryptor]
    _key: _gpuint.PaillierPublicKey

    def __init__(self, n: int, short_base: int | None = None) -> None:
        """Makes the key of a modulus of 1024 to 8192 bits."""
        base = None if short_base is None else unsigned(short_base, "short_base")
        modulus = unsigned(n, "n")
        with _naming("n"):
            self._take(_gpuint.PaillierPublicKey.of_modulus(modulus, base))

    def _take(self, key: _gpuint.PaillierPublicKey) -> None:
        self._key = key
        self._encryptors = {}

    @classmethod
    def _of(cls, key: _gpuint.PaillierPublicKey) -> Self:
        self = cls.__new__(cls)
        self._take(key)
        return self

    @classmethod
    def from_jwk(cls, text: str) -> Self:
        """Reads the key from the JWK of this package or of `phe`."""
        with _naming("text"):
            return cls._of(_gpuint.PaillierPublicKey.from_jwk(string(text, "text")))

    def to_jwk(self) -> str:
        """Returns the key as JWK."""
        return self._key.to_jwk()

    @classmethod
    def from_phe(cls, key: Any) -> Self:
        """Makes the key of a `phe.PaillierPublicKey`."""
        return cls(*_numbers_of(key, ["n"], "a phe.PaillierPublicKey"))

    def to_phe(self) -> Any:
        """Returns the key as a `phe.PaillierPublicKey`."""
        import phe  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return phe.PaillierPublicKey(self.n)

    @property
    def n(self) -> int:
        """The modulus."""
        return self._key.n

    @property
    def max_int(self) -> int:
        """The largest absolute value of an encoded number, `n // 3 - 1`."""
        return self.n // 3 - 1

    @property
    def short_base(self) -> int | None:
        """The base for short exponents; `None` if the key has none."""
        return self._key.short_base

    def _encryptor(self, device: Device, short: bool | None) -> _gpuint.PaillierEncryptor:
        is_short = self._key.short_base is not None if short is None else bool(short)
        key = device, device._kind, is_short
        found = self._encryptors.get(key)
        if found is None:
            found = _gpuint.PaillierEncryptor.prepare(device._handle, self._key, is_short)
            self._encryptors[key] = found
        return found

    def encrypt(
        self,
        values: Numbers,
        exponent: int | None = None,
        short: bool | None = None,
        device: DeviceLike = None,
    ) -> EncryptedArray:
        """Encrypts ints and floats, each with randomness of its own.

        `values` is a list, a numpy array, or a column of pandas, polars or pyarrow.

        Floats are rounded to multiples of `16**exponent`. Without `exponent` they are encoded
        exactly, with exponents that depend on their sizes and are not encrypted. `short` selects
        the form with short exponents, by default where the key has a base for it.

        Raises `RangeError` with the lowest row whose encoding exceeds `max_int` or is not finite.
        """
        device = Device(device)
        encryptor = self._encryptor(device, short)
        exponent = None if exponent is None else _exponent(exponent, "exponent")
        if hasattr(values, "__array__"):
            values = np.asarray(values)
        floats = _floats(values)
        if floats is not None:
            numbers = encryptor.encrypt_floats(floats, exponent)
        elif (
            isinstance(values, np.ndarray)
            and values.dtype.kind in "iu"
            and (np.can_cast(values.dtype, np.int64))
        ):
            integers = np.ascontiguousarray(column(values, "values"), np.int64)
            numbers = encryptor.encrypt_integers(integers, _lowest(exponent))
        else:
            numbers = encryptor.encrypt(*_encoded(values, exponent))
        return EncryptedArray._of(numbers, self, device)

    def from_ciphertexts(
        self, ciphertexts: Sequence[int], exponents: Sequence[int], device: DeviceLike = None
    ) -> EncryptedArray:
        """Makes an array of ciphertexts and exponents that were computed elsewhere."""
        device = Device(device)
        encryptor = self._encryptor(device, None)
        expected = "an iterable of ints"
        numbers = [
            unsigned(value, "ciphertexts") for value in items(ciphertexts, "ciphertexts", expected)
        ]
        powers = [
            _exponent(value, "exponents") for value in items(exponents, "exponents", expected)
        ]
        return EncryptedArray._of(encryptor.of_ciphertexts(numbers, powers), self, device)

    def numbers_from_phe(self, numbers: Sequence[Any], device: DeviceLike = None) -> EncryptedArray:
        """Makes an array of objects `phe.EncryptedNumber` of this key."""
        expected = "an iterable of phe.EncryptedNumber"
        given = items(numbers, "numbers", expected)
        for row, number in enumerate(given):
            if not hasattr(number, "ciphertext"):
                raise wrong_type("numbers", expected, number)
            if number.public_key.n != self.n:
                raise MismatchError(f"the number of row {row} belongs to another key", row)
        ciphertexts = [number.ciphertext() for number in given]
        return self.from_ciphertexts(ciphertexts, [number.exponent for number in given], device)

    def numbers_from_json(self, texts: Sequence[str], device: DeviceLike = None) -> EncryptedArray:
        """Reads numbers of this key, each as the JSON that `pheutil encrypt` writes."""
        device = Device(device)
        encryptor = self._encryptor(device, None)
        lines = [string(text, "texts") for text in items(texts, "texts", "an iterable of str")]
        return EncryptedArray._of(encryptor.of_json(lines), self, device)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and self.n == other.n

    def __hash__(self) -> int:
        return hash(self.n)

    def __reduce__(self) -> tuple[Any, ...]:
        return PublicKey, (self.n, self.short_base)

    def __repr__(self) -> str:
        return f"<gpuint.paillier.PublicKey of {self.n.bit_length()} bits>"


class PrivateKey:
    """A private key: the prime factors of the modulus."""

    __slots__ = ("_decryptors", "_key", "_public")
    _decryptors: dict[tuple[Device, tuple[bool, bool]], _gpuint.PaillierDecryptor]
    _key: _gpuint.PaillierPrivateKey
    _public: PublicKey

    def __init__(self, p: int, q: int) -> None:
        """Makes the key of two primes. It has no base for short exponents."""
        factors = unsigned(p, "p"), unsigned(q, "q")
        with _naming("p and q"):
            self._take(_gpuint.PaillierPrivateKey.of_factors(*factors))

    def _take(self, key: _gpuint.PaillierPrivateKey) -> None:
        self._key = key
        self._public = PublicKey._of(key.public())
        self._decryptors = {}

    @classmethod
    def _of(cls, key: _gpuint.PaillierPrivateKey) -> Self:
        self = cls.__new__(cls)
        self._take(key)
        return self

    @classmethod
    def generate(cls, bits: int = 2048, safe: bool = False, device: DeviceLike = None) -> Self:
        """Generates a key of exactly `bits` bits, with a base for short exponents.

        `safe` asks for safe primes. They take about `bits / 20` times longer.
        """
        handle, size = Device(device)._handle, count(bits, "bits")
        return cls._of(_gpuint.PaillierPrivateKey.generate(handle, size, bool(safe)))

    @classmethod
    def from_jwk(cls, text: str) -> Self:
        """Reads the key from the JWK of this package or of `phe`."""
        with _naming("text"):
            return cls._of(_gpuint.PaillierPrivateKey.from_jwk(string(text, "text")))

    def to_jwk(self) -> str:
        """Returns the key as JWK. Write it to a file that nobody else can read."""
        return self._key.to_jwk()

    @classmethod
    def from_phe(cls, key: Any) -> Self:
        """Makes the key of a `phe.PaillierPrivateKey`."""
        return cls(*_numbers_of(key, ["p", "q"], "a phe.PaillierPrivateKey"))

    def to_phe(self) -> Any:
        """Returns the key as a `phe.PaillierPrivateKey`."""
        import phe

        return phe.PaillierPrivateKey(self._public.to_phe(), *self._key.factors())

    @property
    def public_key(self) -> PublicKey:
        """The public key."""
        return self._public

    def decrypt(self, encrypted: EncryptedArray) -> list[int | float]:
        """Decrypts to ints where exponents are not negative, and to the nearest floats elsewhere.

        Raises `RangeError` with the lowest row whose number has overflowed.
        """
        decryptor = self._decryptor(encrypted)
        exponents = encrypted.exponents
        if all(exponent < 0 for exponent in exponents):
            return list(self.decrypt_array(encrypted).tolist())
        mantissas, _ = decryptor.decrypt(encrypted._numbers)
        return [_decoded(row, *number) for row, number in enumerate(zip(mantissas, exponents))]

    def decrypt_array(
        self, encrypted: EncryptedArray, dtype: npt.DTypeLike = np.float64
    ) -> npt.NDArray[Any]:
        """Decrypts to a numpy array: to the nearest floats, or to integers for `dtype=np.int64`.

        Raises `RangeError` with the lowest row whose number has overflowed or, with integers, has a
        fraction or more than 64 bits.
        """
        decryptor = self._decryptor(encrypted)
        kind = np.dtype(dtype)
        if kind == np.float64:
            data = decryptor.decrypt_floats(encrypted._numbers)
        elif kind == np.int64:
            data = decryptor.decrypt_integers(encrypted._numbers)
        else:
            raise wrong_type("dtype", "float64 or int64", dtype)
        return np.frombuffer(data, kind)

    def _decryptor(self, encrypted: EncryptedArray) -> _gpuint.PaillierDecryptor:
        if not isinstance(encrypted, EncryptedArray):
            raise wrong_type("encrypted", "an EncryptedArray", encrypted)
        device = encrypted.device
        prepared = device, device._kind
        decryptor = self._decryptors.get(prepared)
        if decryptor is None:
            decryptor = _gpuint.PaillierDecryptor.prepare(device._handle, self._key)
            self._decryptors[prepared] = decryptor
        return decryptor

    def __repr__(self) -> str:
        return f"<gpuint.paillier.PrivateKey of {self._public.n.bit_length()} bits>"


class EncryptedArray:
    """A column of encrypted numbers on a device.

    Sums take encrypted numbers or known ones, and products known ones. Their ciphertexts are
    functions of the operands: call `rerandomize` before you give them away. Exponents are not
    encrypted.
    """

    __slots__ = ("_device", "_key", "_numbers")
    # Numpy leaves operators to this class.
    __array_ufunc__ = None
    _device: Device
    _key: PublicKey
    _numbers: _gpuint.PaillierNumbers

    def __init__(self, *arguments: object, **named: object) -> None:
        """Raises `TypeError`: `PublicKey.encrypt` makes encrypted numbers."""
        raise TypeError("EncryptedArray is made by PublicKey.encrypt or PublicKey.from_ciphertexts")

    @classmethod
    def _of(cls, numbers: _gpuint.PaillierNumbers, key: PublicKey, device: Device) -> Self:
        self = cls.__new__(cls)
        self._numbers = numbers
        self._key = key
        self._device = device
        return self

    def _with(self, numbers: _gpuint.PaillierNumbers) -> EncryptedArray:
        return EncryptedArray._of(numbers, self._key, self._device)

    @property
    def device(self) -> Device:
        """The device."""
        return self._device

    @property
    def public_key(self) -> PublicKey:
        """The key."""
        return self._key

    @property
    def exponents(self) -> list[int]:
        """The exponents of 16."""
        return self._numbers.exponents()

    def ciphertexts(self) -> list[int]:
        """Returns the ciphertexts of the mantissas."""
        return self._numbers.ciphertexts()

    def to_json(self) -> list[str]:
        """Returns each number as the JSON that `pheutil encrypt` writes."""
        return self._numbers.to_json()

    def to_phe(self) -> list[Any]:
        """Returns the numbers as objects `phe.EncryptedNumber`."""
        import phe

        key = self._key.to_phe()
        numbers = zip(self.ciphertexts(), self.exponents)
        return [phe.EncryptedNumber(key, number, exponent) for number, exponent in numbers]

    def sum(self) -> EncryptedArray:
        """Adds all rows: an array of one row."""
        return self.sum_by(np.zeros(len(self), np.int64), 1)

    def sum_by(
        self, group: Sequence[int] | npt.NDArray[Any], groups: int | None = None
    ) -> EncryptedArray:
        """Adds the rows of each group: row `g` is the sum of the rows whose `group` is `g`.

        There are `groups` groups, by default as many as the largest number needs.
        """
        numbers = int64s(group, "group")
        if groups is None:
            groups = int(numbers.max()) + 1 if len(numbers) else 0
        if len(numbers) and numbers.min() < 0:
            row = int(np.argmax(numbers < 0))
            raise RangeError(f"the group of row {row} is negative", row)
        return self._with(self._numbers.sum_by(numbers, count(groups, "groups")))

    def rerandomize(self, short: bool | None = None) -> EncryptedArray:
        """Returns the same numbers in ciphertexts that nobody can link to these."""
        encryptor = self._key._encryptor(self._device, short)
        return self._with(encryptor.rerandomize(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, rows: Key) -> EncryptedArray:
        """Returns a copy of rows: of a slice, of numbers of rows, or of the bits of a mask."""
        if as_int(rows) is not None:
            raise TypeError("rows are a slice, indices or a mask, not an int")
        return self._with(self._numbers.gather(selected(rows, len(self), "rows")))

    def _plain(self, other: Any) -> tuple[list[int], list[int]]:
        """Encodes numbers of which one stands for all rows."""
        if as_int(other) is not None or isinstance(other, (float, np.floating)):
            mantissas, exponents = _encode([other], None)
            return mantissas * len(self), exponents * len(self)
        return _encode(other, None)

    def __add__(self, other: EncryptedArray | Numbers) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            return self._with(self._numbers.add(other._numbers))
        return self._with(self._numbers.add_plain(*self._plain(other)))

    def __radd__(self, other: Numbers) -> EncryptedArray:
        return self + other

    def __neg__(self) -> EncryptedArray:
        return self * -1

    def __sub__(self, other: EncryptedArray | Numbers) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            return self._with(self._numbers.sub(other._numbers))
        mantissas, exponents = self._plain(other)
        return self._with(self._numbers.add_plain([-mantissa for mantissa in mantissas], exponents))

    def __rsub__(self, other: Numbers) -> EncryptedArray:
        return -self + other

    def __mul__(self, other: Numbers) -> EncryptedArray:
        if isinstance(other, EncryptedArray):
            raise TypeError("products of two encrypted numbers do not exist; decrypt one")
        return self._with(self._numbers.mul_plain(*self._plain(other)))

    def __rmul__(self, other: Numbers) -> EncryptedArray:
        return self * other

    def __repr__(self) -> str:
        return f"<gpuint.paillier.EncryptedArray of {len(self)} rows on {self._device}>"


class Packing:
    """Slots of one plaintext for vectors of small ints.

    The sum of encrypted rows has the sums of the vectors: one ciphertext holds as many sums as it
    has slots.

    >>> from gpuint import paillier
    >>> key = paillier.PrivateKey.generate(1024, device="cpu")
    >>> packing = paillier.Packing(key.public_key, value_bits=20, terms=1000)
    >>> rows = key.public_key.encrypt(packing.pack([[-500_000, 7], [1, 3]]), device="cpu")
    >>> packing.unpack(key.decrypt(rows.sum()), 2).tolist()
    [[-499999, 10]]
    """

    __slots__ = ("_packing",)
    _packing: _gpuint.PaillierPacking

    def __init__(self, key: PublicKey, value_bits: int, terms: int = 1) -> None:
        """Makes slots for values from `-2**value_bits` to `2**value_bits - 1`.

        A slot holds sums of up to `terms` values, and at most 63 bits.
        """
        if not isinstance(key, PublicKey):
            raise wrong_type("key", "a PublicKey", key)
        bits, most = count(value_bits, "value_bits"), count(terms, "terms", least=1)
        with _naming("value_bits and terms"):
            self._packing = _gpuint.PaillierPacking.of_key(key._key, bits, most)

    @property
    def slots(self) -> int:
        """Number of values that a plaintext holds."""
        return self._packing.slots

    def pack(self, values: Sequence[Sequence[int]] | npt.NDArray[np.integer[Any]]) -> list[int]:
        """Returns a plaintext for each row of a matrix of ints.

        Raises `RangeError` with the lowest row with a value out of range.
        """
        try:
            matrix = np.asarray(values)
        except ValueError:
            raise MismatchError("values has rows of different lengths") from None
        if matrix.ndim != 2:
            raise MismatchError(f"values has two dimensions, (rows, slots), not {matrix.ndim}")
        width = self._width(matrix.shape[1], "values")
        return self._packing.pack(int64s(matrix.reshape(-1), "values"), width)

    def unpack(self, numbers: Sequence[int], width: int) -> npt.NDArray[np.int64]:
        """Returns the vectors of `width` values of decrypted plaintexts, in a matrix.

        Raises `RangeError` with the lowest row that has bits above its slots.
        """
        width = self._width(count(width, "width"), "width")
        given = items(numbers, "numbers", "an iterable of ints")
        plaintexts = [integer(number, "numbers") for number in given]
        values = np.frombuffer(self._packing.unpack(plaintexts, width), np.int64)
        return values.reshape(len(plaintexts), width)

    def _width(self, width: int, name: str) -> int:
        if not 1 <= width <= self.slots:
            raise MismatchError(f"{name} has {width} slots, but a plaintext has {self.slots}")
        return width

    def __repr__(self) -> str:
        return f"<gpuint.paillier.Packing of {self.slots} slots>"


def to_arrow(columns: Mapping[str, EncryptedArray]) -> Any:
    """Returns encrypted columns of one key as a `pyarrow.Table`, by the package pyarrow.

    A number is a struct of `ciphertext`, an integer in bytes, most significant first, and
    `exponent`. The metadata has the public key.
    """
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]

    if not isinstance(columns, Mapping):
        raise wrong_type("columns", "a mapping of names to EncryptedArray", columns)
    arrays = list(columns.values())
    if not arrays:
        raise MismatchError("columns has no column")
    for name, array in columns.items():
        string(name, "name of columns")
        if not isinstance(array, EncryptedArray):
            raise wrong_type("columns", "a mapping of names to EncryptedArray", array)
        if array.public_key != arrays[0].public_key:
            raise MismatchError(f'the column "{name}" belongs to another key')
    key = arrays[0].public_key
    size = (2 * key.n.bit_length() + 7) // 8

    def column(array: EncryptedArray) -> Any:
        ciphertexts = [number.to_bytes(size, "big") for number in array.ciphertexts()]
        parts = [
            pyarrow.array(ciphertexts, pyarrow.binary(size)),
            pyarrow.array(array.exponents, pyarrow.int32()),
        ]
        return pyarrow.StructArray.from_arrays(parts, ["ciphertext", "exponent"])

    table = pyarrow.table({name: column(array) for name, array in columns.items()})
    return table.replace_schema_metadata({_KEY: key.to_jwk().encode()})


def from_arrow(table: Any, device: DeviceLike = None) -> dict[str, EncryptedArray]:
    """Reads the columns of a `pyarrow.Table` that `to_arrow` made.

    Raises `ParseError` if the table has no key, or if a column is not encrypted, and `RangeError`
    with the lowest row that is not a ciphertext.
    """
    import pyarrow

    if not isinstance(table, pyarrow.Table):
        raise wrong_type("table", "a pyarrow.Table", table)
    jwk = (table.schema.metadata or {}).get(_KEY)
    if jwk is None:
        raise ParseError("the table has no public key in its metadata")
    key = PublicKey.from_jwk(jwk.decode())
    arrays = {}
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        fields = column.type.names if pyarrow.types.is_struct(column.type) else []
        if sorted(fields) != ["ciphertext", "exponent"] or column.null_count > 0:
            raise ParseError(f'the column "{name}" is not encrypted')
        numbers = column.field("ciphertext").to_pylist()
        ciphertexts = [int.from_bytes(number, "big") for number in numbers]
        exponents = column.field("exponent").to_pylist()
        arrays[name] = key.from_ciphertexts(ciphertexts, exponents, device)
    return arrays


def write_parquet(file: str | os.PathLike[str], columns: Mapping[str, EncryptedArray]) -> None:
    """Writes the table of `to_arrow` to a Parquet file."""
    table = to_arrow(columns)
    import pyarrow.parquet  # type: ignore[import-untyped, import-not-found, unused-ignore]

    pyarrow.parquet.write_table(table, path(file))


def read_parquet(
    file: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    device: DeviceLike = None,
) -> dict[str, EncryptedArray]:
    """Reads encrypted columns that `write_parquet` wrote, all of them by default.

    Raises the errors of `from_arrow`.
    """
    import pyarrow.parquet

    names = None
    if columns is not None:
        expected = "an iterable of str"
        names = [string(name, "columns") for name in items(columns, "columns", expected)]
    known = pyarrow.parquet.read_schema(path(file)).names
    for name in names or []:
        if name not in known:
            raise MismatchError(f'columns names "{name}", which the file does not have')
    return from_arrow(pyarrow.parquet.read_table(path(file), columns=names), device)


# Ints, floats, or an array of them; one for all rows where an operand has rows.
Numbers = int | float | Sequence[int | float] | npt.NDArray[Any]


def _floats(values: Any) -> npt.NDArray[np.float64] | None:
    """Returns a column of floats; `None` if it has other elements."""
    if isinstance(values, np.ndarray):
        is_float = column(values, "values").dtype.kind == "f"
    else:
        is_float = isinstance(values, list) and all(isinstance(value, float) for value in values)
    return np.ascontiguousarray(values, np.float64) if is_float else None


def _encode(values: Any, exponent: int | None) -> tuple[list[int], list[int]]:
    """Encodes ints and floats as mantissas and exponents of 16."""
    floats = _floats(values)
    if floats is not None:
        return _gpuint.paillier_encoded(floats, exponent)
    return _encoded(values, exponent)


def _encoded(values: Any, exponent: int | None) -> tuple[list[int], list[int]]:
    """Encodes ints, or ints and floats in any order."""
    mantissas, exponents = [], []
    lowest = _lowest(exponent)
    for row, value in enumerate(items(values, "values", "ints or floats")):
        integer = as_int(value)
        if integer is not None:
            mantissas.append(integer << (-4 * lowest))
            exponents.append(lowest)
        elif isinstance(value, (float, np.floating)):
            try:
                encoded = _gpuint.paillier_encoded(np.array([value], np.float64), exponent)
            except RangeError:
                raise RangeError(f"row {row} is not a finite number in the range", row) from None
            mantissas.append(encoded[0][0])
            exponents.append(encoded[1][0])
        else:
            raise wrong_type("values", "ints or floats", value)
    return mantissas, exponents


def _lowest(exponent: int | None) -> int:
    """Returns the exponent of ints, which have no digits below 1."""
    lowest = 0 if exponent is None else min(exponent, 0)
    if lowest < -_LARGEST_EXPONENT:
        raise RangeError(f"exponent is at least {-_LARGEST_EXPONENT}")
    return lowest


@contextlib.contextmanager
def _naming(arguments: str) -> Iterator[None]:
    """Names the arguments in errors of the key or the text that they make."""
    try:
        yield
    except (ParseError, RangeError) as error:
        raise type(error)(f"{arguments}: {error}", error.row) from None


def _exponent(value: object, name: str) -> int:
    """Returns an exponent of 16, which has 32 bits."""
    exponent = integer(value, name)
    if not -(2**31) <= exponent < 2**31:
        raise RangeError(f"{name} has at most 32 bits, not {short(exponent)}")
    return exponent


def _numbers_of(key: object, names: list[str], expected: str) -> list[int]:
    """Returns the numbers of a key of `phe`."""
    numbers = [getattr(key, name, None) for name in names]
    if any(as_int(number) is None for number in numbers):
        raise wrong_type("key", expected, key)
    return [unsigned(number, "key") for number in numbers]


def _decoded(row: int, mantissa: int, exponent: int) -> int | float:
    if exponent > _LARGEST_EXPONENT or exponent < -_LARGEST_EXPONENT:
        raise RangeError(f"the exponent of row {row} is {exponent}", row)
    if exponent >= 0:
        return mantissa << (4 * exponent)
    try:
        return mantissa / (1 << (-4 * exponent))
    except OverflowError:
        raise RangeError(f"the number of row {row} is too large for a float", row) from None
