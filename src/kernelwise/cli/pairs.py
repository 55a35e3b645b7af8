"""Links and constraints that may be wrong: audit them, cluster with them."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from .. import files
from ..files.errors import FileError
from .inputs import Data, IdOption, KindOption, OutputOption, ReportOption, check_files, load
from .review import link_review
from .session import Session, command
from .show import SHOWN, csv_text, percent, print_features, print_list, print_next, print_written, table

__all__ = ["register"]

NodesArgument = Annotated[Path, typer.Argument(help="What is linked, with its features: CSV, Parquet, .npz, .mtx ...")]


def register(app: typer.Typer, audit: typer.Typer) -> None:
    """Add the commands of this file."""
    audit.command("pairs", epilog="Example: kernelwise audit pairs papers.csv citations.csv --report review.html")(
        command(audit_pairs)
    )
    app.command("cluster", epilog="Example: kernelwise cluster papers.csv --links citations.csv -k 7 -o topics.csv")(
        command(cluster)
    )


def audit_pairs(
    session: Session,
    nodes: NodesArgument,
    links: Annotated[Path, typer.Argument(help="Two ids per line, and perhaps 1 (same) or -1 (different).")],
    row_id: IdOption = None,
    output: OutputOption = None,
    report: ReportOption = None,
    kind: KindOption = None,
) -> None:
    """Which links, or which "same" and "different" pairs, are probably wrong: their share, the most suspect first."""
    from .. import audit_pairs as find_suspects

    check_files(session, read=[nodes, links], write=[output, report])
    loaded = load(session, nodes, label=None, row_id=row_id, kinds=kind)
    pairs = files.read_links(links, loaded.rows, nodes=str(nodes))
    with session.step(f"auditing {len(pairs)} pairs"):
        audit = find_suspects(loaded.matrix, pairs, random_state=session.seed)
    contents: dict[Path, str] = {}
    if output is not None:
        contents[output] = link_review(audit, loaded.ids)
    if report is not None:
        contents[report] = _page(session, report, loaded, links, audit)
    files.write_files(contents, force=session.force)
    result = {
        "nodes": loaded.report(),
        "links": str(links),
        "pairs": len(pairs),
        "wrong": _wrong_rates(audit),
        "worth_checking": audit.worth_checking(),
        "suspects": _suspects(audit, loaded),
        "written": [str(path) for path in (output, report) if path is not None],
    }

    def text(console: Console) -> None:
        _print_audit(console, result, loaded)
        print_next(console, links, output, report)

    session.show(result, text)


def cluster(
    session: Session,
    nodes: NodesArgument,
    n_clusters: Annotated[int, typer.Option("-k", "--clusters", min=2, help="The number of clusters.")],
    links: Annotated[
        Path | None, typer.Option("--links", metavar="FILE", help="Two ids per line, and perhaps 1 (same) or -1.")
    ] = None,
    row_id: IdOption = None,
    output: OutputOption = None,
    kind: KindOption = None,
) -> None:
    """Cluster rows by their features and, where there are some, by links that may be wrong.

    Links alone are smoothed over; where some pairs are said to be "different", a kernel is learned from all of them.
    """
    check_files(session, read=[nodes, links], write=[output])
    loaded = load(session, nodes, label=None, row_id=row_id, kinds=kind)
    pairs = None if links is None else files.read_links(links, loaded.rows, nodes=str(nodes))
    if n_clusters > loaded.table.n_rows:
        raise FileError(f"-k {n_clusters} is more than the {loaded.table.n_rows} rows of {nodes}")
    with session.step(f"clustering {loaded.table.n_rows} rows"):
        labels = _clusters(loaded.matrix, pairs, n_clusters, session.seed)
    lines = [[name, str(label)] for name, label in zip(loaded.ids, labels, strict=True)]
    header = [loaded.id_name, "cluster"]
    if output is not None:
        files.write_file(output, csv_text(header, lines), force=session.force)
    sizes = np.bincount(labels, minlength=n_clusters).tolist()
    result: dict[str, Any] = {"nodes": loaded.report(), "sizes": sizes, "written": [str(output)] if output else []}
    if output is None:
        result["clusters"] = dict(lines)

    def text(console: Console) -> None:
        console.print(
            f"{nodes}: {len(lines)} rows in {n_clusters} clusters of {', '.join(map(str, sizes))}", markup=False
        )
        print_list(console, header, lines, result["written"])

    session.show(result, text)


def _clusters(matrix: Any, pairs: Any, n_clusters: int, seed: int) -> np.ndarray[Any, Any]:
    from .. import LinkedClustering, PairKernelClustering

    if pairs is not None and (pairs.labels < 0).any():
        model: Any = PairKernelClustering(n_clusters=n_clusters, random_state=seed)
    else:
        model = LinkedClustering(n_clusters, random_state=seed)
    return np.asarray(model.fit(matrix, pairs=pairs).labels_)


def _wrong_rates(audit: Any) -> dict[str, Any]:
    """Estimated share of wrong pairs among those given as same and as different, with its interval."""
    rates = {}
    for sign, name, field in ((1, "same", "precision_positive"), (-1, "different", "precision_negative")):
        if (audit.pairs.labels == sign).any():
            low, high = audit.intervals.get(field, (None, None))
            interval = None if low is None or high is None else [1.0 - high, 1.0 - low]
            rates[name] = {"rate": 1.0 - getattr(audit.noise, field), "interval": interval}
    return rates


def _suspects(audit: Any, loaded: Data) -> list[dict[str, Any]]:
    pairs = audit.pairs
    count = max(audit.worth_checking(), min(SHOWN, len(pairs)))
    return [
        {
            "row": int(row),
            "id": loaded.ids[pairs.rows[row]],
            "other_id": loaded.ids[pairs.cols[row]],
            "given": int(pairs.labels[row]),
            "suggested": int(audit.suggested[row]),
            "quality": round(float(audit.quality[row]), 4),
        }
        for row in audit.order[:count]
    ]


def _page(session: Session, path: Path, loaded: Data, links: Path, audit: Any) -> str:
    from ..report import PageSettings, pair_report, render

    with session.step(f"making {path}"):
        settings = PageSettings(title=links.name, id_name=loaded.id_name)
        return render(pair_report(audit, X=loaded.shown(), ids=loaded.ids, settings=settings))


def _print_audit(console: Console, result: dict[str, Any], loaded: Data) -> None:
    console.print(f"{result['links']}: {result['pairs']} pairs of {loaded.table.n_rows} rows", markup=False)
    for name, wrong in result["wrong"].items():
        console.print(f"Given as {name} but wrong: about {percent(wrong['rate'], wrong['interval'])}.")
    if result["worth_checking"]:
        console.print(f"Worth checking: {result['worth_checking']} pairs, of which half or more should be wrong.\n")
        words = {1: "same", -1: "different"}
        suspects = [
            [suspect["id"], suspect["other_id"], words[suspect["given"]], f"{suspect['quality']:.1%}"]
            for suspect in result["suspects"][:SHOWN]
        ]
        console.print(table("Most suspect", [loaded.id_name, "and", "given", "chance it is right"], suspects))
    else:
        console.print("No pair is suspect enough to be worth a check.")
    print_features(console, loaded)
    print_written(console, result["written"])
