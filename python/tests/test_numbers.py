"""Random numbers, factorials, primorials, binomial coefficients, small remainders, scatter."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuint
from conftest import BITS, integers, rows


def test_random_numbers_are_below_the_bound_and_repeatable(device):
    for bits in (0, 1, 63, 300, 1024):
        a = gpuint.random(200, bits, np.random.default_rng(3), device)
        assert a.is_equal(gpuint.random(200, bits, np.random.default_rng(3), device))
        assert a.max() < 2**bits
        values = a.tolist()
        # A bit that is never set, or always, has a chance of 2^-199.
        for bit in range(bits):
            assert 0 < sum(x >> bit & 1 for x in values) < 200
    with pytest.raises(TypeError, match="rng"):
        gpuint.random(2, 64, 5)


def test_factorials_and_their_like_are_exact(device):
    n = [0, 1, 2, 3, 10, 97, 98, 3, 500]
    assert gpuint.factorial(n, device=device).tolist() == [math.factorial(x) for x in n]
    primes = [p for p in range(2, 501) if all(p % d for d in range(2, math.isqrt(p) + 1))]
    primorials = [math.prod(p for p in primes if p <= x) for x in n]
    assert gpuint.primorial(np.array(n), device=device).tolist() == primorials
    k = [0, 1, 5, 2, 3, 50, 98, 3, 250]
    assert gpuint.binomial(n, k, device=device).tolist() == [math.comb(*row) for row in zip(n, k)]
    assert gpuint.binomial(40, k, device=device).tolist() == [math.comb(40, x) for x in k]
    assert gpuint.factorial(20, bits=512, device=device).bits == 512


def test_numbers_without_a_result_are_refused():
    for call in (gpuint.factorial, gpuint.primorial, lambda n: gpuint.binomial(n, n // 2)):
        for wrong in (10**7, 10**12, -1):
            with pytest.raises(gpuint.RangeError):
                call(wrong)
        with pytest.raises(TypeError):
            call(1.5)
    assert gpuint.binomial(10**12, 2).tolist() == [math.comb(10**12, 2)]
    with pytest.raises(gpuint.RangeError):
        gpuint.factorial([5, 100], bits=256)
    with pytest.raises(gpuint.MismatchError):
        gpuint.binomial([5, 6], [1, 2, 3])


@given(table=rows(integers()), divisor=st.integers(1, 2**64 - 1))
def test_small_remainders_are_those_of_python(device, table, divisor):
    (values,) = table
    a = gpuint.array(values, BITS, device)
    assert a.rem_digit(divisor).tolist() == [x % divisor for x in values]
    quotient, remainder = a.div_rem_digit(np.uint64(divisor))
    assert quotient.tolist() == [x // divisor for x in values]
    assert remainder.tolist() == a.rem_digit(divisor).tolist()


def test_wrong_small_divisors_are_refused(device):
    a = gpuint.array([5], device=device)
    with pytest.raises(gpuint.DivisionByZeroError):
        a.rem_digit(0)
    for wrong in (-1, 2**64):
        with pytest.raises(gpuint.RangeError, match="divisor"):
            a.div_rem_digit(wrong)


def test_scatter_replaces_rows(device):
    a = gpuint.array([1, 2, 3, 4], device=device)
    wide = gpuint.array([2**300, 9], device=device)
    assert a.scatter([2, -4], wide).tolist() == [9, 2, 2**300, 4]
    with pytest.raises(gpuint.RangeError):
        a.scatter([2, -4], wide.tolist())
    assert a.scatter(np.array([1, 3]), 7).tolist() == [1, 7, 3, 7]
    assert a.scatter([1, 1], [5, 6]).tolist() == [1, 6, 3, 4]
    assert a.scatter([], []).tolist() == a.tolist() == [1, 2, 3, 4]
    with pytest.raises(gpuint.RowError):
        a.scatter([4], [1])
    with pytest.raises(gpuint.MismatchError):
        a.scatter([1, 2], [1, 2, 3])


@given(table=rows(integers(), integers(minimum=1)))
def test_mod_has_the_width_of_the_modulus(device, table):
    values, moduli = table
    a, n = gpuint.array(values, BITS, device), gpuint.array(moduli, BITS, device)
    wide = a.widening_mul(a)
    for modulus, width in ((n, BITS), (gpuint.Divisor(97, device=device), 256), (97, 256)):
        one = isinstance(modulus, (int, gpuint.Divisor))
        expected = [x * x % (97 if one else m) for x, m in zip(values, moduli)]
        rest = wide.mod(modulus)
        assert rest.tolist() == expected and rest.bits == width
    assert gpuint.array([5], device=device).mod(2**1000).bits == 1024


def test_types_of_rows_are_named():
    a = gpuint.array([1], bits=1024)
    assert (a.dtype, gpuint.SignedArray(a).dtype, (a == 1).dtype) == ("uint1024", "int1025", "bool")


@given(table=rows(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), integers()))
def test_fixed_bases_and_a_factor_are_multiplied(device, table):
    first, second, factors = table
    n = 2**521 - 1
    powers = gpuint.FixedBase([3, 2**520 + 5], n, exponent_bits=64, device=device)
    product = [pow(3, x, n) * pow(2**520 + 5, y, n) % n for x, y in zip(first, second)]
    assert powers.pow(first, gpuint.array(second, device=device)).tolist() == product
    varied = powers.pow(first, second, factor=gpuint.array(factors, BITS, device))
    assert varied.tolist() == [x * y % n for x, y in zip(product, factors)]
    assert powers.pow(first, second, factor=-1).tolist() == [-x % n for x in product]
    for wrong in ((), (first,), (first, second, first)):
        with pytest.raises(gpuint.MismatchError, match="exponents"):
            powers.pow(*wrong)


@given(
    moduli=st.lists(st.integers(1, 5000), min_size=1, max_size=6),
    values=st.lists(st.integers(0, 10**30), min_size=1, max_size=4),
)
def test_remaindering_of_moduli_with_common_divisors(device, moduli, values):
    crt = gpuint.Crt(gpuint.array(moduli, device=device))
    multiple = math.lcm(*moduli)
    assert crt.product == multiple
    residues = crt.residues(values)
    assert residues.tolist() == [x % n for x in values for n in moduli]
    assert crt.combine(residues).tolist() == [x % multiple for x in values]


def test_residues_without_a_number_name_it(device):
    crt = gpuint.Crt(gpuint.array([12, 18, 35], device=device))
    assert crt.combine([5, 11, 3, 17, 5, 3]).tolist() == [
        next(x for x in range(1260) if [x % 12, x % 18, x % 35] == row)
        for row in ([5, 11, 3], [5, 5, 3])
    ]
    with pytest.raises(gpuint.MismatchError) as caught:
        crt.combine([5, 11, 3, 4, 5, 3])
    assert caught.value.row == 1


def test_chunks_give_the_result_of_the_whole(device):
    a = gpuint.array(range(2, 12), device=device)
    b = gpuint.array(range(1, 11), device=device)
    reports = []
    product = gpuint.in_chunks(
        lambda x, y: x * y, a, b, rows=4, progress=lambda *rows: reports.append(rows)
    )
    assert product.is_equal(a * b) and reports == [(4, 10), (8, 10), (10, 10)]
    quotient, rest = gpuint.in_chunks(divmod, a, b, rows=3)
    assert quotient.is_equal(a // b) and rest.is_equal(a % b)
    assert len(gpuint.in_chunks(lambda x: x + 1, a[:0], rows=3)) == 0

    def stop(done, rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gpuint.in_chunks(lambda x: x, a, rows=1, progress=stop)
    for wrong in (
        lambda: gpuint.in_chunks(abs, rows=1),
        lambda: gpuint.in_chunks(abs, a, b[1:], rows=1),
    ):
        with pytest.raises(gpuint.MismatchError):
            wrong()
    with pytest.raises(gpuint.RangeError, match="rows"):
        gpuint.in_chunks(abs, a, rows=0)
