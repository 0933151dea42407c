"""Text: decimal and hexadecimal, lists, lines and files, against Python's integers."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given

import gpuint
from conftest import BITS, integers, rows


@pytest.fixture(autouse=True)
def any_number_of_digits():
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


@given(table=rows(integers()))
def test_text_is_that_of_python(device, table):
    (values,) = table
    a = gpuint.array(values, BITS, device)
    decimal, hexadecimal = [str(x) for x in values], [f"{x:x}" for x in values]
    assert a.to_decimal() == decimal and a.to_hex() == hexadecimal
    assert a.to_text() == "".join(f"{x}\n" for x in values).encode()
    assert a.to_text(16) == "".join(f"{x:#x}\n" for x in values).encode()
    assert format(a, "x") == f"[{', '.join(hexadecimal)}]" and f"{a:d}" == f"[{', '.join(decimal)}]"
    assert f"{a:#_x}" == f"[{', '.join(f'{x:#_x}' for x in values)}]" and f"{a}" == str(a)
    for made in (
        gpuint.from_text(decimal, device=device),
        gpuint.from_text(hexadecimal, base=16, bits=BITS, device=device),
        gpuint.from_text([f" {x:#X}\n".encode() for x in values], device=device),
        gpuint.from_text(a.to_text(), 10, device=device),
        gpuint.from_text("\r\n".join(decimal), device=device),
        gpuint.array(decimal, device=device),
        gpuint.array(np.array([f"0x{x}" for x in hexadecimal]), device=device),
    ):
        assert made.tolist() == values
    assert gpuint.from_text(decimal, device=device).bits == gpuint.array(values, device=device).bits


@pytest.mark.parametrize("bits", [4096, 65536, 262144])
def test_wide_rows_are_converted(device, bits):
    values = [2**bits - 1, 10 ** (bits * 3 // 10), 10 ** (bits // 10) - 1, 2 ** (bits // 3), 0, 1]
    a = gpuint.array(values, bits, device)
    decimal = a.to_decimal()
    assert decimal == [str(x) for x in values]
    assert gpuint.from_text(decimal, device=device).is_equal(a)
    assert gpuint.from_text(["0" * 9999 + text for text in decimal], device=device).is_equal(a)
    assert gpuint.from_text(a.to_hex(), 16, device=device).is_equal(a)


def test_bases_of_rows_are_mixed(device):
    made = gpuint.from_text(["10", "0x10", "0XfF", "007"], device=device)
    assert made.tolist() == [10, 16, 255, 7]
    wide = gpuint.from_text([str(2**300), hex(2**600), "1"], device=device)
    assert wide.tolist() == [2**300, 2**600, 1]
    assert gpuint.from_text([str(2**700), "0x1"], device=device).tolist() == [2**700, 1]
    assert len(gpuint.from_text([], device=device)) == len(gpuint.from_text(b"")) == 0


@pytest.mark.parametrize(
    ("texts", "base", "row"),
    [
        (["1", "12a4"], None, 1),
        (["1", ""], None, 1),
        (["-5"], None, 0),
        (["1_0"], 10, 0),
        (["0x"], None, 0),
        (["1", "0x1g", "x"], None, 1),
        (["1", "x", "0x1g"], None, 1),
        (["0x10"], 10, 0),
        ([b"1", b"\xff"], None, 1),
        ("1\n\n3", None, 1),
        ("7\ud800", None, 0),
    ],
)
def test_texts_that_are_no_numbers_name_the_row(device, texts, base, row):
    with pytest.raises(gpuint.ParseError) as caught:
        gpuint.from_text(texts, base, device=device)
    assert caught.value.row == row and isinstance(caught.value, ValueError)
    assert pickle.loads(pickle.dumps(caught.value)).row == row


def test_texts_that_do_not_fit_name_the_row(device):
    for texts in (["1", str(2**256)], ["1", hex(2**256)], ["0x1", str(2**256)]):
        with pytest.raises(gpuint.RangeError) as caught:
            gpuint.from_text(texts, bits=256, device=device)
        assert caught.value.row == 1
    widest = gpuint.widths()[-1]
    assert gpuint.from_text([hex(2**widest - 1)], device=device)[0] == 2**widest - 1
    assert gpuint.from_text([hex(2**widest)], device=device).bits == widest + 64


def test_wrong_arguments_are_named(device):
    for wrong in (5, [1, 2], [None], None):
        with pytest.raises(TypeError, match="texts"):
            gpuint.from_text(wrong)
    for base in (0, 2, 11):
        with pytest.raises(ValueError, match="base"):
            gpuint.from_text(["1"], base)
    with pytest.raises(TypeError, match="base"):
        gpuint.array([1]).to_text("x")
    with pytest.raises(TypeError, match="file"):
        gpuint.loadtxt(5)
    with pytest.raises(TypeError, match="from_text"):
        gpuint.array("123")


@pytest.mark.parametrize("base", [10, 16])
def test_files_are_read_as_they_were_written(device, tmp_path, base):
    values = [0, 1, 2**1000 - 1, 10**300]
    path = tmp_path / "rows.txt"
    gpuint.savetxt(path, gpuint.array(values, device=device), base)
    assert gpuint.loadtxt(str(path), device=device).tolist() == values
    gpuint.savetxt(path, values)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert gpuint.loadtxt(path, device=device).tolist() == values
    with pytest.raises(FileNotFoundError):
        gpuint.loadtxt(tmp_path / "none.txt")
