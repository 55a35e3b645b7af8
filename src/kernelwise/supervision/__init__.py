"""What the user knows, and how wrong it may be."""

from .noise import PairNoise, flip_labels
from .pairs import Pairs

__all__ = ["PairNoise", "Pairs", "flip_labels"]
