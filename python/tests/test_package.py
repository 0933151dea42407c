"""Documentation, examples, notebook and types."""

import doctest
import importlib
import importlib.metadata
import inspect
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest

import gpuint

FOLDER = pathlib.Path(__file__).parent.parent


def test_package_is_the_installed_one():
    assert FOLDER not in pathlib.Path(gpuint.__file__).parents
    assert importlib.metadata.version("gpuint")
    assert (pathlib.Path(gpuint.__file__).parent / "py.typed").exists()


TYPED = """
import numpy as np
import gpuint

a = gpuint.array([1, 2, 3])
b: gpuint.Array = a + np.int64(1) + [1, 2, 3] + np.arange(3) + 1
c: gpuint.Array = np.int64(1) + b
mask: gpuint.Mask = a == [1, 2, 3]
part: gpuint.SignedArray = gpuint.SignedArray([1, -2])[mask]
value: int = part[0]
both: gpuint.Residues = gpuint.concat([gpuint.Modulus(7).residues(a)])
powers: gpuint.Array = pow(a, [1, 2, 3], 7) << a
"""


def test_types_admit_operands_of_every_kind(tmp_path):
    api = pytest.importorskip("mypy.api")
    program = tmp_path / "typed.py"
    program.write_text(TYPED)
    report, errors, status = api.run(["--strict", "--cache-dir", str(tmp_path), str(program)])
    assert status == 0, report + errors
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import gpuint\ngpuint.array([1]) + 1.5\n")
    assert api.run(["--cache-dir", str(tmp_path), str(wrong)])[2] == 1


def test_version_is_that_of_the_package():
    assert gpuint.__version__ == importlib.metadata.version("gpuint")


def test_docstring_examples_of_all_modules_run():
    modules = [gpuint] + [
        importlib.import_module(f"gpuint.{module.name}")
        for module in pkgutil.iter_modules(gpuint.__path__)
    ]
    results = [doctest.testmod(module) for module in modules]
    assert sum(result.failed for result in results) == 0
    assert sum(result.attempted for result in results) > 50


def test_public_names_are_documented():
    for name in gpuint.__all__:
        public = getattr(gpuint, name)
        assert inspect.getdoc(public), name
        if not inspect.isclass(public):
            continue
        for method, value in vars(public).items():
            if not method.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{method}"


def test_readme_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", (FOLDER / "README.md").read_text(), re.S)
    assert len(blocks) >= 3
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)


@pytest.mark.parametrize(
    "program", sorted(FOLDER.glob("examples/*.py")) + sorted(FOLDER.glob("benches/*.py")), ids=str
)
def test_program_runs(program):
    if program.parent.name == "benches":
        pytest.importorskip("gmpy2")
    command = [sys.executable, program, "--rows", "40", "--device", "cpu"]
    subprocess.run(command, check=True, timeout=120)


def test_notebook_runs_and_is_stripped(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    notebook = json.loads((FOLDER / "examples" / "powers.ipynb").read_text())
    assert notebook["nbformat"] == 4
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            exec(compile("".join(cell["source"]), "powers.ipynb", "exec"), names)
    assert names["figure"].axes[0].lines


def child(code, **variables):
    """Output of a program, and what it writes to standard error."""
    environment = {**os.environ, **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_log_is_that_of_the_variable():
    code = "import gpuint; gpuint.array([7], device='cpu') + 1"
    assert child(code, GPUINT_LOG="")[1] == ""
    assert " gpuint" in child(code, GPUINT_LOG="gpuint=trace")[1]
    assert "GPUINT_LOG is not a filter" in child(code, GPUINT_LOG="gpuint=loud")[1]


def test_description_names_the_threads_of_the_cpu():
    assert re.fullmatch(r"cpu \(\d+ threads?(, GMP .*)?\)", gpuint.Device("cpu").description)


def test_installed_compiler_is_selected(tmp_path):
    folder = tmp_path / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    for name in ("libnvrtc-builtins.so.13.0", "libnvrtc.so.13", "libnvrtc.alt.so.13"):
        (folder / name).touch()
    package = tmp_path / "nvidia_cuda_nvrtc-13.0.88.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Name: nvidia-cuda-nvrtc\nVersion: 13.0.88\n")
    files = [f"nvidia/cu13/lib/{file.name},,\n" for file in sorted(folder.iterdir())]
    (package / "RECORD").write_text("".join(files))
    code = (
        "import os; from gpuint import _nvrtc; _nvrtc.select(); print(os.environ['GPUINT_NVRTC'])"
    )
    none = {"CUDA_HOME": "", "CUDA_PATH": "", "PYTHONPATH": str(tmp_path)}
    assert child(code, GPUINT_NVRTC="", **none)[0] == f"{folder / 'libnvrtc.so.13'}\n"
    assert child(code, GPUINT_NVRTC="/mine.so", **none)[0] == "/mine.so\n"
