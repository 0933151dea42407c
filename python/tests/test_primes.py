"""Tests for primes against trial division and published numbers."""

import numpy as np
import pytest

import gpuint
from conftest import BITS

STRONG = [2047, 3277, 4033, 4681, 8321]  # strong pseudoprimes to base 2 (OEIS A001262)
STRONG_LUCAS = [5459, 5777, 10877, 16109, 18971]
EXTRA_STRONG_LUCAS = [989, 3239, 5777, 10877]


@pytest.fixture(scope="module")
def make(device):
    return lambda values, bits=BITS: gpuint.array(values, bits, device)


def is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def is_strong(n, base):
    d = n - 1
    while d % 2 == 0:
        d //= 2
    powers = [pow(base, d * 2**r, n) for r in range(((n - 1) // d).bit_length() - 1)]
    return powers[0] == 1 or n - 1 in powers


def test_small_rows_match_trial_division(make):
    rows = make(list(range(3000)))
    primes = [is_prime(n) for n in range(3000)]
    assert rows.is_probable_prime().tolist() == primes
    passes = rows.is_strong_probable_prime().tolist()
    assert [n for n in range(3000) if passes[n] and not primes[n]] == [2047]
    passes = rows.is_extra_strong_lucas_probable_prime().tolist()
    assert [n for n in range(3000) if passes[n] and not primes[n]] == [989]


def test_pseudoprimes_fall_to_the_other_test(make):
    assert make(STRONG).is_strong_probable_prime(2).all()
    assert make(STRONG_LUCAS).is_strong_lucas_probable_prime().all()
    assert make(EXTRA_STRONG_LUCAS).is_extra_strong_lucas_probable_prime().all()
    assert not make(STRONG + STRONG_LUCAS + EXTRA_STRONG_LUCAS).is_probable_prime().any()


def test_bases_are_one_or_one_a_row_or_a_list(make):
    # psi_2 and psi_3 of G. Jaeschke.
    rows = make([1373653, 25326001])
    assert rows.is_strong_probable_prime_bases([2, 3]).tolist() == [True, True]
    assert rows.is_strong_probable_prime_bases([2, 3, 5]).tolist() == [False, True]
    assert rows.is_strong_probable_prime([5, 7]).tolist() == [False, False]
    long = (5 << 3000) + 2
    expected = [is_strong(n, long) for n in rows.tolist()]
    assert rows.is_strong_probable_prime(long).tolist() == expected
    with pytest.raises(gpuint.RangeError):
        rows.is_strong_probable_prime(-2)


def test_fermat_residues_match_python(make):
    values = [0, 1, 2, 91, 97, 341, 2**127 - 1, 2**61 - 3]
    residues, words = make(values).fermat_residues(3)
    expected = [pow(3, n - 1, n) if n > 0 else 0 for n in values]
    assert residues.tolist() == expected
    assert words.dtype == np.uint64
    assert words.tolist() == [residue % 2**64 for residue in expected]


def test_next_primes_and_small_factors(make):
    primes, without = make([0, 7, 2**64, 2**BITS - 1]).next_prime()
    assert primes.tolist() == [2, 11, 2**64 + 13, 0]
    assert without.tolist() == [False, False, False, True]
    rows = make([0, 1, 7, 49, 121])
    assert rows.has_small_factor(10).tolist() == [True, False, False, True, False]
    with pytest.raises(gpuint.RangeError):
        rows.has_small_factor(2**20)


def test_random_primes_have_the_length(device):
    primes = gpuint.random_primes(5, 100, device=device)
    assert all(p.bit_length() == 100 and is_strong(p, 3) for p in primes.tolist())
    safe = gpuint.random_primes(2, 40, safe=True, device=device)
    assert safe.is_probable_prime().all() and (safe >> 1).is_probable_prime().all()
    with pytest.raises(gpuint.RangeError):
        gpuint.random_primes(1, 1, device=device)
