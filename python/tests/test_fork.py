"""Children made by fork: the CPU computes, a GPU of the parent raises an error at once."""

import multiprocessing
import os
import signal
import threading

import pytest

import gpuint

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    # Python 3.12 warns of forks in processes with threads, which are the subject.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

MODULUS = 2**1279 - 1
EXPONENT = 65537
VALUES = list(range(2, 2002))
POWERS = [pow(value, EXPONENT, MODULUS) for value in VALUES]


def is_computed(a):
    """Computes in a child: the powers are right, or the GPU is refused."""
    try:
        powers = gpuint.array(VALUES, device=a.device).powmod(EXPONENT, MODULUS)
        return powers.tolist() == POWERS and (a + a)[1] == 6
    except gpuint.ForkedError as error:
        return a.device.kind == "cuda" and "fork" in str(error)


def exit_code(work):
    """The exit code of a fork that does some work within a minute; 0 if its result is true."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_fork_computes(device):
    assert exit_code(lambda: is_computed(gpuint.array([1, 3], 2048, "cpu"))) == 0
    a = gpuint.array([1, 3], 2048, device)
    assert a.powmod(EXPONENT, MODULUS).tolist() == [1, pow(3, EXPONENT, MODULUS)]
    assert exit_code(lambda: is_computed(a)) == 0
    assert exit_code(lambda: exit_code(lambda: is_computed(a)) == 0) == 0


def test_fork_waits_for_no_thread_of_its_parent(device):
    a = gpuint.array([1, 3], 2048, device)
    is_over = threading.Event()

    def work():
        while not is_over.is_set():
            gpuint.array(VALUES, 2048, device).powmod(EXPONENT, MODULUS)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [exit_code(lambda: is_computed(a)) for _ in range(10)] == [0] * 10
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def powers(values):
    return gpuint.array(values, device="cpu").powmod(EXPONENT, MODULUS).tolist()


def test_pool_of_forks_computes():
    assert powers(VALUES) == POWERS
    with multiprocessing.get_context("fork").Pool(2) as pool:
        parts = pool.map_async(powers, [VALUES[:1000], VALUES[1000:]], chunksize=1).get(timeout=60)
    assert parts[0] + parts[1] == POWERS
