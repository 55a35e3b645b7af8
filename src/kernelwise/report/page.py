"""A report as one HTML file that needs no network, no library and no server."""

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from ..files import check_output, write_file
from .review import SCHEMA

#: The parts of the script; each part uses parts before it.
SCRIPTS = (
    "dom", "model", "store", "csv", "figures", "graph", "evidence", "texts", "pairs", "card", "queue", "bulk", "charts",
    "guarantee", "main",
)  # fmt: skip
#: Where the page may load pictures from: its own data, and files beside it if it shows some.
PICTURES, PICTURES_BESIDE = "data:", "data: 'self' file:"


def render(report: dict[str, Any]) -> str:
    """The page of a report, as HTML.

    The page holds the data as JSON in which ``<``, ``>`` and ``&`` are escaped, and the script shows the data as text
    only. The content security policy admits only this script and this style, by their hashes.

    Parameters
    ----------
    report : dict
        From :func:`label_report` or :func:`pair_report`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelwise import PairAudit, PairNoise, Pairs
    >>> from kernelwise.report import pair_report, render
    >>> pairs = Pairs([0, 0, 1], [1, 2, 2], [1, 1, -1], n_samples=3)
    >>> audit = PairAudit(pairs, np.array([0.9, 0.2, 0.8]), np.array([1, -1, -1]), PairNoise(0.4, 0.55, 0.8), {})
    >>> page = render(pair_report(audit, ids=["<b>", "&", "c"]))
    >>> "<b>" in page, "http://" in page.replace("http://www.w3.org/2000/svg", "")
    (False, False)
    """
    if report.get("schema") != SCHEMA:
        raise ValueError(f"report must come from label_report or pair_report of this version, got {list(report)[:5]}")
    style = _asset("style.css")
    script = '(() => {\n"use strict";\n' + "\n".join(_asset(f"{name}.js") for name in SCRIPTS) + "})();\n"
    headline, advice, basis = headlines(report)
    pictures = PICTURES_BESIDE if any(report["suspects"].get("image", [])) else PICTURES
    return Template(_asset("page.html")).substitute(
        policy=f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        f" img-src {pictures};"
        " base-uri 'none'; form-action 'none'",
        title=_html(report["title"]),
        headline=_html(headline),
        advice=_html(advice),
        basis=_html(basis),
        style=style,
        data=_json(report),
        script=script,
    )


def write_report(report: dict[str, Any], path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write the page of a report to a file, whole or not at all.

    Parameters
    ----------
    report : dict
        From :func:`label_report` or :func:`pair_report`.
    path : path
    force : bool, default=False
        Whether to overwrite a file that exists; without ``force``, such a file is a :exc:`FileError`.

    Returns
    -------
    Path
    """
    return write_file(check_output(Path(path), force=force), render(report), force=force)


def headlines(report: dict[str, Any]) -> tuple[str, str, str]:
    """The finding of a report, what to do about it, and what the finding rests on, in a sentence or two each.

    Where explanations disagree, the finding is a range, and nothing is said of the number of errors among the suspects.

    >>> rates = [{"name": "labels", "n": 200, "rate": 0.2, "interval": [0.15, 0.25]}]
    >>> summary = {"n": 200, "rates": rates, "to_check": 30, "expected_wrong": 24.2, "between": [30, 50]}
    >>> headlines({"kind": "labels", "summary": summary})[0]
    'About 40 of 200 labels look wrong'
    """
    kind, summary = report["kind"], report["summary"]
    verdict = summary.get("verdict", {})
    reliable = verdict.get("reliable", True) or summary["between"] is None
    wrong = round(sum(rate["n"] * rate["rate"] for rate in summary["rates"]))
    if not reliable:
        low, high = summary["between"]
        found = f"Between {low:,} and {high:,} of {summary['n']:,} {kind} look wrong"
    else:
        found = f"About {wrong:,} of {summary['n']:,} {kind} look wrong" if wrong else f"The {kind} look right"
    basis = [_sentence(rate, kind, reliable) for rate in summary["rates"]]
    if not reliable:
        basis = [*(basis if kind == "pairs" else []), verdict["reason"]]  # the reason holds the range of labels
    likely = round(summary["expected_wrong"])
    advice = "No label is more likely wrong than right."
    if kind == "pairs":
        advice = "No single pair is more likely wrong than right; the list begins with the most suspect."
    if summary["to_check"] == 1:
        advice = f"One of the {kind} is worth checking."
    elif summary["to_check"]:
        advice = f"{summary['to_check']:,} are worth checking"
        advice += f": about {likely:,} of these should be wrong." if reliable else "."
    return found, advice, " ".join([*basis, *([verdict["claim"]] if "claim" in verdict else [])])


def _sentence(rate: dict[str, Any], kind: str, reliable: bool) -> str:
    what = kind if kind == rate["name"] else f"{kind} given as {rate['name']}"
    low, high = rate["interval"]
    between = "" if low is None or high is None else f"between {_percent(low)} and {_percent(high)}"
    share = between if between and not reliable else f"{_percent(rate['rate'])}{between and f' ({between})'}"
    return f"Share of {what} that look wrong: {share}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "\xa0%"  # a line break never parts the number from its unit


def _html(text: str) -> str:
    """Text as HTML; halves of characters, which UTF-8 cannot hold, become question marks."""
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))


def _json(report: dict[str, Any]) -> str:
    """JSON in ASCII without ``<``, ``>`` and ``&``, so that no text in it can end the script element around it."""
    plain = json.dumps(report, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return plain.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _hash(source: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")
