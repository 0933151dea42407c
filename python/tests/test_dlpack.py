"""DLPack, both ways. Memory on a GPU is shared with cupy and torch where these are installed."""

import ctypes
import gc
import sys

import numpy as np
import pytest

import gpuint
from gpuint import _gpuint
from gpuint._creation import _over_tensor

VALUES = [0, 1, 2**64, 3**600 % 2**1024, 2**1024 - 1]


@pytest.fixture
def sample(device):
    return gpuint.array(VALUES, 1024, device)


@pytest.fixture
def on_cpu():
    return gpuint.array(VALUES, 1024, "cpu")


def references(array):
    gc.collect()
    return sys.getrefcount(array._batch)


def address(limbs):
    return limbs.__array_interface__["data"][0]


def test_numpy_reads_rows_where_they_are(on_cpu):
    expected = on_cpu.to_limbs()
    before = references(on_cpu)
    limbs, again = np.from_dlpack(on_cpu), np.from_dlpack(on_cpu)
    assert (limbs == expected).all() and limbs.dtype == np.uint64
    assert address(limbs) == address(again) == _gpuint.Tensor(on_cpu.__dlpack__()).address
    assert not limbs.flags.writeable
    assert references(on_cpu) == before + 2
    del again
    assert references(on_cpu) == before + 1
    del on_cpu
    assert (limbs == expected).all()


def test_copies_are_of_the_consumer(sample):
    for copied in (
        sample.__dlpack__(copy=True, max_version=(1, 0)),
        sample.__dlpack__(copy=True),
    ):
        tensor = _gpuint.Tensor(copied)
        assert (tensor.shape, tensor.strides, tensor.element) == ([5, 16], [16, 1], (1, 64, 1))
        assert tensor.device == sample.__dlpack_device__()
    on_host = sample.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    assert _gpuint.Tensor(on_host).device == (1, 0)


def test_capsules_have_the_version_of_the_consumer(on_cpu):
    before = references(on_cpu)
    for version, name in ((None, "dltensor"), ((0, 8), "dltensor"), ((1, 2), "dltensor_versioned")):
        capsule = on_cpu.__dlpack__(max_version=version)
        assert f'"{name}"' in repr(capsule)
        tensor = _gpuint.Tensor(capsule)
        assert f'"used_{name}"' in repr(capsule)
        del capsule
        assert references(on_cpu) == before + 1
        del tensor
        on_cpu.__dlpack__(max_version=version)  # that nobody takes
        assert references(on_cpu) == before


def test_capsules_are_taken_once(on_cpu):
    capsule = on_cpu.__dlpack__()
    tensor = _gpuint.Tensor(capsule)
    for other in (capsule, None, 5):
        with pytest.raises(TypeError, match="taken before"):
            _gpuint.Tensor(other)
    assert tensor.shape == [5, 16]


def test_requests_that_cannot_be_met_are_refused(on_cpu):
    for wrong in ({"dl_device": (2, 0)}, {"dl_device": (1, 1), "copy": True}):
        with pytest.raises(BufferError):
            on_cpu.__dlpack__(**wrong)
    with pytest.raises(ValueError, match="no streams"):
        on_cpu.__dlpack__(stream=1)
    assert _gpuint.Tensor(on_cpu.__dlpack__(dl_device=(1, 0), copy=False)).device == (1, 0)


def test_empty_arrays_are_exported(device):
    empty = gpuint.array([], 1024, device)
    tensor = _gpuint.Tensor(empty.__dlpack__())
    assert (tensor.shape, tensor.address) == ([0, 16], 0)
    if device.kind == "cpu":
        assert np.from_dlpack(empty).shape == (0, 16)


def test_memory_of_the_host_is_copied(device):
    limbs = np.arange(2 * 16, dtype=np.uint64).reshape(2, 16)
    for matrix in (limbs, limbs.astype(np.int64), np.asfortranarray(limbs)):
        array = gpuint.from_dlpack(matrix, device)
        assert (array.to_limbs() == limbs).all() and array.device == device
    array = gpuint.from_dlpack(limbs[:, :15], device)
    assert (array.bits, array[0]) == (1024, int.from_bytes(limbs[0, :15].tobytes(), "little"))
    own = gpuint.from_dlpack(gpuint.array([5, 7], device="cpu"), device)
    assert own.tolist() == [5, 7]
    with pytest.raises(TypeError, match=r"numpy\.uint64"):
        gpuint.from_dlpack(limbs.astype(np.float64))
    with pytest.raises(gpuint.MismatchError):
        gpuint.from_dlpack(limbs[0])
    with pytest.raises(TypeError, match="no __dlpack__"):
        gpuint.from_dlpack([1, 2])


class OnGpu:
    """Rows that claim to be on a GPU."""

    def __init__(self, limbs):
        self.limbs = limbs

    def __dlpack_device__(self):
        return (2, 4095)


def test_memory_on_a_gpu_is_checked():
    cpu = gpuint.Device("cpu")
    for limbs, error, message in (
        (np.zeros((2, 16), np.float64), TypeError, "kind 2 with 64 bits"),
        (np.zeros((2, 16), np.uint32), TypeError, "kind 1 with 32 bits"),
        (np.zeros(16, np.uint64), gpuint.MismatchError, "two dimensions"),
        (np.zeros((16, 2), np.uint64).T, gpuint.MismatchError, "contiguous"),
        (np.zeros((2, 15), np.uint64), gpuint.MismatchError, "960 bits"),
        (np.zeros((2, 16), np.uint64), gpuint.DeviceError, "no such CUDA device"),
    ):
        tensor = _gpuint.Tensor(limbs.__dlpack__())
        assert tensor.address == address(limbs)
        before = sys.getrefcount(limbs)
        with pytest.raises(error, match=message):
            _over_tensor(tensor, cpu)
        del tensor
        assert sys.getrefcount(limbs) < before
    on_gpu = OnGpu(np.zeros((2, 16), np.uint64))
    with pytest.raises(gpuint.MismatchError, match="cuda:4095"):
        gpuint.from_dlpack(on_gpu, "cpu")
    with pytest.raises(gpuint.DeviceError):
        gpuint.from_dlpack(on_gpu)


def test_tensors_of_a_later_version_are_deleted():
    deleter_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

    class Versioned(ctypes.Structure):
        _fields_ = (
            ("version", ctypes.c_uint32 * 2),
            ("manager", ctypes.c_void_p),
            ("deleter", deleter_type),
            ("rest", ctypes.c_uint64 * 8),
        )

    deleted = []
    tensor = Versioned((2, 1), None, deleter_type(deleted.append))
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    name = b"dltensor_versioned"
    capsule = new_capsule(ctypes.addressof(tensor), name, None)
    with pytest.raises(BufferError, match=r"DLPack 2\.1 is unknown"):
        _gpuint.Tensor(capsule)
    assert deleted == [ctypes.addressof(tensor)]


def test_torch_on_the_cpu(on_cpu):
    torch = pytest.importorskip("torch")
    limbs = torch.from_dlpack(on_cpu)
    assert (limbs.numpy() == on_cpu.to_limbs()).all()
    signed = limbs.view(torch.int64)
    assert gpuint.from_dlpack(signed, "cpu").is_equal(on_cpu)


class OnlyDlpack:
    """An array without its other properties, as of another library."""

    def __init__(self, array):
        self.__dlpack__ = array.__dlpack__
        self.__dlpack_device__ = array.__dlpack_device__


def test_own_memory_on_a_gpu_is_shared(device, sample):
    if device.kind != "cuda":
        pytest.skip("needs a GPU")
    for share in (lambda array: gpuint.from_dlpack(OnlyDlpack(array)), gpuint.from_cuda):
        rows = sample[:]
        pointer = rows._batch.device_pointer()
        shared = share(rows)
        assert shared._batch.device_pointer() == pointer
        del rows
        # Memory that is freed too soon would be used again here.
        others = [gpuint.full(len(sample), row, 1024, device) for row in range(10)]
        assert shared.is_equal(sample) and others[7][0] == 7
    for stream in (None, 1, 2, -1, device._handle.stream):
        assert _gpuint.Tensor(sample.__dlpack__(stream=stream)).device == (2, 0)
    with pytest.raises(ValueError, match="ambiguous"):
        sample.__dlpack__(stream=0)
    with pytest.raises(BufferError):
        sample.__dlpack__(dl_device=(1, 0), copy=False)
    on_host = gpuint.array(VALUES, 1024, "cpu").__dlpack__(dl_device=(1, 0))
    assert _gpuint.Tensor(on_host).device == (1, 0)


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_memory_on_a_gpu_is_shared(device, sample, library):
    if device.kind != "cuda":
        pytest.skip("needs a GPU")
    module = pytest.importorskip(library)
    theirs = module.from_dlpack(sample)
    pointer = theirs.data.ptr if library == "cupy" else theirs.data_ptr()
    assert pointer == sample._batch.device_pointer()
    copy = theirs.copy() if library == "cupy" else theirs.clone()
    mine = gpuint.from_dlpack(copy)
    assert mine.is_equal(sample) and mine.device == device
    doubled = mine + mine
    del theirs, copy, mine
    assert doubled[1] == 2
