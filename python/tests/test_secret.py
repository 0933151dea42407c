"""Secret operands against Python's integers."""

import pickle

import pytest
from hypothesis import given

import gpuint
from conftest import BITS, MAX, integers, rows

WIDE = 2 * BITS


def data(values, bits=BITS):
    return b"".join(value.to_bytes(bits // 8, "little") for value in values)


@given(table=rows(integers(), integers(), integers(), integers()))
def test_powers_and_sums_are_those_of_python(device, table):
    bases, exponents, moduli, addends = table
    moduli = [modulus | 1 for modulus in moduli]
    a = gpuint.SecretBatch(data(bases), BITS, device)
    powers = a.pow_secret(
        gpuint.SecretExponents(data(exponents), BITS, BITS, device),
        gpuint.SecretModulus(data(moduli), BITS, device),
    )
    expected = [pow(*row) for row in zip(bases, exponents, moduli)]
    assert powers.reveal().tolist() == expected
    assert powers.is_zero().tolist() == [power == 0 for power in expected]
    sums = a.mul_add_secret(
        gpuint.SecretFactor(data(exponents), data(moduli), BITS, device),
        gpuint.SecretBatch(data(addends), BITS, device),
    )
    expected = [(a * b + c) % n for a, b, n, c in zip(bases, exponents, moduli, addends)]
    assert sums.reveal().tolist() == expected
    # A bytearray, which the caller overwrites.
    assert sums.tobytes() == bytearray(data(expected))


def test_one_row_stands_for_all_rows(device):
    values, exponent, prime = [0, 1, 2, MAX, MAX - 1], 2**100 + 12345, 2**521 - 1
    exponents = gpuint.SecretExponents(data([exponent]), BITS, 101, device)
    modulus = gpuint.SecretModulus(data([prime]), BITS, device)
    factor = gpuint.SecretFactor(data([exponent]), data([prime]), BITS, device)
    addend = gpuint.SecretBatch(bytearray(data([prime - 5])), BITS, device)
    powers = [pow(value, exponent, prime) for value in values]
    sums = [(value * exponent - 5) % prime for value in values]
    secret = gpuint.SecretBatch(memoryview(data(values)), BITS, device)
    for a in (secret, gpuint.array(values, BITS, device)):
        assert a.pow_secret(exponents, modulus).reveal().tolist() == powers
        assert a.mul_add_secret(factor, addend).reveal().tolist() == sums
    few = gpuint.array([3, 5], 256, device)
    assert few.pow_secret(exponents, modulus).reveal().tolist() == [
        pow(value, exponent, prime) for value in (3, 5)
    ]
    assert few.mul_add_secret(factor, addend).bits == BITS


def test_secrets_are_not_shown(device):
    secret = gpuint.SecretBatch(data([7, 0]), BITS, device)
    assert repr(secret) == f"SecretBatch(rows=2, bits={BITS}, device='{device}')"
    operands = (
        secret,
        gpuint.SecretExponents(data([7]), BITS, 3, device),
        gpuint.SecretModulus(data([7]), BITS, device),
        gpuint.SecretFactor(data([7]), data([7]), BITS, device),
    )
    for operand in operands:
        assert "7" not in repr(operand) and operand.bits == BITS
        with pytest.raises(TypeError):
            pickle.dumps(operand)
        with pytest.raises(TypeError):
            iter(operand)


def test_errors_have_their_row(device):
    with pytest.raises(gpuint.MismatchError, match="even") as caught:
        gpuint.SecretModulus(data([3, 4, 6]), BITS, device)
    assert caught.value.row == 1
    with pytest.raises(gpuint.MismatchError, match="even") as caught:
        gpuint.SecretFactor(data([3, 4]), data([3, 4]), BITS, device)
    assert caught.value.row == 1
    with pytest.raises(gpuint.RangeError) as caught:
        gpuint.SecretExponents(data([255, 256, 257]), BITS, 8, device)
    assert caught.value.row == 1
    with pytest.raises(gpuint.RangeError, match="exponent_bits"):
        gpuint.SecretExponents(data([1]), BITS, BITS + 1, device)
    with pytest.raises(gpuint.MismatchError, match="factors has 2 rows and moduli 1"):
        gpuint.SecretFactor(data([3, 4]), data([3]), BITS, device)
    for bits in (256, BITS + 8, 9216):
        with pytest.raises(gpuint.MismatchError, match="bits"):
            gpuint.SecretBatch(bytes(bits // 8), bits, device)


def test_widths_and_rows_must_agree(device):
    exponents = gpuint.SecretExponents(data([1, 2]), BITS, 8, device)
    modulus = gpuint.SecretModulus(data([5]), BITS, device)
    with pytest.raises(gpuint.MismatchError, match=r"rows|lengths"):
        gpuint.SecretBatch(data([1, 2, 3]), BITS, device).pow_secret(exponents, modulus)
    for wide in (
        gpuint.SecretBatch(data([1, 2], WIDE), WIDE, device),
        gpuint.array([1, 2], WIDE, device),
    ):
        with pytest.raises(gpuint.MismatchError, match="widths differ"):
            wide.pow_secret(exponents, modulus)
