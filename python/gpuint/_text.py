"""Decimal and hexadecimal text, from and to the memory of the host and files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from . import _gpuint
from ._arguments import items, path, text_base, wrong_type
from ._array import Array, rows_of
from ._device import Device, DeviceLike
from ._widths import narrowest

Texts: TypeAlias = Iterable[str | bytes] | str | bytes | bytearray | memoryview
"""Numbers as text: one an item, or one a line."""
Base: TypeAlias = Literal[10, 16]
_File: TypeAlias = "str | os.PathLike[str]"


def from_text(
    texts: Texts, base: Base | None = None, bits: int | None = None, device: DeviceLike = None
) -> Array:
    """Makes an array of numbers as text.

    `texts` is an iterable of `str` or `bytes`, or one text with a number on each line. Digits are
    decimal, or hexadecimal with the prefix `0x`. `base=16` reads all numbers as hexadecimal, with
    or without the prefix, and `base=10` all as decimal. White space around a number is ignored, and
    numbers may have any number of digits.

    The rows get the narrowest built width that holds `bits` bits, without `bits` that holds all
    values. Raises `ParseError` for the lowest row that is no number, and `RangeError` for the
    lowest one that does not fit.

    >>> import gpuint
    >>> gpuint.from_text(["12", "0xff"]).tolist()
    [12, 255]
    >>> gpuint.from_text("12\\n13\\n").tolist()
    [12, 13]
    """
    device = Device(device)
    width = None if bits is None else narrowest(bits, device)
    known = None if base is None else text_base(base, "base")
    return Array._of(_gpuint.Batch.from_text(device._handle, _rows(texts), known, width), device)


def loadtxt(
    file: _File, base: Base | None = None, bits: int | None = None, device: DeviceLike = None
) -> Array:
    """Makes an array of the numbers of a text file, one a line: see `from_text`.

    A byte order mark at the begin of the file is ignored.
    """
    data = Path(path(file)).read_bytes()
    return from_text(data.removeprefix(b"\xef\xbb\xbf"), base, bits, device)


def savetxt(file: _File, rows: Array | Iterable[int], base: Base = 10) -> None:
    """Writes the rows of an array to a text file, one a line, so that `loadtxt` reads them.

    Hexadecimal numbers have the prefix `0x`.
    """
    Path(path(file)).write_bytes(rows_of(rows, "rows").to_text(base))


def _rows(texts: Any) -> Any:
    """Texts as the extension takes them: a buffer of lines, or a list."""
    if isinstance(texts, str):
        return texts.encode(errors="surrogatepass")
    if isinstance(texts, (bytes, bytearray, memoryview)):
        return texts
    if isinstance(texts, np.ndarray):
        texts = texts.tolist()
    rows = items(texts, "texts", "a text of lines, or an iterable of str or bytes")
    for row in rows:
        if not isinstance(row, (str, bytes)):
            raise wrong_type("texts", "of str or bytes", row)
    return rows
