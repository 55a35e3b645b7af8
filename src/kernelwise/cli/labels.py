"""Labels that may be wrong: audit them, learn from them all the same, predict."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..files.errors import FileError
from .importance import column_importances
from .inputs import Data, IdOption, KindOption, OutputOption, ReportOption, check_files, load
from .review import label_review
from .session import Session
from .show import (
    SHOWN,
    csv_text,
    percent,
    print_columns,
    print_features,
    print_list,
    print_next,
    print_suspects,
    print_written,
    table,
)

__all__ = ["audit_labels", "classify", "predict"]

LabelOption = Annotated[str, typer.Option("--label", metavar="COLUMN", help="The column of labels.")]


def audit_labels(
    session: Session,
    data: Annotated[Path, typer.Argument(help="The data set: CSV, TSV, Parquet, .npz, .svmlight.")],
    label: LabelOption,
    row_id: IdOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    kind: KindOption = None,
) -> None:
    """Which labels are probably wrong: their share, the most suspect first, and the kernels that tell.

    --output writes a CSV of all suspects, to be reviewed in a spreadsheet: change "skip" to "wrong" or "correct", then
    run kernelwise apply. --report writes a page for the same, to be opened in a browser.
    """
    from ..labels.audit import audit_by

    check_files(session, read=[data], write=[output, report])
    loaded = load(session, data, label=label, row_id=row_id, kinds=kind)
    labels = _labels(loaded, label)
    estimator = _fit(session, loaded, labels)
    audit = audit_by(estimator, labels)
    told = _what_tells(session, estimator, loaded)
    review, page = partial(label_review, audit, loaded.ids, label), partial(_page, session, loaded, label, audit, told)
    written = session.write({output: review, report: page})
    result = {
        "data": loaded.report(),
        "label": label,
        "classes": audit.classes,
        "noise_rate": audit.noise_rate,
        "noise_interval": audit.noise_interval,
        "worth_checking": audit.worth_checking(),
        "suspects": _suspects(audit, loaded),
        "diagnostic": estimator.diagnostic_,
        **told,
        "written": written,
    }

    def text(console: Console) -> None:
        _print_audit(console, result, loaded)
        print_next(console, data, output, report)

    session.show(result, text)


def classify(
    session: Session,
    train: Annotated[Path, typer.Argument(help="The labelled data set: CSV, TSV, Parquet, .npz, .svmlight.")],
    label: LabelOption,
    model: Annotated[Path, typer.Option("--model", "-m", metavar="FILE", help="Where to write the model.")],
    row_id: IdOption = None,
    kind: KindOption = None,
) -> None:
    """Learn a classifier from labels that may be wrong, and save it with a card that says how it was made."""
    check_files(session, read=[train], write=[model])
    loaded = load(session, train, label=label, row_id=row_id, kinds=kind)
    labels = _labels(loaded, label)
    estimator = _fit(session, loaded, labels)
    card = files.make_card(
        data={"sha256": files.file_hash(train), **loaded.report()},
        label=label,
        classes=estimator.classes_,
        noise={"rate": estimator.noise_rate_, "interval": estimator.noise_interval_},
        diagnostic=estimator.diagnostic_,
        certificate=None,  # of several kinds of views there is no one objective
        **_what_tells(session, estimator, loaded),
        seed=session.seed,
    )
    files.save_model(model, files.SavedModel(estimator, loaded.features, card), force=session.force)
    result = {"model": str(model), "card": card}
    session.show(result, lambda console: _print_model(console, model, card))


def predict(
    session: Session,
    model: Annotated[Path, typer.Argument(help="A model of kernelwise classify.")],
    data: Annotated[Path, typer.Argument(help="Rows with the columns that the model was made from.")],
    row_id: IdOption = None,
    output: OutputOption = None,
) -> None:
    """Predict labels, with the probability of each, for the rows of a file."""
    check_files(session, read=[model, data], write=[output])
    loaded = files.load_model(model)
    with session.step(f"reading {data}"):
        rows = files.read_table(data, as_written=[*loaded.features.worded, *([row_id] if row_id else [])])
        ids = rows.required(row_id) if row_id else [str(row) for row in range(rows.n_rows)]
    with session.step(f"predicting {len(ids)} rows"):
        chances = loaded.predict_proba(rows)
    best = chances.argmax(axis=1)
    predicted = [str(label) for label in loaded.estimator.classes_[best]]
    certain = chances[np.arange(len(best)), best]
    lines = [[name, label, f"{chance:.4f}"] for name, label, chance in zip(ids, predicted, certain, strict=True)]
    header = [row_id or "row", str(loaded.card.get("label", "label")), "probability"]
    written = session.write({output: partial(csv_text, header, lines)})
    counts = dict(Counter(predicted).most_common())
    result: dict[str, Any] = {"rows": len(ids), "counts": counts, "written": written}
    if output is None:
        result["predictions"] = [dict(zip(("id", "label", "probability"), line, strict=True)) for line in lines]

    def text(console: Console) -> None:
        said = ", ".join(f"{label} {count}" for label, count in counts.items())
        console.print(f"{len(ids)} rows: {said}", markup=False)
        print_list(console, header, lines, written)

    session.show(result, text)


def _labels(loaded: Data, label: str) -> list[str]:
    """The labels of all rows; a column that cannot hold the labels of classes is refused."""
    labels = loaded.table.required(label)
    counts = Counter(labels)
    if len(counts) < 2:
        raise FileError(f"{loaded.table.source}, column {label!r} has one label only, {labels[0]!r}; two are needed")
    if len(counts) > max(2, len(labels) // 2):
        raise FileError(
            f"{loaded.table.source}, column {label!r} has {len(counts)} different labels in {len(labels)} rows;"
            " name the column of the classes"
        )
    rare, times = counts.most_common()[-1]
    if times < 2:
        row = labels.index(rare)
        raise FileError(f"{loaded.table.where(row, label)}: {rare!r} occurs only once; correct it or leave the row out")
    return labels


def _fit(session: Session, loaded: Data, labels: list[str]) -> Any:
    from .. import NoisyLabelClassifier

    with session.step(f"learning from {len(labels)} labels"):
        return NoisyLabelClassifier(random_state=session.seed).fit(loaded.matrix, np.array(labels))


def _what_tells(session: Session, estimator: Any, loaded: Data) -> dict[str, dict[str, float]]:
    """The weights of the kernels and the importances of the columns, the largest first."""
    with session.step("finding the columns that matter"):
        columns = column_importances(estimator.predict_proba, loaded.matrix, loaded.features.feature_columns)
    kernels = zip(estimator.kernel_names_, map(float, estimator.kernel_weights_), strict=True)
    weights = {name: weight for name, weight in sorted(kernels, key=lambda item: -item[1]) if weight > 0}
    return {"kernels": weights, "columns": columns}


def _suspects(audit: Any, loaded: Data) -> list[dict[str, Any]]:
    count = max(audit.worth_checking(), min(SHOWN, len(audit.labels)))
    return [
        {
            "row": int(row),
            "id": loaded.ids[row],
            "given": str(audit.labels[row]),
            "suggested": str(audit.suggested[row]),
            "quality": round(float(audit.quality[row]), 4),
        }
        for row in audit.order[:count]
    ]


def _page(session: Session, loaded: Data, label: str, audit: Any, told: dict[str, dict[str, float]]) -> str:
    from ..report import PageSettings, label_report, render

    with session.step("making the review page"):
        page = label_report(
            audit,
            X=loaded.shown(),
            ids=loaded.ids,
            kernel_weights=told["kernels"],
            settings=PageSettings(title=Path(loaded.table.source).name, id_name=loaded.id_name, label_name=label),
        )
        return render(page)


def _print_audit(console: Console, result: dict[str, Any], loaded: Data) -> None:
    rows, rate = loaded.table.n_rows, result["noise_rate"]
    console.print(f"{loaded.table.source}: {rows} rows, {len(result['classes'])} classes", markup=False)
    console.print(f"Wrong labels: about {round(rate * rows)} of {rows}, {percent(rate, result['noise_interval'])}.")
    suspects = [[one["id"], one["given"], one["suggested"], f"{one['quality']:.1%}"] for one in result["suspects"]]
    header = [loaded.id_name, "given", "suggested", "chance it is right"]
    print_suspects(console, ("label", "rows"), result["worth_checking"], header, suspects)
    print_features(console, loaded)
    _print_what_tells(console, result)
    print_written(console, result["written"])


def _print_what_tells(console: Console, result: dict[str, Any]) -> None:
    for title, key in (("Columns that matter", "columns"), ("Kernels that matter", "kernels")):
        if shares := [[name, f"{share:.1%}"] for name, share in result[key].items()]:
            console.print()
            console.print(table(title, [key.rstrip("s"), "share"], shares[:SHOWN]))
    if not result["diagnostic"]["reliable"]:
        console.print("\nDoubt these figures: the columns say little about the labels, or too few rows were given.")


def _print_model(console: Console, path: Path, card: dict[str, Any]) -> None:
    console.print(f"Model for {card['label']!r} ({', '.join(map(str, card['classes']))})", markup=False)
    console.print(f"Wrong labels: about {percent(card['noise']['rate'], card['noise']['interval'])}.\n")
    print_columns(console, card["data"]["columns"])
    _print_what_tells(console, card)
    print_written(console, [str(path)])
