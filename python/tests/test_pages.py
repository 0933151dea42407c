"""The pages: their code, the two sides of their tables, the notebooks, and the reference."""

import pathlib
import re

import numpy as np
import pytest

import gpuint

PAGES = pathlib.Path(__file__).parent.parent / "docs"
NOTEBOOKS = sorted(PAGES.glob("notebooks/*.md"))


def blocks_of(page):
    """The code of a page, run in order; returns its names."""
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.S):
        exec(compile(block, page.name, "exec"), names)
    return names


def table_of(page, heading):
    """The two sides of the lines of the tables with a heading."""
    rows, is_wanted = [], False
    for line in page.read_text().splitlines():
        # Lines of two cells; a bar in a cell has no space on one side.
        cells = re.fullmatch(r"\| (.+?) \| (.+) \|", line)
        if cells is None:
            is_wanted = is_wanted and line.startswith("|---")
        elif cells[1] == heading:
            is_wanted = True
        elif is_wanted:
            rows.append((cells[1].strip("`"), cells[2].strip("`")))
    return rows


def columns(result):
    """A result for all rows as lists of ints."""
    if isinstance(result, tuple):
        return [list(map(int, part.tolist())) for part in result]
    if np.isscalar(result):
        return int(result)
    values = result if isinstance(result, list) else result.tolist()
    return [value if isinstance(value, str) else int(value) for value in values]


def test_page_of_contents_runs():
    blocks_of(PAGES / "index.md")


def test_lines_of_gmpy2_have_the_results_of_gpuint():
    pytest.importorskip("gmpy2")
    page = PAGES / "from-gmpy2.md"
    names = blocks_of(page)
    arrays = zip(*(names[name].tolist() for name in ("a", "b", "exponents")))
    operands = [dict(names, x=names["gmpy2"].mpz(x), y=y, e=e) for x, y, e in arrays]
    rows = table_of(page, "gmpy2, for each row")
    assert len(rows) > 20
    for left, right in rows:
        expected = [eval(left, operand) for operand in operands]
        if isinstance(expected[0], tuple):
            expected = [list(map(int, column)) for column in zip(*expected)]
        else:
            expected = [x if isinstance(x, str) else int(x) for x in expected]
        assert columns(eval(right, names)) == expected, (left, right)


def test_lines_of_numpy_have_the_results_of_gpuint():
    page = PAGES / "from-numpy.md"
    names = blocks_of(page)
    rows = table_of(page, "numpy")
    assert len(rows) > 20
    for left, right in rows:
        if "path" not in left:
            assert columns(eval(left, names)) == columns(eval(right, names)), (left, right)


def test_lines_of_cgbn_name_methods_that_exist():
    rows = table_of(PAGES / "from-cgbn.md", "CGBN, in a kernel")
    assert len(rows) > 15
    for _, right in rows:
        for receiver, name in re.findall(r"\b(gpuint|[abrst])\.(\w+)\(", right):
            owner = gpuint if receiver == "gpuint" else gpuint.Array
            assert hasattr(owner, name) or hasattr(gpuint.Residues, name), (right, name)


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.stem)
def test_notebook_runs(page, tmp_path, monkeypatch):
    jupytext = pytest.importorskip("jupytext")
    nbclient = pytest.importorskip("nbclient")
    # Files of the kernel's connection and history.
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = jupytext.read(page)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    assert sum(cell.cell_type == "code" for cell in notebook.cells) >= 4


def test_reference_has_every_public_name():
    text = "".join(page.read_text() for page in sorted(PAGES.glob("reference/*.md")))
    listed = set(re.findall(r"^::: gpuint\.(\w+)$", text, re.M))
    errors = {name for name in gpuint.__all__ if hasattr(gpuint.errors, name)}
    assert listed == set(gpuint.__all__) - errors
