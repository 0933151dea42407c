"""Operands that hypothesis draws, and the device of the tests."""

import os

import hypothesis
import pytest
from hypothesis import strategies as st

import gpuint

hypothesis.settings.register_profile(
    "gpuint",
    deadline=None,
    max_examples=int(os.environ.get("GPUINT_TEST_EXAMPLES", 50)),
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.load_profile("gpuint")

BITS = 1024
MAX = 2**BITS - 1


@pytest.fixture(scope="session")
def device():
    return gpuint.Device(os.environ.get("GPUINT_TEST_DEVICE", "cpu"))


@st.composite
def integers(draw, bits=BITS, minimum=0):
    """Integers with hard carries and leading digits: near powers of two, and runs of ones."""
    power = 2 ** draw(st.integers(0, bits))
    run = (2 ** draw(st.integers(0, bits)) - 1) << draw(st.integers(0, bits))
    value = draw(
        st.one_of(
            st.integers(0, 2**bits - 1),
            st.integers(0, 3),
            st.integers(-2, 2).map(lambda offset: power + offset),
            st.integers(0, 2).map(lambda offset: 2**bits - 1 - offset),
            st.just(run),
            st.integers(0, 2**64).map(lambda offset: run ^ offset),
        )
    )
    return max(value % 2**bits, minimum)


def rows(*columns):
    """One to five rows of some columns, as a tuple of lists."""
    return st.lists(st.tuples(*columns), min_size=1, max_size=5).map(
        lambda table: tuple(map(list, zip(*table)))
    )
