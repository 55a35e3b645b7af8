"""From chances to what people read and do: audits, plans of checks, guarantees and calibration.

Read in this order:

1. ``audit.py``: :class:`LabelAudit` and :class:`PairAudit`, the results of audits; ``answers.py``: the result for
   several answers per row, and :func:`plan_answers`.
2. ``plan.py``: :func:`plan_checks`, the rows to check next.
3. ``guarantee.py``: :func:`guaranteed_share`, with the bounds of ``bounds.py``.
4. ``diagnosis.py``: chances that agree with the checks, and what may be said of the share of wrong labels;
   ``checked_pairs.py``: the same for pairs.
"""

from .answers import AnswerAudit, AnswerPlan, plan_answers
from .audit import LabelAudit, PairAudit
from .guarantee import Guarantee, checks_needed, guaranteed_share
from .plan import CheckPlan, plan_checks

__all__ = [
    "AnswerAudit",
    "AnswerPlan",
    "CheckPlan",
    "Guarantee",
    "LabelAudit",
    "PairAudit",
    "checks_needed",
    "guaranteed_share",
    "plan_answers",
    "plan_checks",
]
