"""Signed arrays against Python's integers."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuint
from conftest import BITS, MAX, integers, rows

MOD = 2**BITS
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.fixture(scope="module")
def make(device):
    return lambda values, bits=BITS: gpuint.SignedArray(values, bits, device)


def signed(minimum=0):
    """Integers of either sign."""
    sign = st.sampled_from([1, -1])
    return st.builds(operator.mul, integers(minimum=minimum), sign)


def wrapped(values):
    """The values with magnitudes modulo the width."""
    return [abs(value) % MOD * (-1 if value < 0 else 1) for value in values]


@given(rows(signed(), signed()))
def test_sums_and_products_match_python(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    assert a.tolist() == x and abs(a).tolist() == list(map(abs, x))
    assert (-a).tolist() == [-u for u in x]
    for name in ["add", "sub", "mul"]:
        values = [getattr(operator, name)(u, v) for u, v in zip(x, y)]
        result, overflow = getattr(a, f"overflowing_{name}")(b)
        assert result.tolist() == wrapped(values), name
        assert overflow.tolist() == [abs(value) > MAX for value in values], name
    assert a.widening_mul(b).tolist() == [u * v for u, v in zip(x, y)]
    for op in COMPARED:
        assert op(a, b).tolist() == list(map(op, x, y)), op
        assert op(a, y[0]).tolist() == [op(u, y[0]) for u in x], op
    assert a.compare(b).tolist() == [(u > v) - (u < v) for u, v in zip(x, y)]


@given(rows(signed(), signed(minimum=1)))
def test_divisions_match_python(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    for op in [operator.floordiv, operator.mod]:
        assert op(a, b).tolist() == list(map(op, x, y)), op
        assert op(a, y[0]).tolist() == [op(u, y[0]) for u in x], op
        assert op(x[0], b).tolist() == [op(x[0], v) for v in y], op
    assert [part.tolist() for part in divmod(a, b)] == list(map(list, zip(*map(divmod, x, y))))
    quotients, remainders = (part.tolist() for part in a.div_rem(b, "zero"))
    for u, v, q, r in zip(x, y, quotients, remainders):
        assert q * v + r == u and abs(r) < abs(v) and r * u >= 0
    quotients, remainders = (part.tolist() for part in a.div_rem(b, "euclid"))
    for u, v, q, r in zip(x, y, quotients, remainders):
        assert q * v + r == u and 0 <= r < abs(v)


def test_operands_of_other_types_and_widths(make, device):
    a = make([3, -4, 0])
    assert (a + 2**2000).tolist() == [2**2000 + 3, 2**2000 - 4, 2**2000]
    assert (10 - a).tolist() == [7, 14, 10]
    assert (a * gpuint.array([5, 5, 5], device=device)).tolist() == [15, -20, 0]
    parts = gpuint.SignedArray.of(gpuint.array([1, 0], device=device), [True, True])
    assert parts.tolist() == [-1, 0] and parts.negative.tolist() == [True, False]
    assert (make([]) + make([])).tolist() == []


def test_results_that_do_not_fit_are_errors(make):
    largest = make([1, -MAX])
    with pytest.raises(gpuint.RangeError) as raised:
        largest - 1
    assert raised.value.row == 1
    with pytest.raises(gpuint.RangeError):
        make([2**BITS])
    with pytest.raises(gpuint.DivisionByZeroError) as raised:
        largest // make([1, 0])
    assert raised.value.row == 1
    with pytest.raises(ValueError, match="rounding"):
        largest.div_rem(1, "up")
    with pytest.raises(TypeError):
        largest + "1"
