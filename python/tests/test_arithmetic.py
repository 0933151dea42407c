"""Every operation against Python's integers."""

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuint
from conftest import BITS, MAX, integers, rows

MOD = 2**BITS
two = rows(integers(), integers())
divided = rows(integers(), integers(minimum=1))

WRAPPING = [operator.add, operator.sub, operator.mul, operator.and_, operator.or_, operator.xor]
COMPARED = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@pytest.fixture(scope="module")
def make(device):
    return lambda values, bits=BITS: gpuint.array(values, bits, device)


def inverse(value, modulus):
    """Python's inverse; `None` where there is none."""
    try:
        return pow(value, -1, modulus)
    except ValueError:
        return None


def jacobi(a, n):
    """The Jacobi symbol for odd n, by reciprocity."""
    a, sign = a % n, 1
    while a:
        while a % 2 == 0:
            a //= 2
            sign = -sign if n % 8 in (3, 5) else sign
        a, n = n % a, a if a % 4 != 3 or n % 4 != 3 else -a
        sign, n = (-sign, -n) if n < 0 else (sign, n)
        a, n = (a, n) if a < n else (a % n, n)
    return sign if n == 1 else 0


@given(two)
def test_operators_match_python_modulo_the_width(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    for op in WRAPPING:
        expected = [op(u, v) % MOD for u, v in zip(x, y)]
        assert op(a, b).tolist() == expected, op
        assert op(a, y[0]).tolist() == [op(u, y[0]) % MOD for u in x], op
        assert op(y[0], a).tolist() == [op(y[0], u) % MOD for u in x], op
    assert (~a).tolist() == [MAX - u for u in x]
    assert a.square().tolist() == [u * u % MOD for u in x]
    assert a.mul_add(b, y[0]).tolist() == [(u * v + y[0]) % MOD for u, v in zip(x, y)]
    assert a.mul_sub(b, y[0]).tolist() == [(u * v - y[0]) % MOD for u, v in zip(x, y)]
    assert a.wrapping_sum() == sum(x) % MOD


@given(two)
def test_carries_halves_and_wide_products_lose_nothing(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    total, carry = a.overflowing_add(b)
    assert total.tolist() == [(u + v) % MOD for u, v in zip(x, y)]
    assert carry.tolist() == [u + v > MAX for u, v in zip(x, y)]
    difference, borrow = a.overflowing_sub(b)
    assert difference.tolist() == [(u - v) % MOD for u, v in zip(x, y)]
    assert borrow.tolist() == [u < v for u, v in zip(x, y)]
    products = [u * v for u, v in zip(x, y)]
    low, high = a.mul_lo_hi(b)
    assert [u + (v << BITS) for u, v in zip(low, high)] == products
    wide = a.widening_mul(b)
    assert (wide.bits, wide.tolist()) == (2 * BITS, products)
    assert low.join(high).tolist() == products
    assert [half.tolist() for half in wide.split()] == [low.tolist(), high.tolist()]


@given(divided)
def test_division_is_exact(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    quotients = [u // v for u, v in zip(x, y)]
    remainders = [u % v for u, v in zip(x, y)]
    assert [part.tolist() for part in divmod(a, b)] == [quotients, remainders]
    assert ((a // b).tolist(), (a % b).tolist()) == (quotients, remainders)
    rowwise = gpuint.Divisor(b)
    assert [part.tolist() for part in divmod(a, rowwise)] == [quotients, remainders]
    one = [divmod(u, y[0]) for u in x]
    for divisor in (y[0], gpuint.Divisor(y[0], device=a.device)):
        assert list(zip(*(part.tolist() for part in divmod(a, divisor)))) == one
        assert (a // divisor).tolist() == [quotient for quotient, _ in one]
        assert (a % divisor).tolist() == [remainder for _, remainder in one]
    assert [part.tolist() for part in divmod(x[0], b)] == [
        [x[0] // v for v in y],
        [x[0] % v for v in y],
    ]
    assert (x[0] // b).tolist() == [x[0] // v for v in y]
    assert (x[0] % b).tolist() == [x[0] % v for v in y]
    assert all((a - a % b).__mod__(b).is_zero())


@given(rows(integers(), integers()))
def test_exact_division_marks_rows_with_a_remainder(make, columns):
    x, y = columns
    quotient, inexact = make(x).div_exact_masked(make(y))
    divides = [b != 0 and a % b == 0 for a, b in zip(x, y)]
    assert inexact.tolist() == [not exact for exact in divides]
    expected = [a // b if exact else 0 for a, b, exact in zip(x, y, divides)]
    assert quotient.tolist() == expected
    divisors = make([b | 1 for b in y])
    multiples = (make(x) // divisors) * divisors
    assert multiples.div_exact(divisors).tolist() == (make(x) // divisors).tolist()
    inverses, even = make(y).inverse_mod_pow2()
    assert even.tolist() == [b % 2 == 0 for b in y]
    assert inverses.tolist() == [inverse(b, MOD) or 0 for b in y]


@given(two)
def test_masked_division_marks_zero_divisors(make, columns):
    x, y = columns
    quotient, remainder, zero = make(x).divmod_masked(make(y))
    assert zero.tolist() == [v == 0 for v in y]
    for u, v, q, r in zip(x, y, quotient, remainder):
        if v:
            assert (q, r) == divmod(u, v)


@given(rows(integers(), integers(), integers(bits=40), integers(minimum=1)))
def test_modular_arithmetic_matches_python(make, columns):
    x, y, e, m = columns
    a, b, exponents, moduli = make(x), make(y), make(e), make(m)
    for modulus in (moduli, gpuint.Divisor(moduli)):
        assert pow(a, exponents, modulus).tolist() == list(map(pow, x, e, m))
        assert pow(a, e[0], modulus).tolist() == [pow(u, e[0], n) for u, n in zip(x, m)]
        assert a.mul_mod(b, modulus).tolist() == [u * v % n for u, v, n in zip(x, y, m)]
        assert a.square_mod(modulus).tolist() == [u * u % n for u, n in zip(x, m)]
        assert a.add_mod(b, modulus).tolist() == [(u + v) % n for u, v, n in zip(x, y, m)]
        assert a.sub_mod(b, modulus).tolist() == [(u - v) % n for u, v, n in zip(x, y, m)]
        assert a.neg_mod(modulus).tolist() == [-u % n for u, n in zip(x, m)]
        assert a.powmod_product(exponents, 1, modulus).tolist() == list(map(pow, x, e, m))
    for modulus in (m[0], gpuint.Divisor(m[0], device=a.device)):
        assert pow(a, exponents, modulus).tolist() == [pow(u, p, m[0]) for u, p in zip(x, e)]
        assert a.mul_mod(y[0], modulus).tolist() == [u * y[0] % m[0] for u in x]
        assert gpuint.powmod(x[0], exponents, modulus).tolist() == [pow(x[0], p, m[0]) for p in e]
    assert gpuint.powmod(x[0], e[0], moduli).tolist() == [pow(x[0], e[0], n) for n in m]
    product = math.prod(pow(u, p, m[0]) for u, p in zip(x, e)) % m[0]
    assert a.powmod_product(exponents, len(x), m[0]).tolist() == [product]


@given(rows(integers(), integers(minimum=1)))
def test_inverses_exist_where_python_has_them(make, columns):
    x, m = columns
    a = make(x)
    for modulus, moduli in ((make(m), m), (m[0], [m[0]] * len(x))):
        expected = [inverse(u, n) for u, n in zip(x, moduli)]
        inverses, without = a.inverse_mod(modulus)
        assert without.tolist() == [value is None for value in expected]
        assert inverses.tolist() == [value or 0 for value in expected]
        if None not in expected:
            assert a.invert(modulus).tolist() == expected
            assert pow(a, -3, modulus).tolist() == [pow(u, -3, n) for u, n in zip(x, moduli)]
            continue
        for failing in (lambda: a.invert(modulus), lambda: pow(a, -1, modulus)):
            with pytest.raises(gpuint.NoInverseError) as caught:
                failing()
            assert caught.value.row == expected.index(None)


@given(rows(integers(), integers()))
def test_common_divisors_match_math(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    assert a.gcd(b).tolist() == list(map(math.gcd, x, y))
    assert a.gcd(y[0]).tolist() == [math.gcd(u, y[0]) for u in x]
    gcd, by_a, by_b, negative = (part.tolist() for part in a.xgcd(b))
    for u, v, g, s, t, is_negative in zip(x, y, gcd, by_a, by_b, negative):
        assert g == math.gcd(u, v) == (v * t - u * s if is_negative else u * s - v * t)
        assert (2 * g * s <= v or s == 1) and (2 * g * t <= u or t == 1)
    multiples = list(map(math.lcm, x, y))
    low, wrapped = a.overflowing_lcm(b)
    assert low.tolist() == [multiple % MOD for multiple in multiples]
    assert wrapped.tolist() == [multiple > MAX for multiple in multiples]
    assert a.resized(2 * BITS).lcm(b).tolist() == multiples
    if any(multiple > MAX for multiple in multiples):
        with pytest.raises(OverflowError, match="needs more than 1024 bits") as caught:
            a.lcm(b)
        assert caught.value.row == wrapped.tolist().index(True)
    else:
        assert a.lcm(b).tolist() == multiples


@given(rows(integers(), integers().map(lambda n: n | 1)))
def test_jacobi_symbols_match_reciprocity(make, columns):
    x, n = columns
    symbols = make(x).jacobi(make(n))
    assert symbols.dtype == np.int8
    assert symbols.tolist() == list(map(jacobi, x, n))


@given(two, st.integers(0, BITS + 70))
def test_bits_and_shifts_match_python(make, columns, distance):
    x, y = columns
    a = make(x)
    assert (a << distance).tolist() == [(u << distance) % MOD for u in x]
    assert (a >> distance).tolist() == [u >> distance for u in x]
    distances = [v % (BITS + 9) for v in y]
    for each in (distances, np.array(distances)):
        assert (a << each).tolist() == [(u << d) % MOD for u, d in zip(x, distances)]
        assert (a >> each).tolist() == [u >> d for u, d in zip(x, distances)]
    assert a.low_bits(distance).tolist() == [u % 2**distance for u in x]
    assert a.bit(distance).tolist() == [bool(u >> distance & 1) for u in x]
    if distance < BITS:
        assert a.with_bit(distance).tolist() == [u | 1 << distance for u in x]
        assert a.without_bit(distance).tolist() == [u & ~(1 << distance) for u in x]
    assert a.bit_length().tolist() == list(map(int.bit_length, x))
    assert a.count_ones().tolist() == list(map(int.bit_count, x))
    assert a.leading_zeros().tolist() == [BITS - u.bit_length() for u in x]
    assert a.trailing_zeros().tolist() == [(u & -u).bit_length() - 1 if u else BITS for u in x]
    assert a.is_zero().tolist() == [u == 0 for u in x]


@given(two)
def test_comparisons_match_python(make, columns):
    x, y = columns
    a, b = make(x), make(y)
    for op in COMPARED:
        assert op(a, b).tolist() == list(map(op, x, y)), op
        for value in (x[0], y[0], 0, MAX, MAX + 1, -1):
            assert op(a, value).tolist() == [op(u, value) for u in x], (op, value)
            assert op(value, a).tolist() == [op(value, u) for u in x], (op, value)
    order = [(u > v) - (u < v) for u, v in zip(x, y)]
    assert a.cmp(b).tolist() == order
    assert a.cmp(y[0]).tolist() == [(u > y[0]) - (u < y[0]) for u in x]
    assert a.is_equal(b) == (x == y)
    assert a.is_equal(make(x, 2 * BITS))


@given(rows(integers(minimum=2**700)))
def test_shifted_inverses_are_exact(make, columns):
    (x,) = columns
    a = make(x)
    assert a.digit_bits == 64
    assert a.shifted_inverse(20).tolist() == [2 ** (64 * 20) // u for u in x]


@given(rows(integers(), integers(bits=2 * BITS, minimum=1)))
def test_results_are_as_wide_as_the_widest_operand(make, columns):
    x, y = columns
    a, b = make(x), make(y, 2 * BITS)
    for total in (a + b, b + a):
        assert (total.bits, total.tolist()) == (2 * BITS, [(u + v) % MOD**2 for u, v in zip(x, y)])
    for remainders in (a % b, pow(a, 1, b), a % gpuint.Divisor(b)):
        assert (remainders.bits, remainders.tolist()) == (2 * BITS, list(map(operator.mod, x, y)))
    wide = 2**BITS + 1
    powers = pow(a, 3, wide)
    assert (powers.bits, powers.tolist()) == (1536, [pow(u, 3, wide) for u in x])
    assert pow(a, wide, 5).tolist() == [pow(u, wide, 5) for u in x]
    # A divisor prepared for narrow rows serves wide ones.
    seven = gpuint.Divisor(7, device=a.device)
    assert ((a % seven).tolist(), (b % seven).tolist()) == ([u % 7 for u in x], [v % 7 for v in y])


@given(rows(integers(), integers(), integers(bits=40), integers(minimum=1)), st.integers(-9, 2**70))
def test_residues_match_python(make, columns, number):
    x, y, e, m = columns
    wide = make(x, 2 * BITS)
    for modulus, moduli in (
        (gpuint.Modulus(make(m)), m),
        (gpuint.Modulus(m[0], BITS, wide.device), [m[0]] * len(x)),
    ):
        a, b = modulus.residues(wide), modulus.residues(make(y))
        assert len(a) == len(x)
        for op in (operator.add, operator.sub, operator.mul):
            assert op(a, b).tolist() == [op(u, v) % n for u, v, n in zip(x, y, moduli)], op
            assert op(a, number).tolist() == [op(u, number) % n for u, n in zip(x, moduli)], op
            assert op(number, a).tolist() == [op(number, u) % n for u, n in zip(x, moduli)], op
        assert (-a).tolist() == [-u % n for u, n in zip(x, moduli)]
        assert (a.double() - a == a).all()
        assert a.square().tolist() == [u * u % n for u, n in zip(x, moduli)]
        assert (a ** make(e)).tolist() == list(map(pow, x, e, moduli))
        assert (a ** e[0]).tolist() == [pow(u, e[0], n) for u, n in zip(x, moduli)]
        assert (a == b).tolist() == [(u - v) % n == 0 for u, v, n in zip(x, y, moduli)]
        assert (a != b).tolist() == [(u - v) % n != 0 for u, v, n in zip(x, y, moduli)]
        assert a.is_zero().tolist() == [u % n == 0 for u, n in zip(x, moduli)]
        assert a.select([True] * len(x), 5).tolist() == a.tolist()
        assert a.select([False] * len(x), 5).tolist() == [5 % n for n in moduli]
        if all(n % 2 for n in moduli):
            assert (a.halve() * 2 == a).all()
        else:
            with pytest.raises(gpuint.MismatchError, match="is even") as caught:
                a.halve()
            assert caught.value.row == [n % 2 for n in moduli].index(0)
        if all(math.gcd(u, n) == 1 for u, n in zip(x, moduli)):
            assert (a**-1).tolist() == [pow(u, -1, n) for u, n in zip(x, moduli)]
        else:
            with pytest.raises(gpuint.NoInverseError):
                a.invert()
        with pytest.raises(gpuint.MismatchError, match="different moduli"):
            a + gpuint.Modulus(3, BITS, wide.device).residues(wide)


@given(integers(), integers(minimum=1), st.lists(integers(bits=80), min_size=1, max_size=5))
def test_powers_of_a_fixed_base_match_python(device, base, modulus, exponents):
    powers = gpuint.FixedBase(base, modulus, 80, device)
    assert (powers.exponent_bits, powers.bits) == (80, gpuint.array([base, modulus]).bits)
    rows = gpuint.array(exponents, device=device)
    assert powers.pow(rows).tolist() == [pow(base, e, modulus) for e in exponents]
    with pytest.raises(gpuint.RangeError, match="row 1") as caught:
        powers.pow(gpuint.array([0, 2**80], device=device))
    assert caught.value.row == 1


# Longer than the rows.
LONG = 2 ** (BITS + 100) + 3**500


@given(rows(integers(), integers(minimum=1)))
def test_exponents_of_any_length_match_python(make, columns):
    x, m = columns
    a, moduli = make(x), make(m)
    e = [(LONG, 0, 5, 1 << 700)[row % 4] for row in range(len(x))]
    for exponents in (e, gpuint.array(e, device=a.device)):
        powers = pow(a, exponents, moduli)
        assert (powers.bits, powers.tolist()) == (BITS, list(map(pow, x, e, m)))
        powers = pow(a, exponents, 97)
        assert (powers.bits, powers.tolist()) == (BITS, [pow(u, p, 97) for u, p in zip(x, e)])
        assert a.powmod_product(exponents, 1, moduli).tolist() == list(map(pow, x, e, m))
        residues = gpuint.Modulus(moduli).residues(a)
        assert (residues**exponents).tolist() == list(map(pow, x, e, m))
    assert pow(a, LONG, moduli).tolist() == [pow(u, LONG, n) for u, n in zip(x, m)]
    assert a.powmod_product(LONG, 1, moduli).tolist() == [pow(u, LONG, n) for u, n in zip(x, m)]
    squares = [pow(u, 1 << 333, n) for u, n in zip(x, m)]
    assert a.square_mod_repeatedly(333, moduli).tolist() == squares
    assert gpuint.Modulus(moduli).residues(a).square_repeatedly(333).tolist() == squares
    fixed = gpuint.FixedBase(3, 97, 4000, a.device)
    assert (fixed.bits, fixed.pow(e).tolist()) == (256, [pow(3, p, 97) for p in e])


def test_exponent_sets_neither_width_nor_time(device):
    exponent = (1 << 2**20 + 3) - 1
    a = gpuint.array([3, 5], device=device)
    power = a.powmod(exponent, 97)
    assert (power.bits, power.tolist()) == (256, [pow(3, exponent, 97), pow(5, exponent, 97)])
    by_list = gpuint.powmod_exp_list(3, [exponent, 2], 97, device=device)
    assert by_list == [pow(3, exponent, 97), 9]
    wide = gpuint.array([2**2000, 1], device=device)
    assert wide.powmod(wide, 97).tolist() == [pow(2**2000, 2**2000, 97), 1]


def test_widest_rows_do_what_is_offered(device):
    bits = gpuint.widths()[-1]
    a = gpuint.array([1 << (bits - 1), 7], bits, device)
    assert pow(a, 3, 11).tolist() == [pow(2, 3 * (bits - 1), 11), 7**3 % 11]
    inverses, without = a.inverse_mod(2**bits - 1)
    assert not without.any()
    assert [inverses[0], inverses[1] * 7 % (2**bits - 1)] == [2, 1]
    low, high = a.split()
    assert (low.bits, high.tolist()) == (bits // 2, [1 << (bits // 2 - 1), 0])
    assert low.join(high).is_equal(a)
    lower, _ = low.split()
    assert (lower.bits, lower.tolist()) == (bits // 4, [0, 7])
    double = a.widening_mul(a)
    assert (double.bits, double.tolist()) == (2 * bits, [1 << (2 * bits - 2), 49])
    assert a.join(a).tolist() == [(1 << bits | 1) << (bits - 1), 7 << bits | 7]
    longest = gpuint.full(0, 0, 1 << 31, device)
    widest = f"{1 << 31} bits are not offered; the widest have {1 << 30} bits"
    for name, call in {
        "widening products": lambda: longest.widening_mul([]),
        "joins of rows": lambda: longest.join([]),
    }.items():
        with pytest.raises(gpuint.MismatchError, match=f"{name} of {widest}"):
            call()


def test_counts_are_errors_of_the_package(device):
    a = gpuint.array([10, 20], device=device)
    for call in (
        lambda: a.wrapping_pow(-1),
        lambda: a.overflowing_pow(2**64),
        lambda: a.nth_root(0),
        lambda: a.nth_root_rem(-3),
        lambda: a.square_mod_repeatedly(-1, 7),
        lambda: a.powmod([2, -1], 7),
    ):
        with pytest.raises(gpuint.RangeError):
            call()
    with pytest.raises(gpuint.MismatchError):
        a.powmod([2, 3, 4], 7)
    with pytest.raises(TypeError, match="exponent is an Array, an int, or a list"):
        a.powmod(1.5, 7)


@given(rows(integers()))
def test_square_roots_match_math(make, columns):
    (x,) = columns
    for values in (x, [u >> 1 for u in x], [math.isqrt(u) ** 2 for u in x]):
        roots, remainders = make(values).isqrt_rem()
        assert roots.tolist() == list(map(math.isqrt, values))
        assert make(values).isqrt().tolist() == roots.tolist()
        assert remainders.tolist() == [u - math.isqrt(u) ** 2 for u in values]
        squares = [math.isqrt(u) ** 2 == u for u in values]
        assert make(values).is_square().tolist() == squares


def test_fractions_are_found_from_their_images():
    prime = 2**61 - 1
    fractions = [(22, 7), (-355, 113), (0, 1), (1, 2**29), (-(2**29), 3)]
    images = [n * pow(d, -1, prime) % prime for n, d in fractions]
    a = gpuint.array([*images, 1 << 45], bits=256)
    n, d, negative, without = a.rational_reconstruction(prime, 2**30 - 1, 2**30 - 1)
    signs = [-1 if is_negative else 1 for is_negative in negative.tolist()]
    found = [(sign * x, y) for sign, x, y in zip(signs, n.tolist(), d.tolist())]
    assert found[:5] == fractions
    assert without.tolist()[:5] == [False] * 5
    x, y = found[5]
    assert without.tolist()[5] == (y == 0) and (x - y * (1 << 45)) % prime == 0


def test_powers_and_roots_of_any_degree():
    values = [0, 1, 7, 8, 9, 3**40, 3**40 - 1, 6**30, 2**200, 2**255 - 19]
    a = gpuint.array(values, bits=256)
    roots, remainders = a.nth_root_rem(5)
    for value, root, remainder in zip(values, roots.tolist(), remainders.tolist()):
        assert root**5 + remainder == value < (root + 1) ** 5
    assert a.nth_root(5).tolist() == roots.tolist()
    power, overflowed = a.overflowing_pow(2)
    assert power.tolist() == [value**2 % 2**256 for value in values]
    assert a.wrapping_pow(2).tolist() == power.tolist()
    assert overflowed.tolist() == [value**2 >= 2**256 for value in values]
    bases, exponents = a.perfect_powers()
    assert bases.tolist() == [0, 1, 7, 2, 3, 3, 3**40 - 1, 6, 2, 2**255 - 19]
    assert exponents.tolist() == [0, 0, 1, 3, 2, 40, 1, 30, 200, 1]
    assert a.is_perfect_power().tolist() == [exponent != 1 for exponent in exponents.tolist()]


@given(rows(integers(), integers(minimum=1)), st.integers(0, 2**3000))
def test_product_trees_match_math(make, columns, number):
    x, n = columns
    tree = gpuint.ProductTree(make(n))
    product = math.prod(n)
    assert tree.root == product
    assert tree.remainders(number).tolist() == [number % v for v in n]
    assert tree.cofactors().tolist() == [product // v % v for v in n]
    assert make(n).batch_gcd().tolist() == [math.gcd(v, product // v) for v in n]
    against = [math.gcd(v, product // v * number * 6) for v in n]
    assert make(n).batch_gcd_against([number, 6]).tolist() == against
    moduli = [2**607 - 1, *range(7, 7 + len(x)), 2**521 - 1]
    moduli = [v for i, v in enumerate(moduli) if all(math.gcd(v, w) == 1 for w in moduli[:i])]
    crt = gpuint.Crt(make(moduli))
    assert (len(crt), crt.product) == (len(moduli), math.prod(moduli))
    residues = crt.residues(make(x))
    assert residues.tolist() == [u % v for u in x for v in moduli]
    numbers = crt.combine(residues)
    assert (numbers.bits, numbers.tolist()) == (crt.bits, [u % crt.product for u in x])


@given(two, st.integers(-2 * BITS, 2 * BITS), st.lists(integers(), max_size=4))
def test_rotations_polynomials_and_order_match_python(make, columns, distance, coefficients):
    x, y = columns
    a, b = make(x), make(y)

    def turned(value, bits):
        bits %= BITS
        return (value << bits | value >> BITS - bits) % MOD

    assert a.rotate_left(distance).tolist() == [turned(u, distance) for u in x]
    distances = [distance + v % 77 for v in y]
    for each in (distances, np.array(distances)):
        assert a.rotate_left(each).tolist() == list(map(turned, x, distances))
    values = [sum(c * u**i for i, c in enumerate(coefficients)) % MOD for u in x]
    assert a.polynomial(coefficients).tolist() == values
    assert a.wrapping_dot(b) == sum(map(operator.mul, x, y)) % MOD
    assert gpuint.concat([a, b, a]).sort().tolist() == sorted(x + y + x)
    assert gpuint.concat([a, b, a]).unique().tolist() == sorted({*x, *y})
    assert a.argsort().tolist() == sorted(range(len(x)), key=lambda row: x[row])
    larger, smaller = a.swap(a < b, b)
    assert (larger.tolist(), smaller.tolist()) == (list(map(max, x, y)), list(map(min, x, y)))


@given(rows(integers(), integers(), integers(), integers()))
def test_sums_of_products_match_python(make, columns):
    pairs = [(make(columns[0]), make(columns[1])), (make(columns[2]), make(columns[3]))]
    pairs += [pairs[0], pairs[1]]
    sums = [2 * (a * b + c * d) for a, b, c, d in zip(*columns)]
    assert gpuint.sum_of_products(pairs).tolist() == [value % MOD for value in sums]
    wide, overflow = gpuint.widening_sum_of_products(pairs)
    assert wide.tolist() == [value % MOD**2 for value in sums]
    assert overflow.tolist() == [value >= MOD**2 for value in sums]
