"""The protocols of numpy: its functions compute exactly, or raise `TypeError`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import reporting_memory

# The methods of an operand that is on the left, and of one that is on the right.
_METHODS: dict[np.ufunc, tuple[str, str]] = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.floor_divide: ("__floordiv__", "__rfloordiv__"),
    np.remainder: ("__mod__", "__rmod__"),
    np.divmod: ("__divmod__", "__rdivmod__"),
    np.power: ("__pow__", "__rpow__"),
    np.left_shift: ("__lshift__", "__rlshift__"),
    np.right_shift: ("__rshift__", "__rrshift__"),
    np.bitwise_and: ("__and__", "__rand__"),
    np.bitwise_or: ("__or__", "__ror__"),
    np.bitwise_xor: ("__xor__", "__rxor__"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.less: ("__lt__", "__gt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.greater: ("__gt__", "__lt__"),
    np.greater_equal: ("__ge__", "__le__"),
    np.gcd: ("gcd", "gcd"),
    np.lcm: ("lcm", "lcm"),
    np.invert: ("__invert__", ""),
    np.negative: ("__neg__", ""),
    np.absolute: ("__abs__", ""),
    np.square: ("square", ""),
}


class NumpyProtocol:
    """Rows that numpy's functions take without a loss."""

    __slots__ = ()

    def tolist(self) -> list[Any]:
        """Returns the values."""
        raise NotImplementedError

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("copy is False, but the rows are not in numpy's memory")
        if dtype is not None and np.dtype(dtype) != np.object_:
            raise TypeError(
                f"dtype is object for the ints of the rows, not {np.dtype(dtype)}; "
                "Array.to_limbs() returns 64-bit limbs"
            )
        values = self.tolist()
        with reporting_memory():
            objects = np.empty(len(values), dtype=np.object_)
        objects[:] = values
        return objects

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        names = _METHODS.get(ufunc)
        if names is None or method != "__call__" or options:
            raise _undefined(
                ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            )
        left, *right = inputs
        if isinstance(left, NumpyProtocol):
            result = _call(left, names[0], right, ufunc)
            if result is not NotImplemented or not right or not _is_rows(right[0]):
                return result
        return _call(right[0], names[1], [left], ufunc)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, options: Any
    ) -> Any:
        exact = _FUNCTIONS.get(function)
        if exact is None and args and _is_rows(args[0]):
            exact = getattr(type(args[0]), _NAMES.get(function, ""), None)
        if exact is None or not _takes(exact, args, options):
            raise _undefined(function.__name__)
        return exact(*args, **options)


def _is_rows(value: object) -> bool:
    return isinstance(value, NumpyProtocol)


def _call(receiver: Any, name: str, operands: list[Any], ufunc: np.ufunc) -> Any:
    operation = getattr(type(receiver), name, None)
    if operation is None:
        raise _undefined(ufunc.__name__)
    return operation(receiver, *operands)


def _undefined(name: str) -> TypeError:
    return TypeError(
        f"numpy.{name} is not defined for rows on a device; use their methods, "
        "numpy.asarray(rows, dtype=object) or Array.to_limbs()"
    )


def _array_equal(a1: Any, a2: Any) -> bool:
    rows, other = (a1, a2) if _is_rows(a1) else (a2, a1)
    shape = (len(other),) if _is_rows(other) else np.shape(other)
    return shape == (len(rows),) and bool(rows._compared(other).all())


def _concatenate(arrays: Any) -> Any:
    parts = list(arrays)
    kind = next(type(part) for part in parts if _is_rows(part))
    if any(type(part) is not kind for part in parts):
        raise TypeError(f"arrays is of rows of one type, as {kind.__name__}")
    return kind._concat(parts)


def _where(condition: Any, x: Any, y: Any) -> Any:
    if _is_rows(x):
        return x.select(condition, y)
    if _is_rows(y):
        return y.select(~np.asarray(condition), x)
    return np.where(np.asarray(condition), x, y)


def _takes(function: Callable[..., Any], args: Any, options: Any) -> bool:
    """Returns true if a function takes these arguments."""
    try:
        inspect.signature(function).bind(*args, **options)
    except TypeError:
        return False
    return True


_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.array_equal: _array_equal,
    np.concatenate: _concatenate,
    np.where: _where,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
}
# The methods of the first argument.
_NAMES: dict[Callable[..., Any], str] = {
    np.copy: "copy",
    np.take: "gather",
    np.repeat: "repeat",
    np.tile: "tile",
    np.flip: "reverse",
    np.sort: "sort",
    np.argsort: "argsort",
    np.unique: "unique",
    np.sum: "sum",
    np.min: "min",
    np.max: "max",
    np.all: "all",
    np.any: "any",
    np.count_nonzero: "count",
    np.flatnonzero: "indices",
}
