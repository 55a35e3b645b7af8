"""What users say about their data: answers, pairs, links, known noise rates, and what people who checked found.

``answers.py``: :class:`Answers`, several answers per row. ``pairs.py``: :class:`Pairs`, with ``graph.py`` for links,
keys of pairs and :func:`flip_labels`. ``noise.py``: :class:`PairNoise`, the noise of pairs, and pairs from the
arguments of ``fit``. ``verdicts.py``: :class:`Verdicts`, the results of checks.
"""

from .answers import Answers
from .graph import flip_labels
from .noise import PairNoise
from .pairs import Pairs
from .verdicts import Verdicts

__all__ = ["Answers", "PairNoise", "Pairs", "Verdicts", "flip_labels"]
