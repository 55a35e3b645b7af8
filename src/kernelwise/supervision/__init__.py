"""Labels and pairs that users give, how wrong they are, and the results of audits."""

from .audit import LabelAudit, PairAudit
from .noise import PairNoise, flip_labels
from .pairs import Pairs

__all__ = ["LabelAudit", "PairAudit", "PairNoise", "Pairs", "flip_labels"]
