"""Times calls from Python objects to Python objects: lists, text and numpy.

Prints a Markdown table; the best of three calls counts. Lists are beside gmpy2, which releases
Python's lock in its list calls, so that threads use all cores. Text is beside one core of gmpy2,
which keeps the lock. numpy is beside raw copies of the same bytes: by the driver's `cuMemcpy` from
numpy's memory to the GPU and back to new memory, and two copies on the host. Results are compared.
`scripts/python-archive` packs it for a GPU machine.
"""

import argparse
import ctypes
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


def driver_copies(limbs: np.ndarray, ordinal: int) -> Callable[[], np.ndarray]:
    """Returns a call that copies the limbs to the GPU and back, by the driver alone."""
    cuda = ctypes.CDLL("libcuda.so.1")
    handle, size = ctypes.c_void_p, ctypes.c_size_t

    def call(name: str, *arguments: object) -> None:
        status = getattr(cuda, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: CUDA error {status}")

    device, context, memory = ctypes.c_int(), handle(), handle()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), ordinal)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), size(limbs.nbytes))

    def copies() -> np.ndarray:
        out = np.empty_like(limbs)
        call("cuMemcpyHtoD_v2", memory, handle(limbs.ctypes.data), size(limbs.nbytes))
        call("cuMemcpyDtoH_v2", handle(out.ctypes.data), memory, size(limbs.nbytes))
        return out

    return copies


def text_calls(values: list[int], device: gpuint.Device) -> dict[str, tuple[float, float]]:
    """Returns the times of conversions of all values from and to text, and those of gmpy2."""
    rows, numbers = gpuint.array(values, device=device), list(map(gmpy2.mpz, values))
    times = {}
    for base, write in ((10, rows.to_decimal), (16, rows.to_hex)):
        mine, texts = best(write)
        theirs, expected = best(lambda: [number.digits(base) for number in numbers])
        assert texts == expected, f"texts in base {base} differ"
        times[f"to text, base {base}"] = mine, theirs
        mine, again = best(lambda: gpuint.from_text(texts, base, rows.bits, device))
        theirs, _ = best(lambda: [gmpy2.mpz(text, base) for text in texts])
        assert again.is_equal(rows), f"numbers of base {base} differ"
        times[f"from text, base {base}"] = mine, theirs
    return times


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=100_000, help="powers in a list")
    options.add_argument(
        "--limb-rows", type=int, help="rows of numpy limbs; 10 times --rows by default"
    )
    options.add_argument("--bits", type=int, default=2048)
    options.add_argument("--text-rows", type=int, help="rows of text; a tenth of --rows by default")
    options.add_argument("--text-bits", type=int, default=65536)
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
    assert (again == limbs).all(), "limbs differ"
    copies = {"two host copies": best(lambda: limbs.copy().copy())[0]}
    if device.kind == "cuda":
        ordinal = int(str(device).partition(":")[2])
        seconds, again = best(driver_copies(limbs, ordinal))
        assert (again == limbs).all(), "copies differ"
        copies["cuMemcpy there and back"] = seconds

    texts = rows // 10 if arguments.text_rows is None else arguments.text_rows
    of_text = text_calls([rng.getrandbits(arguments.text_bits) for _ in range(texts)], device)

    print(f"gpuint on {device.name}, gmpy2 {gmpy2.version()} on {cores} cores; {bits} bits")
    print("| what | rows | gpuint, s | other | other, s | other / gpuint |")
    print("|---|---|---|---|---|---|")
    line = "| {} | {} | {:.4f} | {} | {:.4f} | {:.2f} |"
    print(line.format("powmod_base_list", rows, mine, "gmpy2", theirs, theirs / mine))
    for name, (mine, theirs) in of_text.items():
        print(line.format(name, texts, mine, "gmpy2", theirs, theirs / mine))
    for other, seconds in copies.items():
        ratio = seconds / there_and_back
        print(line.format("numpy and back", count, there_and_back, other, seconds, ratio))


if __name__ == "__main__":
    main()
