"""Modular powers on the machines of a Ray cluster, a GPU for each task where there are GPUs."""

import argparse

import numpy as np
import ray

import gpuint

MODULUS = 2**1023 + 12345


@ray.remote
def powers(limbs: np.ndarray) -> np.ndarray:
    """Runs on a worker. Ray lets it find only the GPU of the task; without one it is the CPU."""
    return pow(gpuint.from_limbs(limbs), 65537, MODULUS).to_limbs()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=10_000, help="number of integers")
    options.add_argument("--part", type=int, default=4096, help="rows of a task")
    arguments = options.parse_args()

    ray.init(log_to_driver=False, include_dashboard=False)
    gpus = 1 if ray.cluster_resources().get("GPU") else 0
    task = powers.options(num_gpus=gpus)
    bases = np.random.default_rng(1).integers(0, 2**64, (arguments.rows, 16), dtype=np.uint64)
    parts = [bases[row : row + arguments.part] for row in range(0, len(bases), arguments.part)]
    # In the order of the parts. Tasks of a worker that dies run on another one.
    results = np.concatenate(ray.get([task.remote(part) for part in parts]))
    ray.shutdown()

    for row in range(0, len(bases), 97):
        base, power = (int.from_bytes(limbs[row].tobytes(), "little") for limbs in (bases, results))
        assert power == pow(base, 65537, MODULUS), row
    print(f"{len(results)} powers")


if __name__ == "__main__":
    main()
