"""Bad input is an exception with the row."""

import subprocess
import sys

import numpy as np
import pytest

import gpuint
from conftest import BITS, MAX


@pytest.fixture(scope="module")
def a(device):
    return gpuint.array([1, 2, 3], BITS, device)


def raises(kind, row, work, match=None):
    """Checks the exception's class, its row, and that the text names it."""
    with pytest.raises(kind, match=match) as caught:
        work()
    assert isinstance(caught.value, gpuint.GpuintError)
    assert caught.value.row == row
    if row is not None:
        assert f"row {row}" in str(caught.value)


def test_zero_divisors_are_named(a):
    zero = gpuint.array([5, 0, 0], BITS, a.device)
    for work in (
        lambda: a // zero,
        lambda: a % zero,
        lambda: divmod(a, zero),
        lambda: 7 // zero,
        lambda: gpuint.Divisor(zero),
        lambda: pow(a, 3, zero),
        lambda: a.mul_mod(a, zero),
        lambda: zero.shifted_inverse(3),
    ):
        raises(ZeroDivisionError, 1, work, "division by zero in row 1")
    for work in (lambda: a // 0, lambda: a % 0, lambda: pow(a, 3, 0), lambda: gpuint.Divisor(0)):
        raises(ZeroDivisionError, 0, work)


def test_integers_out_of_range_are_named(a, device):
    wide = MAX + 1
    raises(OverflowError, 2, lambda: gpuint.array([0, MAX, wide, wide], BITS, device), "1025 bits")
    raises(OverflowError, 1, lambda: gpuint.array([0, -1], BITS, device), "negative")
    raises(OverflowError, 1, lambda: gpuint.array([0, -1], device=device), "negative")
    raises(OverflowError, 1, lambda: gpuint.array([0, 1 << 2**31], device=device))
    raises(OverflowError, None, lambda: gpuint.array([0], 2**31 + 1, device))
    raises(OverflowError, 1, lambda: gpuint.array([0, wide], device=device).resized(BITS))
    for work in (
        lambda: a + wide,
        lambda: a - (-wide),
        lambda: a * wide,
        lambda: a & wide,
        lambda: wide - a,
        lambda: a % -7,
        lambda: pow(a, 3, -7),
        lambda: gpuint.full(3, wide, BITS, device),
        lambda: a.overflowing_add(wide),
        lambda: a.cmp(wide),
        lambda: a << -1,
        lambda: a.wrapping_pow(-1),
        lambda: a.nth_root(0),
        lambda: gpuint.full(1, 1, -5, device),
        lambda: gpuint.narrowest(-5),
    ):
        raises(OverflowError, None, work)
    raises(OverflowError, 0, lambda: a.shifted_inverse(17))
    raises(OverflowError, 0, lambda: a.with_bit(BITS))
    raises(ValueError, None, lambda: a << -1, "negative shift count")
    raises(ValueError, 1, lambda: a >> [1, -1, 0], "negative shift count")


def test_lengths_and_shapes_must_match(a, device):
    two = gpuint.array([1, 2], BITS, device)
    for work in (
        lambda: a + two,
        lambda: a // two,
        lambda: a < two,
        lambda: a == two,
        lambda: a % gpuint.Divisor(two),
        lambda: pow(a, two, 7),
        lambda: a << [1, 2],
        lambda: a[gpuint.Mask([True], device)],
        lambda: a[[True]],
        lambda: a.select([True, False], a),
        lambda: gpuint.Mask([True], device) & [True, False],
        lambda: gpuint.concat([]),
        lambda: gpuint.from_bytes(b"\0" * 129, BITS, device=device),
        lambda: gpuint.from_limbs(np.zeros(16, np.uint64), device=device),
        lambda: gpuint.full(0, 1, 1 << 31, device).widening_mul([]),
    ):
        raises(ValueError, None, work)


def test_rows_must_exist(a):
    raises(IndexError, 3, lambda: a[3])
    raises(IndexError, -4, lambda: a[-4])
    raises(IndexError, 9, lambda: a[[0, 9]])
    with pytest.raises(TypeError):
        a["0"]
    with pytest.raises(TypeError):
        a[0.0]
    with pytest.raises(TypeError):
        a[[0.5]]


def test_absurd_sizes_are_memory_errors(device):
    raises(MemoryError, None, lambda: gpuint.full(2**50, 1, BITS, device), "out of memory")


def test_other_types_are_type_errors(a):
    for work in (
        lambda: a + 1.5,
        lambda: a + "1",
        lambda: a // None,
        lambda: a < "1",
        lambda: a << 1.5,
        lambda: a**a,
        lambda: 2**a,
        lambda: pow(a, 1.5, 7),
        lambda: pow(a, 2, 7.5),
        lambda: a / a,
        lambda: hash(a),
        lambda: gpuint.array([1.5]),
        lambda: gpuint.array(b"123"),
        lambda: gpuint.array("123"),
        lambda: gpuint.from_limbs(np.zeros((1, 16), np.int64)),
        lambda: gpuint.Mask([1, 0]),
        lambda: gpuint.powmod(1, 2, 3),
        lambda: a.widening_mul("3"),
        lambda: a == "1",
        lambda: a != None,  # noqa: E711
        lambda: a == 1.0,
        lambda: a == [1.0, 2.0, 3.0],
        lambda: (a == a) == 1,
        lambda: (a == a) == None,  # noqa: E711
        lambda: bytes(a == a),
    ):
        with pytest.raises(TypeError):
            work()
    with pytest.raises(ValueError, match="ambiguous"):
        bool(a == a)


def test_later_calls_succeed_after_an_error(a):
    for _ in range(3):
        raises(ZeroDivisionError, 0, lambda: a // 0)
        assert (a + 1).tolist() == [2, 3, 4]


def test_moduli_of_trees_are_checked(a, device):
    zero = gpuint.ProductTree(gpuint.array([1, 0], BITS, device))
    for work in (zero.cofactors, lambda: zero.remainders(5)):
        raises(ZeroDivisionError, 1, work)
    raises(OverflowError, None, lambda: zero.remainders(-1))
    shared = gpuint.array([5, 6, 7, 9], BITS, device)
    raises(ValueError, None, lambda: gpuint.Crt(shared[:0]))
    raises(ZeroDivisionError, 2, lambda: gpuint.Crt(gpuint.array([5, 6, 0], BITS, device)))
    raises(ValueError, None, lambda: gpuint.Crt(a[1:]).combine(a))
    raises(OverflowError, None, lambda: a.polynomial([1, MAX + 1]))


def test_rows_are_read_into_writable_memory_of_their_size(device):
    batch = gpuint.array([5, 7], 1024, device)._batch
    rows = np.full((2, 128), 255, np.uint8)
    batch.read_le_bytes(rows)
    assert rows[:, 0].tolist() == [5, 7] and not rows[:, 1:].any()
    for wrong, error in (
        (bytes(256), BufferError),
        (np.empty((128, 4), np.uint8)[:, :2], BufferError),
        (np.empty(3, np.uint8), gpuint.MismatchError),
        (np.empty(3 * 128, np.uint8), gpuint.RowError),
    ):
        with pytest.raises(error):
            batch.read_le_bytes(wrong)


def test_exhausted_memory_is_named():
    # A CUDA driver does not start in so little address space.
    code = """
import resource, gpuint
import numpy as np
BYTES = 3 << 30
resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
wide = 1 << (2**20 - 1)
for work in (
    lambda: gpuint.array([1] * 100_000 + [wide], device="cpu"),
    lambda: gpuint.full(100_000, 1, 2**20, device="cpu"),
    lambda: gpuint.FixedBase(3, wide, exponent_bits=2**20, device="cpu"),
):
    try:
        work()
    except gpuint.OutOfMemoryError as error:
        print(error)
    except MemoryError:
        print("not by gpuint")
a = gpuint.full(3_000_000, 7, 256, device="cpu")
numbers = np.arange(3_000_000)
odd = a == 7
rest = []
for size in (1 << 24, 1 << 21):
    try:
        while True:
            rest.append(bytearray(size))
    except MemoryError:
        pass
for work in (
    a.tolist,
    a.tobytes,
    lambda: a.cmp(a),
    a.perfect_powers,
    a.sort,
    lambda: a[numbers],
    lambda: odd[numbers],
    lambda: a << numbers,
    a.to_limbs,
    a.to_text,
    lambda: np.asarray(a),
    lambda: a.repeat(5),
):
    try:
        work()
    except gpuint.OutOfMemoryError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"out of memory: {100_001 * 2**17} bytes requested"
    assert len(lines) == 15
    assert all(line.startswith("out of memory: ") for line in lines)
