"""Tests for the sieves against divisions, and for special moduli against Python's ints."""

import copy
import pickle

import numpy as np
import pytest

import gpuint
from gpuint import sieve
from gpuint.sieve import Constellation, Exponents, Family, Progression

PRIMES = [p for p in range(2, 1000) if all(p % d for d in range(2, int(p**0.5) + 1))]


def smallest_factor(number, limit):
    """The least prime below `limit` that divides a number and is not the number; 0 without one."""
    return next((p for p in PRIMES if p < limit and number % p == 0 and number != p), 0)


def expected(numbers, limit):
    return [smallest_factor(number, limit) for number in numbers]


def test_factors_of_numbers_are_those_of_divisions():
    numbers = [*range(200), 10**60 + 7, 3**200 * 7]
    assert sieve.smallest_factors(numbers, 300).tolist() == expected(numbers, 300)
    assert sieve.smallest_factors([], 300).dtype == np.uint64
    with pytest.raises(gpuint.RangeError):
        sieve.smallest_factors([-1], 10)
    with pytest.raises(gpuint.RangeError):
        sieve.smallest_factors([1], 2**32)


def test_primes_are_those_of_divisions():
    assert sieve.primes(0, 1000).tolist() == PRIMES
    assert sieve.primes(997, 997).tolist() == sieve.primes(1000, 5).tolist() == []
    high = sieve.primes(10**12, 10**12 + 62)
    assert high.dtype == np.uint64
    assert high.tolist() == [10**12 + 39, 10**12 + 61]
    for bounds in [(-1, 5), (0, 2**64)]:
        with pytest.raises(gpuint.RangeError):
            sieve.primes(*bounds)


@pytest.mark.parametrize("c", [1, -1, -(10**40)])
def test_factors_of_terms_are_those_of_divisions(c):
    terms = [1, 2, 3, 10, 2**64 - 1, 0, 3]
    for numbers, a in [
        (Progression(7**60, c), 7**60),
        (Progression.of_power(2, 133, c), 2**133),
        (Progression.of_power(15, 0, c), 1),
    ]:
        factors = expected([k * a + c for k in terms], 400)
        for words in (terms, iter(terms), np.array(terms, dtype=np.uint64)):
            assert numbers.smallest_factors(words, limit=400).tolist() == factors
    signed = np.array([1, 2, 3])
    assert Progression(3, 4).smallest_factors(signed, 100).tolist() == expected([7, 10, 13], 100)


def test_factors_of_powers_are_those_of_divisions():
    exponents = [0, 1, 5, 90, 200, 5]
    for k, base, c in [(1, 2, -1), (15, 10, 7), (3, 35, -36)]:
        factors = expected([k * base**n + c for n in exponents], 500)
        assert Exponents(k, base, c).smallest_factors(exponents, 500).tolist() == factors


def test_words_have_64_bits():
    for values in ([2**64], [-1], np.array([1, -1])):
        with pytest.raises(gpuint.RangeError):
            Progression(1, 0).smallest_factors(values, 10)
    with pytest.raises(gpuint.RangeError):
        Exponents(2**64, 2, 1)
    with pytest.raises(gpuint.RangeError):
        Progression(-1, 0)
    with pytest.raises(TypeError):
        Progression(1, 0).smallest_factors([1.5], 10)
    with pytest.raises(gpuint.MismatchError):
        Progression(1, 0).smallest_factors(np.ones((2, 2), dtype=np.uint64), 10)


@pytest.mark.parametrize("first, step", [(1, 2), (-50, 7), (10**80, -(10**78)), (6, 0)])
def test_survivors_of_terms_have_no_factor(device, first, step):
    family = Family.terms(first, step)
    left = family.survivors(100, limit=200, device=device)
    numbers = [first + i * step for i in range(100)]
    assert left.tolist() == [factor == 0 for factor in expected(numbers, 200)]
    assert left.device == gpuint.Device(device)


def test_survivors_of_powers_have_no_factor(device):
    left = Family.powers(3, 2, 100, 1).survivors(80, limit=300, device=device)
    numbers = [3 * 2 ** (100 + i) + 1 for i in range(80)]
    assert left.tolist() == [factor == 0 for factor in expected(numbers, 300)]


def test_constellations_survive_together(device):
    first = Family.terms(11, 30)
    quadruplets = Constellation.tuplet(first, [0, 2, 6, 8])
    assert quadruplets == Constellation([first.shifted(offset) for offset in (0, 2, 6, 8)])
    left = quadruplets.survivors(100, limit=100, device=device).indices().tolist()
    assert [30 * i + 11 for i in left] == [11, 101, 191, 821, 1481, 1871, 2081]
    powers = Family.powers(1, 2, 0, -1)
    assert powers.shifted(2) == Family.powers(1, 2, 0, 1)
    both = Constellation([powers, powers.shifted(2)]).survivors(60, 1000, device).tolist()
    factors = [expected([2**n - 1, 2**n + 1], 1000) for n in range(60)]
    assert both == [pair == [0, 0] for pair in factors]
    assert Constellation([]).survivors(3, 10, device).all()
    with pytest.raises(TypeError):
        Constellation([1])


def test_sieves_have_texts_and_copies():
    family = Family.terms(1, 2)
    for value in (family, Family.powers(1, 2, 3, -1), Constellation([family])):
        assert pickle.loads(pickle.dumps(value)) == copy.copy(value) == value
        assert eval(repr(value), vars(sieve)) == value
    for value in (Progression(3, -1), Progression.of_power(2, 9, 1), Exponents(3, 2, 1)):
        again = pickle.loads(pickle.dumps(value))
        assert repr(again) == repr(eval(repr(value), vars(sieve))) == repr(value)


def test_special_moduli_are_recognized():
    for k, n, c in [(1, 521, -1), (3, 2816, 1), (5, 700, -8191)]:
        number = gpuint.SpecialModulus(k, n, c)
        assert number.value == k * 2**n + c
        assert gpuint.SpecialModulus.recognize(number.value) == number
    assert gpuint.SpecialModulus.recognize(2**300 + 8193) is None
    wrong = {"k": (2**32, -1), "n": (-1, 2**32), "c": (2**31,), "base": (-1, 2**32)}
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(gpuint.RangeError, match=rf"\b{name}\b"):
                gpuint.SpecialModulus(**({"k": 1, "n": 1, "c": 1} | {name: value}))


def test_special_moduli_of_other_bases_have_the_powers_of_others(device):
    numbers = [gpuint.SpecialModulus(1, 1024, 1, base=base) for base in (822, 824)]
    assert [it.base for it in numbers] == [822, 824] and numbers[0] != numbers[1]
    assert repr(numbers[1]) == "SpecialModulus(k=1, n=1024, c=1, base=824)"
    assert pickle.loads(pickle.dumps(numbers)) == numbers
    assert gpuint.SpecialModulus(3, 189, 1, base=2) == gpuint.SpecialModulus(3, 189, 1)
    modulus = gpuint.Modulus.of_special(numbers, device=device)
    assert modulus.value.tolist() == [822**1024 + 1, 824**1024 + 1] and not modulus.is_special()
    exponents = [it.value - 1 for it in numbers]
    powers = gpuint.Residues.powers_of(3, exponents, modulus).tolist()
    assert powers[0] % 2**64 == 0x792C_B9F2_AB80_FFF4, "822**1024 + 1 is composite"
    assert powers[1] == 1, "824**1024 + 1 is prime"
    assert pickle.loads(pickle.dumps(modulus)).tolist() == modulus.tolist()
    one = gpuint.Modulus.of_special(gpuint.SpecialModulus(7, 30, -2, base=10), device=device)
    assert one.value == 7 * 10**30 - 2 and pickle.loads(pickle.dumps(one)).value == one.value
    # Refused before the power is computed.
    wide = gpuint.SpecialModulus(1, 2**32 - 1, 1, base=10)
    with pytest.raises(gpuint.RangeError, match="the value of row 1"):
        gpuint.Modulus.of_special([numbers[0], wide], device=device)
    with pytest.raises(gpuint.RangeError, match="the widest rows"):
        gpuint.Modulus.of_special(wide, device=device)


def test_special_moduli_have_the_powers_of_others(device):
    numbers = [gpuint.SpecialModulus(3, 189, 1), gpuint.SpecialModulus(1, 200, -1)]
    modulus = gpuint.Modulus.of_special(numbers, device=device)
    assert modulus.is_special() and modulus.value.tolist() == [it.value for it in numbers]
    exponents = [it.value // 2 for it in numbers]
    powers = [pow(5, e, it.value) for e, it in zip(exponents, numbers)]
    residues = modulus.residues([5, 5])
    assert (residues**exponents).tolist() == powers
    assert gpuint.Residues.powers_of(5, exponents, modulus).tolist() == powers
    both = gpuint.concat([residues, residues[::-1]])
    assert both.modulus.is_special() and (both**2).tolist() == [25] * 4
    assert residues[1:].modulus.is_special()
    again = pickle.loads(pickle.dumps(modulus))
    assert again.is_special() and again.tolist() == modulus.tolist()

    one = gpuint.Modulus.of_special(numbers[0], device=device)
    assert (one.residues([5, 7]) ** 10).tolist() == [5**10, 7**10]
    assert pickle.loads(pickle.dumps(one)).value == numbers[0].value
    assert not gpuint.Modulus(numbers[0].value, device=device).is_special()
    assert not gpuint.Modulus.of_special(gpuint.SpecialModulus(1, 64, 7)).is_special()
    with pytest.raises(gpuint.DivisionByZeroError):
        gpuint.Modulus.of_special([numbers[0], gpuint.SpecialModulus(0, 0, 0)], device=device)
    with pytest.raises(TypeError):
        gpuint.Modulus.of_special([7])
