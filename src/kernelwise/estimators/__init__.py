"""The estimators: thin, validate -> bank -> problem -> solver -> fitted attributes."""

from .mkl import RobustMKLClassifier, SimpleMKLClassifier

__all__ = ["RobustMKLClassifier", "SimpleMKLClassifier"]
