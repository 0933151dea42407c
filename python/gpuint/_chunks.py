"""Long calls, with reports of their progress."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from . import _gpuint
from ._arguments import count, wrong_type
from ._rows import Rows, concat
from .errors import MismatchError

_R = TypeVar("_R", bound=Rows[Any])
Progress = Callable[[int, int], object]
"""A function of the completed work and of all work, such as numbers of rows."""


@contextlib.contextmanager
def progress(function: Progress) -> Iterator[None]:
    """Calls `function(completed, planned)` during the long calls of this thread in the block.

    Product trees, remainders modulo all of their rows, and `batch_gcd` report their work, in a unit
    of their own; each call counts from 0. A call may plan more work later. An exception that the
    function raises ends the call. Blocks inside replace the function.

    >>> import gpuint
    >>> reports = []
    >>> with gpuint.progress(lambda completed, planned: reports.append(completed / planned)):
    ...     divisors = gpuint.array(range(3, 1003), device="cpu").batch_gcd()
    >>> len(reports) > 2
    True
    """
    if not callable(function):
        raise wrong_type("function", "a function of two ints", function)
    before = _gpuint.set_progress(function)
    try:
        yield
    finally:
        _gpuint.set_progress(before)


@overload
def in_chunks(
    function: Callable[..., _R], *arrays: Rows[Any], rows: int, progress: Progress | None = None
) -> _R: ...
@overload
def in_chunks(
    function: Callable[..., tuple[_R, ...]],
    *arrays: Rows[Any],
    rows: int,
    progress: Progress | None = None,
) -> tuple[_R, ...]: ...
def in_chunks(
    function: Callable[..., Any],
    *arrays: Rows[Any],
    rows: int,
    progress: Progress | None = None,
) -> Any:
    """Returns `function(*arrays)`, computed for at most `rows` rows at a time.

    `arrays` have the same number of rows. `function` gets a chunk of each, and returns an array, or
    a tuple of arrays, with as many rows. `progress(completed, all)` is called after each chunk. An
    exception that it raises ends the call. The device holds the temporary rows of one chunk only.

    >>> import gpuint
    >>> a = gpuint.array(range(5))
    >>> gpuint.in_chunks(lambda a: a * a, a, rows=2, progress=print).tolist()
    2 5
    4 5
    5 5
    [0, 1, 4, 9, 16]
    """
    step = count(rows, "rows", least=1)
    for array in arrays:
        if not isinstance(array, Rows):
            raise wrong_type("arrays", "of arrays", array)
        if len(array) != len(arrays[0]):
            raise MismatchError(f"arrays have {len(arrays[0])} and {len(array)} rows")
    if not arrays:
        raise MismatchError("arrays has no array")
    total = len(arrays[0])
    results = []
    # A call without rows has a result, too.
    for start in range(0, max(total, 1), step):
        stop = min(start + step, total)
        results.append(function(*(array[start:stop] for array in arrays)))
        if progress is not None:
            progress(stop, total)
    if isinstance(results[0], tuple):
        return tuple(concat(parts) for parts in zip(*results))
    return concat(results)
