"""The data of the review page of answers to "are these two records the same?"."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..supervision import CheckPlan, LabelAudit, Pairs
from .labels import label_report
from .plain_data import shown_rows
from .review import detailed, placed
from .settings import PageSettings


def record_report(
    audit: LabelAudit,
    records: Any,
    pairs: Pairs,
    *,
    ids: ArrayLike | None = None,
    plan: CheckPlan | None = None,
    settings: PageSettings | None = None,
) -> dict[str, Any]:
    """The data of the review page of answers, with the two records of each answer side by side.

    Parameters
    ----------
    audit : LabelAudit
        Of the answers, in words.
    records : DataFrame or table of n_samples records
    pairs : Pairs
        The two records of each answer, as positions in ``records``.
    ids, plan, settings
        As in :func:`label_report`: names of the answers, such as the lines of a file.

    Returns
    -------
    dict
        The report that :func:`render` and :func:`write_report` take.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from kernelwise import LabelAudit, Pairs
    >>> from kernelwise.report import record_report
    >>> audit = LabelAudit(
    ...     labels=np.array(["same", "other"]), quality=np.array([0.2, 0.9]), suggested=np.array(["other", "other"]),
    ...     probabilities=np.array([[0.8, 0.2], [0.9, 0.1]]), classes=np.array(["other", "same"]), noise_rate=0.45,
    ...     noise_interval=(0.1, 0.7), transition=np.eye(2),
    ... )
    >>> records = pd.DataFrame({"name": ["Anna", "Otto", "Ann"]})
    >>> report = record_report(audit, records, Pairs([0, 0], [1, 2], [1, -1], n_samples=3))
    >>> report["details"][0]["ends"]
    [['Anna'], ['Otto']]
    """
    settings = settings or PageSettings()
    page = label_report(audit, ids=ids, plan=plan, settings=settings)
    table = shown_rows(records, None, pairs.n_samples)
    listed = np.array(page["suspects"]["row"], dtype=np.intp)
    shown = detailed(listed, plan, settings)
    ends = [
        {"ends": [table.values(int(end[answer]), settings.max_columns) for end in (pairs.rows, pairs.cols)]}
        for answer in listed[shown]
    ]
    details = [page["details"][place] | both for place, both in zip(shown, ends, strict=True)]
    return page | {
        "columns": [{"name": name} for name in table.names[: settings.max_columns]],
        "n_columns": len(table.names),
        "details": placed(shown, details),
    }
