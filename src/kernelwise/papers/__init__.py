"""The three papers: slow solvers, baselines, experiments and figures, each paper in a folder of its own.

``stpmkl/``, ``lkcnpc/`` and ``tpcmc/`` hold the methods that a paper is compared with, one file each with the interface
of the estimators, and a file for every table or figure. The experiments are frozen specifications:
``python -m kernelwise.papers --list`` lists them, and :func:`catalogue` returns them by name. ``spec.py`` says what an
experiment is; ``runner.py`` runs experiments, on this machine or on a Dask cluster (``on_dask.py``); ``records.py``
keeps the results, and ``tables.py`` and ``figures.py`` show them. Each name is loaded on its first use.
"""

from typing import TYPE_CHECKING

from ..first_use import loaders

if TYPE_CHECKING:
    from .figures import Line as Line
    from .figures import line_panels as line_panels
    from .on_dask import ClusterError as ClusterError
    from .on_dask import cluster_executor as cluster_executor
    from .records import Record as Record
    from .records import RecordError as RecordError
    from .records import RecordFile as RecordFile
    from .runner import publish as publish
    from .runner import run as run
    from .spec import Cell as Cell
    from .spec import Experiment as Experiment
    from .spec import seed_of as seed_of
    from .tables import Table as Table
    from .tables import distinct as distinct
    from .tables import grouped as grouped
    from .tables import mean_std as mean_std
    from .tpcmc.dense_completion import DenseCompletion as DenseCompletion
    from .tpcmc.dense_completion import singular_value_thresholding as singular_value_thresholding
    from .tpcmc.dense_completion import soft_impute as soft_impute

_HOME = {
    name: home
    for home, names in {
        "figures": ["Line", "line_panels"],
        "on_dask": ["ClusterError", "cluster_executor"],
        "records": ["Record", "RecordError", "RecordFile"],
        "runner": ["publish", "run"],
        "spec": ["Cell", "Experiment", "seed_of"],
        "tables": ["Table", "distinct", "grouped", "mean_std"],
        "tpcmc.dense_completion": ["DenseCompletion", "singular_value_thresholding", "soft_impute"],
    }.items()
    for name in names
}
__all__ = ["catalogue", *sorted(_HOME)]
__getattr__, __dir__ = loaders(__name__, _HOME)


def catalogue() -> "dict[str, Experiment]":
    """Return all experiments by name."""
    from .lkcnpc import figure1 as pairs_figure
    from .lkcnpc import table2 as pairs_table
    from .stpmkl import figure1_accuracy, figure1_convergence
    from .tpcmc import figure1 as completion_example
    from .tpcmc import figures2to4 as completion_figures

    accuracy, honest = figure1_accuracy.EXPERIMENTS
    others = (pairs_table, pairs_figure, completion_example, completion_figures)
    labels = (accuracy, figure1_convergence.EXPERIMENT, honest)
    return {experiment.name: experiment for experiment in (*labels, *(module.EXPERIMENT for module in others))}
