"""Labels and pairs that users give, how wrong they are, and the results of audits."""

from .audit import LabelAudit, PairAudit
from .guarantee import Guarantee, checks_needed, guaranteed_share
from .noise import PairNoise, flip_labels
from .pairs import Pairs
from .plan import CheckPlan, plan_checks
from .verdicts import Verdicts

__all__ = [
    "CheckPlan",
    "Guarantee",
    "LabelAudit",
    "PairAudit",
    "PairNoise",
    "Pairs",
    "Verdicts",
    "checks_needed",
    "flip_labels",
    "guaranteed_share",
    "plan_checks",
]
