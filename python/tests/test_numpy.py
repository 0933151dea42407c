"""Functions of numpy on rows: exact, or a TypeError."""

import io

import numpy as np
import pytest

import gpuint
from conftest import BITS

VALUES = [2**63 + 1, 1, 2**900]
OTHERS = [2**63 + 2, 1, 2**900]


@pytest.fixture(scope="module")
def a(device):
    return gpuint.array(VALUES, BITS, device)


def containers(a):
    """Rows of every type, with their values."""
    modulus = gpuint.Modulus(2**521 - 1, BITS, a.device)
    yield a, VALUES
    yield gpuint.SignedArray([-(2**63) - 1, 1, 2**900], BITS, a.device), [-(2**63) - 1, 1, 2**900]
    yield modulus.residues(a), [value % (2**521 - 1) for value in VALUES]
    yield a > 2**64, [False, False, True]


def test_arrays_of_numpy_have_every_digit(a):
    for rows, values in containers(a):
        kind = bool if isinstance(rows, gpuint.Mask) else object
        for made, dtype in (
            (np.asarray(rows), kind),
            (np.array(rows), kind),
            (np.asarray(rows, dtype=object), object),
        ):
            assert (made.tolist(), made.shape, made.dtype) == (values, (3,), dtype)
        assert (rows.shape, rows.ndim, rows.size) == ((3,), 1, 3)
        assert (np.shape(rows), np.ndim(rows), np.size(rows)) == ((3,), 1, 3)
        with pytest.raises(ValueError, match="copy"):
            np.asarray(rows, copy=False) if np.__version__ >= "2" else rows.__array__(copy=False)
        if not isinstance(rows, gpuint.Mask):
            for dtype in (np.float64, np.uint64, np.int64, "U9"):
                with pytest.raises(TypeError, match="to_limbs"):
                    np.asarray(rows, dtype=dtype)
    assert np.asarray([a, a]).tolist() == [VALUES, VALUES]


def test_array_equal_is_exact(a):
    other = gpuint.array(OTHERS, BITS, a.device)
    assert not np.array_equal(a, other) and np.array_equal(a, a.resized(2048))
    assert not np.array_equal(a, a[:2]) and not np.array_equal(a, a[:1])
    assert np.array_equal(VALUES, a) and np.array_equal(a, np.array(VALUES, dtype=object))
    for rows, values in containers(a):
        assert np.array_equal(rows, values) and not np.array_equal(rows, values[::-1])
    with pytest.raises(TypeError):
        np.array_equal(a, [1.0, 2.0, 3.0])


def test_ufuncs_are_the_operators(a):
    other = gpuint.array(OTHERS, BITS, a.device)
    for ufunc, expected in (
        (np.add, a + other),
        (np.subtract, a - other),
        (np.multiply, a * other),
        (np.floor_divide, a // other),
        (np.remainder, a % other),
        (np.bitwise_and, a & other),
        (np.bitwise_or, a | other),
        (np.bitwise_xor, a ^ other),
        (np.gcd, a.gcd(other)),
        (np.equal, a == other),
        (np.less, a < other),
        (np.greater_equal, a >= other),
    ):
        for result in (ufunc(a, other), ufunc(VALUES, other), ufunc(a, OTHERS)):
            assert type(result) is type(expected)
            assert result.tolist() == expected.tolist(), ufunc
    assert [part.tolist() for part in np.divmod(a, other)] == [
        part.tolist() for part in divmod(a, other)
    ]
    assert np.left_shift(a, np.array([1, 2, 3])).tolist() == (a << [1, 2, 3]).tolist()
    assert np.invert(a).is_equal(~a) and np.square(a).is_equal(a * a)
    assert np.power(a, 2).is_equal(a * a)
    signed = gpuint.SignedArray([-1, 2, -3], BITS, a.device)
    assert np.absolute(signed).tolist() == [1, 2, 3] and np.negative(signed).tolist() == [1, -2, 3]
    assert np.add(a, signed).tolist() == [u + v for u, v in zip(VALUES, [-1, 2, -3])]
    numbers = np.array([5, 6, 7])
    assert (numbers - a).tolist() == [(v - u) % 2**BITS for u, v in zip(VALUES, [5, 6, 7])]
    assert (np.int64(9) * a).tolist() == [9 * u for u in VALUES]
    assert (numbers > a).tolist() == [False, True, False]
    assert (np.array([True, False, True]) & (a > 1)).tolist() == [True, False, True]


def test_other_functions_are_type_errors(a):
    for work in (
        lambda: np.sin(a),
        lambda: np.true_divide(a, a),
        lambda: np.add(a, 1.5),
        lambda: np.add(a, np.array([0.5, 1.5, 2.5])),
        lambda: np.add(np.float64(0.5), a),
        lambda: np.add.reduce(a),
        lambda: np.add(a, a, out=np.zeros(3)),
        lambda: np.add(np.zeros(3), a, where=[True, False, True]),
        lambda: np.negative(a),
        lambda: np.save(io.BytesIO(), a),
        lambda: np.savez(io.BytesIO(), a),
        lambda: np.isclose(a, a),
        lambda: np.mean(a),
        lambda: np.sum(a, axis=0),
        lambda: np.add(a > 1, a > 1),
        lambda: np.sort(a > 1),
        lambda: np.take(np.arange(3), a),
        lambda: np.concatenate([np.arange(3), a]),
        lambda: np.concatenate([a, a > 1]),
        lambda: np.where(a > 1),
    ):
        with pytest.raises(TypeError):
            work()
    total = np.zeros(3)
    with pytest.raises(TypeError):
        total += a
    assert total.tolist() == [0, 0, 0]


def test_functions_of_rows_are_the_methods(a):
    for rows, values in containers(a):
        assert np.concatenate([rows, rows]).tolist() == values + values
        assert np.take(rows, [2, 0]).tolist() == [values[2], values[0]]
        assert np.repeat(rows, 2).tolist() == [value for value in values for _ in range(2)]
        assert np.tile(rows, 2).tolist() == values * 2
        assert np.flip(rows).tolist() == values[::-1]
        chosen = np.where([True, False, True], rows, rows[::-1]).tolist()
        assert chosen == [values[0], values[1], values[2]]
        assert type(np.copy(rows)) is type(rows) and np.copy(rows).tolist() == values
    assert np.where(a > 1, 5, a).tolist() == [5, 1, 5]
    assert np.where(a > 1, 5, 6).tolist() == [5, 6, 5]
    assert np.sort(a).tolist() == sorted(VALUES) and np.argsort(a).tolist() == [1, 0, 2]
    assert (np.sum(a), np.min(a), np.max(a)) == (sum(VALUES), min(VALUES), max(VALUES))
    assert np.unique(a).tolist() == sorted(VALUES)
    mask = a > 1
    assert (np.count_nonzero(mask), np.any(mask), np.all(mask)) == (2, True, False)
    assert np.flatnonzero(mask).tolist() == [0, 2]


def test_truth_and_bytes_are_those_of_numpy(a):
    assert bool(a[1:2]) and not bool(gpuint.array([0], BITS, a.device))
    for rows, _ in containers(a):
        with pytest.raises(ValueError, match="ambiguous"):
            bool(rows)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(rows[:0])
    assert bytes(a) == a.tobytes() and len(bytes(a)) == 3 * BITS // 8
    for rows, _ in list(containers(a))[1:]:
        with pytest.raises(TypeError, match="tobytes"):
            bytes(rows)
    assert 1 in a and 2 not in a
