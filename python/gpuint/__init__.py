"""Batches of big unsigned integers on NVIDIA GPUs, or on the CPU where there is no GPU.

>>> import gpuint
>>> a = gpuint.array([3**200, 5**200, 7**200], bits=1024)
>>> equal = (a * a).resized(2048) == gpuint.array([3**400, 5**400, 7**400 % 2**1024])
>>> equal.tolist()
[True, True, True]
>>> pow(a, 65537, 2**521 - 1).tolist()[0] == pow(3**200, 65537, 2**521 - 1)
True
"""

from importlib.metadata import version as _version

from . import _log, errors, sieve
from ._array import Array, powmod, sum_of_products, widening_sum_of_products
from ._chunks import in_chunks, progress
from ._creation import (
    array,
    from_bytes,
    from_cuda,
    from_dlpack,
    from_limbs,
    full,
    random_primes,
)
from ._device import Device
from ._lists import invert_list, powmod_base_list, powmod_exp_list
from ._mask import Mask
from ._numbers import binomial, factorial, primorial, random
from ._prepared import Divisor, Factor
from ._residues import FixedBase, Modulus, Residues, SpecialModulus
from ._rows import concat, interleave
from ._secret import SecretBatch, SecretExponents, SecretFactor, SecretModulus
from ._signed import SignedArray
from ._text import from_text, loadtxt, savetxt
from ._trees import Crt, ProductTree
from ._widths import narrowest, widths
from .errors import (
    DeviceError,
    DeviceLostError,
    DivisionByZeroError,
    FaultyDeviceError,
    ForkedError,
    GpuintError,
    MismatchError,
    NoInverseError,
    OutOfMemoryError,
    ParseError,
    RangeError,
    RowError,
)

_log.start()

__version__ = _version("gpuint")

__all__ = [
    "Array",
    "Crt",
    "Device",
    "DeviceError",
    "DeviceLostError",
    "DivisionByZeroError",
    "Divisor",
    "Factor",
    "FaultyDeviceError",
    "FixedBase",
    "ForkedError",
    "GpuintError",
    "Mask",
    "MismatchError",
    "Modulus",
    "NoInverseError",
    "OutOfMemoryError",
    "ParseError",
    "ProductTree",
    "RangeError",
    "Residues",
    "RowError",
    "SecretBatch",
    "SecretExponents",
    "SecretFactor",
    "SecretModulus",
    "SignedArray",
    "SpecialModulus",
    "array",
    "binomial",
    "concat",
    "errors",
    "factorial",
    "from_bytes",
    "from_cuda",
    "from_dlpack",
    "from_limbs",
    "from_text",
    "full",
    "in_chunks",
    "interleave",
    "invert_list",
    "loadtxt",
    "narrowest",
    "powmod",
    "powmod_base_list",
    "powmod_exp_list",
    "primorial",
    "progress",
    "random",
    "random_primes",
    "savetxt",
    "sieve",
    "sum_of_products",
    "widening_sum_of_products",
    "widths",
]
