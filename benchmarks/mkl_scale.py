"""How noisy-label learning grows: up to a million samples on one machine, gap and memory measured."""

import math
import warnings
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwise.kernels import FactorBank, RankWarning, build_bank, gaussian_kernels
from kernelwise.mkl.column_generation import solve_by_column_generation
from kernelwise.mkl.problem import NoisyLabelProblem

from .measure import Fresh, in_fresh_process, record

TITLE = (
    "Noisy-label learning at scale: lambda = 0.01, rho = 0.8 n, 20 % flips, uniform features, each in a fresh process"
)

PENALTY = 0.01


def run() -> list[dict[str, Any]]:
    """Measure the two kinds of bank at their sizes, and the growth at fixed settings."""
    ten_thousand = fit_in_fresh_process(10_000, 20, "all+each", tol=1e-4)
    hundred_thousand = fit_in_fresh_process(100_000, 20, "all+each", tol=1e-4)
    growing = {n: fit_in_fresh_process(n, 10, "each", tol=1e-3) for n in (10_000, 100_000, 1_000_000)}
    return [
        *describe("210 kernels, rank at most 200, n = 10,000", ten_thousand, gap=1e-4, solver_seconds=3, gigabytes=1),
        *describe("210 kernels, rank at most 200, n = 100,000", hundred_thousand, gap=1e-4, seconds=60, gigabytes=4),
        *describe("100 kernels, n = 1,000,000", growing[1_000_000], gap=1e-3, gigabytes=8),
        growth(growing, 10_000, 100_000),
        growth(growing, 100_000, 1_000_000),
    ]


def fit_in_fresh_process(n: int, n_features: int, scope: str, *, tol: float) -> Fresh:
    """Build a bank and solve; report (seconds for the bank, seconds for the solver, relative gap)."""
    return in_fresh_process(partial(fit, scope=scope, tol=tol), prepare=partial(noisy_samples, n, n_features))


def noisy_samples(n: int, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return uniform features and labels that depend on four of them, a fifth of them flipped."""
    rng = np.random.default_rng(0)
    X = rng.random((n, n_features))
    score = np.sin(6 * X[:, 0]) + 2 * X[:, 1] * X[:, 2] + 4 * (X[:, 3] - 0.5) ** 2
    y = np.where(score > np.median(score), 1.0, -1.0)
    return X, np.where(rng.random(n) < 0.2, -y, y)


def fit(X: NDArray[np.float64], y: NDArray[np.float64], *, scope: Any, tol: float) -> tuple[float, float, float]:
    """Return the seconds for the bank, the seconds for the solver, and the relative gap."""
    start = perf_counter()
    rank: int | float = 1e-4 if scope == "each" else 200
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # the cap is the setting that is measured
        bank = build_bank(X, gaussian_kernels(scope=scope), rank=rank, random_state=0)
    assert isinstance(bank, FactorBank)
    built = perf_counter()
    problem = NoisyLabelProblem(bank, y, PENALTY, np.ones(len(y)), float(len(y)), budget=0.8 * len(y))
    result = solve_by_column_generation(problem, tol=tol)
    return built - start, perf_counter() - built, result.certificate.relative_gap


def describe(
    case: str,
    fresh: Fresh,
    *,
    gap: float,
    gigabytes: float,
    seconds: float | None = None,
    solver_seconds: float | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of one run."""
    bank_seconds, solve_seconds, reached = fresh.result
    return [
        record(f"{case}: factors", bank_seconds, "s"),
        record(f"{case}: solver", solve_seconds, "s", at_most=solver_seconds),
        record(f"{case}: total", bank_seconds + solve_seconds, "s", at_most=seconds),
        record(f"{case}: relative gap", reached, "", at_most=gap),
        record(f"{case}: peak memory of the process", fresh.peak_bytes / 1e9, "GB", at_most=gigabytes),
    ]


def growth(runs: dict[int, Fresh], small: int, large: int) -> dict[str, Any]:
    """Return the exponent of the total time between two sizes."""
    times = [sum(runs[n].result[:2]) for n in (small, large)]
    exponent = math.log(times[1] / times[0]) / math.log(large / small)
    return record(f"100 kernels, total time from n = {small:,} to {large:,}: exponent", exponent, "", at_most=1.2)
