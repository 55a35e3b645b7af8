"""Published tables and figures as frozen specifications, and what runs them.

``python -m kernelwise.reproduction --list`` shows them; :func:`catalogue` gives them by name.
"""

from .cluster import ClusterError, cluster_executor
from .figures import Line, line_panels
from .records import Record, RecordError, RecordFile
from .runner import publish, run
from .spec import Cell, Experiment, seed_of
from .tables import Table, distinct, grouped, mean_std

__all__ = [
    "Cell",
    "ClusterError",
    "Experiment",
    "Line",
    "Record",
    "RecordError",
    "RecordFile",
    "Table",
    "catalogue",
    "cluster_executor",
    "distinct",
    "grouped",
    "line_panels",
    "mean_std",
    "publish",
    "run",
    "seed_of",
]


def catalogue() -> dict[str, Experiment]:
    """Return all experiments by name.

    Examples
    --------
    >>> from kernelwise.reproduction import catalogue
    >>> "stpmkl-figure1-accuracy" in catalogue()
    True
    """
    from . import (
        convergence,
        noisy_labels,
        noisy_pairs,
        noisy_pairs_convergence,
        pair_completion,
        pair_completion_synthetic,
    )

    accuracy, honest = noisy_labels.EXPERIMENTS
    pairs = (noisy_pairs.EXPERIMENT, noisy_pairs_convergence.EXPERIMENT)
    completion = (pair_completion_synthetic.EXPERIMENT, pair_completion.EXPERIMENT)
    experiments = (accuracy, convergence.EXPERIMENT, honest, *pairs, *completion)
    return {experiment.name: experiment for experiment in experiments}
