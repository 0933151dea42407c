"""Conversion, selection of rows, masks and devices."""

import copy
import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpuint
from conftest import BITS, integers, rows

VALUES = [3**n for n in range(0, 600, 60)]


@pytest.fixture(scope="module")
def sample(device):
    return gpuint.array(VALUES, BITS, device)


@given(rows(integers()))
def test_conversions_are_inverse(device, columns):
    (x,) = columns
    a = gpuint.array(x, BITS, device)
    assert a.tolist() == list(a) == [a[row] for row in range(len(a))] == x
    limbs = a.to_limbs()
    assert (limbs.dtype, limbs.shape) == (np.uint64, (len(x), BITS // 64))
    assert limbs.tolist() == [[u >> 64 * i & (2**64 - 1) for i in range(16)] for u in x]
    for order in ("little", "big"):
        data = b"".join(u.to_bytes(BITS // 8, order) for u in x)
        assert a.tobytes(order) == data
        for kind in (bytes, bytearray, memoryview):
            assert gpuint.from_bytes(kind(data), BITS, order, device).tolist() == x
    assert gpuint.from_limbs(limbs, device=device).tolist() == x
    assert gpuint.array(limbs, 2 * BITS, device).tolist() == x
    assert gpuint.from_limbs(np.asfortranarray(limbs), device=device).tolist() == x
    assert gpuint.from_limbs(limbs[::-1], device=device).tolist() == x[::-1]
    assert a.resized(2 * BITS).resized(BITS).tolist() == x
    assert gpuint.array(x, device=device).bits == gpuint.narrowest(max(x).bit_length())


def test_width_is_the_narrowest_built_that_holds_the_data(device):
    assert gpuint.array([0, 2**BITS], device=device).bits == 1536
    assert gpuint.array([1], 2000, device).bits == 2048
    assert gpuint.array([], device=device).bits == min(gpuint.widths())
    assert gpuint.narrowest(1025) == 1536
    assert gpuint.full(3, 2**1500, device=device).bits == 1536


def test_device_with_jit_has_widths_that_are_not_built():
    jit = gpuint.Device("cpu", jit=True)
    assert jit == gpuint.Device("cpu") and jit.jit and gpuint.Device(jit).jit
    assert gpuint.narrowest(1100, jit) == 1280
    x = [2**1200 - 3, 5]
    a = gpuint.array(x, device=jit)
    assert (a.bits, (a * a).tolist()) == (1280, [pow(v, 2, 2**1280) for v in x])
    assert pow(a, 65537, 2**1270 - 1).tolist() == [pow(v, 65537, 2**1270 - 1) for v in x]
    assert a.widening_mul(a).bits == 2560
    assert (a + gpuint.array(x, 1300, jit)).bits == 1536
    again = pickle.loads(pickle.dumps(a))
    assert (again.bits, again.device.jit, again.tolist()) == (1280, True, x)
    without = a.to("cpu")
    assert (without.bits, without.device.jit, without.tolist()) == (1536, False, x)
    with pytest.raises(gpuint.MismatchError, match="jit=True"):
        a + gpuint.array([1], 1024, "cpu")


def test_verified_device_computes_the_same():
    verified = gpuint.Device("cpu", verified=True)
    assert verified == gpuint.Device("cpu") and verified.verified
    assert gpuint.Device(verified).verified and not gpuint.Device("cpu").verified
    assert repr(verified) == f'<Device "cpu", verified=True: {verified.description}>'
    x, y = [2**1000 - 3, 5, 7**300], [3**200, 2**61 - 1, 1]
    a, b = gpuint.array(x, device=verified), gpuint.array(y, 1024, verified)
    assert [q.tolist() for q in divmod(a, b)] == [
        [u // v for u, v in zip(x, y, strict=True)],
        [u % v for u, v in zip(x, y, strict=True)],
    ]
    assert pow(a, 65537, 2**1021 - 1).tolist() == [pow(v, 65537, 2**1021 - 1) for v in x]
    assert (a * b).device.verified and pickle.loads(pickle.dumps(a)).device.verified
    assert not a.to(gpuint.Device("cpu")).device.verified
    with verified:
        assert gpuint.array([1]).device.verified
    assert issubclass(gpuint.FaultyDeviceError, gpuint.DeviceError)


def test_limbs_and_bytes_of_other_widths_are_padded(device):
    limbs = np.array([[1, 2, 3], [4, 5, 6]], np.uint64)
    expected = [sum(int(limb) << 64 * i for i, limb in enumerate(row)) for row in limbs]
    assert gpuint.from_limbs(limbs, device=device).tolist() == expected
    assert gpuint.from_bytes(b"\1\2\3\4", 16, "big", device).tolist() == [0x0102, 0x0304]
    wide = np.zeros((2, 32), np.uint64)
    wide[0, 15] = 1
    assert gpuint.from_limbs(wide, BITS, device).tolist() == [2**960, 0]
    wide[1, 16] = 1
    with pytest.raises(OverflowError, match="row 1 has 1025 bits") as caught:
        gpuint.from_limbs(wide, BITS, device)
    assert caught.value.row == 1


def test_integers_of_any_type_are_taken(device):
    numbers = np.arange(5, dtype=np.uint8)
    for values in (range(5), iter(range(5)), numbers, list(numbers), [False, True, 2, 3, 4]):
        assert gpuint.array(values, device=device).tolist() == [0, 1, 2, 3, 4]
    a = gpuint.array(range(5), device=device)
    assert (a + np.uint64(7)).tolist() == (np.uint64(7) + a).tolist() == [7, 8, 9, 10, 11]
    gmpy2 = pytest.importorskip("gmpy2")
    assert gpuint.array([gmpy2.mpz(2**70)], device=device).tolist() == [2**70]
    assert (a * gmpy2.mpz(3)).tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(2, 5),
        slice(5, 2),
        slice(-3, None),
        slice(None, None, -1),
        slice(8, 1, -3),
    ],
)
def test_slices_match_lists(sample, key):
    assert sample[key].tolist() == VALUES[key]


@given(st.lists(st.integers(-len(VALUES), len(VALUES) - 1)))
def test_lists_of_rows_match_lists(sample, numbers):
    expected = [VALUES[row] for row in numbers]
    assert sample[numbers].tolist() == expected
    assert sample[np.array(numbers, dtype=np.int64)].tolist() == expected
    assert sample.gather(iter(numbers)).tolist() == expected
    assert [sample[row] for row in numbers] == expected


@given(st.lists(st.booleans(), min_size=len(VALUES), max_size=len(VALUES)))
def test_masks_select_rows(sample, bits):
    mask = gpuint.Mask(bits, sample.device)
    expected = [value for value, bit in zip(VALUES, bits) if bit]
    for key in (mask, bits, np.array(bits)):
        assert sample[key].tolist() == expected
    chosen = [value if bit else 7 for value, bit in zip(VALUES, bits)]
    assert sample.select(mask, 7).tolist() == chosen
    assert sample.select(bits, gpuint.full(len(bits), 7, 2048, sample.device)).tolist() == chosen


def test_rows_of_several_arrays(sample):
    both = gpuint.concat([sample, sample[:2].resized(2048)])
    assert (both.bits, both.tolist()) == (2048, VALUES + VALUES[:2])
    assert sample.reverse().tolist() == VALUES[::-1]


@given(rows(st.booleans(), st.booleans()))
def test_masks_match_bools(device, columns):
    x, y = columns
    a, b = gpuint.Mask(x, device), gpuint.Mask(np.array(y), device)
    assert (a & b).tolist() == [u and v for u, v in zip(x, y)]
    assert (a | y).tolist() == (y | a).tolist() == [u or v for u, v in zip(x, y)]
    assert (a ^ b).tolist() == (a != b).tolist() == [u != v for u, v in zip(x, y)]
    assert (a == b).tolist() == [u == v for u, v in zip(x, y)]
    assert (~a).tolist() == [not u for u in x]
    assert (a.count(), a.any(), a.all(), len(a)) == (sum(x), any(x), all(x), len(x))
    assert list(a) == [a[row] for row in range(len(a))] == np.asarray(a).tolist() == x
    assert a.indices().tolist() == [row for row, bit in enumerate(x) if bit]


def test_empty_arrays_have_every_operation(device):
    a = gpuint.array([], BITS, device)
    assert (len(a), a.tolist(), a.tobytes(), a.to_limbs().shape) == (0, [], b"", (0, 16))
    for result in (a + a, a * 3, a // 7, a % a, pow(a, 3, 5), a.gcd(a), a << 3, a[[]], a[1:]):
        assert result.tolist() == []
    assert (a.wrapping_sum(), (a == a).tolist(), a.bit_length().tolist()) == (0, [], [])
    assert gpuint.from_limbs(np.zeros((0, 16), np.uint64), device=device).tolist() == []


class OnGpu:
    """An object with memory on a GPU, as cupy and torch describe it."""

    def __init__(self, **changes):
        self.__cuda_array_interface__ = {
            "shape": (2, 16),
            "typestr": "<u8",
            "data": (4096, False),
            "version": 3,
            **changes,
        }


def test_memory_on_a_gpu_is_checked(device):
    for changes, kind in (
        ({"typestr": "<f8"}, TypeError),
        ({"shape": (32,)}, ValueError),
        ({"shape": (2, 15)}, ValueError),
        ({"strides": (8, 16)}, ValueError),
    ):
        with pytest.raises(kind):
            gpuint.from_cuda(OnGpu(**changes))
    with pytest.raises(TypeError, match="no memory on a GPU"):
        gpuint.from_cuda(np.zeros((2, 16), np.uint64))
    with pytest.raises(gpuint.DeviceError):
        gpuint.from_cuda(OnGpu(), "cpu")
    assert not hasattr(gpuint.array([1], device="cpu"), "__cuda_array_interface__")


def test_memory_on_a_gpu_is_shared(device, sample):
    if device.kind != "cuda":
        pytest.skip("needs a GPU")
    cupy = pytest.importorskip("cupy")
    limbs = cupy.asarray(sample)
    assert (limbs.get() == sample.to_limbs()).all()
    doubled = gpuint.from_cuda(limbs + limbs, device)
    assert doubled[0] == 2 * VALUES[0]
    with pytest.raises(gpuint.MismatchError):
        gpuint.from_cuda(OnGpu(), device)


def test_representations_name_width_rows_and_device(sample):
    end = f"bits=1024, device='{sample.device}')"
    long = f"{VALUES[1]:#x}"
    assert repr(sample[:2]) == f"Array([0x1, {long[:10]}..{long[-6:]}], rows=2, {end}"
    assert repr(sample).endswith(f", ...], rows=10, {end}")
    assert repr(sample == 1) == f"Mask(rows=10, set=1, device='{sample.device}')"
    divisor = gpuint.Divisor(7, BITS, sample.device)
    assert repr(divisor) == f"Divisor(0x7, {end}"
    assert (sample.nbytes, sample.bits, len(sample)) == (1280, 1024, 10)


def test_devices_by_name():
    cpu = gpuint.Device("cpu")
    assert (str(cpu), cpu.kind) == ("cpu", "cpu")
    assert repr(cpu) == f'<Device "cpu": {cpu.description}>'
    assert cpu == gpuint.Device(cpu) and len({cpu, gpuint.Device("cpu")}) == 1
    cpu.synchronize()
    cpu.trim()
    assert gpuint.Device().kind in ("cuda", "cpu")
    assert gpuint.array([1], device=gpuint.Device("cpu")).to("cpu").device == cpu
    with pytest.raises(ValueError, match='unknown device "gpu"'):
        gpuint.Device("gpu")
    with pytest.raises(gpuint.DeviceError, match="no such CUDA device"):
        gpuint.Device("cuda:4095")
    with pytest.raises(TypeError):
        gpuint.Device(0)


def test_other_threads_run_during_a_call(device):
    a = gpuint.full(128, 2**2048 - 3, device=device)
    stop, ticks = threading.Event(), 0

    def tick():
        nonlocal ticks
        while not stop.is_set():
            time.sleep(0.001)
            ticks += 1

    other = threading.Thread(target=tick)
    other.start()
    before = ticks
    powers = pow(a, 2**2048 - 1, 2**2048 - 5)
    device.synchronize()
    during = ticks - before
    stop.set()
    other.join()
    assert powers[127] == pow(2**2048 - 3, 2**2048 - 1, 2**2048 - 5)
    # A call that holds the lock lets at most one tick pass, at its end.
    assert during > 3 or device.kind != "cpu"


def containers(sample):
    """Rows of every type, with their values."""
    modulus = gpuint.Modulus(2**89 - 1, BITS, sample.device)
    signed = [-value if row % 2 else value for row, value in enumerate(VALUES)]
    yield sample, VALUES
    yield gpuint.SignedArray(signed, BITS, sample.device), signed
    yield modulus.residues(sample), [value % (2**89 - 1) for value in VALUES]
    moduli = [value + 2 for value in VALUES]
    yield gpuint.Modulus(moduli, BITS, sample.device).residues(sample), VALUES
    yield sample.bit(1), [bool(value & 2) for value in VALUES]
    yield gpuint.Divisor(sample), VALUES
    yield gpuint.Factor(sample), VALUES
    yield gpuint.Modulus(sample), VALUES


def test_rows_of_every_type_have_all_selections(sample):
    numbers = [3, -1, 0, 3]
    bits = [row % 3 == 0 for row in range(len(VALUES))]
    for held, values in containers(sample):
        assert (len(held), list(held)) == (len(values), values)
        assert [held[row] for row in (0, 4, -1)] == [values[row] for row in (0, 4, -1)]
        for key in (slice(2, 5), slice(None, None, -3), slice(7, 2)):
            assert held[key].tolist() == values[key], type(held)
        for key in (numbers, np.array(numbers), np.array(numbers, np.int8)):
            assert held[key].tolist() == held.gather(key).tolist() == [values[i] for i in numbers]
        chosen = [value for value, bit in zip(values, bits) if bit]
        for key in (bits, np.array(bits), gpuint.Mask(bits, sample.device)):
            assert held[key].tolist() == chosen
        for wrong in (len(values), -len(values) - 1):
            for work in (
                lambda: held[wrong],
                lambda: held[[0, wrong]],
                lambda: held.gather([wrong]),
            ):
                with pytest.raises(gpuint.RowError, match=f"row {wrong} does not exist") as caught:
                    work()
                assert caught.value.row == wrong
        with pytest.raises(gpuint.MismatchError):
            held[bits[1:]]
        with pytest.raises(TypeError, match="key"):
            held["0"]
        assert held.reverse().tolist() == values[::-1]
        assert held.repeat(2).tolist() == [value for value in values for _ in range(2)]
        assert held.tile(2).tolist() == values * 2 and len(held.tile(0)) == 0
        assert gpuint.concat([held, held[:2]]).tolist() == values + values[:2]
        pairs = [value for pair in zip(values, values[::-1]) for value in pair]
        assert gpuint.interleave([held, held.reverse()]).tolist() == pairs
        copied = held.copy()
        assert copied is not held and copied.tolist() == values
        with pytest.raises(gpuint.MismatchError):
            gpuint.interleave([held, held[:2]])
        with pytest.raises(gpuint.OutOfMemoryError):
            held.repeat(2**50)
    with pytest.raises(TypeError, match="one type"):
        gpuint.concat([sample, sample == 1])
    pair = gpuint.concat([gpuint.Divisor([7, 11]), gpuint.Divisor([13])])
    seven = gpuint.Divisor(7)
    for work in (lambda: seven[0], lambda: len(seven), lambda: list(seven)):
        with pytest.raises(TypeError, match="one int"):
            work()
    assert np.array_equal(pair, [7, 11, 13]) and not np.array_equal(pair, pair[::-1])
    assert seven and seven == seven and seven != gpuint.Divisor(7) and len({seven}) == 1
    assert (gpuint.array([50, 50, 50]) % pair).tolist() == [1, 6, 11]


def test_selections_of_rows_choose_between_arrays(sample):
    bits = [row % 3 == 0 for row in range(len(VALUES))]
    for held, values in list(containers(sample))[:3]:
        chosen = held.select(bits, [5] * len(bits)).tolist()
        assert chosen == [value if bit else 5 for value, bit in zip(values, bits)]
        assert held.select(bits, 5).tolist() == chosen
    mask = sample.bit(1)
    assert mask.select(bits, True).tolist() == [
        value if bit else True for value, bit in zip(mask, bits)
    ]
    assert (mask == True).tolist() == mask.tolist()  # noqa: E712
    assert (mask & False).count() == 0


def test_objects_survive_pickling(sample):
    for held, values in containers(sample):
        again = pickle.loads(pickle.dumps(held))
        assert type(again) is type(held) and again.tolist() == values
        assert copy.copy(held) is copy.deepcopy(held) is held
    again = pickle.loads(pickle.dumps(sample))
    assert (again.bits, again.device) == (BITS, sample.device)
    first, second = pickle.loads(pickle.dumps(2 * [gpuint.Modulus(7).residues([1, 2])]))
    assert (first + second).tolist() == [2, 4]
    for value in (7, sample):
        divisor = pickle.loads(pickle.dumps(gpuint.Divisor(value, 2048, sample.device)))
        assert (divisor.bits, (sample % divisor).bits) == (2048, 2048)
        modulus = pickle.loads(pickle.dumps(gpuint.Modulus(value, BITS, sample.device)))
        assert modulus.residues(sample).is_zero().all() == (value is sample)
    table = pickle.loads(pickle.dumps(gpuint.FixedBase(3, 97, 64, sample.device)))
    assert table.pow([5]).tolist() == [3**5 % 97]
    tree = pickle.loads(pickle.dumps(gpuint.ProductTree([7, 11])))
    assert (tree.root, tree.remainders(50).tolist()) == (77, [1, 6])
    crt = pickle.loads(pickle.dumps(gpuint.Crt([7, 11])))
    assert crt.combine([1, 6]).tolist() == [50]
    for fixed in (table, tree, crt):
        assert copy.deepcopy(fixed) is fixed


def test_device_of_a_block_is_the_default():
    cpu = gpuint.Device("cpu", jit=True)
    with cpu as entered:
        assert entered is cpu and gpuint.array([2**1100]).bits == 1280
        with gpuint.Device("cpu"):
            assert gpuint.array([2**1100]).bits == 1536
        assert gpuint.Device().jit and gpuint.full(1, 2**1100).bits == 1280
    assert not gpuint.Device().jit


def test_integers_of_numpy_are_encoded_without_python_ints(device):
    for dtype in (np.uint8, np.int16, np.int64, np.uint64):
        numbers = np.array([0, 5, np.iinfo(dtype).max], dtype)
        assert gpuint.array(numbers, device=device).tolist() == numbers.tolist()
    least = np.array([-(2**63), 5])
    assert gpuint.SignedArray(least, device=device).tolist() == least.tolist()
    with pytest.raises(gpuint.RangeError, match="row 0") as caught:
        gpuint.array(least, device=device)
    assert caught.value.row == 0
    assert gpuint.array(np.array([2**70, 1], dtype=object), device=device).tolist() == [2**70, 1]


def test_errors_survive_pickling():
    error = gpuint.RangeError("too wide", 3)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.row) == (gpuint.RangeError, "too wide", 3)
    assert copy.copy(error).row == 3
