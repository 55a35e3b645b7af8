"""What the user knows, and how wrong it may be."""

from .audit import LabelAudit, PairAudit
from .noise import PairNoise, flip_labels
from .pairs import Pairs

__all__ = ["LabelAudit", "PairAudit", "PairNoise", "Pairs", "flip_labels"]
