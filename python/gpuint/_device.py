"""Devices."""

from __future__ import annotations

import functools
import re
from contextvars import ContextVar
from typing import Any, TypeAlias

from . import _gpuint, _nvrtc
from ._arguments import count


class Device:
    """A GPU or the CPU.

    `Device("cuda:1")` is the GPU of that number, `Device("cpu")` the CPU, and `Device()` the first
    GPU, or the CPU where there is no GPU. Equal devices share one queue of work: calls take effect
    in the order in which they are made.

    With `jit`, the arrays of the device have any multiple of 256 bits as their width (above 262144
    bits some are left out), and not only `widths()`. For a GPU, kernels of such a width are loaded
    from the disk, or compiled at their first use by NVRTC in seconds. The CPU needs none.
    Results are on the device with `jit`, too. Operands of different widths must both be on it.

    With `verified`, all results are checked on the device: sums, products, quotients and square
    roots by an equation of each row modulo 2**61 - 1, an eighth of the rows of modular powers and
    all other results by a second computation. A row that fails twice raises `FaultyDeviceError`.

    `with gpuint.Device("cpu"):` makes the device the one of `Device()`, and so of every
    `device=None`, in the block.

    After a fork, the CPU works in the child process, with the arrays of the parent. GPUs do not
    survive a fork: every call on one that the parent opened raises `ForkedError`.
    """

    __slots__ = ("_handle", "_jit", "_verified")
    _handle: _gpuint.Device
    _jit: bool
    _verified: bool

    def __init__(self, name: DeviceLike = None, jit: bool = False, verified: bool = False) -> None:
        defaults = _DEFAULTS.get()
        if name is None and defaults:
            name = defaults[-1]
        self._jit = jit or (isinstance(name, Device) and name._jit)
        self._verified = verified or (isinstance(name, Device) and name._verified)
        if isinstance(name, Device):
            self._handle = name._handle
        elif name is None:
            self._handle = _first()
        elif isinstance(name, str):
            self._handle = _open(name)
        else:
            kind = type(name).__name__
            raise TypeError(f'name of a device is "cuda:N", "cpu", a Device or None, not {kind}')
        if jit:
            self._handle = self._handle.with_jit()
        if verified:
            self._handle = self._handle.verified()

    @property
    def jit(self) -> bool:
        """True if arrays may have widths that are not built."""
        return self._jit

    @property
    def verified(self) -> bool:
        """True if results are checked on the device."""
        return self._verified

    @property
    def _kind(self) -> tuple[bool, bool]:
        """Properties by which handles of equal devices differ."""
        return self._jit, self._verified

    @property
    def kind(self) -> str:
        """`"cuda"` or `"cpu"`."""
        return self._handle.kind

    @property
    def name(self) -> str:
        """Name of the GPU, or `cpu`."""
        return self._handle.name

    @property
    def description(self) -> str:
        """Kind of the device with its GPU, or with the threads and arithmetic of the CPU."""
        return self._handle.description

    def synchronize(self) -> None:
        """Waits for all work queued on the device."""
        self._handle.synchronize()

    def trim(self) -> None:
        """Waits for all work, and gives memory that no array uses back to the system."""
        self._handle.trim()

    def __enter__(self) -> Device:
        _DEFAULTS.set((*_DEFAULTS.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        _DEFAULTS.set(_DEFAULTS.get()[:-1])

    def __str__(self) -> str:
        ordinal = self._handle.ordinal
        return self.kind if ordinal is None else f"{self.kind}:{ordinal}"

    def __repr__(self) -> str:
        jit = ", jit=True" if self._jit else ""
        verified = ", verified=True" if self._verified else ""
        return f'<Device "{self}"{jit}{verified}: {self.description}>'

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (str(self), self._jit, self._verified)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self._handle == other._handle

    def __hash__(self) -> int:
        return hash(str(self))

    @classmethod
    def _of(cls, handle: _gpuint.Device) -> Device:
        device = cls.__new__(cls)
        device._handle = handle
        device._jit = False
        device._verified = False
        return device


DeviceLike: TypeAlias = Device | str | None
"""A device, its name, or `None` for the device of the innermost `with` block.

Outside of such blocks `None` is the first GPU, or the CPU where there is no GPU.
"""

_DEFAULTS: ContextVar[tuple[Device, ...]] = ContextVar("gpuint.devices", default=())


@functools.cache
def _first() -> _gpuint.Device:
    _nvrtc.select()
    return _gpuint.Device.first()


def _open(name: str) -> _gpuint.Device:
    if name == "cpu":
        return _gpuint.Device.cpu()
    cuda = re.fullmatch(r"cuda(?::(\d+))?", name, re.ASCII)
    if cuda is None:
        raise ValueError(f'unknown device "{name}"; name is "cuda", "cuda:N" or "cpu"')
    _nvrtc.select()
    return _gpuint.Device.cuda(count(int((cuda[1] or "0")[:20]), "name"))
