"""Solvers, certificates and the projections and proxes they use; nothing of kernels, labels or scikit-learn."""

from .projection import largest_spending, project_box_budget, prox_squared_sum_of_norms
from .result import Certificate, HistoryRow, SolverResult, Status

__all__ = [
    "Certificate",
    "HistoryRow",
    "SolverResult",
    "Status",
    "largest_spending",
    "project_box_budget",
    "prox_squared_sum_of_norms",
]
