"""Reference answers from a general convex solver, written from the mathematics and not from the code under test.

Each function states its problem in cvxpy and solves it with Clarabel to high accuracy. Slow and simple on purpose.
"""

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
