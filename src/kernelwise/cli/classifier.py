"""A classifier from labels that may be wrong, and its predictions."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray
from rich.console import Console

from .. import files
from . import labels
from . import session as shared
from .session import CheckedOption, IdOption, OutputOption, Reading, Session, option
from .show import csv_text, print_columns, print_list, print_written


def classify(
    session: Session,
    train: Annotated[Path, typer.Argument(help=f"The labelled data set: {shared.FORMATS}.")],
    label: Annotated[str, option("COLUMN", "The column of labels.")],
    model: Annotated[Path, option("FILE", "Where to write the model.", "--model", "-m")],
    reading: Reading,
    output: OutputOption = None,
    checked: CheckedOption = None,
) -> None:
    """Learn a classifier from labels that may be wrong, and save it with a card that says how it was made.

    --checked takes what was found by planned checks of the same table (audit labels --checks): checked rows are
    learned from with their true labels, and the accuracy is guaranteed. --output writes the probabilities of all
    labels for every row, each by models that did not learn from the row.
    """
    from ..labels.describe import out_of_sample_accuracy

    shared.check_files(session, read=[train, checked], write=[model, output])
    loaded = shared.load(session, train, reading, label=label)
    given = shared.read_given(loaded, label, reading.kinds)
    labels.warn_of_leaks(loaded, given.labels)
    verdicts = None if checked is None else labels.read_verdicts(checked, given, loaded)
    estimator = labels.fit_labels(session, loaded, given.labels, verdicts)
    card = files.make_card(
        data={"sha256": files.file_hash(train), **loaded.report()},
        label=label,
        classes=estimator.classes_,
        noise={"rate": estimator.noise_rate_, "interval": estimator.noise_interval_},
        accuracy=out_of_sample_accuracy(estimator, given.labels, verdicts)._asdict(),
        unlabelled=dict(loaded.unlabelled),
        notes=given.notes,
        diagnostic=estimator.diagnostic_,
        certificate=None,  # of several kinds of base models there is no one objective
        **labels.what_matters(session, estimator, loaded.features.feature_columns),
        seed=session.seed,
    )
    found = _predicted(estimator.out_of_sample_probabilities_, estimator.classes_)
    header = [loaded.id_name, label, f"predicted {label}", "probability", *(f"P({one})" for one in estimator.classes_)]
    lines = [[name, cell, *predicted] for name, cell, predicted in zip(loaded.ids, given.written, found, strict=True)]
    files.save_model(model, files.SavedModel(estimator, loaded.features, card), force=session.force)
    written = [str(model), *session.write({output: partial(csv_text, header, lines)})]
    result = {"model": str(model), "card": card, "written": written}
    session.show(result, lambda console: _print_model(console, written, card))


def predict(
    session: Session,
    model: Annotated[Path, typer.Argument(help="A model of kernelwise classify.")],
    data: Annotated[Path, typer.Argument(help="Rows with the columns that the model was made from.")],
    row_id: IdOption = None,
    output: OutputOption = None,
) -> None:
    """Predict labels, with the probability of each, for the rows of a file."""
    shared.check_files(session, read=[model, data], write=[output])
    loaded = files.load_model(model)
    with session.step(f"reading {data}"):
        rows = files.read_table(data, as_written=[*loaded.features.worded, *([row_id] if row_id else [])])
        id_name, ids = shared.named_rows(rows, None) if row_id is None else (row_id, rows.required(row_id))
    with session.step(f"predicting {len(ids)} rows") as tell:
        chances = loaded.predict_proba(rows, tell)
    lines = [[name, *cells] for name, cells in zip(ids, _predicted(chances, loaded.estimator.classes_), strict=True)]
    label = str(loaded.card.get("label", "label"))
    header = [id_name, label, "probability", *(f"P({name})" for name in loaded.estimator.classes_)]
    written = session.write({output: partial(csv_text, header, lines)})
    counts = dict(Counter(line[1] for line in lines).most_common())
    result: dict[str, Any] = {"rows": len(ids), "counts": counts, "written": written}
    if output is None:
        result["predictions"] = [
            {"id": name, "label": label, "probability": float(chance)} for name, label, chance, *_ in lines
        ]

    def text(console: Console) -> None:
        said = ", ".join(f"{label} {count}" for label, count in counts.items())
        console.print(f"{len(ids)} rows: {said}")
        print_list(console, header, lines, written)

    session.show(result, text)


def _predicted(chances: NDArray[Any], classes: NDArray[Any]) -> list[list[str]]:
    """The most probable label of every row, its probability, and the probabilities of all labels."""
    best = chances.argmax(axis=1)
    return [
        [str(classes[chosen]), *(f"{chance:.4f}" for chance in (row[chosen], *row))]
        for chosen, row in zip(best, chances, strict=True)
    ]


def _print_model(console: Console, written: list[str], card: dict[str, Any]) -> None:
    labels.print_labels(console, f"Model for {card['label']!r} ({', '.join(map(str, card['classes']))})", card)
    noise, diagnostic = card["noise"], card["diagnostic"]
    console.print(labels.headline(card["data"]["rows"], noise["rate"], noise["interval"], diagnostic))
    console.print(diagnostic["claim"])
    if not diagnostic["reliable"]:
        console.print(diagnostic["reason"])
    accuracy = card["accuracy"]
    low, high = accuracy["interval"]
    console.print(
        f"On rows that it did not learn from, the model agrees with {accuracy['given']:.1%} of the given labels "
        f"({low:.1%} to {high:.1%} at 95 % confidence)."
    )
    low, high = accuracy["true_interval"]
    share = f"between {low:.1%} and {high:.1%}"
    if accuracy["guaranteed"]:
        console.print(
            f"With 95 % confidence, the model predicts {share} of the true labels of such rows. This follows from the "
            "rows that were drawn at random and checked.\n"
        )
    else:
        if diagnostic["reliable"]:
            share = f"about {accuracy['true']:.1%} ({share})"
        console.print(
            f"Some given labels are wrong. Of the true labels, the model should predict {share}, if wrong labels do "
            "not follow a rule in the features.\n"
        )
    print_columns(console, card["data"]["columns"])
    labels.print_what_matters(console, card)
    print_written(console, written)
