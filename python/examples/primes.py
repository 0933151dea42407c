"""Counts the probable primes among consecutive odd numbers of 1024 bits.

All candidates take the test of Baillie, Pomerance, Selfridge and Wagstaff in one call. The prime
number theorem expects `2 / ln(n)` of the odd numbers near n to be prime.
"""

import argparse
import math
import time

import gpuint


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=2000, help="number of candidates")
    options.add_argument("--bits", type=int, default=1024, help="bits of a candidate")
    options.add_argument(
        "--device", help='"cuda:N" or "cpu"; by default the first GPU, else the CPU'
    )
    arguments = options.parse_args()

    first = 3 ** int(arguments.bits / math.log2(3)) | 1
    odd = range(first, first + 2 * arguments.rows, 2)
    candidates = gpuint.array(odd, arguments.bits, arguments.device)

    start = time.perf_counter()
    primes = candidates[candidates.is_probable_prime()].tolist()
    seconds = time.perf_counter() - start

    expected = 2 * arguments.rows / math.log(first)
    print(f"{len(candidates)} candidates of {first.bit_length()} bits on {candidates.device.name}")
    print(f"{len(primes)} probable primes in {seconds:.3f} s; expected about {expected:.1f}")
    for prime in primes[:3]:
        print(f"  {first:#x}"[:14] + f".. + {prime - first}")


if __name__ == "__main__":
    main()
