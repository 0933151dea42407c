"""The list calls against Python's `pow`, and gmpy2 where it is installed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuint
from conftest import integers

signed = st.builds(lambda value, sign: value * sign, integers(), st.sampled_from((1, -1)))
lists = st.lists(signed, max_size=4)


def outcome(work):
    """The result of a call, or the class of its exception."""
    try:
        return [int(value) for value in work()]
    except (ZeroDivisionError, ValueError) as error:
        assert not isinstance(error, gpuint.GpuintError) or isinstance(error, ZeroDivisionError)
        return ZeroDivisionError


@given(lists, st.integers(-40, 2**40), signed)
def test_powers_of_bases_match_python(device, bases, exponent, modulus):
    got = outcome(lambda: gpuint.powmod_base_list(bases, exponent, modulus, device=device))
    if not bases and modulus == 0:
        assert got is ZeroDivisionError
    else:
        assert got == outcome(lambda: [pow(base, exponent, modulus) for base in bases])


@given(signed, st.lists(st.integers(-40, 2**40), max_size=4), signed)
def test_powers_by_exponents_match_python(device, base, exponents, modulus):
    got = outcome(lambda: gpuint.powmod_exp_list(base, exponents, modulus, device=device))
    if not exponents and modulus == 0:
        assert got is ZeroDivisionError
    else:
        assert got == outcome(lambda: [pow(base, exponent, modulus) for exponent in exponents])


def test_wide_exponents_widen_the_rows(device):
    exponent, modulus = 3**800, 2**521 - 1
    expected = [pow(5, exponent, modulus)]
    assert gpuint.powmod_base_list([5], exponent, modulus, device=device) == expected
    assert gpuint.powmod_exp_list(5, [exponent], modulus, device=device) == expected


@given(lists, st.integers(0, 2**40), integers(minimum=1))
def test_lists_match_gmpy2(device, values, exponent, modulus):
    # gmpy2's list calls take positive moduli only. They abort the process where a base has no
    # inverse.
    gmpy2 = pytest.importorskip("gmpy2")
    exponents = [value % 1000 for value in values]
    assert gpuint.powmod_base_list(
        values, exponent, modulus, device=device
    ) == gmpy2.powmod_base_list(values, exponent, modulus)
    assert gpuint.powmod_exp_list(
        exponent, exponents, modulus, device=device
    ) == gmpy2.powmod_exp_list(exponent, exponents, modulus)
    assert outcome(lambda: gpuint.invert_list(values, modulus, device=device)) == outcome(
        lambda: [gmpy2.invert(value, modulus) for value in values]
    )


def test_failures_name_the_row(device):
    with pytest.raises(ZeroDivisionError, match="row 1 has no inverse") as caught:
        gpuint.invert_list([1, 2, 2], 4, device=device)
    assert caught.value.row == 1
    with pytest.raises(ZeroDivisionError, match="row 1 has no inverse") as caught:
        gpuint.powmod_exp_list(2, [1, -1], 4, device=device)
    assert caught.value.row == 1
    for call in (
        lambda: gpuint.powmod_base_list([2], 3, 0),
        lambda: gpuint.powmod_exp_list(2, [3], 0),
        lambda: gpuint.invert_list([2], 0),
    ):
        with pytest.raises(ZeroDivisionError, match="the modulus is zero"):
            call()
    with pytest.raises(TypeError):
        gpuint.powmod_base_list([1.5], 3, 7)
