"""Published tables and figures as frozen specifications, and the code that runs them.

``python -m kernelwise.reproduction --list`` lists the experiments; :func:`catalogue` returns them by name. Every paper
has a folder, ``stpmkl/``, ``lkcnpc/`` or ``tpcmc/``, with a file for every table or figure. ``spec.py`` says what an
experiment is; ``runner.py`` runs experiments, on this machine or on a cluster (``cluster.py``); ``records.py`` keeps
the results, and ``tables.py`` and ``figures.py`` show them.
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
    from .lkcnpc import figure1 as pairs_figure
    from .lkcnpc import table2 as pairs_table
    from .stpmkl import figure1_accuracy, figure1_convergence
    from .tpcmc import figure1 as completion_example
    from .tpcmc import figures2to4 as completion_figures

    accuracy, honest = figure1_accuracy.EXPERIMENTS
    others = (pairs_table, pairs_figure, completion_example, completion_figures)
    labels = (accuracy, figure1_convergence.EXPERIMENT, honest)
    return {experiment.name: experiment for experiment in (*labels, *(module.EXPERIMENT for module in others))}
