"""What users say about their data: pairs, links, known noise rates, and what people who checked found.

``pairs.py``: :class:`Pairs`, with ``graph.py`` for links and keys of pairs. ``noise.py``: :class:`PairNoise`, the noise
of pairs, and :func:`flip_labels`. ``verdicts.py``: :class:`Verdicts`, the results of checks. ``resolve.py``: pairs from
the arguments of ``fit``.
"""

from .noise import PairNoise, flip_labels
from .pairs import Pairs
from .verdicts import Verdicts

__all__ = ["PairNoise", "Pairs", "Verdicts", "flip_labels"]
