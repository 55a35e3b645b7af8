"""What users say about their data: answers, pairs, links, known noise rates, and what people who checked found.

``answers.py``: :class:`Answers`, several answers per row. ``pairs.py``: :class:`Pairs`, with ``graph.py`` for links and
keys of pairs. ``noise.py``: :class:`PairNoise`, the noise of pairs, and :func:`flip_labels`. ``verdicts.py``:
:class:`Verdicts`, the results of checks. ``resolve.py``: pairs from the arguments of ``fit``.
"""

from .answers import Answers
from .noise import PairNoise, flip_labels
from .pairs import Pairs
from .verdicts import Verdicts

__all__ = ["Answers", "PairNoise", "Pairs", "Verdicts", "flip_labels"]
