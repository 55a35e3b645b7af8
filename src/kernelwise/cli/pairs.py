"""Links and constraints that may be wrong: audit them, cluster with them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..files.errors import FileError
from ..files.links import link_words
from . import show
from .record_pairs import audit_two_records
from .session import (
    AnnotatorOption,
    Data,
    OutputOption,
    Reading,
    Reviewing,
    Session,
    check_files,
    load,
    load_two,
    option,
)

if TYPE_CHECKING:
    from ..report import Correction


class About(StrEnum):
    """What pairs describe."""

    auto = "auto"
    links = "links"
    classes = "classes"
    records = "records"


NodesArgument = Annotated[Path, typer.Argument(help="What is linked, with its features: CSV, Parquet, .npz, .mtx ...")]


def audit_pairs(
    session: Session,
    nodes: NodesArgument,
    links: Annotated[
        Path | None,
        typer.Argument(help="Two ids per line, and perhaps an answer: 1 and -1, or two words for same and different."),
    ] = None,
    *,
    answer: Annotated[str | None, option("COLUMN", "The answers, where a row holds two records.")] = None,
    same: Annotated[str | None, option("WORD", "The answer that means the same, if it is not clear.")] = None,
    about: Annotated[
        About, option(None, "What the pairs are; usually found automatically.", "--pair-kind", "--about")
    ] = About.auto,
    reading: Reading,
    reviewing: Reviewing,
    second: Annotated[
        Path | None, option("FILE", "The second table, where the two records of a pair are in two tables.")
    ] = None,
    annotator: AnnotatorOption = None,
) -> None:
    """Which links, or which "same" and "different" pairs, are probably wrong: their share, the most suspect first.

    Without a file of links, every row of the data must hold two records, in columns such as left_name and right_name,
    and an answer: are the two the same? --second is for records in two tables: the first id of each pair is then of the
    first table, and the second id is of the second table.

    Where several people, programs or language models answered, --annotator names the column that says who gave each
    answer: the fourth of a file of pairs. The result then says how good each of them is.

    --checks plans which pairs to check first; their results give a guaranteed bound. --checked takes what was found,
    and continues.
    """
    from ..report import read_corrections, verdicts_of
    from ..report.labels import sources_of_pairs
    from ..report.pairs import wrong_shares

    read = [nodes, links, reviewing.checked, second]
    check_files(session, read=read, write=[reviewing.output, reviewing.report])
    if links is None and second is not None:
        raise FileError("--second needs a file of pairs: kernelwise audit pairs FIRST PAIRS --second SECOND")
    if links is None:
        audit_two_records(session, nodes, reading, reviewing, answer=answer, same=same, annotator=annotator)
        return
    if second is None:
        loaded = load(session, nodes, reading)
    else:
        loaded = load_two(session, (nodes, second), reading)
        about = About.records if about is About.auto else about
    pairs = files.read_links(links, loaded.rows, nodes=str(nodes), same=same, annotator=annotator)
    found = pairs.sources is not None and annotator is None
    meaning = link_words(links, same)
    words = {1: "1", -1: "-1"} | {sign: word for word, sign in reversed(meaning.items())}  # the most frequent ones
    ends = {"id": [loaded.ids[row] for row in pairs.rows], "other_id": [loaded.ids[col] for col in pairs.cols]}
    verdicts = None
    if reviewing.checked is not None:
        verdicts = verdicts_of(signed(read_corrections(reviewing.checked), meaning), pairs.labels, *ends.values())
    with session.step(f"auditing {len(pairs)} pairs") as tell:
        audit = _audit(loaded, pairs, about, checked=verdicts, random_state=session.seed, progress=tell)
    plan = reviewing.plan(audit, session.seed)
    names = list(map(" - ".join, zip(*ends.values(), strict=True)))
    review = partial(show.link_review, audit, loaded.ids, plan, words=words)
    page = partial(_page, session, loaded, links, audit, plan, words)
    written, wrong = session.write({reviewing.output: review, reviewing.report: page}), wrong_shares(audit)
    result = {
        "nodes": loaded.report(),
        "notes": [*loaded.notes, *([f"The fourth column of {links} says who gave each answer."] if found else [])],
        "links": str(links),
        "pairs": len(pairs),
        "sources": sources_of_pairs(audit),
        "wrong": {name: {"rate": rate, "interval": interval} for name, (_, rate, interval) in wrong.items()},
        **show.audit_result(audit, plan, names, **ends),
        "written": written,
    }

    def text(console: Console) -> None:
        _print_audit(console, result, loaded)
        show.print_next(console, links, reviewing, planned=plan is not None)

    session.show(result, text)


def _audit(loaded: Data, pairs: Any, about: About, **options: Any) -> Any:
    """Audit pairs; records are compared cell by cell, all other rows by their features."""
    from .. import audit_pairs as find_suspects
    from .. import audit_record_pairs
    from ..records.recognition import looks_like_records

    records = loaded.table.without([*loaded.features.leave_out, loaded.id_name])
    if about is About.records or (about is About.auto and looks_like_records(pairs, records)[0]):
        return audit_record_pairs(records, pairs, **options)
    kind: Any = about.value
    return find_suspects(loaded.matrix, pairs, kind=kind, **options)


def cluster(
    session: Session,
    nodes: NodesArgument,
    n_clusters: Annotated[int, option(None, "The number of clusters.", "-k", "--clusters", min=2)],
    links: Annotated[Path | None, option("FILE", "Two ids per line, and perhaps 1 (same) or -1.", "--links")] = None,
    output: OutputOption = None,
    *,
    reading: Reading,
) -> None:
    """Cluster rows by their features and, where there are some, by links that may be wrong.

    Links alone are used where they help. If some pairs are said to be "different", all pairs tell of classes.
    """
    from .. import LinkedClustering, NoisyPairClustering

    check_files(session, read=[nodes, links], write=[output])
    loaded = load(session, nodes, reading)
    pairs = None if links is None else files.read_links(links, loaded.rows, nodes=str(nodes))
    if n_clusters > loaded.table.n_rows:
        raise FileError(f"-k {n_clusters} is more than the {loaded.table.n_rows} rows of {nodes}")
    with session.step(f"clustering {loaded.table.n_rows} rows") as tell:
        both_kinds = pairs is not None and (pairs.labels < 0).any()
        estimator: Any = NoisyPairClustering if both_kinds else LinkedClustering
        model = estimator(n_clusters, random_state=session.seed).fit(loaded.matrix, pairs=pairs, progress=tell)
    labels = np.asarray(model.labels_)
    lines = [[name, str(label)] for name, label in zip(loaded.ids, labels, strict=True)]
    header = [loaded.id_name, "cluster"]
    written = session.write({output: partial(show.csv_text, header, lines)})
    sizes = np.bincount(labels, minlength=n_clusters).tolist()
    said = {} if pairs is None else model.diagnostic_
    reason = said.get("pairs") or said.get("reason")  # of pairs of both kinds, or of links
    result: dict[str, Any] = {"nodes": loaded.report(), "sizes": sizes, "links": reason, "written": written}
    if output is None:
        result["clusters"] = dict(zip(loaded.ids, labels.tolist(), strict=True))

    def text(console: Console) -> None:
        console.print(f"{nodes}: {len(lines)} rows in {n_clusters} clusters of {', '.join(map(str, sizes))}")
        if reason is not None:
            console.print(reason)
        show.print_list(console, header, lines, written)

    session.show(result, text)


def signed(corrections: "Iterable[Correction]", meaning: Mapping[str, int]) -> "list[Correction]":
    """Corrections of pairs with 1 and -1 in place of the words of the file."""
    signs = {word.casefold(): str(sign) for word, sign in meaning.items()}
    return [
        replace(
            one,
            given=signs.get(one.given.casefold(), one.given),
            corrected=signs.get(one.corrected.casefold(), one.corrected),
        )
        for one in corrections
    ]


def _page(session: Session, loaded: Data, links: Path, audit: Any, plan: Any, words: Mapping[int, str]) -> str:
    from ..report import PageSettings, pair_report, render

    with session.step("making the review page"):
        settings = PageSettings(title=links.name, id_name=loaded.id_name)
        page = pair_report(audit, X=loaded.shown(), ids=loaded.ids, plan=plan, settings=settings)
        return render(page | {"values": [words[-1], words[1]]})


def _print_audit(console: Console, result: dict[str, Any], loaded: Data) -> None:
    console.print(f"{result['links']}: {result['pairs']} pairs of {loaded.table.n_rows} rows")
    for note in result["notes"]:
        console.print(note)
    reliable = result["diagnostic"]["reliable"]
    for name, wrong in result["wrong"].items():
        low, high = wrong["interval"]
        share = f"about {show.percent(wrong['rate'], wrong['interval'])}" if reliable else f"{low:.1%} to {high:.1%}"
        console.print(f"Given as {name} but wrong: {share}.")
    if not result["guarantee"] and not reliable:
        console.print(result["diagnostic"]["reason"])
    show.print_checks(console, result, "pairs")
    if result["sources"]:
        console.print()
        show.print_sources(console, result["sources"])
    words = {1: "same", -1: "different"}
    suspects = [
        [one["id"], one["other_id"], words[one["given"]], show.wrong_chance(one["quality"])]
        for one in result["suspects"]
    ]
    header = [loaded.id_name, "and", "given", show.CHANCE]
    show.print_suspects(console, "pair", result["worth_checking"], header, suspects)
    show.print_features(console, loaded)
    show.print_written(console, result["written"])
