"""Labels that may be wrong: audit them."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from .. import files
from ..files.errors import FileError
from .label_options import (
    AnnotatorOption,
    AnswersOption,
    AskedAnswers,
    AskOption,
    AuditFiles,
    AuditPlans,
    ChunkOption,
    ClusterOption,
    ConsensusOption,
    CostOption,
    EmbedOption,
    GroupOption,
    ImageOption,
    LabelsOption,
    QuestionsOption,
    SampleOption,
    SourceKindOption,
)
from .session import (
    FORMATS,
    Data,
    GivenLabels,
    IdOption,
    IgnoreOption,
    KindOption,
    OutputOption,
    ReportOption,
    Session,
    check_files,
    links_of_pictures,
    load,
    read_given,
)
from .show import (
    CHANCE,
    SHOWN,
    CheckedOption,
    ChecksOption,
    SuspectsOption,
    guarantee_of_audit,
    label_review,
    listed_suspects,
    planned_rows,
    print_checks,
    print_columns,
    print_features,
    print_next,
    print_written,
    suspect_rows,
    table,
    wrong_chance,
)
from .slices import sentences_of, slices_of

LabelOption = Annotated[str, typer.Option("--label", metavar="COLUMN", help="The column of labels.")]


def audit_labels(
    session: Session,
    data: Annotated[Path, typer.Argument(help=f"The data set: {FORMATS}.")],
    label: LabelsOption = None,
    row_id: IdOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    kind: KindOption = None,
    ignore: IgnoreOption = None,
    checked: CheckedOption = None,
    checks: ChecksOption = None,
    suspects: SuspectsOption = None,
    image: ImageOption = None,
    embed: EmbedOption = False,
    chunk_rows: ChunkOption = None,
    sample_size: SampleOption = None,
    cluster: ClusterOption = None,
    annotator: AnnotatorOption = None,
    answers: AnswersOption = None,
    group: GroupOption = None,
    source_kind: SourceKindOption = None,
    cost: CostOption = None,
    consensus: ConsensusOption = None,
    ask: AskOption = None,
    questions: QuestionsOption = None,
) -> None:
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
    asked = AskedAnswers(label or (), annotator, answers, group, source_kind or (), cost or ())
    of_answers = {"--consensus": consensus, "--ask": ask, "--questions": questions, "--source-kind": source_kind}
    asked.check(of_answers | {"--cost": cost})
    paths = files.data_files(data)
    if cluster is not None or chunk_rows is not None or files.is_large(paths):
        several = {"--annotator": annotator, "--answers": answers, "a second --label": len(asked.labels) > 1 or None}
        _refuse_in_chunks({"--checked": checked, "--checks": checks, "--image": image, "--group": group} | several)
        from .large_labels import LargeAudit, audit_large

        in_chunks = LargeAudit(
            paths=paths,
            label=asked.labels[0],
            row_id=row_id,
            output=output,
            report=report,
            kinds=kind or (),
            ignore=ignore or (),
            chunk_rows=chunk_rows,
            cluster=cluster,
            sample_size=sample_size,
        )
        audit_large(session, in_chunks)
        return
    kinds = [*(kind or []), *([f"{image}=id"] if image else [])]  # the path of a picture is no feature
    named = AuditFiles(data, asked, row_id, kinds, ignore or (), checked, output, report, consensus, ask)
    plans = AuditPlans(checks, suspects, questions, sample_size)

    def pictures(loaded: Data) -> list[str | None] | None:
        return links_of_pictures(loaded, image, page=report, embed=embed)

    if asked.several:
        from .answer_audit import audit_answers_in_files

        audit_answers_in_files(session, named, plans, pictures)
    else:
        _audit_one_column(session, named, plans, pictures)


def _audit_one_column(session: Session, paths: AuditFiles, plans: AuditPlans, pictures: Any) -> None:
    """Audit one column of labels, and print and write what was found."""
    from .. import plan_checks
    from ..labels.audit import audit_by

    data, label, output, report = paths.data, paths.asked.labels[0], paths.output, paths.report
    check_files(session, read=[data, *([paths.checked] if paths.checked else [])], write=[output, report])
    columns: dict[str, Any] = {"label": label, "row_id": paths.row_id, "kinds": paths.kinds, "ignore": paths.ignore}
    loaded = load(session, data, group=paths.asked.group, lines_of_answers=True, **columns)
    given = read_given(loaded, label, paths.kinds)
    if loaded.annotators:
        if given.groups is None:
            _audit_of_annotators(session, paths, plans, pictures, loaded.annotators)
            return
        # Amounts have one source, so that the ids have to be distinct.
        loaded = load(session, data, group=paths.asked.group, **columns)
    images = pictures(loaded)
    found = warn_of_leaks(loaded, given.labels)
    verdicts = None if paths.checked is None else read_verdicts(paths.checked, given, loaded)
    groups = None if paths.asked.group is None else loaded.table.required(paths.asked.group)
    estimator = fit_labels(session, loaded, given.labels, verdicts, plans.sample_size, groups)
    audit = audit_by(estimator, given.labels, verdicts)
    matters = what_matters(session, estimator, loaded.features.feature_columns)
    plan = None
    if plans.checks is not None:
        plan = plan_checks(audit, plans.checks, suspects=plans.suspects, random_state=session.seed)
    unchecked = np.ones(len(audit.quality), dtype=bool)
    unchecked[list({} if verdicts is None else verdicts.found())] = False
    own = loaded.table.without([label, loaded.id_name])
    slices = [one.as_data(gave=True) for one in slices_of((audit.quality < 0.5) & unchecked, None, own)]
    review = partial(label_review, audit, loaded.ids, label, plan, given=given)
    page = partial(_page, session, loaded, label, audit, matters, plan, images, slices)
    written = session.write({output: review, report: page})
    suspects_listed, worth = listed_suspects(audit)
    result = {
        "data": loaded.report(),
        "label": label,
        "unlabelled": dict(loaded.unlabelled),
        "notes": given.notes,
        "giveaways": [{"column": one.column, "how": one.how} for one in found],
        "classes": audit.classes,
        "noise_rate": audit.noise_rate,
        "noise_interval": audit.noise_interval,
        "worth_checking": worth,
        "expected_wrong": float(np.sum(1 - audit.quality[suspects_listed[:worth]])),
        "suspects": suspect_rows(
            audit, suspects_listed, audit.labels.astype(str), audit.alternative.astype(str), id=loaded.ids
        ),
        "slices": slices,
        "without_label": _without_label(audit, loaded),
        "guarantee": guarantee_of_audit(audit),
        "checked": 0 if verdicts is None else len(verdicts.found()),
        "plan": planned_rows(plan, loaded.ids),
        "diagnostic": estimator.diagnostic_,
        **matters,
        "written": written,
    }

    def text(console: Console) -> None:
        print_label_audit(console, result, loaded)
        numbers = given.groups is not None
        print_next(console, data, output, report, planned=plan is not None, numbers=numbers)

    session.show(result, text)


def _audit_of_annotators(
    session: Session, paths: AuditFiles, plans: AuditPlans, pictures: Any, annotators: Sequence[str]
) -> None:
    """Audit one column of labels whose table has a column, found by its name, that says who gave them."""
    from .answer_audit import audit_answers_in_files

    asked = replace(paths.asked, annotator=annotators[0], found=True)
    audit_answers_in_files(
        session, replace(paths, asked=asked, ignore=[*paths.ignore, *annotators[1:]]), plans, pictures
    )


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


def _refuse_in_chunks(options: dict[str, Any]) -> None:
    if given := [name for name, value in options.items() if value is not None]:
        raise FileError(
            f"{given[0]} needs the whole table in memory, and the table is read in chunks; leave {given[0]} out, and "
            "use --output FOLDER: its most-suspect.csv can be reviewed in a spreadsheet"
        )


def fit_labels(
    session: Session,
    loaded: Data,
    labels: NDArray[Any],
    checked: Any = None,
    sample_size: int | None = None,
    groups: Sequence[str] | None = None,
) -> Any:
    """Fit the classifier of noisy labels to all labels but typing errors."""
    from .. import NoisyLabelClassifier
    from ..labels.audit import without_typing_errors

    labels, _ = without_typing_errors(labels, checked)
    what = f"learning from {np.count_nonzero(labels != None)} labels"  # noqa: E711
    with session.step(what) as tell, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column '.*' gives the label away")  # said of the columns of the table
        options = {} if sample_size is None else {"sample_size": sample_size}
        together = {} if groups is None else {"groups": groups}
        model = NoisyLabelClassifier(random_state=session.seed, **options)
        return model.fit(loaded.matrix, labels, checked=checked, progress=tell, **together)


def warn_of_leaks(loaded: Data, labels: NDArray[Any]) -> Any:
    """Name the columns that give the label away, or who gave it, on the standard error; return the former."""
    from ..labels.annotators import said_of_annotators
    from ..labels.given import find_leaks

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
    session: Session,
    loaded: Data,
    label: str,
    audit: Any,
    matters: dict[str, dict[str, float]],
    plan: Any,
    pictures: list[str | None] | None,
    slices: Sequence[dict[str, Any]],
) -> str:
    from ..report import PageSettings, label_report, render

    with session.step("making the review page"):
        page = label_report(
            audit,
            X=loaded.shown(),
            ids=loaded.ids,
            kernel_weights=matters["models"],
            column_weights=matters["columns"] or None,
            encoded=loaded.matrix,
            images=pictures,
            plan=plan,
            settings=PageSettings(title=Path(loaded.table.source).name, id_name=loaded.id_name, label_name=label),
        )
        return render(page | {"slices": sentences_of(slices)})


def print_label_audit(console: Console, result: dict[str, Any], loaded: Data | None = None) -> None:
    """Print the result of an audit of labels; without ``loaded``, the table was read in chunks."""
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
        print_checks(console, result, "rows")
    worth = result["worth_checking"]
    if worth:
        likely = f"; about {round(result['expected_wrong'])} of these should be wrong" if reliable else ""
        noun = "row" if worth == 1 else "rows"
        console.print(f"Worth checking: {worth} {noun} whose label is more likely wrong than right{likely}.\n")
    else:
        console.print("No label is more likely wrong than right.\n")
    if said := sentences_of(result.get("slices", ())):
        console.print("\n".join(f"Where the suspects are: {sentence}" for sentence in said) + "\n", markup=False)
    suspects = [[one["id"], one["given"], one["suggested"], wrong_chance(one["quality"])] for one in result["suspects"]]
    console.print(table("Most suspect", [data["id"], "given", "if wrong", CHANCE], suspects[:SHOWN]))
    if without_label:
        console.print()
        lines = [[one["id"], one["suggested"], f"{one['probability']:.1%}"] for one in without_label]
        console.print(table("Rows without a label", [data["id"], "probable label", "chance"], lines[:SHOWN]))
        if len(lines) > SHOWN:
            console.print(f"... and {len(lines) - SHOWN} more; use --json for all")
    if loaded is not None:
        print_features(console, loaded)
    else:
        print_columns(console, data["columns"])
    print_what_matters(console, result)
    print_written(console, result["written"])


def print_labels(console: Console, what: str, result: dict[str, Any]) -> None:
    """Print a line about the labels, with the number of rows that have none, and the notes."""
    from ..labels.spellings import said_unlabelled

    console.print(f"{what}{said_unlabelled(result['unlabelled'])}", markup=False)
    for note in result["notes"]:
        console.print(note, markup=False)


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
            console.print(table(title, [key.rstrip("s"), "share"], shares[:SHOWN]))
