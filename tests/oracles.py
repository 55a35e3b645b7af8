"""Reference answers from a general convex solver, written from the mathematics and not from the code under test.

Each function states its problem in cvxpy and solves it with Clarabel to high accuracy. Slow and simple on purpose.
"""

import warnings
from fractions import Fraction

import cvxpy as cp
import numpy as np

TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}


def solve(problem):
    """Solve with Clarabel and insist on an optimum."""
    problem.solve(solver=cp.CLARABEL, **TIGHT)
    assert problem.status == cp.OPTIMAL, problem.status
    return problem.value


def project_box_budget(v, upper, budget):
    """argmin 1/2 ||a - v||^2  s.t.  0 <= a <= upper, sum(a) <= budget."""
    a = cp.Variable(len(v))
    constraints = [a >= 0]
    if np.all(np.isfinite(upper)):
        constraints.append(a <= upper)
    if np.isfinite(budget):
        constraints.append(cp.sum(a) <= budget)
    solve(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(a - v)), constraints))
    return a.value


def prox_squared_sum_of_norms(v, blocks, scale):
    """argmin 1/2 ||f - v||^2 + scale/2 (sum_j ||f_j||)^2, where ``blocks[j]`` indexes block j of f."""
    f = cp.Variable(len(v))
    sum_of_norms = sum(cp.norm(f[block], 2) for block in blocks)
    solve(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(f - v) + 0.5 * scale * cp.square(sum_of_norms))))
    return f.value


def true_class_means_exactly(matrix, prior, given, overall):
    """argmin over b of |b B - given|^2  s.t.  b p = overall, in rational numbers: the solution of its KKT system.

    ``matrix`` is B, ``prior`` is p, and ``given`` and b are rows of two; floats are taken as the rationals they are.
    """
    B = [[Fraction(float(entry)) for entry in row] for row in matrix]
    p = [Fraction(float(entry)) for entry in prior]
    target = [Fraction(float(entry)) for entry in given]
    system = [[2 * sum(B[i][k] * B[j][k] for k in range(2)) for j in range(2)] + [p[i]] for i in range(2)]
    right = [2 * sum(B[i][k] * target[k] for k in range(2)) for i in range(2)]
    system, right = system + [[*p, Fraction(0)]], right + [Fraction(float(overall))]
    rows = [row + [value] for row, value in zip(system, right, strict=True)]
    for i in range(3):
        pivot = next(r for r in range(i, 3) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [entry / rows[i][i] for entry in rows[i]]
        for r in range(3):
            if r != i:
                rows[r] = [a - rows[r][i] * b for a, b in zip(rows[r], rows[i], strict=True)]
    return float(rows[0][3]), float(rows[1][3])


def true_class_means(matrix, prior, given, overall):
    """The same by a convex solver, for all kernels at once: ``given`` is (n_kernels, 2), ``overall`` (n_kernels,)."""
    b = cp.Variable(given.shape)
    solve(cp.Problem(cp.Minimize(cp.sum_squares(b @ matrix - given)), [b @ prior == overall]))
    return b.value


def pair_weights(values, weights, statistic, penalty, bias_statistic=None):
    """argmin over w >= 0 of  penalty/2 |w|^2 - w.c/2 - bias c0/2 + sum_i weights_i log(e^(s_i/2) + e^(-s_i/2)).

    Returns the weights, the bias and the optimum.
    """
    w = cp.Variable(values.shape[1], nonneg=True)
    bias = cp.Variable() if bias_statistic is not None else cp.Constant(0.0)
    scores = values @ w + bias
    loss = weights @ (cp.logistic(scores) - scores / 2)
    linear = statistic @ w / 2 + (0.0 if bias_statistic is None else bias * bias_statistic / 2)
    value = solve(cp.Problem(cp.Minimize(penalty / 2 * cp.sum_squares(w) - linear + loss)))
    return w.value, float(bias.value), value


def gram_factor(gram):
    """F with F F^T = gram, from its eigenvectors."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > 1e-13 * max(values[-1], 0.0)
    return vectors[:, keep] * np.sqrt(values[keep])


def worst_loss(decisions, y, upper, budget):
    """max sum_i a_i (1 - y_i f_i)  s.t.  0 <= a <= upper, sum(a) <= budget: a linear program."""
    a = cp.Variable(len(y), nonneg=True)
    constraints = [a <= upper]
    if np.isfinite(budget):
        constraints.append(cp.sum(a) <= budget)
    return solve(cp.Problem(cp.Maximize(a @ (1 - y * decisions)), constraints))


def noisy_label_mkl(grams, y, *, penalty, upper, mass, budget=np.inf, intercept=False):
    """The primal of problem (11), its largest losses written with the threshold eta; returns (optimum, decisions).

    min  penalty/2 (sum_j ||w_j||)^2 + (budget eta + sum_i upper_i [1 - eta - y_i f_i]_+) / mass

    over w, b and eta >= 0, with f = sum_j F_j w_j + b; eta is 0 without a budget. Solved divided by the penalty, since
    the optimum is of its order where the data can be separated, and the solver's tolerance is absolute.
    """
    factors = [gram_factor(gram) for gram in grams]
    parts = [cp.Variable(F.shape[1]) for F in factors]
    b = cp.Variable() if intercept else 0.0
    f = sum(F @ w for F, w in zip(factors, parts, strict=True)) + b
    slack = cp.Variable(len(y), nonneg=True)
    eta = cp.Variable(nonneg=True) if np.isfinite(budget) else 0.0
    loss = upper @ slack + (budget * eta if np.isfinite(budget) else 0.0)
    objective = 0.5 * cp.square(sum(cp.norm(w, 2) for w in parts)) + loss / (mass * penalty)
    problem = cp.Problem(cp.Minimize(objective), [slack >= 1 - eta - cp.multiply(y, f)])
    # Many norms are zero at the optimum, some of them twice: a little less accuracy is all that can be had.
    for tolerance in (1e-8, 1e-7):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance)
        if problem.status == cp.OPTIMAL:
            return penalty * problem.value, f.value
    raise AssertionError(problem.status)


def cone_program(B, ranks, *, curvature, upper, budget=None, balance=None):
    """min -sum(a) + curvature t^2 / 2  s.t.  ||B_j a|| <= t, 0 <= a <= upper, sum(a) <= budget, balance^T a = 0."""
    a, t = cp.Variable(B.shape[1], nonneg=True), cp.Variable()
    blocks = np.split(B, np.cumsum(ranks)[:-1])
    constraints = [a <= upper] + [cp.norm(block @ a, 2) <= t for block in blocks]
    if budget is not None:
        constraints.append(cp.sum(a) <= budget)
    if balance is not None:
        constraints.append(balance @ a == 0)
    return solve(cp.Problem(cp.Minimize(-cp.sum(a) + 0.5 * curvature * cp.square(t)), constraints))


def mirror_prox(grams, y, *, penalty, budget, step, n_iter):
    """Algorithm 1 of the noisy-label paper, line by line in coordinates, its two sub-problems by the convex solver.

    Returns, for every iteration, the values of f on the samples, the norms of its parts, and alpha.
    """
    n = len(y)
    factors = [gram_factor(gram) for gram in grams]
    F = np.hstack(factors)
    stops = np.cumsum([factor.shape[1] for factor in factors])
    blocks = [np.arange(stop - factor.shape[1], stop) for factor, stop in zip(factors, stops, strict=True)]
    w, beta = np.zeros(F.shape[1]), np.zeros(n)
    values, norms, alphas = [], [], []
    for _ in range(n_iter):
        alpha = project_box_budget(beta + step * (1 - y * (F @ w)) / n, np.ones(n), budget)
        w = prox_squared_sum_of_norms(w + step * F.T @ (alpha * y) / n, blocks, step * penalty)
        beta = project_box_budget(beta + step * (1 - y * (F @ w)) / n, np.ones(n), budget)
        values.append(F @ w)
        norms.append(np.array([np.linalg.norm(w[block]) for block in blocks]))
        alphas.append(alpha)
    return values, norms, alphas
