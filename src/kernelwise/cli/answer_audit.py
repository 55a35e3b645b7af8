"""Several answers per row on the command line: the consensus and how good it is, the sources, and whom to ask next."""

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..report.sources import ENOUGH
from .answer_show import SURE, print_answer_audit
from .answers import GivenAnswers, read_answers
from .label_options import CONSENSUS, AuditFiles, AuditPlans, costs_of
from .session import Data, GivenLabels, Session, check_files
from .show import (
    SHOWN,
    csv_text,
    guarantee_of_audit,
    label_review,
    planned_rows,
    suspect_rows,
)
from .slices import sentences_of, slices_of

if TYPE_CHECKING:
    from .. import AnswerAudit, AnswerPlan, Answers, LabelAudit, Verdicts

#: So many questions are planned, if nobody says how many.
QUESTIONS = 100
#: The consensus is written with the chance of every class, if there are at most so many.
MOST_CLASSES = 30


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


def audit_answers_in_files(session: Session, paths: AuditFiles, plans: AuditPlans, pictures: Any) -> None:
    """Audit several answers per row, and print and write what was found; ``pictures`` makes links to pictures."""
    from .. import plan_answers, plan_checks
    from .labels import warn_of_leaks

    asked = paths.asked
    outputs = [paths.output, paths.report, paths.consensus, paths.ask]
    check_files(session, read=[paths.data, asked.table, paths.checked], write=outputs)
    given = read_answers(session, paths)
    costs = costs_of(asked, given.answers.source_names.tolist())
    images = pictures(given.loaded)
    leaks = warn_of_leaks(given.loaded, _majority(given.answers))
    verdicts = None if paths.checked is None else _read_verdicts(paths.checked, given)
    audit, model = _fit(session, given, verdicts, plans.sample_size)
    found = _Found(audit, audit, given, CONSENSUS)
    if not given.several:
        found = replace(found, labels=audit.given_labels(), label=asked.labels[0])
    matters = _what_matters(session, model, given.loaded)
    plan = None
    if plans.checks is not None:
        plan = plan_checks(found.labels, plans.checks, suspects=plans.suspects, random_state=session.seed)
    questions = plan_answers(audit, plans.questions or QUESTIONS, costs=costs)
    written = session.write(
        {
            paths.output: partial(_review, found, plan),
            paths.report: partial(_page, session, found, matters, plan, images),
            paths.consensus: partial(_consensus, found),
            paths.ask: partial(_questions, found, questions),
        }
    )
    giveaways = [{"column": one.column, "how": one.how} for one in leaks]
    result = _result(found, questions, plan) | matters | {"giveaways": giveaways, "written": written}
    session.show(result, partial(print_answer_audit, result=result, paths=paths))


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


def _fit(session: Session, given: GivenAnswers, verdicts: "Verdicts | None", sample_size: int | None) -> Any:
    """The audit, and the model that learned from the features if there are any."""
    from .. import NoisyLabelClassifier, audit_answers

    answers = given.answers
    with session.step(f"learning from {len(answers)} answers") as tell, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "column '.*' gives the label away")  # said of the columns of the table
        warnings.filterwarnings("ignore", ".* near copies of another row|.* equal another row")  # each has its answers
        if given.loaded.matrix is None:
            return audit_answers(None, answers, checked=verdicts, random_state=session.seed), None
        options = {} if sample_size is None else {"sample_size": sample_size}
        model = NoisyLabelClassifier(random_state=session.seed, **options)
        model.fit(given.loaded.matrix, answers, groups=given.groups, checked=verdicts, progress=tell)
        return model.answer_audit_, model


def _what_matters(session: Session, model: Any, loaded: Data) -> dict[str, dict[str, float]]:
    from .labels import what_matters

    if model is None:
        return {"models": {}, "columns": {}}
    return what_matters(session, model, loaded.features.feature_columns)


def _review(found: _Found, plan: Any) -> str:
    """All rows with an answer, the most suspect first: see :func:`label_review`."""
    if not found.given.several:
        given = GivenLabels(found.labels.labels, found.given.written)
        return label_review(found.labels, found.loaded.ids, found.label, plan, given=given)
    more = {"answers": [str(count) for count in found.n_answers.tolist()], "disagree": found.others}
    return label_review(found.labels, found.loaded.ids, found.label, plan, more=more)


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
    return csv_text(header, rows)


def _questions(found: _Found, plan: "AnswerPlan") -> str:
    """Whom to ask about which row, the most telling answer first."""
    names = found.loaded.ids
    rows = [
        [names[row], str(source), f"{told:.4f}"]
        for row, source, told in zip(plan.rows.tolist(), plan.sources.tolist(), plan.information.tolist(), strict=True)
    ]
    return csv_text([found.loaded.id_name, "source", "information"], rows)


def _page(session: Session, found: _Found, matters: dict[str, dict[str, float]], plan: Any, images: Any) -> str:
    from ..report import PageSettings, label_report, render

    loaded = found.loaded
    title = Path(loaded.table.source).name
    with session.step("making the review page"):
        page = label_report(
            found.labels,
            X=loaded.shown() if loaded.matrix is not None else None,
            ids=loaded.ids,
            kernel_weights=matters["models"] or None,
            column_weights=matters["columns"] or None,
            encoded=loaded.matrix,
            images=images,
            plan=plan,
            answers=found.audit,
            settings=PageSettings(title=title, id_name=loaded.id_name, label_name=found.label),
        )
        return render(page | {"slices": sentences_of(found.slices)})


def _result(found: _Found, questions: "AnswerPlan", plan: Any) -> dict[str, Any]:
    """Everything that was found, as plain data."""
    audit, labels, loaded = found.audit, found.labels, found.loaded
    rows = np.flatnonzero(found.doubtful)
    unchecked = labels.order[~found.checked[labels.order] & ~np.isnan(labels.quality[labels.order])]
    worth = int(np.count_nonzero(labels.quality[unchecked] < 0.5))
    left_out = {*loaded.features.leave_out} - {*loaded.ignored}
    hidden = loaded.table.without(left_out).missing()
    return {
        "data": loaded.report() | {"missing": hidden},
        "label": found.label,
        "several": found.given.several,
        "n_answers": len(audit.answers),
        "unlabelled": dict(loaded.unlabelled),
        "notes": found.given.notes,
        "classes": audit.classes,
        "noise_rate": labels.noise_rate,
        "noise_interval": labels.noise_interval,
        "agreement": audit.agreement,
        "alpha": audit.alpha,
        "sources": _sources(audit),
        "copies": [{"source": one, "other": other, "share": share} for one, other, share in audit.copies],
        "worth_checking": worth,
        "suspects": [
            one | {"answers": found.who(one["row"]), "disagree": found.others[one["row"]]}
            for one in suspect_rows(
                labels,
                unchecked[: max(worth, SHOWN)],
                labels.labels.astype(str),
                labels.alternative.astype(str),
                id=loaded.ids,
            )
        ],
        "without_answer": int(np.count_nonzero(np.isnan(labels.quality))),
        "worth_another_answer": [{"row": row, "id": loaded.ids[row]} for row in rows.tolist()],
        "ask": [
            {"row": row, "id": loaded.ids[row], "source": source, "information": told}
            for row, source, told in zip(
                questions.rows.tolist(), questions.sources.tolist(), questions.information.tolist(), strict=True
            )
        ],
        "slices": found.slices,
        "guarantee": guarantee_of_audit(labels),
        "checked": 0 if audit.checked is None else len(audit.checked.found()),
        "plan": planned_rows(plan, loaded.ids),
        "diagnostic": labels.diagnostic,
    }


def _sources(audit: "AnswerAudit") -> list[dict[str, Any]]:
    """The sources, as plain data, the least accurate first."""
    return [
        {
            "source": one["source"].item(),
            "kind": str(one["kind"]) or None,
            "answers": int(one["n_answers"]),
            "accuracy": float(one["accuracy"]),
            "interval": [float(one["low"]), float(one["high"])],
            "errs": audit.errors_of(one["source"]) if one["n_answers"] >= ENOUGH else [],
        }
        for one in audit.sources[np.argsort(audit.sources["accuracy"], kind="stable")]
    ]
