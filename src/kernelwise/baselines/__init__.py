"""Methods to compare with, one file each, with the interfaces of the estimators."""

from .itml import ITML
from .mmc import MMC
from .mpckmeans import MPCKMeans

__all__ = ["ITML", "MMC", "MPCKMeans"]
