"""Labels that may be wrong: audit them, learn from them all the same, predict."""

from collections import Counter
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
from .session import Session, command
from .show import SHOWN, csv_text, percent, print_columns, print_features, print_list, print_next, print_written, table

__all__ = ["register"]

LabelOption = Annotated[str, typer.Option("--label", metavar="COLUMN", help="The column of labels.")]


def register(app: typer.Typer, audit: typer.Typer) -> None:
    """Add the commands of this file."""
    audit.command("labels", epilog="Example: kernelwise audit labels people.csv --label approved --report review.html")(
        command(audit_labels)
    )
    app.command("classify", epilog="Example: kernelwise classify people.csv --label approved --model people.skops")(
        command(classify)
    )
    app.command("predict", epilog="Example: kernelwise predict people.skops new-people.csv -o predictions.csv")(
        command(predict)
    )


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
    from .. import LabelAudit

    check_files(session, read=[data], write=[output, report])
    loaded = load(session, data, label=label, row_id=row_id, kinds=kind)
    labels = _labels(loaded, label)
    estimator = _fit(session, loaded, labels)
    audit = LabelAudit(
        labels=np.array(labels),
        quality=estimator.label_quality_,
        suggested=estimator.classes_[estimator.label_probabilities_.argmax(axis=1)],
        probabilities=estimator.label_probabilities_,
        classes=estimator.classes_,
        noise_rate=estimator.noise_rate_,
        noise_interval=estimator.noise_interval_,
        transition=estimator.transition_,
    )
    told = _what_tells(session, estimator, loaded)
    contents: dict[Path, str] = {}
    if output is not None:
        contents[output] = label_review(audit, loaded.ids, label)
    if report is not None:
        contents[report] = _page(session, report, loaded, label, audit, told)
    files.write_files(contents, force=session.force)
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
        "written": [str(path) for path in (output, report) if path is not None],
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
        certificate=_certificate(estimator),
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
    if output is not None:
        files.write_file(output, csv_text(header, lines), force=session.force)
    counts = dict(Counter(predicted).most_common())
    result: dict[str, Any] = {"rows": len(ids), "counts": counts, "written": [str(output)] if output else []}
    if output is None:
        result["predictions"] = [dict(zip(("id", "label", "probability"), line, strict=True)) for line in lines]

    def text(console: Console) -> None:
        said = ", ".join(f"{label} {count}" for label, count in counts.items())
        console.print(f"{len(ids)} rows: {said}", markup=False)
        print_list(console, header, lines, result["written"])

    session.show(result, text)


def _labels(loaded: Data, label: str) -> list[str]:
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
    """Weights of the kernels and importances of the columns, largest first."""
    with session.step("finding the columns that matter"):
        columns = column_importances(estimator.predict_proba, loaded.matrix, loaded.features.feature_columns)
    kernels = zip(estimator.kernel_names_, map(float, estimator.kernel_weights_), strict=True)
    weights = {name: weight for name, weight in sorted(kernels, key=lambda item: -item[1]) if weight > 0}
    return {"kernels": weights, "columns": columns}


def _certificate(estimator: Any) -> dict[str, float] | None:
    """How far the fit is from its optimum; None where it has a closed form."""
    if not hasattr(estimator, "dual_gap_"):
        return None
    return {"objective": float(estimator.objective_), "dual_gap": float(estimator.dual_gap_)}


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


def _page(session: Session, path: Path, loaded: Data, label: str, audit: Any, told: dict[str, dict[str, float]]) -> str:
    from ..report import PageSettings, label_report, render

    with session.step(f"making {path}"):
        page = label_report(
            audit,
            X=loaded.shown(),
            ids=loaded.ids,
            kernel_weights=told["kernels"],
            settings=PageSettings(title=loaded.table.source.name, id_name=loaded.id_name, label_name=label),
        )
        return render(page)


def _print_audit(console: Console, result: dict[str, Any], loaded: Data) -> None:
    rows, rate = loaded.table.n_rows, result["noise_rate"]
    console.print(f"{loaded.table.source}: {rows} rows, {len(result['classes'])} classes", markup=False)
    console.print(f"Wrong labels: about {round(rate * rows)} of {rows}, {percent(rate, result['noise_interval'])}.")
    if result["worth_checking"]:
        console.print(f"Worth checking: {result['worth_checking']} rows, of which half or more should be wrong.\n")
        suspects = [
            [suspect["id"], suspect["given"], suspect["suggested"], f"{suspect['quality']:.1%}"]
            for suspect in result["suspects"][:SHOWN]
        ]
        console.print(table("Most suspect", [loaded.id_name, "given", "suggested", "chance it is right"], suspects))
    else:
        console.print("No label is suspect enough to be worth a check.")
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
