"""Arrays in blocks answer as NumPy arrays do, and solvers that run on them find what they find in memory."""

import gc
import os
import platform
import subprocess
import sys
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwise.dask_rows.block_array import BlockArray, Transposed
from kernelwise.dask_rows.engine import LocalEngine
from kernelwise.optim import largest_spending, project_box_budget
from kernelwise.optim.reduced_system import weighted_gram
from kernelwise.samples import compute, map_rows, persist, select_rows


def in_blocks(array, lengths):
    """Cut an array into blocks of the given lengths."""
    parts = np.split(array, np.cumsum(lengths)[:-1])
    return BlockArray.of(LocalEngine(), lengths, parts, array[:0])


def whole(blocks):
    return np.concatenate(blocks.handles)


LENGTHS = (3, 1, 6)


@pytest.fixture
def vectors(rng):
    return [rng.uniform(0.5, 2.0, sum(LENGTHS)) for _ in range(3)]


EXPRESSIONS = {
    "arithmetic": lambda x, y, z: 2.0 * x / y - z**2,
    "negative": lambda x, y, z: -x + np.sqrt(y),
    "where": lambda x, y, z: np.where(x > 1.0, y, 0.5),
    "clip": lambda x, y, z: np.clip(x, 0.0, y),
    "like": lambda x, y, z: np.full_like(x, 3.0) + np.zeros_like(y) + np.ones_like(z),
    "columns": lambda x, y, z: np.stack([x, y, z], axis=1)[:, 1:],
    "product": lambda x, y, z: np.stack([x, y], axis=1) @ np.array([2.0, -1.0]),
    "spread": lambda x, y, z: np.stack([x, y], axis=1) / z[:, None],
}

SUMS = {
    "sum": lambda x, y, z: (x * y).sum(),
    "min": lambda x, y, z: np.minimum(x, y).min(),
    "max": lambda x, y, z: (-x / z).max(),
    "dot": lambda x, y, z: x @ (y - z),
    "columns": lambda x, y, z: np.stack([x, y], axis=1).sum(axis=0),
    "matrix": lambda x, y, z: np.stack([x, y], axis=1).T @ np.stack([y, z], axis=1),
    "vector": lambda x, y, z: np.stack([x, y], axis=1).T @ z,
    "count": lambda x, y, z: (x > y).sum(),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_are_those_of_numpy(name, vectors):
    expression = EXPRESSIONS[name]
    blocks = expression(*(in_blocks(vector, LENGTHS) for vector in vectors))
    wanted = expression(*vectors)
    assert blocks.shape == wanted.shape
    assert blocks.ndim == wanted.ndim
    np.testing.assert_allclose(whole(blocks), wanted, rtol=1e-15)
    np.testing.assert_allclose(whole(persist(blocks)), wanted, rtol=1e-15)


@pytest.mark.parametrize("name", SUMS)
def test_sums_are_those_of_numpy(name, vectors):
    total = SUMS[name]
    found = total(*(in_blocks(vector, LENGTHS) for vector in vectors))
    np.testing.assert_allclose(np.asarray(found), total(*vectors), rtol=1e-14)


def test_sums_found_together_take_one_pass(vectors):
    passes = []

    class Counting(LocalEngine):
        def total(self, *args, **options):
            passes.append(1)
            return super().total(*args, **options)

    x, y, _ = (
        BlockArray.of(Counting(), LENGTHS, np.split(vector, np.cumsum(LENGTHS)[:-1]), vector[:0]) for vector in vectors
    )
    values = compute(x.sum(), 1.5, x @ y, y.max())
    np.testing.assert_allclose(values, [vectors[0].sum(), 1.5, vectors[0] @ vectors[1], vectors[1].max()], rtol=1e-14)
    assert len(passes) == 1


def test_a_shared_part_is_evaluated_once_per_block(vectors):
    calls = []

    def slow(block):
        calls.append(len(block))
        return block + 1.0

    x = in_blocks(vectors[0], LENGTHS).map_rows(slow)
    a = persist(2.0 * x)
    total = float((a - a * a).sum())
    assert [length for length in calls if length] == list(LENGTHS)  # empty blocks tell the shape
    shifted = vectors[0] + 1.0
    np.testing.assert_allclose(total, (2.0 * shifted - 4.0 * shifted**2).sum())
    np.testing.assert_allclose(float((x + x**2).sum()), (shifted + shifted**2).sum())
    assert [length for length in calls if length] == 2 * list(LENGTHS)


def test_weighted_gram(rng):
    B, weight = rng.normal(size=(4, sum(LENGTHS))), rng.uniform(size=sum(LENGTHS))
    blocks = weighted_gram(Transposed(in_blocks(B.T, LENGTHS)), in_blocks(weight, LENGTHS))
    np.testing.assert_allclose(np.asarray(blocks), (B * weight) @ B.T, rtol=1e-12)
    np.testing.assert_allclose(weighted_gram(B, weight), (B * weight) @ B.T, rtol=1e-12)


@pytest.mark.parametrize("lengths", [LENGTHS, None])
def test_selection_takes_and_puts_back(lengths, vectors):
    x, y, _ = vectors
    array = x if lengths is None else in_blocks(x, lengths)
    other = y if lengths is None else in_blocks(y, lengths)
    chosen = select_rows(array > 1.0)
    taken, back = chosen.take(other), chosen.put(chosen.take(other))
    mask = x > 1.0
    assert len(taken) == mask.sum()
    np.testing.assert_array_equal(taken if lengths is None else whole(taken), y[mask])
    np.testing.assert_array_equal(back if lengths is None else whole(back), np.where(mask, y, 0.0))


def test_rowwise_functions(vectors):
    blocks = map_rows(in_blocks(vectors[0], LENGTHS), np.hypot, in_blocks(vectors[1], LENGTHS))
    np.testing.assert_allclose(whole(blocks), np.hypot(vectors[0], vectors[1]))


@settings(max_examples=60)
@given(
    st.lists(st.floats(-5, 5), min_size=10, max_size=10),
    st.lists(st.floats(0, 2), min_size=10, max_size=10),
    st.floats(0.01, 12),
)
def test_budgets_are_spent_as_in_memory(values, bounds, budget):
    v, upper = np.array(values), np.array(bounds)
    blocks = in_blocks(v, LENGTHS), in_blocks(upper, LENGTHS)
    projected = project_box_budget(blocks[0], upper=blocks[1], budget=budget)
    np.testing.assert_allclose(whole(projected), project_box_budget(v, upper=upper, budget=budget), atol=1e-9)
    losses = np.abs(v)
    spent = largest_spending(in_blocks(losses, LENGTHS), upper=blocks[1], budget=budget)
    wanted = largest_spending(losses, upper=upper, budget=budget) if budget < upper.sum() else float(upper @ losses)
    assert wanted - 1e-9 <= spent <= wanted + 1e-8 * max(1.0, wanted)


BAD = [
    (lambda x: x[0], "columns"),
    (lambda x: x.sum(axis=1), "axis"),
    (lambda x: np.ones((2, 10)) @ x, "samples"),
    (lambda x: x.T @ np.ones(10), "block array"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_what_blocks_cannot_do_is_said(call, message, vectors):
    with pytest.raises((IndexError, TypeError, ValueError), match=message):
        call(in_blocks(np.stack(vectors, axis=1), LENGTHS))


def test_what_was_evaluated_is_let_go_at_once():
    """Blocks on a worker must not stay until the garbage collector comes by."""
    column = np.ones(sum(LENGTHS))
    seen = weakref.ref(column)
    gc.disable()
    try:
        x = in_blocks(column, LENGTHS)
        assert float((2.0 * x + x).sum()) == 30.0
        assert float((2.0 * x).persist().sum()) == 20.0
        del x, column
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such setting")
def test_a_worker_keeps_freed_memory():
    """Under the setting that Dask gives to its workers, arrays are not asked for from the system again and again."""
    code = """
import resource
import numpy as np
from kernelwise.dask_rows.expressions import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(2**17)  # 1 MB, that is 256 pages
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

first = faults()
keep_freed_memory()
print(first, faults())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        check=True,
    )
    before, after = map(int, done.stdout.split())
    assert before > 50 * 256 * 0.9
    assert after < 0.1 * before
