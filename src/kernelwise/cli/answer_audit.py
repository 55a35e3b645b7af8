"""Several answers per row on the command line: the consensus and how good it is, the sources, and whom to ask next."""

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from ..labels.describe import sentences_of, slices_of
from ..report.labels import ENOUGH
from . import show
from .answers import GivenAnswers, read_answers
from .labels import CONSENSUS, LabelOptions, label_model, label_page, warn_of_leaks, what_matters
from .session import Data, GivenLabels, Session, check_files, links_of_pictures

if TYPE_CHECKING:
    from .. import AnswerAudit, Answers, LabelAudit, Verdicts

#: So many questions are planned, if nobody says how many.
QUESTIONS = 100
#: The consensus is written with the chance of every class, if there are at most so many.
MOST_CLASSES = 30
#: A row is worth another answer if the most probable class, by the answers, has a smaller chance than this.
SURE = 0.8


@dataclass(frozen=True)
class _Found:
    """The audit of the answers, and what follows from it.

    ``labels`` is the audit that is reviewed: of the consensus, or of the given labels where each row has one.
    """

    audit: "AnswerAudit"
    labels: "LabelAudit"
    given: GivenAnswers
    label: str

    @property
    def loaded(self) -> Data:
        return self.given.loaded

    @cached_property
    def checked(self) -> NDArray[np.bool_]:
        """Whether people have said what each row is."""
        done = np.zeros(self.loaded.table.n_rows, dtype=bool)
        found = {} if self.audit.checked is None else self.audit.checked.found()
        done[[row for row, label in found.items() if label is not None]] = True
        return done

    @cached_property
    def doubtful(self) -> NDArray[np.bool_]:
        """Whether each row is worth another answer; of labels of one source each, whether each label is suspect."""
        if not self.given.several:
            return (self.labels.quality < 0.5) & ~self.checked
        return (self.audit.joint.max(axis=1) < SURE) & ~self.checked

    @cached_property
    def said(self) -> list[list[tuple[str, str]]]:
        """Who said what of every row."""
        said: list[list[tuple[str, str]]] = [[] for _ in self.audit.labels]
        answers = self.audit.answers
        rows, sources, labels = answers.rows.tolist(), answers.sources.astype(str), answers.labels.astype(str)
        for row, source, label in zip(rows, sources.tolist(), labels.tolist(), strict=True):
            said[row].append((source, label))
        return said

    @cached_property
    def others(self) -> list[str]:
        """Who disagrees with the consensus about every row, and what they say."""
        both = zip(self.said, self.audit.labels.tolist(), strict=True)
        return ["; ".join(f"{who}: {label}" for who, label in said if label != str(agreed)) for said, agreed in both]

    def who(self, row: int) -> str:
        """Who gave the label of a row; or how many answers every class has, the most frequent first."""
        if not self.given.several:
            return ", ".join(source for source, _ in self.said[row])
        counts = Counter(label for _, label in self.said[row])
        return ", ".join(f"{label}: {count}" for label, count in counts.most_common())

    @cached_property
    def slices(self) -> list[dict[str, Any]]:
        """Parts with far more suspects than chance explains."""
        left_out = {*self.loaded.features.leave_out, self.loaded.id_name} - {*self.loaded.ignored}
        found = slices_of(self.doubtful, self.audit.answers, self.loaded.table.without(list(left_out)))
        return [one.as_data(gave=not self.given.several) for one in found]

    @cached_property
    def n_answers(self) -> NDArray[np.intp]:
        """The number of answers to every row."""
        return np.bincount(self.audit.answers.rows, minlength=self.loaded.table.n_rows)


def audit_answers_in_files(session: Session, asked: LabelOptions, *, found: bool = False) -> None:
    """Audit several answers per row, and print and write what was found.

    ``found`` says that the column of those who answered was found by its name.
    """
    from .. import plan_answers

    reviewing = asked.reviewing
    outputs = [reviewing.output, reviewing.report, asked.consensus, asked.ask]
    check_files(session, read=[asked.data, asked.answers, reviewing.checked], write=outputs)
    given = read_answers(session, asked, found=found)
    costs = asked.costs(given.answers.source_names.tolist())
    images = links_of_pictures(given.loaded, asked.image, page=reviewing.report, embed=asked.embed)
    leaks = warn_of_leaks(given.loaded, _majority(given.answers))
    verdicts = None if reviewing.checked is None else _read_verdicts(reviewing.checked, given)
    audit, model = _fit(session, given, verdicts, asked.sample)
    result = _Found(audit, audit, given, CONSENSUS)
    if not given.several:
        result = replace(result, labels=audit.given_labels(), label=asked.label[0])
    matters: dict[str, dict[str, float]] = {"models": {}, "columns": {}}
    if model is not None:
        matters = what_matters(session, model, given.loaded.features.feature_columns)
    plan = reviewing.plan(result.labels, session.seed)
    told = plan_answers(audit, asked.questions or QUESTIONS, costs=costs)
    each = zip(told.rows.tolist(), told.sources.tolist(), told.information.tolist(), strict=True)
    next_answers = [
        {"row": row, "id": given.loaded.ids[row], "source": source, "information": gain} for row, source, gain in each
    ]
    lines = [[one["id"], str(one["source"]), f"{one['information']:.4f}"] for one in next_answers]
    shown: dict[str, Any] = {"slices": result.slices, "plan": plan, "images": images, "answers": audit}
    cells: dict[str, Any] = {"given": GivenLabels(result.labels.labels, given.written)}
    if given.several:
        cells = {"more": {"answers": list(map(str, result.n_answers.tolist())), "disagree": result.others}}
    written = session.write(
        {
            reviewing.output: partial(show.label_review, result.labels, given.loaded.ids, result.label, plan, **cells),
            reviewing.report: partial(label_page, session, given.loaded, result.label, result.labels, matters, **shown),
            asked.consensus: partial(_consensus, result),
            asked.ask: partial(show.csv_text, [given.loaded.id_name, "source", "information"], lines),
        }
    )
    giveaways = [{"column": one.column, "how": one.how} for one in leaks]
    facts = _result(result, plan) | matters | {"ask": next_answers, "giveaways": giveaways, "written": written}
    session.show(facts, partial(print_answer_audit, result=facts, asked=asked))


def _majority(answers: "Answers") -> NDArray[Any]:
    """The most frequent answer to every row, None where there is none or where two are as frequent."""
    counts = np.zeros((answers.n_rows, len(answers.classes)))
    np.add.at(counts, (answers.rows, answers.label_index), 1)
    clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return np.where(clear, answers.classes[counts.argmax(axis=1)].astype(object), np.array(None))


def _read_verdicts(path: Path, given: GivenAnswers) -> "Verdicts":
    """What people found who checked some rows; the labels that they judged stand in their file."""
    from ..report import read_corrections, verdicts_of

    made, answers = read_corrections(path), given.answers
    labels = np.full(answers.n_rows, "", dtype=object)
    labels[answers.rows] = answers.labels
    if given.several:  # the consensus of the audit before, which knew less
        for one in made:
            if 0 <= one.row < len(labels):
                labels[one.row] = one.given
    return verdicts_of(made, labels, given.loaded.ids if given.loaded.has_ids else None)


def _fit(session: Session, given: GivenAnswers, verdicts: "Verdicts | None", sample: int | None) -> Any:
    from .. import audit_answers

    answers = given.answers
    with session.step(f"learning from {len(answers)} answers") as tell, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column '.*' gives the label away")  # said of the columns of the table
        warnings.filterwarnings("ignore", ".* near copies of another row|.* equal another row")  # each has its answers
        if given.loaded.matrix is None:
            return audit_answers(None, answers, checked=verdicts, random_state=session.seed), None
        model = label_model(session, sample)
        model.fit(given.loaded.matrix, answers, groups=given.groups, checked=verdicts, progress=tell)
        return model.answer_audit_, model


def _consensus(found: _Found) -> str:
    """The most probable class of every row by answers, features and checks, and the chance of every class."""
    audit, names = found.audit, found.loaded.ids
    classes = [str(name) for name in audit.classes.tolist()]
    shown = classes if len(classes) <= MOST_CLASSES else []
    rows = []
    for row, chances in enumerate(audit.probabilities):
        if np.isnan(audit.quality[row]) and not found.checked[row]:
            rows.append([names[row], "", "", "0", "", *[""] * len(shown)])
            continue
        best = int(chances.argmax())
        cells = [names[row], classes[best], f"{chances[best]:.4f}", str(found.n_answers[row])]
        rows.append(
            [*cells, "yes" if found.checked[row] else "", *(f"{chance:.4f}" for chance in chances[: len(shown)])]
        )
    header = [found.loaded.id_name, CONSENSUS, "chance", "answers", "checked", *(f"chance of {name}" for name in shown)]
    return show.csv_text(header, rows)


def _result(found: _Found, plan: Any) -> dict[str, Any]:
    audit, labels, loaded = found.audit, found.labels, found.loaded
    rows = np.flatnonzero(found.doubtful)
    listed = show.audit_result(labels, plan, loaded.ids, id=loaded.ids)
    left_out = {*loaded.features.leave_out} - {*loaded.ignored}
    hidden = loaded.table.without(left_out).missing()
    return {
        "data": loaded.report() | {"missing": hidden},
        "label": found.label,
        "several": found.given.several,
        "n_answers": len(audit.answers),
        "unlabelled": dict(loaded.unlabelled),
        "notes": found.given.notes,
        **listed,
        "agreement": audit.agreement,
        "alpha": audit.alpha,
        "sources": [
            {
                "source": one["source"].item(),
                "kind": str(one["kind"]) or None,
                "answers": int(one["n_answers"]),
                "accuracy": float(one["accuracy"]),
                "interval": [float(one["low"]), float(one["high"])],
                "errs": audit.errors_of(one["source"]) if one["n_answers"] >= ENOUGH else [],
            }
            for one in audit.sources[np.argsort(audit.sources["accuracy"], kind="stable")]
        ],
        "copies": [{"source": one, "other": other, "share": share} for one, other, share in audit.copies],
        "suspects": [
            one | {"answers": found.who(one["row"]), "disagree": found.others[one["row"]]} for one in listed["suspects"]
        ],
        "without_answer": int(np.count_nonzero(np.isnan(labels.quality))),
        "worth_another_answer": [{"row": row, "id": loaded.ids[row]} for row in rows.tolist()],
        "slices": found.slices,
    }


def print_answer_audit(console: Console, result: dict[str, Any], asked: LabelOptions) -> None:
    """Print the result on about a screen: the consensus first, then the sources, and what to do next."""
    data, several = result["data"], result["several"]
    rows = data["rows"] - result["without_answer"]
    what = "consensus labels" if several else "labels"
    console.print(f"{data['file']}: {_headline(rows, what, result)}")
    console.print(_counts(rows, result))
    for note in result["notes"]:
        console.print(note)
    if not result["guarantee"]:
        console.print(result["diagnostic"]["reason"])
    show.print_checks(console, result, "rows")
    console.print()
    show.print_sources(console, result["sources"], result["copies"])
    _print_questions(console, result, several)
    for sentence in sentences_of(result["slices"]):
        console.print(f"Where the {'doubt is' if several else 'suspects are'}: {sentence}")
    if not several:
        worth = show.counted(result["worth_checking"], "row")
        console.print(f"Worth checking: {worth} whose label is more likely wrong than right.")
    console.print()
    suspects = [
        [one["id"], one["given"], one["suggested"], _short(one["answers"]), show.wrong_chance(one["quality"])]
        for one in result["suspects"][: show.FEW]
    ]
    header = [
        data["id"],
        CONSENSUS if several else "given",
        "if wrong",
        "answers" if several else "given by",
        show.CHANCE,
    ]
    console.print(show.table("Most suspect", header, suspects))
    if data["columns"]:
        console.print()
        show.print_columns(console, data["columns"])
    if result["columns"]:
        shown = ", ".join(f"{name} {share:.0%}" for name, share in list(result["columns"].items())[: show.FEW])
        console.print(f"Columns that matter: {shown}")
    show.print_written(console, result["written"])
    show.print_next(console, asked.data, asked.reviewing, planned=bool(result["plan"]), consensus=several)


def _headline(rows: int, what: str, result: dict[str, Any]) -> str:
    """How many labels are wrong: a number with its range, or only the range where it is wide."""
    from ..review.audit import whole_numbers

    low, high = result["noise_interval"]
    between = f"{low:.1%} to {high:.1%}"
    if result["diagnostic"]["reliable"]:
        rate = result["noise_rate"]
        return f"about {round(rate * rows)} of {rows} {what} are probably wrong, {rate:.1%} ({between})."
    fewest, most = whole_numbers((low, high), rows)
    return f"between {fewest} and {most} of {rows} {what} are probably wrong ({between})."


def _counts(rows: int, result: dict[str, Any]) -> str:
    said = f"{result['n_answers']} answers of {len(result['sources'])} sources, {len(result['classes'])} classes"
    if result["without_answer"]:
        said += f"; {result['without_answer']} rows have no answer"
    if np.isnan(result["agreement"]):
        return f"{said}; no row has two answers, so the features alone tell the sources apart."
    alpha = "" if np.isnan(result["alpha"]) else f" (Krippendorff's alpha {result['alpha']:.2f})"
    return f"{said}. Two answers to the same row agree in {result['agreement']:.0%}{alpha}."


def _print_questions(console: Console, result: dict[str, Any], several: bool) -> None:
    """Say how many rows are worth another answer, and whom to ask first."""
    worth, asked = result["worth_another_answer"], result["ask"]
    if several:
        rows = show.counted(len(worth), "row")
        console.print(f"Worth another answer: {rows} whose answers leave more than {1 - SURE:.0%} of doubt.")
    if asked:
        first: dict[str, list[str]] = {}
        for one in asked[: show.FEW]:
            first.setdefault(str(one["source"]), []).append(str(one["id"]))
        said = "; ".join(f"{source} about {', '.join(names)}" for source, names in first.items())
        console.print(f"Ask first: {said}")
    elif worth and several:
        first_rows = ", ".join(one["id"] for one in worth[: show.FEW])
        console.print(f"Every source has answered these rows; ask somebody new, first about {first_rows}")


def _short(said: str, length: int = 40) -> str:
    return said if len(said) <= length else said[: length - 1] + "…"
