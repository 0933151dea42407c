"""The log of the library on standard error, by the variable `GPUINT_LOG`."""

from __future__ import annotations

import os
import warnings

from . import _gpuint

_VARIABLE = "GPUINT_LOG"


def start() -> None:
    """Starts the log if the variable is set, and warns if its value is no filter."""
    filter = os.environ.get(_VARIABLE, "")
    if not filter:
        return
    try:
        _gpuint.start_log(filter)
    except ValueError as error:
        warnings.warn(f"{_VARIABLE} is not a filter: {error}", RuntimeWarning, stacklevel=3)
