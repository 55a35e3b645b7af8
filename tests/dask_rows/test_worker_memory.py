"""Fits whose factors do not fit into the memory of the workers."""

import threading
import warnings
from contextlib import contextmanager

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dask_cluster import local_cluster, worker_pids
from kernelwise import LinkSmoother, PairKernelLearner, RobustMKLClassifier
from kernelwise.dask_rows.bank import BlockBank, SpillWarning, cut_to_fit, room_for_factors
from kernelwise.dask_rows.block_array import BlockArray
from kernelwise.dask_rows.engine import LocalEngine
from kernelwise.kernels import FactorBank, Gaussian, gaussian_kernels

MEGABYTE = 10**6


class SmallEngine(LocalEngine):
    """The calling process, told that it may use this much."""

    def __init__(self, *limits):
        self.limits = list(limits)

    @property
    def memory_limits(self):
        return self.limits


def in_blocks(array, n_blocks, *limits):
    parts = np.array_split(array, n_blocks)
    return BlockArray.of(SmallEngine(*limits), [len(part) for part in parts], parts, array[:0])


@pytest.fixture
def bank(rng):
    kernels = [Gaussian(width, columns=j) for j in range(3) for width in (0.5, 1.0)]
    return FactorBank.build(rng.random((500, 3)), kernels, tol=1e-6, center=True)


@pytest.mark.parametrize("limit", [10**9, 10**6, 10**5])
def test_blocks_are_cut_until_the_factors_in_use_are_small(limit, rng):
    X, y = rng.random((1001, 3)), np.arange(1001)
    ranks = [5, 40, 10]
    cut, labels = cut_to_fit([in_blocks(X, 3, limit), in_blocks(y, 3, limit)], ranks)
    assert cut.lengths == labels.lengths
    assert max(cut.lengths) * 8 * sum(ranks) <= max(limit / 16, 8 * sum(ranks) * 334 if limit == 10**9 else 0) * 1.01
    assert min(cut.lengths) > 0
    np.testing.assert_array_equal(np.concatenate(cut.handles), X)
    np.testing.assert_array_equal(np.concatenate(labels.handles), y)
    assert (len(cut.lengths) == 3) == (limit == 10**9)


def test_where_nothing_is_known_of_the_memory_nothing_is_cut(rng):
    X = in_blocks(rng.random((100, 3)), 2)
    assert cut_to_fit([X], [1000])[0] is X
    assert room_for_factors(X) == np.inf


def test_the_room_is_what_process_and_samples_leave():
    few, many = (in_blocks(np.zeros((n, 10)), 2, 10**9, 10**9) for n in (1000, 100_000))
    assert 0 < room_for_factors(many) < room_for_factors(few) < 2 * 10**9
    assert room_for_factors(in_blocks(np.zeros((1000, 10)), 2, 10**8)) == 0.0


def test_factors_computed_again_are_those_that_are_kept(bank, rng):
    X = rng.random((500, 3))
    v = rng.normal(size=500)
    again, kept = (BlockBank(in_blocks(X, 3, *limits), bank.maps, bank.residuals) for limits in ([10**8], []))
    assert again.kept is None
    assert kept.kept is not None
    values = np.concatenate([phi(X) for phi in bank.maps], axis=1).T @ v
    for one in (again, kept):
        vector = BlockArray.of(one.X.engine, one.X.lengths, np.split(v, np.cumsum(one.X.lengths)[:-1]), v[:0])
        np.testing.assert_allclose(one.project(vector), values, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            np.concatenate(one.factors([1, 4]).handles), np.hstack([bank.maps[j](X) for j in (1, 4)]), atol=1e-12
        )


def test_factors_that_go_to_disk_are_announced_and_hopeless_ones_refused(bank, rng):
    X = rng.random((500, 3))
    needed = 8 * 500 * int(bank.ranks.sum())
    slow = BlockBank(in_blocks(X, 2, needed), bank.maps, bank.residuals)
    with pytest.warns(SpillWarning, match="written to disk"):
        slow.stacked_rows(np.arange(bank.n_kernels))
    hopeless = BlockBank(in_blocks(X, 2, needed // 3), bank.maps, bank.residuals)
    with pytest.raises(MemoryError, match="GB are needed"):
        hopeless.stacked_rows(np.arange(bank.n_kernels))


UNFITTED = [
    (RobustMKLClassifier(), "predict"),
    (RobustMKLClassifier(), "decision_function"),
    (PairKernelLearner(), "transform"),
    (LinkSmoother(), "transform"),
]


@pytest.mark.parametrize(("model", "method"), UNFITTED, ids=lambda value: str(value)[:20])
def test_a_model_that_is_not_fitted_says_so_for_blocks_too(model, method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(model, method)(da.zeros((10, 3), chunks=(5, 3)))


# A cluster that really has little memory.


class Watch:
    """The largest memory of any worker's process, and the share of looks at which one was paused."""

    def __init__(self, scheduler):
        self.scheduler, self.looks, self.paused, self.largest = scheduler, 0, 0, 0

    def look(self):
        for worker in list(self.scheduler.workers.values()):
            self.looks += 1
            self.paused += worker.status.name == "paused"
            self.largest = max(self.largest, worker.memory.process)


@contextmanager
def watched(client):
    watch, end = Watch(client.cluster.scheduler), threading.Event()

    def look_again_and_again():
        while not end.wait(0.2):
            watch.look()

    thread = threading.Thread(target=look_again_and_again)
    thread.start()
    try:
        yield watch
    finally:
        end.set()
        thread.join()


def many_samples(n):
    rng = np.random.default_rng(0)
    X = rng.random((n, 10))
    y = np.where(np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 4 * (X[:, 3] - 0.5) ** 2 > 1.0, 1, -1)
    return X, np.where(rng.random(n) < 0.2, -y, y)


@pytest.mark.slow
def test_factors_larger_than_the_memory_of_all_workers(monkeypatch):
    """No worker is killed or paused for long; landmarks are chosen on all rows, so that the fit is that in memory."""
    from kernelwise.mkl import on_dask as _block_training

    n, limit = 70_000, 560 * 2**20
    X, y = many_samples(n)
    monkeypatch.setattr(_block_training, "LANDMARK_ROWS", n)
    kernels = gaussian_kernels(np.geomspace(0.05, 4.0, 25).tolist(), scope="each")
    model = RobustMKLClassifier(kernels, noise_rate=0.2, rank=1e-4, tol=1e-3, probability=False, random_state=0)
    with local_cluster(n_workers=2, memory_limit=limit) as client:
        workers = worker_pids(client)
        with watched(client) as watch, warnings.catch_warnings():
            warnings.simplefilter("ignore", SpillWarning)
            model.fit(da.from_array(X, chunks=(25_000, 10)), da.from_array(y, chunks=25_000))
        assert worker_pids(client) == workers
    reference = RobustMKLClassifier(**model.get_params()).fit(X, y)
    some_ranks = FactorBank.build(X[:3000], model.kernels_, tol=1e-4).ranks
    assert 8 * n * some_ranks.sum() > 2 * limit  # all factors together
    assert watch.paused <= 0.05 * watch.looks
    assert watch.largest < 0.95 * limit
    np.testing.assert_allclose(model.kernel_weights_, reference.kernel_weights_, atol=1e-6)
    assert model.dual_gap_ == pytest.approx(reference.dual_gap_, abs=1e-6)
    assert model.objective_ == pytest.approx(reference.objective_, abs=1e-6)
