"""The examples on several processes: mpi4py, Dask and Ray, on the CPU."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent.parent / "examples" / "cluster"
ROWS = 1001


def run(*command):
    # Open MPI does not run as root, as in a container, without these.
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment = os.environ | allowed | {"CUDA_VISIBLE_DEVICES": "", "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=240, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{ROWS} powers" in done.stdout
    return done.stdout


def test_mpi4py():
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun")
    program = FOLDER / "mpi4py_powers.py"
    output = run("mpirun", "--oversubscribe", "-n", 4, sys.executable, program, "--rows", ROWS)
    assert output.count(" rows on cpu") == 4


@pytest.mark.parametrize("package, program", [("distributed", "dask"), ("ray", "ray")])
def test_tasks(package, program):
    pytest.importorskip(package)
    run(sys.executable, FOLDER / f"{program}_powers.py", "--rows", ROWS, "--part", 100)
