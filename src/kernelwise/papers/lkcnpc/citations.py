"""What Table 2 and Figure 1 of the LKCnpc paper share: the graphs of citations, and the learner as the paper has it."""

from collections.abc import Callable
from typing import Any

from ... import datasets
from ...pairs.learner import PairKernelLearner

LOADERS: dict[str, Callable[..., Any]] = {"cora": datasets.load_cora, "citeseer": datasets.load_citeseer}
TITLES = {"cora": "Cora", "citeseer": "Citeseer"}


def papers_learner(**options: Any) -> PairKernelLearner:
    """Return LKCnpc as the paper has it: no bias, and attributes as they are."""
    return PairKernelLearner(fit_intercept=False, standardize=False, **options)
