"""Reports of the progress of trees."""

import threading

import pytest

import gpuint


@pytest.fixture
def keys(device):
    return gpuint.array([2 * row + 3 for row in range(1000)], 256, device)


def test_trees_report_their_work(keys):
    def collected(call):
        reports = []
        with gpuint.progress(lambda *work: reports.append(work)):
            result = call()
        done, planned = zip(*reports)
        assert list(done) == sorted(done) and list(planned) == sorted(planned)
        assert 0 == done[0] < done[-1] <= planned[-1] and len(reports) > 2
        # All that was planned but for roundings.
        assert done[-1] >= 0.9 * planned[-1], reports
        return result

    tree = collected(lambda: gpuint.ProductTree(keys))
    assert collected(lambda: tree.remainders(2**5000)).tolist() == [2**5000 % key for key in keys]
    assert len(collected(tree.cofactors)) == len(keys)
    divisors = keys.batch_gcd()
    assert collected(keys.batch_gcd).is_equal(divisors)


def test_exceptions_end_calls(keys):
    class Ended(Exception):
        pass

    def end(done, planned):
        raise Ended

    for work in (keys.batch_gcd, lambda: gpuint.ProductTree(keys)):
        with pytest.raises(Ended), gpuint.progress(end):
            work()
    assert len(keys.batch_gcd()) == len(keys)


def test_blocks_nest_and_are_of_their_thread(keys):
    outer, inner = [], []
    with gpuint.progress(lambda *work: outer.append(work)):
        with gpuint.progress(lambda *work: inner.append(work)):
            keys.batch_gcd()
        assert inner and not outer
        thread = threading.Thread(target=keys.batch_gcd)
        thread.start()
        thread.join()
        assert not outer
        keys.batch_gcd()
    assert outer == inner
    keys.batch_gcd()
    assert outer == inner
    with pytest.raises(TypeError, match="function"), gpuint.progress(3):
        pass


def test_other_threads_report_and_end(keys):
    reports, raised = [], []

    def end(done, planned):
        reports.append(done)
        if done > 0:
            raise KeyError("end")

    def work():
        try:
            with gpuint.progress(end):
                keys.batch_gcd()
        except KeyError as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(raised) == 1 and reports[-1] > 0
