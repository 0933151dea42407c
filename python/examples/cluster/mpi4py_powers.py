"""Modular powers on several machines by mpi4py: `mpirun -n 4 python mpi4py_powers.py`.

Each rank takes one GPU of its machine, or the CPU of a machine without one. Rank 0 has all rows.
"""

import argparse
import os

import numpy as np
from mpi4py import MPI
from mpi4py.util import pkl5

import gpuint

MODULUS = 2**1023 + 12345


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000, help="number of integers")
    rows = options.parse_args().rows

    # It sends arrays of any length without copying them.
    world = pkl5.Intracomm(MPI.COMM_WORLD)
    local = world.Split_type(MPI.COMM_TYPE_SHARED).Get_rank()
    # The only GPU that gpuint finds in this process.
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(local))

    parts = None
    if world.Get_rank() == 0:
        bases = np.random.default_rng(1).integers(0, 2**64, (rows, 16), dtype=np.uint64)
        parts = np.array_split(bases, world.Get_size())
    part = gpuint.from_limbs(world.scatter(parts))
    powers = world.gather(pow(part, 65537, MODULUS).to_limbs())
    print(f"rank {world.Get_rank()}: {len(part)} rows on {part.device.name}", flush=True)

    if world.Get_rank() == 0:
        powers = np.concatenate(powers)
        for row in range(0, rows, 97):
            base, power = (
                int.from_bytes(limbs[row].tobytes(), "little") for limbs in (bases, powers)
            )
            assert power == pow(base, 65537, MODULUS), row
        print(f"{len(powers)} powers")


if __name__ == "__main__":
    main()
