"""From chances to what people read and do: audits, plans of checks, guarantees and calibration.

Read in this order:

1. ``audit.py``: :class:`LabelAudit` and :class:`PairAudit`, the results of audits; ``answers.py``: the result for
   several answers per row, and :func:`plan_answers`.
2. ``plan.py``: :func:`plan_checks`, the rows to check next.
3. ``guarantee.py``: :func:`guaranteed_share`, with the bounds of ``bounds.py``.
4. ``diagnosis.py``: chances that agree with the checks, and what may be said of the share of wrong labels or pairs.
"""

from ..first_use import loaders

__getattr__, __dir__, __all__ = loaders(__name__, __file__)
