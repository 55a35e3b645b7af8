"""Multiple kernel learning on a real Dask cluster of two worker processes."""

import logging
import os
import signal
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dask_cluster import kill_worker, local_cluster, worker_pids
from kernelwise import RobustMKLClassifier, SimpleMKLClassifier
from kernelwise.dask_rows import engine
from kernelwise.dask_rows.engine import ClusterLost
from kernelwise.kernels import gaussian_kernels
from kernelwise.kernels.build import RankWarning
from waiting import wait_until

KERNELS = gaussian_kernels([0.3, 1.0, 3.0], scope="each")
N = 3000


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.where(X[:, 0] + np.sin(2 * X[:, 1]) > 0, "yes", "no")
    flipped = rng.random(N) < 0.1
    return X, np.where(flipped, np.where(y == "yes", "no", "yes"), y), rng.uniform(0.5, 2.0, N)


def in_chunks(*arrays, rows=700):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


def assert_same_fit(model, reference):
    np.testing.assert_allclose(model.kernel_weights_, reference.kernel_weights_, atol=1e-6)
    assert model.objective_ == pytest.approx(reference.objective_, abs=1e-6)
    assert model.dual_gap_ == pytest.approx(reference.dual_gap_, abs=1e-6)
    assert model.converged_
    assert model.n_features_in_ == reference.n_features_in_
    np.testing.assert_array_equal(model.classes_, reference.classes_)


def estimator(**options):
    usual = {"rank": 1e-6, "tol": 1e-6, "alpha": 0.01, "probability": False, "random_state": 0}
    return RobustMKLClassifier(KERNELS, **(usual | options))


VARIANTS = [
    {},
    {"fit_intercept": True, "normalize_kernels": True},
    pytest.param({"noise_rate": 0.0}, marks=pytest.mark.slow),
    pytest.param({"scale_features": False, "risk": 0.1}, marks=pytest.mark.slow),
]


def test_without_a_client_dask_works_in_this_process(data, monkeypatch):
    def no_client():
        raise ValueError("No global client found")

    monkeypatch.setattr("distributed.get_client", no_client)  # other tests of this folder have made one
    X, y, weight = data
    with dask.config.set(scheduler="synchronous"):
        model = estimator(tol=1e-4).fit(*in_chunks(X, y, weight))
    assert_same_fit(model, estimator(tol=1e-4).fit(X, y, weight))


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_blocks_give_the_fit_of_memory(options, data, client):
    X, y, weight = data
    reference = estimator(**options).fit(X, y, weight)
    model = estimator(**options).fit(*in_chunks(X, y, weight))
    assert_same_fit(model, reference)
    assert not hasattr(model, "dual_coef_")


def test_predictions_are_dask_arrays(data, client):
    X, y, _ = data
    chunks, labels = in_chunks(X, y)
    model = SimpleMKLClassifier(KERNELS, rank=1e-6, tol=1e-3, random_state=0).fit(chunks, labels)
    reference = SimpleMKLClassifier(KERNELS, rank=1e-6, tol=1e-3, random_state=0).fit(X, y)
    predicted = model.predict(chunks)
    assert isinstance(predicted, da.Array)
    assert predicted.chunks == labels.chunks
    assert (predicted.compute() == reference.predict(X)).mean() > 0.999
    np.testing.assert_allclose(model.decision_function(chunks).compute(), model.decision_function(X))
    probability = model.predict_proba(chunks).compute()
    np.testing.assert_allclose(probability, model.predict_proba(X))
    # Folds are drawn block by block, so that the slope is another one, of the same labels.
    np.testing.assert_allclose(probability, reference.predict_proba(X), atol=0.05)


def test_frames_keep_their_names(data, client):
    X, y, weight = data
    frame = pd.DataFrame(X, columns=["age", "size", "dose"]).assign(label=y, weight=weight)
    parts = dd.from_pandas(frame, npartitions=3)
    features = parts[["age", "size", "dose"]]
    model = estimator().fit(features, parts["label"], parts["weight"])
    assert_same_fit(model, estimator().fit(frame[["age", "size", "dose"]], y, weight))
    assert model.feature_names_in_.tolist() == ["age", "size", "dose"]
    np.testing.assert_array_equal(model.predict(features).compute(), model.predict(frame[["age", "size", "dose"]]))


@pytest.mark.slow
def test_several_classes_and_weights_of_zero(data, client):
    X, _, weight = data
    y = np.digitize(X[:, 0], [-0.7, 0.7])
    weight = np.where(np.arange(N) % 5 == 0, 0.0, weight)
    assert_same_fit(estimator(tol=1e-4).fit(*in_chunks(X, y, weight)), estimator(tol=1e-4).fit(X, y, weight))


@pytest.mark.slow
def test_sparse_blocks(data, client):
    X, y, _ = data
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    blocks = da.from_array(X, chunks=(700, 3)).map_blocks(sp.csr_array)
    model = estimator().fit(blocks, in_chunks(y)[0])
    assert_same_fit(model, estimator().fit(sp.csr_array(X), y))


@pytest.mark.slow
def test_landmarks_missing_from_the_sample_are_found(data, client, monkeypatch):
    """One far sample among thousands: the rows that landmarks are chosen from lack it, the check of all finds it."""
    from kernelwise.mkl import on_dask as _block_training

    X, y, _ = data
    X = np.concatenate([X, [[40.0, 40.0, 40.0]]])
    y = np.append(y, "yes")
    monkeypatch.setattr(_block_training, "LANDMARK_ROWS", 300)
    model = estimator(scale_features=False, tol=1e-5).fit(*in_chunks(X, y))
    reference = estimator(scale_features=False, tol=1e-5).fit(X, y)
    np.testing.assert_allclose(model.kernel_weights_, reference.kernel_weights_, atol=2e-3)
    assert abs(model.objective_ - reference.objective_) <= 2e-5 * reference.objective_


def test_a_cap_on_the_rank_is_announced(data, client):
    X, y, _ = data
    with pytest.warns(RankWarning, match="landmarks leave out"):
        RobustMKLClassifier(KERNELS, rank=2, tol=1e-2, probability=False).fit(*in_chunks(X, y))


@pytest.mark.slow
def test_first_order_solver_on_blocks(data, client):
    X, y, _ = data
    model = estimator(solver="mirror-prox", alpha=0.1, tol=1e-1)
    reference = estimator(solver="mirror-prox", alpha=0.1, tol=1e-1).fit(X[:600], y[:600])
    model.fit(*in_chunks(X[:600], y[:600], rows=300))
    np.testing.assert_allclose(model.kernel_weights_, reference.kernel_weights_, atol=1e-6)
    assert model.dual_gap_ == pytest.approx(reference.dual_gap_, abs=1e-6)


@pytest.mark.slow
def test_noise_rate_from_a_sample(data, client):
    X, y, _ = data
    model = estimator(noise_rate="auto", tol=1e-3).fit(*in_chunks(X, y))
    assert 0.02 < model.noise_rate_ < 0.25


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_worker_killed_in_the_middle_changes_nothing(data, client):
    X, y, weight = data
    reference = estimator().fit(X, y, weight)
    rounds = threading.Event()

    def kill_after_the_first_round():
        rounds.wait()
        kill_worker(client)

    killer = threading.Thread(target=kill_after_the_first_round)
    killer.start()
    model = estimator(verbose=1)
    log = logging.getLogger("kernelwise")

    class Watch(logging.Handler):
        def emit(self, record):
            rounds.set()

    watch = Watch()
    log.addHandler(watch)
    log.setLevel("INFO")
    try:
        model.fit(*in_chunks(X, y, weight))
    finally:
        log.removeHandler(watch)
        rounds.set()
        killer.join()
    assert_same_fit(model, reference)
    wait_until(lambda: len(worker_pids(client)) == 2)


BAD = [
    (lambda X, y, w: (X, y[:100], w), "y has 100 rows"),
    (lambda X, y, w: (X, y, w - 10.0), "sample_weight"),
    (lambda X, y, w: (da.where(X > 3, np.nan, X), y, w), "NaN"),
    (lambda X, y, w: (X, da.full_like(y, "yes"), w), "two classes"),
    (lambda X, y, w: (X[:0], y[:0], None), "no rows"),
    (
        lambda X, y, w: (X.map_blocks(lambda block: np.full(block.shape, "tall"), dtype="U4"), y, w),
        "could not convert string to float",
    ),
]


@pytest.mark.parametrize(("spoil", "message"), BAD)
def test_bad_collections_are_refused_by_name(spoil, message, data, client):
    X, y, weight = in_chunks(*data)
    with pytest.raises(ValueError, match=message):
        estimator().fit(*spoil(X, y, weight))


def test_estimators_that_stay_in_memory_say_so(data):
    from kernelwise import BestCaseMKLClassifier, RobustMKLClassifierCV

    X, y, _ = in_chunks(*data)
    for model in (BestCaseMKLClassifier(), RobustMKLClassifierCV()):
        with pytest.raises(TypeError, match="in memory"):
            model.fit(X, y)


def test_a_chunk_too_large_for_a_worker_is_refused_with_advice(client):
    X = da.zeros((10_000_000, 10), chunks=(10_000_000, 10))
    with pytest.raises(ValueError, match=r"0\.8 GB, too much for a worker .* X\.rechunk\(\{0: 419430\}\)"):
        estimator().fit(X, da.zeros(10_000_000, chunks=10_000_000))


def test_factors_that_do_not_fit_are_computed_again(data, client, monkeypatch):
    """With no room to keep all factors the result is the same; with none for those in use, a message says how much."""
    from kernelwise.dask_rows import bank

    X, y, weight = data
    monkeypatch.setattr(bank, "KEPT_SHARE", 0.0)
    model = estimator(tol=1e-5).fit(*in_chunks(X, y, weight))
    assert_same_fit(model, estimator(tol=1e-5).fit(X, y, weight))
    monkeypatch.setattr(bank, "ACTIVE_SHARE", 1e-9)
    with pytest.raises(MemoryError, match="GB are needed"):
        estimator().fit(*in_chunks(X, y, weight))


class TestLostClusters:
    @pytest.mark.slow
    def test_all_workers_lost_and_continued_from_the_checkpoint(self, data, tmp_path, monkeypatch):
        X, y, weight = data
        reference = estimator().fit(X, y, weight)
        path = tmp_path / "fit.json"
        monkeypatch.setattr(engine, "GRACE", 1.0)
        with local_cluster(n_workers=2) as client:

            def lose_everything():
                wait_until(path.exists)
                for nanny in list(client.cluster.workers.values()):
                    os.kill(nanny.process.pid, signal.SIGKILL)
                    client.cluster.sync(nanny.close)

            losing = threading.Thread(target=lose_everything)
            losing.start()
            with pytest.raises(ClusterLost, match="checkpoint"):
                estimator().fit(*in_chunks(X, y, weight), checkpoint=path)
            losing.join()
        assert path.exists()
        with local_cluster(n_workers=2):
            model = estimator().fit(*in_chunks(X, y, weight), checkpoint=path)
        assert_same_fit(model, reference)
        assert len(model.history_[0]) < model.n_iter_  # the rounds before the loss were not done again
        assert not path.exists()

    def fit_for_ever(self, model, arrays, interrupting):
        interrupting.start()
        while True:
            model.fit(*arrays)

    def test_interrupting_the_client_cancels_the_work(self, data, client):
        X, y, weight = data
        model, arrays = estimator(tol=1e-7), in_chunks(X, y, weight)
        tasks = client.cluster.scheduler.tasks
        before = set(tasks)  # of other tests

        def interrupt():
            wait_until(lambda: any("kernelwise" in str(key) for key in list(tasks) if key not in before))
            os.kill(os.getpid(), signal.SIGINT)

        handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, shells have it ignored
        thread = threading.Thread(target=interrupt)
        with pytest.raises(KeyboardInterrupt):  # which would end pytest, if it came elsewhere
            self.fit_for_ever(model, arrays, thread)
        thread.join()
        signal.signal(signal.SIGINT, handler)
        wait_until(lambda: not any(client.processing().values()))
        wait_until(lambda: not [key for key in set(client.who_has()) - before if str(key).startswith("kernelwise")])


class TestCheckpoints:
    def test_a_fit_in_memory_continues(self, data, tmp_path, monkeypatch):
        from kernelwise.mkl import checkpoint as _checkpoint

        X, y, _ = data
        path = tmp_path / "fit.json"
        reference = estimator().fit(X, y)
        save = _checkpoint.OutputRounds.save

        def save_and_stop(self, state):
            save(self, state)
            raise KeyboardInterrupt

        monkeypatch.setattr(_checkpoint.OutputRounds, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            estimator().fit(X, y, checkpoint=path)
        monkeypatch.undo()
        model = estimator().fit(X, y, checkpoint=path)
        np.testing.assert_allclose(model.kernel_weights_, reference.kernel_weights_, atol=1e-9)
        assert len(model.history_[0]) == model.n_iter_ - 1
        assert not path.exists()

    def test_checkpoints_of_something_else_are_refused(self, data, tmp_path, monkeypatch):
        from kernelwise.mkl import checkpoint as _checkpoint

        X, y, _ = data
        path = tmp_path / "fit.json"
        monkeypatch.setattr(_checkpoint.Checkpoint, "remove", lambda self: None)
        estimator(tol=1e-2).fit(X, y, checkpoint=path)
        with pytest.raises(ValueError, match="other parameters"):
            estimator(tol=1e-3).fit(X, y, checkpoint=path)
        with pytest.raises(ValueError, match="other data"):
            estimator(tol=1e-2).fit(X[:, ::-1], y, checkpoint=path)
        path.write_text("{}")
        with pytest.raises(ValueError, match="not a checkpoint"):
            estimator(tol=1e-2).fit(X, y, checkpoint=path)
        with pytest.raises(ValueError, match="no folder"):
            estimator().fit(X, y, checkpoint=tmp_path / "none" / "fit.json")
