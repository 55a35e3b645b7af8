"""The same estimators on data larger than one machine: arrays in row blocks on the workers of a Dask cluster."""

from . import budgets, sample_arrays, tall_blocks  # noqa: F401 - register what blocks do differently
from .bank import BlockBank, SpillWarning
from .block_array import BlockArray
from .collections import is_dask, merged, read_rows, refuse_dask, sample_rows, stacked, working_engine
from .engine import ClusterLost, Engine
from .graph import BlockGraph
from .landmarks import choose_block_maps
from .prediction import on_blocks
from .worker_memory import cut_to_fit

__all__ = [
    "BlockArray",
    "BlockBank",
    "BlockGraph",
    "ClusterLost",
    "Engine",
    "SpillWarning",
    "choose_block_maps",
    "cut_to_fit",
    "is_dask",
    "merged",
    "on_blocks",
    "read_rows",
    "refuse_dask",
    "sample_rows",
    "stacked",
    "working_engine",
]
