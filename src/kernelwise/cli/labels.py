"""Labels that may be wrong: audit them."""

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from .. import files
from ..files.errors import FileError
from ..tables.errors import choices
from ..tables.kinds import is_number
from . import session as shared
from . import show
from .session import AnnotatorOption, Data, GivenLabels, Reading, Reviewing, Session, option

#: The name of the consensus in the column "column" of a review, and in the export.
CONSENSUS = "consensus"


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """The options of an audit of labels."""

    data: Annotated[Path, typer.Argument(help=f"The data set: {shared.FORMATS}.")]
    label: Annotated[
        list[str], option("COLUMN", "The column of labels; given again, a column for each of several sources.")
    ] = field(default_factory=list)
    reading: Reading
    reviewing: Reviewing
    image: Annotated[str | None, option("COLUMN", "The column with the paths of pictures, for --report.")] = None
    embed: Annotated[
        bool, option(None, "Put the pictures into the page, instead of links to their files.", "--embed")
    ] = False
    chunk_rows: Annotated[
        int | None, option("N", "Read the table in chunks of N rows, even if it fits into memory.", min=1000)
    ] = None
    sample: Annotated[int | None, option("N", "Learn from N rows, if there are more; all rows are judged.")] = None
    cluster: Annotated[
        str | None,
        option("ADDRESS", "Let the workers of a Dask cluster read the files: tcp://host:8786, or a scheduler file."),
    ] = None
    annotator: AnnotatorOption = None
    answers: Annotated[Path | None, option("FILE", "A table of answers: the id of the row, the source, the label.")] = (
        None
    )
    group: Annotated[str | None, option("COLUMN", "Rows of one group share their errors, such as copies.")] = None
    source_kind: Annotated[
        list[str], option("NAME=KIND", "What a source is: person, program, or language model. Again for each.")
    ] = field(default_factory=list)
    cost: Annotated[list[str], option("NAME=COST", "What an answer of a source costs, for --ask; 1 by default.")] = (
        field(default_factory=list)
    )
    consensus: Annotated[Path | None, option("CSV", "Write the consensus of several answers, with its chances.")] = None
    ask: Annotated[Path | None, option("CSV", "Write whom to ask about which row next.")] = None
    questions: Annotated[int | None, option("N", "How many answers --ask plans; 100 by default.", min=1)] = None

    @property
    def several(self) -> bool:
        """Whether labels of several sources are asked for."""
        return len(self.label) > 1 or self.annotator is not None or self.answers is not None

    def check(self) -> None:
        """Refuse options that do not go together, before anything is read."""
        if not self.label and self.answers is None:
            raise FileError("--label is missing: name the column of labels, or a table of answers by --answers FILE")
        of_answers: dict[str, Any] = {"--consensus": self.consensus, "--ask": self.ask, "--questions": self.questions}
        of_answers |= {"--source-kind": self.source_kind, "--cost": self.cost}
        if not self.several and (given := [name for name, value in of_answers.items() if value]):
            raise FileError(
                f"{given[0]} is for labels of several sources; name each column of labels by --label, or who gave the "
                "labels by --annotator, or a table of answers by --answers"
            )
        if self.questions is not None and self.ask is None:
            raise FileError("--questions says how many answers --ask plans; add --ask FILE")
        if twice := [name for name, count in Counter(self.label).items() if count > 1]:
            raise FileError(f"--label {twice[0]} is given twice; name each column of labels once")
        if self.annotator in self.label:
            raise FileError(
                f"--annotator {self.annotator} is also the column of labels; name the column of those who gave them"
            )
        if self.annotator is not None and (len(self.label) != 1 or self.answers is not None):
            other = "--answers" if self.answers is not None else f"{len(self.label)} columns of labels"
            raise FileError(
                f"--annotator {self.annotator} says who gave one column of labels, and there are {other}; leave "
                "--annotator out, or name one --label"
            )
        if self.group is not None and self.group in (*self.label, self.annotator):
            what = "a column of labels" if self.group in self.label else "the column of those who gave them"
            raise FileError(f"--group {self.group} is also {what}; leave it out, or name another column")
        self.costs()
        self.kinds()

    def costs(self, sources: Sequence[str] | None = None) -> dict[str, float]:
        """What an answer of each source costs, from options such as ``Ann=2.5``."""
        costs = {}
        for name, value in _by_source("--cost", self.cost, "Ann=2.5", sources).items():
            costs[name] = float(value) if is_number(value) else np.nan
            if not 0 < costs[name] < np.inf:
                raise FileError(
                    f"--cost {f'{name}={value}'!r}: {value!r} must be a number above zero, for example {name}=2.5"
                )
        return costs

    def kinds(self, sources: Sequence[str] | None = None) -> dict[str, str]:
        """What every source is, from options such as ``gpt=language model``."""
        from ..statements.answers import KINDS

        kinds = _by_source("--source-kind", self.source_kind, "gpt=language model", sources)
        for name, kind in kinds.items():
            if kind not in KINDS:
                raise FileError(f"--source-kind {f'{name}={kind}'!r}: {kind!r} must be one of {', '.join(KINDS)}")
        return kinds


def _by_source(option: str, texts: Sequence[str], example: str, sources: Sequence[str] | None) -> dict[str, str]:
    """What an option such as ``Ann=2.5`` says of every source; where they are known, it must be one of them."""
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            what = option.rpartition("-")[2].upper()
            raise FileError(f"{option} {text!r} must be SOURCE={what}, for example {example!r}")
        if sources is not None and name not in sources:
            raise FileError(f"{option}: there is no source {name!r}; {choices(name, sources)}")
        found[name] = value
    return found


def audit_labels(session: Session, asked: LabelOptions) -> None:
    """Which labels are probably wrong: their share, the most suspect first, and the models that matter.

    --output writes a CSV of all suspects, to be reviewed in a spreadsheet: change "skip" to "wrong" or "correct", then
    run kernelwise apply. --report writes a page for the same, to be opened in a browser. --checks plans which rows to
    check first; their results give a guaranteed bound. --checked takes what was found, and continues. A column of paths
    of pictures is shown as pictures on the page.

    DATA may also be a folder of CSV or Parquet files, or a pattern such as 'part-*.csv'. Tables that are larger than
    memory are read in chunks, or by the workers of a cluster (--cluster); --output is then a folder, in which every
    chunk has a file of its suspects, and most-suspect.csv lists the first of all. The page shows the first 200.

    Several people, programs or language models may have answered: give --label once for each of their columns, or
    --answers with a table of who said what, or --annotator. The result is the consensus, how good it is, how good every
    source is, and whom to ask next.
    """
    asked.check()
    paths = files.data_files(asked.data)
    if asked.cluster is not None or asked.chunk_rows is not None or files.is_large(paths):
        reviewing = asked.reviewing
        whole = {"--checked": reviewing.checked, "--checks": reviewing.checks, "--image": asked.image}
        whole |= {"--group": asked.group, "--annotator": asked.annotator, "--answers": asked.answers}
        if given := [name for name, value in (whole | {"a second --label": asked.label[1:]}).items() if value]:
            raise FileError(
                f"{given[0]} needs the whole table in memory, and the table is read in chunks; leave {given[0]} out, "
                "and use --output FOLDER: its most-suspect.csv can be reviewed in a spreadsheet"
            )
        from .large_labels import audit_large

        audit_large(session, asked, paths)
        return
    if asked.image:  # the path of a picture is no feature
        kind = [*asked.reading.kind, f"{asked.image}=id"]
        asked = replace(asked, reading=replace(asked.reading, kind=kind))
    if asked.several:
        from .answer_audit import audit_answers_in_files

        audit_answers_in_files(session, asked)
    else:
        _audit_one_column(session, asked)


def _audit_one_column(session: Session, asked: LabelOptions) -> None:
    from ..labels.audit import audit_by
    from ..labels.describe import slices_of

    reading, reviewing, label = asked.reading, asked.reviewing, asked.label[0]
    shared.check_files(session, read=[asked.data, reviewing.checked], write=[reviewing.output, reviewing.report])
    loaded = shared.load(session, asked.data, reading, label=label, group=asked.group, lines_of_answers=True)
    given = shared.read_given(loaded, label, reading.kinds)
    if loaded.annotators:  # found by the name of the column
        if given.groups is None:
            from .answer_audit import audit_answers_in_files

            reading = replace(reading, ignore=[*reading.ignore, *loaded.annotators[1:]])
            answers_asked = replace(asked, annotator=loaded.annotators[0], reading=reading)
            audit_answers_in_files(session, answers_asked, found=True)
            return
        # Amounts have one source, so that the ids have to be distinct.
        loaded = shared.load(session, asked.data, reading, label=label, group=asked.group)
    images = shared.links_of_pictures(loaded, asked.image, page=reviewing.report, embed=asked.embed)
    found = warn_of_leaks(loaded, given.labels)
    verdicts = None if reviewing.checked is None else read_verdicts(reviewing.checked, given, loaded)
    estimator = fit_labels(session, loaded, given.labels, verdicts, asked)
    audit = audit_by(estimator, given.labels, verdicts)
    matters = what_matters(session, estimator, loaded.features.feature_columns)
    plan = reviewing.plan(audit, session.seed)
    unchecked = np.ones(len(audit.quality), dtype=bool)
    unchecked[list({} if verdicts is None else verdicts.found())] = False
    own = loaded.table.without([label, loaded.id_name])
    slices = [one.as_data(gave=True) for one in slices_of((audit.quality < 0.5) & unchecked, None, own)]
    review = partial(show.label_review, audit, loaded.ids, label, plan, given=given)
    page = partial(label_page, session, loaded, label, audit, matters, slices, plan=plan, images=images)
    written = session.write({reviewing.output: review, reviewing.report: page})
    listed = show.audit_result(audit, plan, loaded.ids, id=loaded.ids)
    worth = listed["worth_checking"]
    result = {
        "data": loaded.report(),
        "label": label,
        "unlabelled": dict(loaded.unlabelled),
        "notes": given.notes,
        "giveaways": [{"column": one.column, "how": one.how} for one in found],
        **listed,
        "expected_wrong": sum(1 - audit.quality[one["row"]] for one in listed["suspects"][:worth]),
        "slices": slices,
        "without_label": [
            {
                "row": int(row),
                "id": loaded.ids[row],
                "suggested": str(audit.suggested[row]),
                "probability": round(float(audit.probabilities[row].max()), 4),
            }
            for row in np.flatnonzero(np.isnan(audit.quality))
        ],
        **matters,
        "written": written,
    }

    def text(console: Console) -> None:
        print_label_audit(console, result, loaded)
        numbers = given.groups is not None
        show.print_next(console, asked.data, reviewing, planned=plan is not None, numbers=numbers)

    session.show(result, text)


def read_verdicts(path: Path, given: GivenLabels, loaded: Data) -> Any:
    """Read what people found who checked some rows of the table; of numbers the group counts."""
    from ..report import read_corrections, verdicts_of

    ids, made = loaded.ids if loaded.has_ids else None, read_corrections(path)
    if (groups := given.groups) is not None:
        grouped = groups.group_of
        made = [replace(one, given=grouped(one.given), corrected=grouped(one.corrected)) for one in made]
        # A number that was corrected to another one of the same group was in the right group.
        made = [
            replace(one, decision="correct") if one.decision == "wrong" and one.given == one.corrected else one
            for one in made
        ]
    return verdicts_of(made, given.labels, ids)


def label_model(session: Session, sample: int | None) -> Any:
    """The classifier of noisy labels, which learns from a ``sample`` of so many rows, if it is asked to."""
    from .. import NoisyLabelClassifier

    return NoisyLabelClassifier(random_state=session.seed, sample_size="auto" if sample is None else sample)


def fit_labels(
    session: Session, loaded: Data, labels: NDArray[Any], checked: Any = None, asked: LabelOptions | None = None
) -> Any:
    """Fit the classifier of noisy labels to all labels but typing errors."""
    from ..labels.audit import without_typing_errors

    labels, _ = without_typing_errors(labels, checked)
    groups = None if asked is None or asked.group is None else loaded.table.required(asked.group)
    what = f"learning from {np.count_nonzero(labels != None)} labels"  # noqa: E711
    with session.step(what) as tell, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column '.*' gives the label away")  # said of the columns of the table
        model = label_model(session, None if asked is None else asked.sample)
        return model.fit(loaded.matrix, labels, checked=checked, groups=groups, progress=tell)


def warn_of_leaks(loaded: Data, labels: NDArray[Any]) -> Any:
    """Name the columns that give the label away, or who gave it, on the standard error; return the former."""
    from ..labels.given import find_leaks
    from ..labels.leaks import said_of_annotators

    if loaded.annotators:
        warnings.warn(said_of_annotators(list(loaded.annotators)), stacklevel=2)
    found = find_leaks(loaded.table.without(loaded.features.leave_out), labels)
    for one in found:
        warnings.warn(f"{one}: --ignore {one.column!r}", stacklevel=2)
    return found


def what_matters(session: Session, estimator: Any, feature_columns: Sequence[str]) -> dict[str, dict[str, float]]:
    """The weights of the base models and the importances of the columns, the largest first."""
    from ..labels.describe import column_importances

    with session.step("finding the columns that matter") as progress:
        columns = column_importances(estimator, feature_columns, progress)
    models = zip(estimator.model_names_, map(float, estimator.model_weights_), strict=True)
    weights = {name: weight for name, weight in sorted(models, key=lambda item: -item[1]) if weight > 0}
    return {"models": weights, "columns": columns}


def label_page(
    session: Session,
    loaded: Data,
    label: str,
    audit: Any,
    matters: dict[str, dict[str, float]],
    slices: Sequence[dict[str, Any]],
    **shown: Any,
) -> str:
    """The review page; ``shown`` are the plan, the pictures and the answers, as in :func:`label_report`."""
    from ..labels.describe import sentences_of
    from ..report import PageSettings, label_report, render

    with session.step("making the review page"):
        page = label_report(
            audit,
            X=loaded.shown() if loaded.matrix is not None else None,
            ids=loaded.ids,
            kernel_weights=matters["models"] or None,
            column_weights=matters["columns"] or None,
            encoded=loaded.matrix,
            settings=PageSettings(title=Path(loaded.table.source).name, id_name=loaded.id_name, label_name=label),
            **shown,
        )
        return render(page | {"slices": sentences_of(slices)})


def print_label_audit(console: Console, result: dict[str, Any], loaded: Data | None = None) -> None:
    """Print the result of an audit of labels; without ``loaded``, the table was read in chunks."""
    from ..labels.describe import sentences_of

    data, diagnostic, reliable = result["data"], result["diagnostic"], result["diagnostic"]["reliable"]
    without_label = result.get("without_label", [])
    rows = data["rows"] - len(without_label)
    noun = "rows" if loaded else "rows with a label"
    print_labels(console, f"{data['file']}: {rows} {noun}, {len(result['classes'])} classes", result)
    console.print(headline(rows, result["noise_rate"], result["noise_interval"], diagnostic))
    if "learned_from" in diagnostic:
        console.print(
            f"Learned from a sample of {diagnostic['learned_from']} rows; the standard error of the share from so many "
            f"rows is {diagnostic['sampling_error']:.2%}."
        )
    console.print(diagnostic["claim"])
    if not result.get("guarantee") and (result.get("checked") or not reliable):
        console.print(diagnostic["reason"])
    if loaded is not None:
        show.print_checks(console, result, "rows")
    worth = result["worth_checking"]
    if worth:
        likely = f"; about {round(result['expected_wrong'])} of these should be wrong" if reliable else ""
        console.print(
            f"Worth checking: {show.counted(worth, 'row')} whose label is more likely wrong than right{likely}.\n"
        )
    else:
        console.print("No label is more likely wrong than right.\n")
    if said := sentences_of(result.get("slices", ())):
        console.print("\n".join(f"Where the suspects are: {sentence}" for sentence in said) + "\n")
    suspects = [
        [one["id"], one["given"], one["suggested"], show.wrong_chance(one["quality"])] for one in result["suspects"]
    ]
    console.print(show.table("Most suspect", [data["id"], "given", "if wrong", show.CHANCE], suspects[: show.SHOWN]))
    if without_label:
        console.print()
        lines = [[one["id"], one["suggested"], f"{one['probability']:.1%}"] for one in without_label]
        console.print(show.table("Rows without a label", [data["id"], "probable label", "chance"], lines[: show.SHOWN]))
        if len(lines) > show.SHOWN:
            console.print(f"... and {len(lines) - show.SHOWN} more; use --json for all")
    if loaded is not None:
        show.print_features(console, loaded)
    else:
        show.print_columns(console, data["columns"])
    print_what_matters(console, result)
    show.print_written(console, result["written"])


def print_labels(console: Console, what: str, result: dict[str, Any]) -> None:
    """Print a line about the labels, with the number of rows that have none, and the notes."""
    from ..labels.spellings import said_unlabelled

    console.print(f"{what}{said_unlabelled(result['unlabelled'])}")
    for note in result["notes"]:
        console.print(note)


def headline(rows: int, rate: float, interval: Sequence[float], diagnostic: dict[str, Any]) -> str:
    """How many labels are wrong: a number with its range, or only the range where explanations disagree."""
    from ..review.audit import whole_numbers

    low, high = interval
    if diagnostic["reliable"]:
        return f"Labels that look wrong: about {round(rate * rows)} of {rows}, {rate:.1%} ({low:.1%} to {high:.1%})."
    fewest, most = whole_numbers((low, high), rows)
    return f"Labels that look wrong: {fewest} to {most} of {rows}."


def print_what_matters(console: Console, result: dict[str, Any]) -> None:
    """Print the columns and the base models that matter."""
    for title, key in (("Columns that matter", "columns"), ("Models that matter", "models")):
        if shares := [[name, f"{share:.1%}"] for name, share in result[key].items()]:
            console.print()
            console.print(show.table(title, [key.rstrip("s"), "share"], shares[: show.SHOWN]))
