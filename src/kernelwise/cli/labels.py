"""Labels that may be wrong: audit them, learn from them all the same, predict."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from .. import files
from ..files.errors import FileError
from .checks import (
    CheckedOption,
    ChecksOption,
    SuspectsOption,
    guarantee_of_audit,
    open_suspects,
    planned_rows,
    print_checks,
)
from .importance import column_importances
from .inputs import Data, IdOption, KindOption, OutputOption, ReportOption, check_files, load
from .review import label_review
from .session import Session
from .show import (
    SHOWN,
    csv_text,
    print_columns,
    print_features,
    print_list,
    print_next,
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
    checked: CheckedOption = None,
    checks: ChecksOption = None,
    suspects: SuspectsOption = None,
) -> None:
    """Which labels are probably wrong: their share, the most suspect first, and the kernels that tell.

    --output writes a CSV of all suspects, to be reviewed in a spreadsheet: change "skip" to "wrong" or "correct", then
    run kernelwise apply. --report writes a page for the same, to be opened in a browser. --checks plans which rows to
    check first; from what is found there follows a guarantee. --checked takes what was found, and continues.
    """
    from .. import plan_checks
    from ..labels.audit import audit_by

    check_files(session, read=[data, *([checked] if checked else [])], write=[output, report])
    loaded = load(session, data, label=label, row_id=row_id, kinds=kind)
    labels = _labels(loaded, label)
    verdicts = None if checked is None else _verdicts(checked, labels, loaded)
    estimator = _fit(session, loaded, labels, verdicts)
    audit = audit_by(estimator, labels, verdicts)
    told = _what_tells(session, estimator, loaded)
    plan = None if checks is None else plan_checks(audit, checks, suspects=suspects, random_state=session.seed)
    review = partial(label_review, audit, loaded.ids, label, plan)
    page = partial(_page, session, loaded, label, audit, told, plan)
    written = session.write({output: review, report: page})
    worth = _open_suspects(audit)
    worth = worth[audit.quality[worth] < 0.5]
    result = {
        "data": loaded.report(),
        "label": label,
        "classes": audit.classes,
        "noise_rate": audit.noise_rate,
        "noise_interval": audit.noise_interval,
        "worth_checking": len(worth),
        "expected_wrong": float(np.sum(1 - audit.quality[worth])),
        "suspects": _suspects(audit, loaded),
        "without_label": _without_label(audit, loaded),
        "guarantee": guarantee_of_audit(audit),
        "plan": planned_rows(plan, loaded.ids),
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


def _verdicts(path: Path, labels: NDArray[Any], loaded: Data) -> Any:
    from ..report import read_corrections, verdicts_of

    ids = None if loaded.id_name == "row" else loaded.ids
    return verdicts_of(read_corrections(path), labels, ids)


def _labels(loaded: Data, label: str) -> NDArray[Any]:
    """The labels of all rows, None where the cell is empty; a column that cannot hold labels is refused."""
    column = loaded.table[label]
    labels = np.array(column.labels(), dtype=object)
    labels[column.missing] = None
    counts = Counter(labels[~column.missing].tolist())
    if len(counts) < 2:
        said = f"has one label only, {next(iter(counts))!r}" if counts else "is empty"
        raise FileError(f"{loaded.table.source}, column {label!r} {said}; two labels are needed")
    if len(counts) > max(2, counts.total() // 2):
        raise FileError(
            f"{loaded.table.source}, column {label!r} has {len(counts)} different labels in {counts.total()} rows;"
            " name the column of the classes"
        )
    return labels if column.missing.any() else np.array(labels.tolist())


def _fit(session: Session, loaded: Data, labels: NDArray[Any], checked: Any = None) -> Any:
    from .. import NoisyLabelClassifier

    with session.step(f"learning from {np.count_nonzero(labels != None)} labels", total=100) as shown:  # noqa: E711
        return NoisyLabelClassifier(random_state=session.seed).fit(
            loaded.matrix, labels, checked=checked, progress=lambda done, total: shown(round(100 * done / total))
        )


def _what_tells(session: Session, estimator: Any, loaded: Data) -> dict[str, dict[str, float]]:
    """The weights of the kernels and the importances of the columns, the largest first."""
    with session.step("finding the columns that matter"):
        columns = column_importances(estimator.predict_proba, loaded.matrix, loaded.features.feature_columns)
    kernels = zip(estimator.kernel_names_, map(float, estimator.kernel_weights_), strict=True)
    weights = {name: weight for name, weight in sorted(kernels, key=lambda item: -item[1]) if weight > 0}
    return {"kernels": weights, "columns": columns}


def _suspects(audit: Any, loaded: Data) -> list[dict[str, Any]]:
    listed, other = _open_suspects(audit), audit.alternative
    count = max(int(np.count_nonzero(audit.quality[listed] < 0.5)), SHOWN)
    return [
        {
            "row": int(row),
            "id": loaded.ids[row],
            "given": str(audit.labels[row]),
            "suggested": str(other[row]),
            "quality": round(float(audit.quality[row]), 4),
        }
        for row in listed[:count]
    ]


def _open_suspects(audit: Any) -> NDArray[Any]:
    """Rows with a label that nobody has checked yet, the most suspect first."""
    ranked = open_suspects(audit)
    return ranked[~np.isnan(audit.quality[ranked])]


def _without_label(audit: Any, loaded: Data) -> list[dict[str, Any]]:
    """The rows without a label, with the most probable label of each."""
    return [
        {
            "row": int(row),
            "id": loaded.ids[row],
            "suggested": str(audit.suggested[row]),
            "probability": round(float(audit.probabilities[row].max()), 4),
        }
        for row in np.flatnonzero(np.isnan(audit.quality))
    ]


def _page(
    session: Session, loaded: Data, label: str, audit: Any, told: dict[str, dict[str, float]], plan: Any = None
) -> str:
    from ..report import PageSettings, label_report, render

    with session.step("making the review page"):
        page = label_report(
            audit,
            X=loaded.shown(),
            ids=loaded.ids,
            kernel_weights=told["kernels"],
            plan=plan,
            settings=PageSettings(title=Path(loaded.table.source).name, id_name=loaded.id_name, label_name=label),
        )
        return render(page)


def _print_audit(console: Console, result: dict[str, Any], loaded: Data) -> None:
    rows = loaded.table.n_rows - len(result["without_label"])
    console.print(f"{loaded.table.source}: {rows} rows, {len(result['classes'])} classes", markup=False)
    console.print(_headline(rows, result["noise_rate"], result["noise_interval"], result["diagnostic"]))
    console.print(result["diagnostic"]["claim"])
    print_checks(console, result, "rows")
    worth = result["worth_checking"]
    if worth:
        console.print(
            f"Worth checking: {worth} {'row' if worth == 1 else 'rows'} whose label is more likely wrong than right; "
            f"about {round(result['expected_wrong'])} of these should be wrong.\n"
        )
    else:
        console.print("No label is more likely wrong than right.\n")
    suspects = [[one["id"], one["given"], one["suggested"], f"{one['quality']:.1%}"] for one in result["suspects"]]
    console.print(table("Most suspect", [loaded.id_name, "given", "if wrong", "chance it is right"], suspects[:SHOWN]))
    if result["without_label"]:
        console.print()
        lines = [[one["id"], one["suggested"], f"{one['probability']:.1%}"] for one in result["without_label"]]
        console.print(table("Rows without a label", [loaded.id_name, "probable label", "chance"], lines[:SHOWN]))
        if len(lines) > SHOWN:
            console.print(f"... and {len(lines) - SHOWN} more; use --json for all")
    print_features(console, loaded)
    _print_what_tells(console, result)
    print_written(console, result["written"])


def _headline(rows: int, rate: float, interval: Sequence[float], diagnostic: dict[str, Any]) -> str:
    """How many labels are wrong: a number with its range, or only the range where explanations disagree."""
    low, high = interval
    if diagnostic["reliable"]:
        return f"Labels that look wrong: about {round(rate * rows)} of {rows}, {rate:.1%} ({low:.1%} to {high:.1%})."
    return f"Labels that look wrong: {round(low * rows)} to {round(high * rows)} of {rows}. {diagnostic['reason']}"


def _print_what_tells(console: Console, result: dict[str, Any]) -> None:
    for title, key in (("Columns that matter", "columns"), ("Kernels that matter", "kernels")):
        if shares := [[name, f"{share:.1%}"] for name, share in result[key].items()]:
            console.print()
            console.print(table(title, [key.rstrip("s"), "share"], shares[:SHOWN]))


def _print_model(console: Console, path: Path, card: dict[str, Any]) -> None:
    console.print(f"Model for {card['label']!r} ({', '.join(map(str, card['classes']))})", markup=False)
    noise, diagnostic = card["noise"], card["diagnostic"]
    console.print(_headline(card["data"]["rows"], noise["rate"], noise["interval"], diagnostic))
    console.print(f"{diagnostic['claim']}\n")
    print_columns(console, card["data"]["columns"])
    _print_what_tells(console, card)
    print_written(console, [str(path)])
