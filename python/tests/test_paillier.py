"""Paillier's cryptosystem, also against the package phe."""

import json
import math

import numpy as np
import pytest

import gpuint
from gpuint import paillier


@pytest.fixture(scope="module")
def key():
    return paillier.PrivateKey.generate(1024, device="cpu")


@pytest.fixture(scope="module")
def encrypt(key):
    return lambda values, **options: key.public_key.encrypt(values, device="cpu", **options)


@pytest.fixture(scope="module")
def phe():
    return pytest.importorskip("phe")


VALUES = [0, 1, -1, 2**200, 0.0, -0.5, 1e-30, 3.25e20, math.pi, -(2.0**-1074)]


def test_values_return(key, encrypt):
    assert key.decrypt(encrypt(VALUES)) == VALUES
    floats = np.array([0.1, -2.5, 1e300])
    assert key.decrypt(encrypt(floats)) == floats.tolist()
    assert key.decrypt(encrypt(floats[:2], exponent=-6)) == [
        round(value * 16**6) / 16**6 for value in [0.1, -2.5]
    ]
    assert key.decrypt(encrypt(np.arange(-2, 3), short=False)) == [-2, -1, 0, 1, 2]
    assert key.decrypt(encrypt([3], exponent=-2)) == [3.0]
    assert key.decrypt(encrypt([])) == []


def test_numpy_arrays_return(key, encrypt):
    numbers = np.array([0, -1, 2**62, -(2**63), 7], np.int64)
    encrypted = encrypt(numbers)
    assert encrypted.exponents == [0] * 5
    back = key.decrypt_array(encrypted, np.int64)
    assert back.dtype == np.int64 and (back == numbers).all()
    assert (key.decrypt_array(encrypted) == numbers.astype(np.float64)).all()
    # Strides, other widths, ints above 64 bits, and digits below 1.
    assert key.decrypt(encrypt(numbers[::2])) == [0, 2**62, 7]
    assert key.decrypt(encrypt(np.array([3, -4], np.int8), exponent=-3)) == [3.0, -4.0]
    assert key.decrypt(encrypt(np.array([2**64 - 1], np.uint64))) == [2**64 - 1]
    assert key.decrypt_array(encrypt([5.0, -2.5]) * 2, int).tolist() == [10, -5]
    floats = np.array([0.1, -2.5, 1e300])
    assert (key.decrypt_array(encrypt(floats)) == floats).all()
    for values in ([1, 0.5], [1, 2**63]):
        with pytest.raises(gpuint.RangeError, match="not an integer") as caught:
            key.decrypt_array(encrypt(values), np.int64)
        assert caught.value.row == 1
    with pytest.raises(TypeError, match="dtype"):
        key.decrypt_array(encrypted, np.int32)
    with pytest.raises(gpuint.MismatchError, match="values"):
        encrypt(np.zeros((2, 2), np.int64))
    assert key.decrypt_array(encrypt([])).shape == (0,)


def test_equal_values_have_different_ciphertexts(key, encrypt):
    both = encrypt([7] * 20).ciphertexts() + encrypt([7] * 4, short=False).ciphertexts()
    assert len(set(both)) == 24
    encrypted = encrypt([7] * 20)
    again = encrypted.rerandomize()
    assert not set(again.ciphertexts()) & set(encrypted.ciphertexts())
    assert key.decrypt(again) == [7] * 20


def test_operators_are_those_of_the_values(key, encrypt):
    a, b = [1.5, -2, 3, 0.25], [4, 0.5, -6, 8]
    x, y = encrypt(a), encrypt(b)

    def expected(function):
        return [function(*pair) for pair in zip(a, b)]

    assert key.decrypt(x + y) == expected(lambda a, b: a + b)
    assert key.decrypt(x - y) == expected(lambda a, b: a - b)
    assert key.decrypt(x + b) == expected(lambda a, b: a + b)
    assert key.decrypt(a - y) == expected(lambda a, b: a - b)
    assert key.decrypt(x - np.array(b)) == expected(lambda a, b: a - b)
    assert key.decrypt(np.array(b) * x) == expected(lambda a, b: a * b)
    assert key.decrypt(2.5 * x) == [2.5 * value for value in a]
    assert key.decrypt(-x) == [-value for value in a]
    assert key.decrypt(x.sum()) == [sum(a)]
    assert key.decrypt(x.sum_by([2, 0, 2, 0])) == [-1.75, 0, 4.5]
    assert key.decrypt(x[1:3]) == a[1:3]
    assert key.decrypt(x[np.array([True, False, False, True])]) == [1.5, 0.25]
    with pytest.raises(TypeError):
        x * y


def test_rows_are_selected_as_those_of_arrays(key, encrypt):
    encrypted = encrypt([1, 2, 3])
    assert key.decrypt(encrypted[[-1, 0]]) == [3, 1]
    assert key.decrypt(encrypted[::-2]) == [3, 1]
    mask = gpuint.array([1, 2, 3], device="cpu") > 1
    assert key.decrypt(encrypted[mask]) == [2, 3]
    with pytest.raises(gpuint.RowError) as caught:
        encrypted[[0, 3]]
    assert caught.value.row == 3
    with pytest.raises(gpuint.MismatchError, match="rows has the shape"):
        encrypted[[True, False]]


def test_errors_have_their_row(key, encrypt):
    limit = key.public_key.max_int
    for bad in [limit + 1, -limit - 1, math.inf, math.nan]:
        with pytest.raises(gpuint.RangeError) as caught:
            encrypt([1, bad])
        assert caught.value.row == 1
    with pytest.raises(gpuint.RangeError) as caught:
        key.decrypt(encrypt([0, limit]) + encrypt([0, 1]))
    assert caught.value.row == 1
    with pytest.raises(gpuint.RangeError) as caught:
        encrypt([1, 2]).sum_by([0, -1])
    assert caught.value.row == 1
    with pytest.raises(gpuint.RangeError) as caught:
        encrypt([1, 2]).sum_by([0, 4], 4)
    assert caught.value.row == 1
    with pytest.raises(gpuint.MismatchError):
        encrypt([1, 2]) + np.array([1])
    with pytest.raises(gpuint.RangeError):
        paillier.PrivateKey.generate(512)
    with pytest.raises(gpuint.ParseError):
        paillier.PrivateKey.from_jwk("{}")
    with pytest.raises(TypeError):
        encrypt(["1"])


def test_keys_return_from_jwk(key):
    again = paillier.PrivateKey.from_jwk(key.to_jwk())
    assert again.public_key == key.public_key
    assert again.public_key.short_base == key.public_key.short_base
    assert json.loads(key.to_jwk())["kty"] == "DAJ"
    public = paillier.PublicKey.from_jwk(key.public_key.to_jwk())
    assert key.decrypt(public.encrypt([5], device="cpu")) == [5]


def test_phe_reads_keys_and_numbers(key, encrypt, phe):
    theirs = key.to_phe()
    for number, value in zip(encrypt(VALUES).to_phe(), VALUES):
        assert theirs.decrypt(number) == value
    # The encodings are those of phe, value by value.
    exponents = [phe.EncodedNumber.encode(theirs.public_key, value).exponent for value in VALUES]
    assert encrypt(VALUES).exponents == exponents
    # As pheutil reads them.
    jwk = json.loads(key.to_jwk())
    public = phe.PaillierPublicKey(phe.util.base64_to_int(jwk["pub"]["n"]))
    factors = [phe.util.base64_to_int(jwk[name]) for name in "pq"]
    private = phe.PaillierPrivateKey(public, *factors)
    for text in encrypt([2.5, -3]).to_json():
        number = json.loads(text)
        encrypted = phe.EncryptedNumber(public, int(number["v"]), number["e"])
        assert private.decrypt(encrypted) in (2.5, -3)


def test_keys_and_numbers_of_phe_are_read(phe):
    public, private = phe.generate_paillier_keypair(n_length=1024)
    key = paillier.PrivateKey.from_phe(private)
    assert key.public_key == paillier.PublicKey.from_phe(public)
    numbers = [public.encrypt(value) for value in VALUES]
    numbers[0] = numbers[1] * 3 + numbers[5]
    array = key.public_key.numbers_from_phe(numbers, device="cpu")
    assert key.decrypt(array) == [private.decrypt(number) for number in numbers]
    # The last number is so small that a sum with it would leave the range of the key.
    total = array[:9].sum_by([0] * 5 + [1] * 4).to_phe()
    for part, rows in zip(total, (numbers[:5], numbers[5:9])):
        assert private.decrypt(part) == private.decrypt(sum(rows[1:], rows[0]))
    text = json.dumps({"v": str(numbers[5].ciphertext()), "e": numbers[5].exponent})
    assert key.decrypt(key.public_key.numbers_from_json([text], device="cpu")) == [-0.5]
    jwk = {
        "kty": "DAJ",
        "key_ops": ["decrypt"],
        "p": phe.util.int_to_base64(private.p),
        "q": phe.util.int_to_base64(private.q),
        "pub": {"kty": "DAJ", "alg": "PAI-GN1", "n": phe.util.int_to_base64(public.n)},
    }
    assert paillier.PrivateKey.from_jwk(json.dumps(jwk)).public_key == key.public_key
    with pytest.raises(gpuint.MismatchError) as caught:
        other = paillier.PrivateKey.generate(1024, device="cpu")
        other.public_key.numbers_from_phe(numbers, device="cpu")
    assert caught.value.row == 0


def test_vectors_are_packed(key):
    packing = paillier.Packing(key.public_key, value_bits=20, terms=3)
    # 22 bits and a sign, and the largest encoded number has 1022 bits.
    assert packing.slots == 44
    limit = 2**20
    rows = [[-limit, 0, limit - 1], [-limit, -1, limit - 1], [-limit, 1, limit - 1]]
    plaintexts = packing.pack(rows)
    assert packing.unpack(plaintexts, 3).tolist() == rows
    assert packing.pack(np.array(rows)) == plaintexts
    encrypted = key.public_key.encrypt(plaintexts, device="cpu")
    assert packing.unpack(key.decrypt(encrypted.sum()), 3).tolist() == [
        [-3 * limit, 0, 3 * limit - 3]
    ]
    full = np.arange(88).reshape(2, 44) - 44
    assert (packing.unpack(packing.pack(full), 44) == full).all()
    assert packing.unpack(packing.pack(np.empty((0, 3), int)), 3).shape == (0, 3)


def test_errors_of_packing_name_their_row(key):
    packing = paillier.Packing(key.public_key, value_bits=20, terms=3)
    for bad in (2**20, -(2**20) - 1, 2**70, -(2**70)):
        with pytest.raises(gpuint.RangeError) as caught:
            packing.pack([[0, 0], [0, bad]])
        assert caught.value.row == 1
    with pytest.raises(gpuint.RangeError) as caught:
        packing.unpack([0, 2**1000], 2)
    assert caught.value.row == 1
    for work in (
        lambda: packing.pack([1, 2]),
        lambda: packing.pack(np.zeros((1, 45), int)),
        lambda: packing.unpack([1], 45),
    ):
        with pytest.raises(gpuint.MismatchError):
            work()
    with pytest.raises(TypeError):
        packing.pack([[0.5]])
    with pytest.raises(gpuint.RangeError):
        paillier.Packing(key.public_key, value_bits=60, terms=100)


def test_columns_return_from_parquet(key, encrypt, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "columns.parquet"
    columns = {"a": encrypt(VALUES), "b": encrypt([-1.5] * len(VALUES), exponent=-4)}
    paillier.write_parquet(path, columns)
    read = paillier.read_parquet(path, device="cpu")
    assert list(read) == ["a", "b"]
    assert key.decrypt(read["a"]) == VALUES and read["b"].exponents == [-4] * len(VALUES)
    assert read["a"].ciphertexts() == columns["a"].ciphertexts()
    assert read["a"].public_key.short_base == key.public_key.short_base
    assert list(paillier.read_parquet(str(path), ["b"], device="cpu")) == ["b"]
    # Columns of numbers that are not encrypted.
    table = pyarrow.table({"x": [1.5, -2.0], "n": [3, -4]})
    for name in ("x", "n"):
        assert key.decrypt(encrypt(table.column(name))) == table.column(name).to_pylist()


def test_columns_return_from_arrow(key, encrypt):
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"a": encrypt(VALUES), "b": encrypt([-1.5] * len(VALUES), exponent=-4)}
    table = paillier.to_arrow(columns)
    assert table.schema.names == ["a", "b"]
    assert [int.from_bytes(number["ciphertext"].as_py(), "big") for number in table["a"]] == (
        columns["a"].ciphertexts()
    )
    # As another process receives it, some rows and columns.
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=3)
    received = pyarrow.ipc.open_stream(sink.getvalue()).read_all()
    read = paillier.from_arrow(received, device="cpu")
    assert key.decrypt(read["a"]) == VALUES and read["b"].exponents == [-4] * len(VALUES)
    read = paillier.from_arrow(received.select(["a"]).slice(2, 4), device="cpu")
    assert list(read) == ["a"] and key.decrypt(read["a"]) == VALUES[2:6]
    with pytest.raises(TypeError, match="table"):
        paillier.from_arrow({"a": []})
    with pytest.raises(gpuint.ParseError, match="no public key"):
        paillier.from_arrow(pyarrow.table({"x": [1]}))


def test_errors_of_parquet_name_the_column(key, encrypt, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "columns.parquet"
    parquet.write_table(pyarrow.table({"x": [1, 2]}), path)
    with pytest.raises(gpuint.ParseError, match="no public key"):
        paillier.read_parquet(path)
    other = paillier.PrivateKey.generate(1024, device="cpu").public_key
    with pytest.raises(gpuint.MismatchError, match='"b"'):
        columns = {"a": encrypt([1]), "b": other.encrypt([1], device="cpu")}
        paillier.write_parquet(path, columns)
    with pytest.raises(gpuint.MismatchError, match="columns"):
        paillier.write_parquet(path, {})
    paillier.write_parquet(path, {"a": encrypt([1, 2])})
    table = parquet.read_table(path)
    parquet.write_table(table.append_column("plain", [[1, 2]]), path)
    with pytest.raises(gpuint.ParseError, match='"plain"'):
        paillier.read_parquet(path)
    size = table.column("a").type.field("ciphertext").type.byte_width
    zero = [{"ciphertext": bytes(size), "exponent": 0}] * 2
    bad = pyarrow.table({"a": pyarrow.array(zero, table.column("a").type)})
    parquet.write_table(bad.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(gpuint.RangeError) as caught:
        paillier.read_parquet(path, device="cpu")
    assert caught.value.row == 0
