"""Times calls from Python objects to Python objects: lists beside gmpy2, numpy beside raw copies.

Prints a Markdown table; the best of three calls counts. gmpy2 releases Python's lock in its list
calls, so that threads use all cores. A raw copy is a copy of the same bytes on the host. Results
are compared.
"""

import argparse
import os
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import gmpy2
import numpy as np

import gpuint


def best(call: Callable[[], object]) -> tuple[float, object]:
    """Returns the least time of three calls, in seconds, and the last result."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), result


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=100_000, help="powers in a list")
    options.add_argument(
        "--limb-rows", type=int, help="rows of numpy limbs; 10 times --rows by default"
    )
    options.add_argument("--bits", type=int, default=2048)
    options.add_argument(
        "--device", help='"cuda:N" or "cpu"; by default the first GPU, else the CPU'
    )
    arguments = options.parse_args()
    rows, bits, device = arguments.rows, arguments.bits, gpuint.Device(arguments.device)
    cores = len(os.sched_getaffinity(0))

    rng = random.Random(1)
    modulus = rng.getrandbits(bits) | 1 | 1 << (bits - 1)
    exponent = rng.getrandbits(bits)
    bases = [rng.getrandbits(bits) for _ in range(rows)]

    def threads() -> list[int]:
        parts = [bases[first::cores] for first in range(cores)]
        powers: list[int] = [0] * rows
        with ThreadPoolExecutor(cores) as pool:
            done = pool.map(lambda part: gmpy2.powmod_base_list(part, exponent, modulus), parts)
            for first, part in enumerate(done):
                powers[first::cores] = part
        return powers

    gpuint.powmod_base_list(bases[:2], exponent, modulus, device=device)
    mine, powers = best(lambda: gpuint.powmod_base_list(bases, exponent, modulus, device=device))
    theirs, expected = best(threads)
    assert powers == expected, "powers differ"

    count = 10 * rows if arguments.limb_rows is None else arguments.limb_rows
    limbs = np.random.default_rng(1).integers(0, 2**64, (count, bits // 64), dtype=np.uint64)
    there_and_back, again = best(lambda: gpuint.from_limbs(limbs, bits, device).to_limbs())
    copies, _ = best(lambda: limbs.copy().copy())
    assert (again == limbs).all(), "limbs differ"

    print(f"gpuint on {device.name}, gmpy2 {gmpy2.version()} on {cores} cores; {bits} bits")
    print("| what | rows | gpuint, s | other | other, s | other / gpuint |")
    print("|---|---|---|---|---|---|")
    line = "| {} | {} | {:.4f} | {} | {:.4f} | {:.2f} |"
    print(line.format("powmod_base_list", rows, mine, "gmpy2", theirs, theirs / mine))
    ratio = copies / there_and_back
    print(line.format("numpy and back", count, there_and_back, "two host copies", copies, ratio))


if __name__ == "__main__":
    main()
