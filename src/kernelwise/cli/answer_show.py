"""An audit of several answers per row, printed on about a screen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console

from ..report.sources import ENOUGH
from .label_options import CONSENSUS, AuditFiles
from .show import CHANCE, print_checks, print_columns, print_next, print_written, table, wrong_chance
from .slices import SHOWN as SLICES_SHOWN
from .slices import sentences_of

#: A row is worth another answer if the most probable class, by the answers, has a smaller chance than this.
SURE = 0.8
#: So many sources and suspects are shown, so that the result fits on a screen.
FEW = 8


def print_answer_audit(console: Console, *, result: dict[str, Any], paths: AuditFiles) -> None:
    """Print the result on about a screen: the consensus first, then the sources, and what to do next."""
    data, several = result["data"], result["several"]
    rows = data["rows"] - result["without_answer"]
    what = "consensus labels" if several else "labels"
    console.print(f"{data['file']}: {_headline(rows, what, result)}", markup=False)
    console.print(_counts(rows, result), markup=False)
    for note in result["notes"]:
        console.print(note, markup=False)
    if not result["guarantee"]:
        console.print(result["diagnostic"]["reason"], markup=False)
    print_checks(console, result, "rows")
    console.print()
    print_sources(console, result["sources"], result["copies"])
    _print_questions(console, result, several)
    for sentence in sentences_of(result["slices"]):
        console.print(f"Where the {'doubt is' if several else 'suspects are'}: {sentence}", markup=False)
    if not several:
        noun = "row" if result["worth_checking"] == 1 else "rows"
        console.print(f"Worth checking: {result['worth_checking']} {noun} whose label is more likely wrong than right.")
    console.print()
    suspects = [
        [one["id"], one["given"], one["suggested"], _short(one["answers"]), wrong_chance(one["quality"])]
        for one in result["suspects"][:FEW]
    ]
    header = [data["id"], CONSENSUS if several else "given", "if wrong", "answers" if several else "given by", CHANCE]
    console.print(table("Most suspect", header, suspects))
    if data["columns"]:
        console.print()
        print_columns(console, data["columns"])
    if result["columns"]:
        shown = ", ".join(f"{name} {share:.0%}" for name, share in list(result["columns"].items())[:FEW])
        console.print(f"Columns that matter: {shown}", markup=False)
    print_written(console, result["written"])
    _print_next(console, paths, several, planned=bool(result["plan"]))


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
    """How many answers there are, and how often they agree."""
    said = f"{result['n_answers']} answers of {len(result['sources'])} sources, {len(result['classes'])} classes"
    if result["without_answer"]:
        said += f"; {result['without_answer']} rows have no answer"
    if np.isnan(result["agreement"]):
        return f"{said}; no row has two answers, so the features alone tell the sources apart."
    alpha = "" if np.isnan(result["alpha"]) else f" (Krippendorff's alpha {result['alpha']:.2f})"
    return f"{said}. Two answers to the same row agree in {result['agreement']:.0%}{alpha}."


def print_sources(console: Console, given: Sequence[dict[str, Any]], copies: Sequence[dict[str, Any]] = ()) -> None:
    """Print the sources with their accuracy, the least accurate first, and those that copy each other."""
    sources = [one for one in given if one["answers"] >= ENOUGH]
    if not sources:
        console.print(f"Sources: {len(given)}, each with fewer than {ENOUGH} answers, too few to judge any of them.")
    header = ["source", "answers", "right", "90 % range", *(["errs"] if any(one["errs"] for one in sources) else [])]
    lines = [
        [
            str(one["source"]),
            str(one["answers"]),
            f"{one['accuracy']:.0%}",
            f"{one['interval'][0]:.0%} to {one['interval'][1]:.0%}",
            one["errs"][0] if one["errs"] else "",
        ][: len(header)]
        for one in sources[:FEW]
    ]
    few = len(given) - len(sources) if sources else 0
    order = ", the least accurate first" if len(sources) > 1 else ""
    if sources:
        console.print(table(f"Sources{order}", header, lines))
    if len(sources) > FEW:
        best = ", ".join(f"{one['source']} {one['accuracy']:.0%}" for one in sources[:-4:-1])
        console.print(f"... and {len(sources) - FEW} more (--json has all); the best: {best}", markup=False)
    if few:
        console.print(f"... and {few} with fewer than {ENOUGH} answers, too few to judge")
    for one in copies[:SLICES_SHOWN]:
        console.print(
            f"{one['source']} and {one['other']} agree as if one copied the other in {one['share']:.0%} of the rows, "
            "errors included; together they count for less than two.",
            markup=False,
        )
    if (more := len(copies) - SLICES_SHOWN) > 0:
        console.print(f"... and {more} more pairs of sources that copy each other")


def _print_questions(console: Console, result: dict[str, Any], several: bool) -> None:
    """Say how many rows are worth another answer, and whom to ask first."""
    worth, asked = result["worth_another_answer"], result["ask"]
    if several:
        noun = "row" if len(worth) == 1 else "rows"
        console.print(
            f"Worth another answer: {len(worth)} {noun} whose answers leave more than {1 - SURE:.0%} of doubt."
        )
    if asked:
        first: dict[str, list[str]] = {}
        for one in asked[:FEW]:
            first.setdefault(str(one["source"]), []).append(str(one["id"]))
        said = "; ".join(f"{source} about {', '.join(names)}" for source, names in first.items())
        console.print(f"Ask first: {said}", markup=False)
    elif worth and several:
        first_rows = ", ".join(one["id"] for one in worth[:FEW])
        console.print(f"Every source has answered these rows; ask somebody new, first about {first_rows}", markup=False)


def _short(said: str, length: int = 40) -> str:
    return said if len(said) <= length else said[: length - 1] + "…"


def _print_next(console: Console, paths: AuditFiles, several: bool, *, planned: bool) -> None:
    """Say what to do with the files that were written."""
    if not several:
        print_next(console, paths.data, paths.output, paths.report, planned=planned)
        return
    if paths.report is not None:
        console.print(f"Next: open {paths.report} in a browser, decide, and save the corrections.", markup=False)
    if paths.output is not None:
        console.print(f'Next: in {paths.output}, change "skip" to "wrong" or "correct" where you know.', markup=False)
    if paths.report is not None or paths.output is not None:
        console.print(
            f"Then: run this command again with --checked {paths.output or 'corrections.csv'} --consensus labels.csv, "
            "and with other names for the files that it writes.",
            markup=False,
        )
