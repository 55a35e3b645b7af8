"""What low-rank factors save: products of 100 kernels at n = 5,000, and building 200 kernels at n = 100,000."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwise.kernels import FactorBank, build_bank, gaussian_kernels, resolve_kernels

from .measure import in_fresh_process, median_seconds, record

TITLE = "Low-rank banks of one-dimensional Gaussian kernels (ten widths per feature, uniform data, rank=1e-4)"

RANK = 1e-4


def run() -> list[dict[str, Any]]:
    """Measure both at their full size."""
    return measure_products(n=5_000) + measure_build(n=100_000)


def measure_products(*, n: int, n_features: int = 10) -> list[dict[str, Any]]:
    """Compare the products ``K_j v`` of all kernels by factors with those by Gram matrices.

    The Gram matrices of all kernels at once are too large to hold (20 GB at n = 5,000). They are made one at a time,
    and only the product is timed; their memory is counted as 8 n^2 bytes each.
    """
    rng = np.random.default_rng(0)
    X, v = rng.uniform(size=(n, n_features)), rng.choice([-1.0, 1.0], size=n)
    kernels = resolve_kernels(gaussian_kernels(scope="each"), n_features)
    bank = build_bank(X, kernels, rank=RANK)
    assert isinstance(bank, FactorBank)
    approximate, factor_seconds = bank.products(v), median_seconds(lambda: bank.products(v))
    dense_seconds, error = 0.0, 0.0
    for kernel, product in zip(kernels, approximate, strict=True):
        gram = kernel(X)
        exact = gram @ v
        dense_seconds += median_seconds(partial(np.matmul, gram, v), repeats=3)
        error = max(error, float(np.linalg.norm(product - exact) / np.linalg.norm(exact)))
    size = f"{len(kernels)} kernels, n = {n:,}"
    dense_bytes = 8 * n**2 * len(kernels)
    return [
        record(f"{size}: products by Gram matrices, one in memory at a time", dense_seconds, "s"),
        record(f"{size}: products by factors", factor_seconds, "s"),
        record(f"{size}: times faster", dense_seconds / factor_seconds, "", at_least=30),
        record(f"{size}: Gram matrices (8 n^2 bytes each, never held at once)", dense_bytes / 1e6, "MB"),
        record(f"{size}: factors", bank.nbytes / 1e6, "MB"),
        record(f"{size}: times smaller", dense_bytes / bank.nbytes, "", at_least=30),
        record(f"{size}: largest relative error of a product", error, "", at_most=1e-4),
    ]


def measure_build(*, n: int, n_features: int = 20) -> list[dict[str, Any]]:
    """Build a bank in a fresh process; memory is counted above the interpreter, its imports and the data."""
    fresh = in_fresh_process(build_factors, prepare=partial(uniform_samples, n, n_features))
    size = f"{10 * n_features} kernels, n = {n:,}"
    return [
        record(f"{size}: build", fresh.seconds, "s"),
        record(f"{size}: factors", fresh.result / 1e6, "MB"),
        record(f"{size}: peak memory of the build", fresh.extra_bytes / 1e6, "MB"),
        record(f"{size}: peak memory over size of the factors", fresh.extra_bytes / fresh.result, "", at_most=1.5),
    ]


def uniform_samples(n: int, n_features: int) -> tuple[NDArray[np.float64]]:
    """Return the one argument of :func:`build_factors`."""
    return (np.random.default_rng(0).uniform(size=(n, n_features)),)


def build_factors(X: NDArray[np.float64]) -> int:
    """Build the bank and return the bytes of its factors."""
    bank = build_bank(X, gaussian_kernels(scope="each"), rank=RANK)
    assert isinstance(bank, FactorBank)
    return bank.nbytes
