"""The three papers: slow solvers, baselines, experiments and figures, each paper in a folder of its own.

``stpmkl/``, ``lkcnpc/`` and ``tpcmc/`` hold the methods that a paper is compared with, one file each with the interface
of the estimators, and a file for every table or figure. The experiments are frozen specifications:
``kernelwise reproduce --list`` lists them, and :func:`catalogue` returns them by name. ``spec.py`` says what an
experiment is; ``runner.py`` runs experiments, on this machine or on a Dask cluster (``on_dask.py``); ``records.py``
keeps the results, and ``tables.py`` and ``figures.py`` show them.
"""

from .figures import Line, line_panels
from .on_dask import ClusterError, cluster_executor
from .records import Record, RecordError, RecordFile
from .runner import publish, run
from .spec import Cell, Experiment, seed_of
from .tables import Table, distinct, grouped, mean_std
from .tpcmc.dense_completion import DenseCompletion, singular_value_thresholding, soft_impute

__all__ = [
    "Cell",
    "ClusterError",
    "DenseCompletion",
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
    "singular_value_thresholding",
    "soft_impute",
]


def catalogue() -> dict[str, Experiment]:
    """Return all experiments by name."""
    from .lkcnpc import figure1 as pairs_figure
    from .lkcnpc import table2 as pairs_table
    from .stpmkl import figure1 as labels_figure
    from .tpcmc import figure1 as completion_example
    from .tpcmc import figures2to4 as completion_figures

    others = (pairs_table, pairs_figure, completion_example, completion_figures)
    experiments = (*labels_figure.EXPERIMENTS, *(module.EXPERIMENT for module in others))
    return {experiment.name: experiment for experiment in experiments}
