"""The review page of labels in files that are larger than memory: the first suspects of all, beside trusted rows."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import files
from ..tables.columns import Column

if TYPE_CHECKING:
    from ..labels.blocks import Summary
    from .large_labels import LargeAudit, Suspect

__all__ = ["PAGE_ROWS", "large_page"]

#: So many suspects are on the page, and so many rows of the sample whose labels are trusted are compared with them.
PAGE_ROWS, N_TRUSTED = 200, 1000
#: The least quality of a label that is trusted.
TRUSTED = 0.9


def large_page(
    asked: "LargeAudit",
    model: Any,
    features: Any,
    summary: "Summary",
    suspects: "list[Suspect]",
    column_weights: dict[str, float],
) -> str:
    """Return the page; what it says of all rows comes from the sums over all blocks."""
    from .. import LabelAudit
    from ..labels.blocks import suggested_classes
    from ..report import PageSettings, label_report, render
    from ..supervision.guarantee import whole_numbers

    shown = [one for one in suspects if one.cells][:PAGE_ROWS]
    rows = np.flatnonzero(model.label_quality_ > max(TRUSTED, *(one.quality for one in shown)))[:N_TRUSTED]
    trusted = features.sample.take(rows)
    beside = trusted.without([*asked.named, *asked.ignore])
    table = files.Table.of(
        asked.source,
        [
            Column.of(name, [*(one.cells[at] for one in shown), *beside[name].labels()], features.sample.habits)
            for at, name in enumerate(beside.names)
        ],
    )
    found = np.vstack([[one.chances for one in shown], model.label_probabilities_[rows]])
    likely = model.label_probabilities_[rows].argmax(axis=1)  # the label itself, since it is trusted
    given = np.concatenate([[one.column for one in shown], likely]).astype(np.intp)
    quality = found[np.arange(len(given)), given]
    classes = np.asarray(model.classes_)
    audit = LabelAudit(
        labels=classes[given],
        quality=quality,
        suggested=classes[suggested_classes(found, given, quality)],
        probabilities=found,
        classes=classes,
        noise_rate=model.noise_rate_,
        noise_interval=model.noise_interval_,
        transition=model.transition_,
        diagnostic=model.diagnostic_,
    )
    names = trusted[asked.row_id].labels() if asked.row_id else ["of the sample"] * len(rows)
    settings = PageSettings(
        title=asked.source, id_name=asked.row_id or "row", label_name=asked.label, max_rows=len(shown)
    )
    ids = [*(one.name for one in shown), *names]
    page = label_report(audit, X=table, ids=ids, column_weights=column_weights or None, settings=settings)
    page["suspects"]["row"] = [shown[at].row for at in page["suspects"]["row"]]
    page["summary"]["rates"][0]["n"] = summary.n_labelled
    page["summary"] |= {
        "n": summary.n_labelled,
        "to_check": summary.n_doubtful,
        "expected_wrong": summary.n_wrong,
        "between": list(whole_numbers(model.noise_interval_, summary.n_labelled)),
    }
    page["figures"] |= {"chances": None, "confusions": []}  # the page knows a few rows only
    return render(page)
