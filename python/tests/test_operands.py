"""Operands of every kind, for every operation that takes an array."""

import math
import operator

import numpy as np
import pytest

import gpuint
from conftest import BITS, MAX
from gpuint._prepared import divisor_of

MOD = 2**BITS
X = [MAX, 3**400, 12]
Y = [7, 2**63 + 1, 5]
SMALL = [7, 0, 5]


@pytest.fixture(scope="module")
def a(device):
    return gpuint.array(X, BITS, device)


def kinds(values, device):
    """The same integers as every type that stands for rows."""
    yield gpuint.array(values, BITS, device)
    yield gpuint.array(values, 2048, device).resized(BITS)
    yield list(values)
    yield tuple(values)
    yield np.array(values, dtype=object)
    if max(values) < 2**64 and min(values) >= 0:
        yield np.array(values, dtype=np.uint64)
    if max(values) < 2**31:
        yield np.array(values, dtype=np.int64)
        yield np.array(values, dtype=np.int32)[::1]


OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.floordiv,
    operator.mod,
]


@pytest.mark.parametrize("op", OPERATORS)
def test_every_kind_of_rows_is_an_operand_on_both_sides(a, device, op):
    for other in kinds(Y, device):
        assert op(a, other).tolist() == [op(u, v) % MOD for u, v in zip(X, Y)], type(other)
        assert op(other, a).tolist() == [op(v, u) % MOD for u, v in zip(X, Y)], type(other)


@pytest.mark.parametrize("op", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt])
def test_comparisons_with_every_kind_of_rows_are_masks(a, device, op):
    for values in (Y, [MAX, 0, 12], [-1, 3**400, 2**1500]):
        lists = [values, tuple(values), np.array(values, dtype=object)]
        for other in kinds(values, device) if max(values) <= MAX and min(values) >= 0 else lists:
            mask = op(a, other)
            assert isinstance(mask, gpuint.Mask)
            assert mask.tolist() == [op(u, v) for u, v in zip(X, values)], (op, type(other))
            assert op(other, a).tolist() == [op(v, u) for u, v in zip(X, values)]
    assert op(a, [12]).tolist() == [op(u, 12) for u in X]
    assert op(a, [-12]).tolist() == [op(u, -12) for u in X]
    signed = gpuint.SignedArray([-1, 3**400, 2**1500], device=device)
    assert op(a, signed).tolist() == [op(u, v) for u, v in zip(X, signed)]


METHODS = {
    "overflowing_add": lambda u, v: ((u + v) % MOD, u + v > MAX),
    "overflowing_sub": lambda u, v: ((u - v) % MOD, u < v),
    "cyclic_mul": lambda u, v: (u * v - 1) % (MOD - 1) + 1 if u * v else 0,
    "negacyclic_mul": lambda u, v: (u * v % (MOD + 1) % MOD, u * v % (MOD + 1) == MOD),
    "mul_lo_hi": lambda u, v: (u * v % MOD, u * v // MOD),
    "widening_mul": lambda u, v: u * v,
    "divmod_masked": lambda u, v: (u // v, u % v, False),
    "div_exact_masked": lambda u, v: (0 if u % v else u // v, u % v != 0),
    "gcd": math.gcd,
    "cmp": lambda u, v: (u > v) - (u < v),
    "swap": None,
}


def columns(result):
    """The rows of a result, or of its parts, as tuples."""
    parts = result if isinstance(result, tuple) else (result,)
    return list(zip(*(part.tolist() for part in parts)))


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_every_kind_of_rows_and_ints(a, device, name):
    method, expected = getattr(a, name), METHODS[name]
    for other in [*kinds(Y, device), 5, np.uint8(5), [5], gpuint.array([5], device=device)]:
        values = Y if not isinstance(other, (int, np.uint8)) and len(other) == 3 else [5, 5, 5]
        if name == "swap":
            assert columns(method([True, False, True], other)) == [
                (v, u) if bit else (u, v) for u, v, bit in zip(X, values, [1, 0, 1])
            ]
            continue
        rows = [expected(u, v) for u, v in zip(X, values)]
        rows = [row if isinstance(row, tuple) else (row,) for row in rows]
        assert columns(method(other)) == rows, type(other)


def test_factors_are_prepared_for_rows_of_any_width(a, device):
    wide = 2**1500 + 1
    for factor in (5, MAX, wide, Y, [5], gpuint.array(Y, device=device)):
        values = [factor] * 3 if isinstance(factor, int) else list(factor) * (3 // len(factor))
        kept = gpuint.Factor(factor, device=device)
        bits = max(BITS, kept.bits)
        products = [u * v for u, v in zip(X, values)]
        assert (a * kept).tolist() == (kept * a).tolist() == [p % 2**bits for p in products]
        low, high = a.mul_lo_hi(kept)
        assert (low.bits, high.bits) == (bits, bits)
        assert [u | v << bits for u, v in zip(low, high)] == products
        modulus = 2**bits - 1
        cyclic = [(p - 1) % modulus + 1 if p else 0 for p in products]
        assert a.cyclic_mul(kept).tolist() == cyclic
    long = gpuint.array([2**1048600 - 1, 3], device=device)
    high = long.mul_lo_hi(gpuint.Factor(2**1048600, device=device))[1]
    assert high.tolist() == [(v << 1048600) >> high.bits for v in long]
    with pytest.raises(gpuint.RangeError):
        gpuint.Factor(-1)
    with pytest.raises(gpuint.MismatchError):
        a * gpuint.Factor([1, 2], device=device)


def test_ints_of_either_sign_stand_for_residues(a, device):
    for value in (-1, ~1, -7, -MAX):
        for op in OPERATORS[:6]:
            assert op(a, value).tolist() == [op(u, value) % MOD for u in X], (op, value)
            assert op(value, a).tolist() == [op(value, u) % MOD for u in X], (op, value)
        rows = [value, 3, -5]
        for other in (rows, np.array(rows, dtype=object)):
            assert (a + other).tolist() == [(u + v) % MOD for u, v in zip(X, rows)]
    least = np.array([-(2**63), -1, 2**63 - 1])
    assert (a + least).tolist() == [(u + v) % MOD for u, v in zip(X, least.tolist())]
    n = 2**521 - 1
    for modulus in (n, [n, n - 2, n - 4], gpuint.Divisor(n, device=device)):
        moduli = modulus if isinstance(modulus, list) else [n] * 3
        for other in (-3, [-3, 4, -(2**600)]):
            values = other if isinstance(other, list) else [other] * 3
            table = list(zip(X, values, moduli))
            assert a.mul_mod(other, modulus).tolist() == [u * v % m for u, v, m in table]
            assert a.add_mod(other, modulus).tolist() == [(u + v) % m for u, v, m in table]
            assert a.sub_mod(other, modulus).tolist() == [(u - v) % m for u, v, m in table]
    odd = [101, 103, 107]
    powers = gpuint.powmod(-3, 5, gpuint.array(odd, device=device))
    assert powers.tolist() == [pow(-3, 5, m) for m in odd]
    powers = gpuint.powmod([-3, 4, -5], gpuint.array([5, 6, 7], device=device), 101)
    assert powers.tolist() == [pow(-3, 5, 101), pow(4, 6, 101), pow(-5, 7, 101)]
    assert a.gcd(-6).tolist() == [math.gcd(u, 6) for u in X]
    assert a.lcm([-1, -1, -6]).tolist() == [X[0], X[1], math.lcm(12, 6)]
    for work in (lambda: a % -7, lambda: a // [-1, 1, 1], lambda: a.xgcd(-6), lambda: -7 // a):
        with pytest.raises(gpuint.RangeError):
            work()


def test_one_row_stands_for_all_rows(a, device):
    one, wide = gpuint.array([5], BITS, device), gpuint.array([2**1500], device=device)
    for op in OPERATORS:
        assert op(a, one).tolist() == [op(u, 5) % MOD for u in X]
        assert op(one, a).tolist() == [op(5, u) % MOD for u in X]
    assert ((a + wide).bits, (a + wide)[2]) == (wide.bits, 2**1500 + 12)
    assert a.mul_add(one, wide).tolist() == [u * 5 + 2**1500 for u in X]
    assert pow(one, a, gpuint.array([97], device=device)).tolist() == [pow(5, u, 97) for u in X]
    moduli = [101, 103, 107]
    assert pow(one, 3, moduli).tolist() == [125 % m for m in moduli]
    assert one.mul_mod(a, moduli).tolist() == [5 * u % m for u, m in zip(X, moduli)]
    assert a.mul_mod(7, one).tolist() == [7 * u % 5 for u in X]
    assert one.inverse_mod(moduli)[0].tolist() == [pow(5, -1, m) for m in moduli]
    assert (a % gpuint.Divisor(one)).tolist() == [u % 5 for u in X]
    assert a.select([True, False, True], one).tolist() == [X[0], 5, X[2]]
    assert (one << [1, 2]).tolist() == [10, 20] and (a >> [3]).tolist() == [u >> 3 for u in X]
    assert (gpuint.array([], BITS, device) + one).tolist() == []
    assert not a.is_equal(one) and one.is_equal([5]) and not one.is_equal([5, 5])
    s = gpuint.SignedArray([-5], BITS, device)
    assert (s * a[1:]).tolist() == (a[1:] * s).tolist() == [-5 * u for u in X[1:]]
    with pytest.raises(gpuint.MismatchError):
        a.__add__([1, 2])


def test_shifts_and_powers_of_every_kind(a, device):
    for distance in [*kinds(SMALL, device), range(3), [2**70, 2**2000, 0]]:
        values = list(distance)
        shifted = [u << min(int(d), BITS) & MAX for u, d in zip(X, values)]
        assert (a << distance).tolist() == shifted, type(distance)
        assert (a >> distance).tolist() == [u >> min(int(d), BITS) for u, d in zip(X, values)]
        turned = [(u << d % BITS | u >> BITS - d % BITS) & MAX for u, d in zip(X, map(int, values))]
        assert a.rotate_left(distance).tolist() == turned
    huge = gpuint.array([2**200, 1, 2**64], device=device)
    assert (a >> huge).tolist() == [0, X[1] >> 1, 0]
    b = gpuint.array(SMALL, BITS, device)
    assert (1 << b).tolist() == [1 << d for d in SMALL]
    assert (MAX >> b).tolist() == [MAX >> d for d in SMALL]
    assert ([1, 2, 3] << b).tolist() == [u << d for u, d in zip([1, 2, 3], SMALL)]
    assert (a**2).tolist() == [u * u % MOD for u in X]
    for exponents in kinds(SMALL, device):
        assert pow(a, exponents, 97).tolist() == [pow(u, e, 97) for u, e in zip(X, SMALL)]
        assert gpuint.powmod(2, b, 97).tolist() == [pow(2, e, 97) for e in SMALL]
    assert a.powmod_product(SMALL, 3, 97).tolist() == [
        math.prod(pow(u, e, 97) for u, e in zip(X, SMALL)) % 97
    ]


def test_ints_are_factors_of_sums(a, device):
    assert a.wrapping_dot(2) == 2 * sum(X) % MOD
    assert gpuint.sum_of_products([(a, 3), (2, a), (a, Y)]).tolist() == [
        (5 * u + u * v) % MOD for u, v in zip(X, Y)
    ]
    small = gpuint.array([3, 4], 512, device)
    assert small.join([1, 2]).tolist() == [3 + 2**512, 4 + 2**513]
    assert (a.min(), a.max(), a.sum()) == (min(X), max(X), sum(X))
    widest = gpuint.full(2, 2 ** gpuint.widths()[-1] - 1, device=device)
    assert widest.sum() == 2 * (2 ** gpuint.widths()[-1] - 1)
    with pytest.raises(gpuint.MismatchError, match="min of no rows"):
        a[:0].min()


def test_ints_stay_on_the_device_after_their_first_use(a, device):
    hits = divisor_of.cache_info().hits
    for _ in range(3):
        assert (a % 1009).tolist() == [u % 1009 for u in X]
        assert pow(a, 2, 1009).tolist() == [u * u % 1009 for u in X]
    assert divisor_of.cache_info().hits >= hits + 5
    jit = gpuint.array(X, 1100, gpuint.Device(device, jit=True))
    for rows, bits in ((a, BITS), (jit, 1280), (a, BITS)):
        remainders = rows % (2**1000 + 1)
        assert (remainders.bits, remainders[0]) == (bits, MAX % (2**1000 + 1))
    residues = gpuint.Modulus(1009, device=device).residues(a)
    for _ in range(2):
        for value in range(-20, 20):
            assert (residues + value).tolist() == [(u + value) % 1009 for u in X]


def test_residues_take_every_kind_of_rows(a, device):
    n = 2**521 - 1
    residues = gpuint.Modulus(n, BITS, device).residues(a)
    for other in [*kinds(Y, device), [-7, 2**600, 5], -3, [9]]:
        values = [other] * 3 if isinstance(other, int) else list(other) * (3 // len(other))
        values = list(map(int, values))
        for op in (operator.add, operator.sub, operator.mul):
            assert op(residues, other).tolist() == [op(u, v) % n for u, v in zip(X, values)]
            assert op(other, residues).tolist() == [op(v, u) % n for u, v in zip(X, values)]
        equal = [(u - v) % n == 0 for u, v in zip(X, values)]
        assert (residues == other).tolist() == equal
    one = residues[1:2]
    assert (residues * one).tolist() == (one * residues).tolist() == [u * X[1] % n for u in X]
    assert (one == residues).tolist() == [False, True, False]
    assert (one**SMALL).tolist() == [pow(X[1], e, n) for e in SMALL]
    assert (residues**SMALL).tolist() == [pow(u, e, n) for u, e in zip(X, SMALL)]
    assert (residues * 3 * 3).tolist() == [9 * u % n for u in X]
    assert (residues[:2] * 3).tolist() == [3 * u % n for u in X[:2]]


def test_trees_and_tables_take_lists(device):
    assert gpuint.ProductTree([7, 11]).root == 77
    assert gpuint.ProductTree(np.array([7, 11])).remainders(100).tolist() == [2, 1]
    crt = gpuint.Crt([7, 11])
    assert crt.combine(crt.residues([50, 3])).tolist() == [50, 3]
    table = gpuint.FixedBase(3, 97, 64, device)
    assert table.pow([5, 6]).tolist() == [3**5 % 97, 3**6 % 97]
    assert (gpuint.array([50, 60], device=device) % gpuint.Divisor([7, 11])).tolist() == [1, 5]
    assert gpuint.Modulus([7, 11]).residues([50, 60]).tolist() == [1, 5]


LONG = 2**5000 + 3**900


def test_exponents_of_every_kind_and_length(a, device):
    exponents = [LONG, 0, 2**1999]
    moduli = [2**900 + 1, 97, 1]
    powers = [pow(u, e, m) for u, e, m in zip(X, exponents, moduli)]
    residues = gpuint.Modulus(moduli, device=device).residues(a)
    fixed = gpuint.FixedBase(3, 97, LONG.bit_length(), device)
    given = [exponents, tuple(exponents), np.array(exponents, dtype=object)]
    for each in (*given, gpuint.array(exponents, device=device)):
        assert a.powmod(each, moduli).tolist() == powers
        assert gpuint.powmod(a, each, gpuint.array(moduli, device=device)).tolist() == powers
        assert (residues**each).tolist() == powers
        assert a.powmod_product(each, 3, 97).tolist() == [
            math.prod(pow(u, e, 97) for u, e in zip(X, exponents)) % 97
        ]
        assert fixed.pow(each).tolist() == [pow(3, e, 97) for e in exponents]
    assert fixed.pow(iter(exponents)).tolist() == [pow(3, e, 97) for e in exponents]


def test_one_base_one_exponent_and_one_modulus_are_for_all_rows(a, device):
    one = gpuint.array([X[1]], BITS, device)
    moduli = [101, 2**900 + 1, 97]
    for exponent in ([LONG], gpuint.array([LONG], device=device)):
        assert a.powmod(exponent, 101).tolist() == [pow(u, LONG, 101) for u in X]
        assert one.powmod(exponent, moduli).tolist() == [pow(X[1], LONG, m) for m in moduli]
        assert a.powmod_product(exponent, 3, 101).tolist() == [
            math.prod(pow(u, LONG, 101) for u in X) % 101
        ]
        residues = gpuint.Modulus(101, device=device).residues(a)
        assert (residues**exponent).tolist() == [pow(u, LONG, 101) for u in X]
    assert one.powmod([LONG, 1], 101).tolist() == [pow(X[1], LONG, 101), X[1] % 101]
    assert one.powmod_product([LONG, 1], 2, 101).tolist() == [pow(X[1], LONG + 1, 101)]
    assert one.square_mod_repeatedly(700, moduli).tolist() == [pow(X[1], 2**700, m) for m in moduli]


def test_exponents_set_no_width(device):
    wide = gpuint.array([LONG, 3], device=device)
    for powers in (
        gpuint.powmod(5, wide, 97),
        gpuint.powmod([5, 6], wide, 97),
        gpuint.powmod(5, wide, gpuint.array([97, 98], 256, device)),
        gpuint.array([5, 6], 256, device).powmod(wide, [97, 98]),
        gpuint.FixedBase(5, 97, 8192, device).pow(wide),
    ):
        assert (len(powers), powers.bits) == (2, 256)


def test_wrong_exponents_are_named(a, device):
    residues = gpuint.Modulus(97, device=device).residues(a)
    fixed = gpuint.FixedBase(3, 97, 64, device)
    for name, power in (
        ("exponent", lambda e: a.powmod(e, 97)),
        ("exponents", lambda e: a.powmod_product(e, 1, 97)),
        ("exponent", lambda e: residues**e),
        ("exponents", fixed.pow),
    ):
        with pytest.raises(gpuint.RangeError, match=f"{name} is negative in row 1") as caught:
            power([1, -2, 3])
        assert caught.value.row == 1
        with pytest.raises(TypeError, match=f"{name} is an int, not float"):
            power([1, 2.5, 3])
    with pytest.raises(gpuint.RangeError, match="exponents is -0x2"):
        a.powmod_product(-2, 1, 97)
    with pytest.raises(gpuint.RangeError, match="count is from 0"):
        a.square_mod_repeatedly(-1, 97)
    with pytest.raises(TypeError, match="count is an int, not float"):
        residues.square_repeatedly(1.5)
