"""The run-time compiler of kernels, as the extra `gpuint[nvrtc]` installs it."""

from __future__ import annotations

import os
import re
from importlib import metadata

# CUDA 13, and CUDA 12.
_PACKAGES = ("nvidia-cuda-nvrtc", "nvidia-cuda-nvrtc-cu12")
_LIBRARY = re.compile(r"libnvrtc\.so\.\d+|nvrtc64_\d+_0\.dll")
# Variables by which a user names the library, or a toolkit that has it.
_VARIABLES = ("GPUINT_NVRTC", "CUDA_HOME", "CUDA_PATH")


def select() -> None:
    """Sets `GPUINT_NVRTC` to the installed package's library, unless the user has named one."""
    if any(os.environ.get(name) for name in _VARIABLES):
        return
    for package in _PACKAGES:
        path = _library_of(package)
        if path is not None:
            os.environ["GPUINT_NVRTC"] = path
            return


def _library_of(package: str) -> str | None:
    """The library of an installed package."""
    try:
        files = metadata.files(package)
    except metadata.PackageNotFoundError:
        return None
    for file in files or ():
        path = file.locate()
        if _LIBRARY.fullmatch(file.name) and os.path.isfile(path):
            return str(path)
    return None
