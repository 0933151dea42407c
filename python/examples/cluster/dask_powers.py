"""Modular powers on the workers of Dask.

By default the workers are processes of this machine. On GPUs, start the cluster by dask-cuda, which
gives each worker one GPU, and name its scheduler.
"""

import argparse

import numpy as np
from dask.distributed import Client

import gpuint

MODULUS = 2**1023 + 12345


def powers(limbs: np.ndarray) -> np.ndarray:
    """Runs on a worker, on its first GPU or its CPU."""
    return pow(gpuint.from_limbs(limbs), 65537, MODULUS).to_limbs()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000, help="number of integers")
    options.add_argument("--part", type=int, default=4096, help="rows of a task")
    options.add_argument("--scheduler", help="address of a scheduler")
    arguments = options.parse_args()

    bases = np.random.default_rng(1).integers(0, 2**64, (arguments.rows, 16), dtype=np.uint64)
    parts = [bases[row : row + arguments.part] for row in range(0, len(bases), arguments.part)]
    here = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with Client(arguments.scheduler, **({} if arguments.scheduler else here)) as client:
        # In the order of the parts. Tasks of a worker that dies run on another one.
        results = np.concatenate(client.gather(client.map(powers, parts)))

    for row in range(0, len(bases), 97):
        base, power = (int.from_bytes(limbs[row].tobytes(), "little") for limbs in (bases, results))
        assert power == pow(base, 65537, MODULUS), row
    print(f"{len(results)} powers")


if __name__ == "__main__":
    main()
