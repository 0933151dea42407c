"""Arrays of values, bytes and memory of other libraries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _gpuint
from ._arguments import count, of_width, unsigned
from ._array import _DLPACK_CUDA, Array, _is_little
from ._device import Device, DeviceLike
from ._operands import row_bytes
from ._text import from_text
from ._widths import check_room, narrowest, widths
from .errors import MismatchError

_Batch = _gpuint.Batch
# Signed and unsigned.
_DLPACK_INTEGERS = (0, 1)

Values: TypeAlias = Array | Iterable[int] | npt.NDArray[Any]
"""Integers, one a row."""


def array(
    values: Values | Iterable[str | bytes], bits: int | None = None, device: DeviceLike = None
) -> Array:
    """Makes an array of integers.

    `values` are Python ints or integers of any type that has `__index__`; a one-dimensional numpy
    array of integers; a two-dimensional one of 64-bit limbs (see `from_limbs`); numbers as `str` or
    `bytes` (see `from_text`); or an `Array`, whose device and width are the defaults.

    The rows get the narrowest built width that holds `bits` bits, without `bits` that holds all
    values. Raises `RangeError` for the lowest row that is negative or does not fit.
    """
    if isinstance(values, Array):
        moved = values if device is None else values.to(device)
        return moved if bits is None else moved.resized(bits)
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return _of_limbs(values, bits, device, "values")
    if isinstance(values, (bytes, bytearray, memoryview, str)):
        kind = type(values).__name__
        raise TypeError(f"values is of integers, not of {kind}: see from_text and from_bytes")
    texts = _texts_of(values)
    if texts is not None:
        return from_text(texts, bits=bits, device=device)
    return Array._of_values(values, bits, device)


def _texts_of(values: Any) -> list[str | bytes] | None:
    """Numbers as text, one an item; `None` for other values."""
    if isinstance(values, np.ndarray):
        return values.tolist() if values.dtype.kind in "SU" and values.ndim == 1 else None
    is_text = isinstance(values, (list, tuple)) and isinstance(next(iter(values), 0), (str, bytes))
    return list(values) if is_text else None


def full(rows: int, value: int, bits: int | None = None, device: DeviceLike = None) -> Array:
    """Makes an array of `rows` rows, all of one value."""
    value = unsigned(value, "value")
    device = Device(device)
    width = narrowest(value.bit_length() if bits is None else bits, device)
    value = of_width(value, width, "value")
    batch = _Batch.splat(device._handle, width, value, count(rows, "rows"))
    return Array._of(batch, device)


def random_primes(rows: int, bits: int, *, safe: bool = False, device: DeviceLike = None) -> Array:
    """Makes an array of probable primes of exactly `bits` bits.

    They are drawn from the randomness of the operating system. With `safe`, `(p - 1) / 2` is a
    probable prime, too. Do not use them as secrets.
    """
    device = Device(device)
    rows, bits = count(rows, "rows"), count(bits, "bits")
    check_room(rows, narrowest(bits, device))
    return Array._of(_Batch.random_primes(device._handle, bits, rows, bool(safe)), device)


def from_limbs(
    limbs: npt.NDArray[np.uint64], bits: int | None = None, device: DeviceLike = None
) -> Array:
    """Makes an array of a matrix of 64-bit limbs, a row an integer, least significant limb first.

    The rows get the narrowest built width that holds `bits` bits, without `bits` that holds all
    limbs. A contiguous matrix of a built width is read where it is, without Python's lock: do not
    write to it at the same time.
    """
    return _of_limbs(limbs, bits, device, "limbs")


def _of_limbs(limbs: Any, bits: int | None, device: DeviceLike, name: str) -> Array:
    matrix = np.asarray(limbs)
    if matrix.dtype != np.uint64:
        raise TypeError(f"{name} of limbs is of numpy.uint64, not of {matrix.dtype}")
    if matrix.ndim != 2:
        raise MismatchError(f"{name} has two dimensions, (rows, limbs), not {matrix.ndim}")
    little = np.ascontiguousarray(matrix, dtype="<u8")
    rows, columns = matrix.shape
    width = 64 * columns if bits is None else bits
    return Array._of_bytes(little.view(np.uint8).reshape(rows, 8 * columns), width, device)


def from_cuda(limbs: Any, device: DeviceLike = "cuda") -> Array:
    """Makes an array of a matrix of 64-bit limbs on the GPU, as `from_limbs`, without a copy.

    `limbs` is a contiguous array of cupy, torch or numba: an object with
    `__cuda_array_interface__`. Its width must be built. The array keeps the object and waits for
    the work on its stream. Do not write to the memory while the array exists, and make one array
    of it only.
    """
    interface = getattr(limbs, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(f"limbs is no memory on a GPU, but {type(limbs).__name__}: see from_limbs")
    if interface["typestr"] not in ("<u8", "<i8"):
        raise TypeError(f'limbs are of 64-bit integers, not of "{interface["typestr"]}"')
    shape, strides = interface["shape"], interface.get("strides")
    address, stream = interface["data"][0], interface.get("stream")
    elements = None if strides is None else tuple(stride / 8 for stride in strides)
    return _over_memory(shape, elements, address, stream, limbs, device)


def from_dlpack(limbs: Any, device: DeviceLike = None) -> Array:
    """Makes an array of a matrix of 64-bit limbs of another library, by DLPack.

    `limbs` is a tensor of torch, cupy, jax or numpy: an object with `__dlpack__`. Its memory on a
    GPU is used without a copy, under the rules of `from_cuda`, and `device` must be that GPU.
    Memory of the host is copied to `device`, under the rules of `from_limbs`.
    """
    if not hasattr(limbs, "__dlpack_device__"):
        raise TypeError(f"limbs has no __dlpack__, as {type(limbs).__name__}: see from_limbs")
    kind, number = limbs.__dlpack_device__()
    if kind != _DLPACK_CUDA:
        try:
            matrix: npt.NDArray[Any] = np.from_dlpack(limbs)
        except BufferError as error:
            raise TypeError(f"limbs is not a matrix of integers: {error}") from None
        is_signed = matrix.dtype == np.int64
        return from_limbs(matrix.view(np.uint64) if is_signed else matrix, device=device)
    target = Device(f"cuda:{number}" if device is None else device)
    if target._handle.ordinal != number:
        raise MismatchError(f"the limbs are on cuda:{number}, not on {target}")
    stream = target._handle.stream
    try:
        capsule = limbs.__dlpack__(stream=stream, max_version=(1, 0))
    except TypeError:  # before version 1 of DLPack
        capsule = limbs.__dlpack__(stream=stream)
    return _over_tensor(_gpuint.Tensor(capsule), target)


def _over_tensor(tensor: _gpuint.Tensor, device: Device) -> Array:
    kind, bits, lanes = tensor.element
    if (bits, lanes) != (64, 1) or kind not in _DLPACK_INTEGERS:
        raise TypeError(f"limbs are of 64-bit integers, not of kind {kind} with {bits} bits")
    strides = None if tensor.strides is None else tuple(tensor.strides)
    # The producer made the device's stream wait for its work.
    return _over_memory(tuple(tensor.shape), strides, tensor.address, None, tensor, device)


def _over_memory(
    shape: tuple[int, ...],
    strides: tuple[float, ...] | None,
    address: int,
    stream: int | None,
    owner: object,
    device: DeviceLike,
) -> Array:
    """Makes an array over memory on a GPU; strides are in limbs."""
    if len(shape) != 2:
        raise MismatchError(f"limbs have two dimensions, (rows, limbs), not {len(shape)}")
    rows, columns = shape
    if strides is not None and not (
        (strides[0] == columns or rows <= 1) and (strides[1] == 1 or columns <= 1)
    ):
        raise MismatchError("limbs on a GPU must be contiguous")
    bits = 64 * columns
    # Before the device is opened: only a `Device` can have `jit`.
    known = device if isinstance(device, Device) else None
    if bits > widths()[-1] or narrowest(bits, known) != bits:
        raise MismatchError(
            f"no kernels are built for {bits} bits; see gpuint.widths() and gpuint.Device(jit=True)"
        )
    device = Device(device)
    if rows == 0:
        return full(0, 0, bits, device)
    batch = _Batch.from_device_pointer(device._handle, bits, rows, address, stream, owner)
    return Array._of(batch, device)


def from_bytes(
    data: bytes | bytearray | memoryview,
    bits: int,
    byteorder: Literal["little", "big"] = "little",
    device: DeviceLike = None,
) -> Array:
    """Makes an array of the bytes of its rows one after the other, `bits / 8` a row.

    The rows get the narrowest built width that holds `bits` bits.
    """
    rows = row_bytes(data, bits, "data")
    return Array._of_bytes(rows if _is_little(byteorder) else rows[:, ::-1], bits, device)
