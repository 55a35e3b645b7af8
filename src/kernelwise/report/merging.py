"""The decisions of several reviewers, brought together, and how often the reviewers agree."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from .corrections import Correction, CorrectionsError

#: The decisions that are an answer; a skipped row has none.
ANSWERS = ("correct", "wrong", "unclear")


@dataclass(frozen=True)
class Agreement:
    """How often two reviewers gave the same answer.

    Parameters
    ----------
    first, second : str
        The names of the reviewers.
    n_both : int
        The number of rows that both looked at and decided.
    n_same : int
        The number of these rows to which both gave the same label, or which both could not tell.
    kappa : float or None
        Cohen's kappa: 1 for full agreement, 0 for the agreement of chance; None where chance alone agrees always.

    Examples
    --------
    >>> from kernelwise.report import Agreement
    >>> Agreement("Ann", "Bob", n_both=46, n_same=41, kappa=0.78).n_same
    41
    """

    first: str
    second: str
    n_both: int
    n_same: int
    kappa: float | None


@dataclass(frozen=True)
class MergedCorrections:
    """One decision for each row, how often reviewers agree, and the rows about which they do not.

    Parameters
    ----------
    corrections : list of Correction
        The answer of the majority; "unclear" where no answer has one.
    agreements : list of Agreement
        One for each two reviewers who decided about a row in common.
    disputed : list of int
        The rows to which reviewers gave different answers.

    Examples
    --------
    >>> from kernelwise.report import Correction, merge_corrections
    >>> merge_corrections({"Ann": [Correction(3, "ham", "ham", "correct")]}).corrections[0].reviewer
    'Ann'
    """

    corrections: list[Correction]
    agreements: list[Agreement]
    disputed: list[int]


def merge_corrections(reviews: Mapping[str, Sequence[Correction]]) -> MergedCorrections:
    """Merge the decisions of several reviewers about the same data.

    Parameters
    ----------
    reviews : dict of str to sequence of Correction
        The corrections by name, such as the name of the file. The name of a reviewer is that in the corrections, or
        else this one. If a reviewer decided about a row twice, the last decision counts.

    Returns
    -------
    MergedCorrections

    Examples
    --------
    >>> from kernelwise.report import Correction, merge_corrections
    >>> ann = [Correction(1, "ham", "spam", "wrong"), Correction(2, "ham", "ham", "correct")]
    >>> bob = [Correction(1, "ham", "spam", "wrong"), Correction(2, "ham", "spam", "wrong")]
    >>> merged = merge_corrections({"ann": ann, "bob": bob})
    >>> [(one.row, one.decision) for one in merged.corrections], merged.disputed
    ([(1, 'wrong'), (2, 'unclear')], [2])
    >>> merged.agreements[0].n_same, merged.agreements[0].n_both
    (1, 2)
    """
    by_reviewer: dict[str, dict[int, Correction]] = {}
    for name, corrections in reviews.items():
        for one in corrections:
            by_reviewer.setdefault(one.reviewer or name, {})[one.row] = one
    rows: dict[int, dict[str, Correction]] = {}
    for reviewer, decided in by_reviewer.items():
        for row, one in decided.items():
            rows.setdefault(row, {})[reviewer] = one
    merged, disputed = [], []
    for row, said in rows.items():
        merged.append(_majority(said))
        if len({_answer(one) for one in _answers(said).values()}) > 1:
            disputed.append(row)
    pairs = [_agreement(first, second, by_reviewer) for first, second in combinations(by_reviewer, 2)]
    return MergedCorrections(merged, [pair for pair in pairs if pair.n_both], sorted(disputed))


def _answer(one: Correction) -> str | None:
    if one.decision == "unclear":
        return None
    return one.given if one.decision == "correct" else one.corrected


def _answers(said: Mapping[str, Correction]) -> dict[str, Correction]:
    """The decisions that count, by the name of the reviewer: those of people who looked, if anybody did."""
    answered = {name: one for name, one in said.items() if one.decision in ANSWERS}
    return {name: one for name, one in answered.items() if not one.how} or answered


def _majority(said: dict[str, Correction]) -> Correction:
    """The answer of more than half of those who answered, with the names of all and what each wrote.

    If one of them looked at the row, then what others accepted in bulk does not count.
    """
    first, *others = said.values()
    for one in others:
        if (one.given, one.id, one.other_id) != (first.given, first.id, first.other_id):
            raise CorrectionsError(
                f"row {one.row} is {first.id!r} with the label {first.given!r} in one file and {one.id!r} with the "
                f"label {one.given!r} in another; merge reviews of the same data"
            )
    answered = _answers(said)
    names = ", ".join(said)
    comments = "; ".join(f"{name}: {one.comment}" for name, one in said.items() if one.comment)
    if not answered:
        return replace(first, reviewer=names, comment=comments)
    (answer, votes), *_ = Counter(_answer(one) for one in answered.values()).most_common(1)
    if 2 * votes > len(answered):
        chosen = next(one for one in answered.values() if _answer(one) == answer)
        return replace(chosen, reviewer=names, comment=comments)
    views = "; ".join(f"{name}: {_answer(one) or 'cannot tell'}" for name, one in answered.items())
    comments = f"no majority ({views})" + (f"; {comments}" if comments else "")
    undecided = next(iter(answered.values()))
    return replace(undecided, decision="unclear", corrected="", reviewer=names, comment=comments)


def _agreement(first: str, second: str, by_reviewer: Mapping[str, Mapping[int, Correction]]) -> Agreement:
    looked = [
        {row: _answer(one) for row, one in by_reviewer[name].items() if one.decision in ANSWERS and not one.how}
        for name in (first, second)
    ]
    both = [(answer, looked[1][row]) for row, answer in looked[0].items() if row in looked[1]]
    same = sum(one == other for one, other in both)
    ours, theirs = (Counter(answers) for answers in zip(*both, strict=True)) if both else (Counter(), Counter())
    chance = sum(ours[answer] * theirs[answer] for answer in ours) / max(len(both), 1) ** 2
    kappa = None if not both or chance == 1 else (same / len(both) - chance) / (1 - chance)
    return Agreement(first, second, len(both), same, kappa)
