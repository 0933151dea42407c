"""Signals end long calls, and leave operands whole."""

import signal
import threading
import time

import pytest

import gpuint

POWER = 2**4096 - 1


@pytest.fixture
def a():
    return gpuint.array([POWER // (2 * row + 3) for row in range(400)], 4096, "cpu")


@pytest.fixture
def alarm():
    """Sends a signal in 0.1 s, and returns the time until `work` has raised `kind`.

    Another program may take the processor meanwhile: it is the best time of 5, up to a good one.
    """

    def interrupted(work, kind=KeyboardInterrupt, attempts=5):
        late = once(work, kind)
        return late if late < 0.9 or attempts == 1 else interrupted(work, kind, attempts - 1)

    def once(work, kind):
        start = time.monotonic()
        with pytest.raises(kind):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            try:
                work()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        return time.monotonic() - start - 0.1

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield interrupted
    signal.signal(signal.SIGALRM, before)


def many(work):
    while True:
        work()


def test_interrupt_ends_long_calls(a, alarm):
    values = a.tolist()
    row = a[:1].resized(32768)
    modulus = 2**32768 - 1
    for work in (
        lambda: pow(a, a, POWER),
        lambda: a.powmod(POWER, POWER - 2),
        lambda: pow(row, modulus, modulus - 2),
        lambda: many(a.perfect_powers),
        lambda: many(lambda: gpuint.ProductTree(a)),
        lambda: many(lambda: a * a),
        lambda: many(lambda: a.tolist()),
    ):
        assert alarm(work) < 0.9
    assert a.tolist() == values
    assert (a[:3] * 3 % POWER).tolist() == [3 * value % POWER for value in values[:3]]


def test_exception_of_a_handler_is_raised(a, alarm):
    class Timeout(Exception):
        pass

    def handler(number, frame):
        # A handler may compute.
        assert (a[:1] % 97).tolist() == [POWER // 3 % 97]
        raise Timeout

    signal.signal(signal.SIGALRM, handler)
    assert alarm(lambda: pow(a, a, POWER), Timeout) < 0.9


def test_handler_without_exception_lets_the_call_end(a):
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(time.monotonic()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            powers = pow(a[:8], 2**300 - 1, POWER)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) >= 3
    assert powers.tolist() == [pow(value, 2**300 - 1, POWER) for value in a[:8].tolist()]


def test_call_of_another_thread_is_not_interrupted(a):
    results = []
    thread = threading.Thread(target=lambda: results.append(pow(a[:40], 2**200 - 1, POWER)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        thread.join()
    thread.join()
    expected = [pow(value, 2**200 - 1, POWER) for value in a[:40].tolist()]
    assert results[0].tolist() == expected
