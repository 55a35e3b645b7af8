"""Functions as arrays, with factors that a bank has and with factors that are made, against the Gram matrices."""

import numpy as np
import pytest

from kernelwise.kernels import DenseBank, FactorBank, Gaussian
from kernelwise.papers.stpmkl.saddle import FunctionSpace


def banks(rng):
    """The same six kernels as matrices and as factors."""
    X = rng.uniform(-1, 1, size=(25, 4))
    kernels = [Gaussian(width).on(column) for width in (0.3, 1.0) for column in (0, 1, (0, 1, 2, 3))]
    return DenseBank.build(X, kernels), FactorBank.build(X, kernels, tol=1e-13)


@pytest.mark.parametrize("kind", [DenseBank, FactorBank])
@pytest.mark.parametrize("intercept", [False, True])
def test_function_spaces_keep_the_promises_of_a_reproducing_space(rng, kind, intercept):
    dense, factored = banks(rng)
    bank = dense if kind is DenseBank else factored
    space = FunctionSpace(bank, intercept=intercept)
    u, v = rng.normal(size=(2, 25))
    f, g = space.representer(u), space.representer(v)
    quadratic = np.array([u @ K @ u for K in dense.grams])
    np.testing.assert_allclose(space.norms(f), np.sqrt(quadratic), rtol=1e-9)
    np.testing.assert_allclose(space.values(f), dense.grams.sum(axis=0) @ u + intercept * u.sum(), atol=1e-9)
    assert space.constant(f) == pytest.approx(intercept * u.sum())
    # <f, g> by polarisation is u^T K v: linear combinations are those of functions.
    plus, minus = (np.sum(space.norms(h) ** 2) + space.constant(h) ** 2 for h in (f + g, f - g))
    inner = (plus - minus) / 4
    assert inner == pytest.approx(u @ dense.grams.sum(axis=0) @ v + intercept * u.sum() * v.sum())
    factors = np.array([0.0, 1.0, 0.5, 0.0, 2.0, 0.0])
    h = space.scaled(2.0 * f - g, factors)
    np.testing.assert_allclose(space.norms(h), factors * space.norms(2.0 * f - g), rtol=1e-9)
    assert space.constant(h) == space.constant(2.0 * f - g)
    blocks = space.parts(h)
    assert sorted(blocks) == [1, 2, 4]
    values = sum(bank.factor(j) @ w for j, w in blocks.items()) + space.constant(h)
    np.testing.assert_allclose(space.values(h), values, atol=1e-9)
    assert not space.parts(space.zero())
    assert not space.values(space.zero()).any()
