"""The tour and the published tables and figures."""

import difflib
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from ..files.errors import FileError
from .session import Session, command

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("demo", epilog="Example: kernelwise demo")(command(demo))
    app.command("reproduce", epilog="Example: kernelwise reproduce lkcnpc-table2 --quick")(command(reproduce))


def demo(
    session: Session,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")] = Path(
        "demo-output"
    ),
) -> None:
    """Show what kernelwise does, on the data that it brings: a minute or so."""
    from .tour import tour, write_summary

    def show(what: str) -> None:
        if not session.quiet:
            print(f"{what} ...", file=sys.stderr)

    rows = tour(show, output)
    paths = write_summary(rows, output)
    width = max(len(row["what"]) for row in rows)
    lines = [f"{row['what']:<{width}}  {row['result']}" for row in rows]
    session.show(
        {"results": rows, "files": [str(path) for path in paths]},
        lambda console: console.print(
            "\n".join(["", *lines, "", f"Written to {' and '.join(str(path) for path in paths)}"]), markup=False
        ),
    )


def reproduce(
    session: Session,
    name: Annotated[str | None, typer.Argument(help="The table or figure.")] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Show what can be reproduced.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A version that takes seconds.")] = False,
    resume: Annotated[bool, typer.Option(help="Continue an earlier run.")] = True,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Processes to use.")] = 1,
    cluster: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Run on a Dask cluster: tcp://host:8786, or its scheduler file."),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to write.")] = Path("results"),
) -> None:
    """Run a published table or figure again. A run that was stopped continues where it was."""
    from ..reproduction import catalogue, cluster_executor, publish, run

    known = catalogue()
    if list_all:
        titles = {experiment.name: f"{experiment.citation}: {experiment.title}" for experiment in known.values()}
        lines = [f"{experiment:30}{title}" for experiment, title in titles.items()]
        session.show(titles, lambda console: console.print("\n".join(lines), markup=False))
        return
    if name is None:
        raise FileError("name a table or figure, or use --list to see them")
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "use --list to see them"
        raise FileError(f"there is no experiment {name}; {hint}")
    if cluster is not None and jobs > 1:
        raise FileError("--jobs is for this machine; leave it out where --cluster says where to run")
    place = nullcontext() if cluster is None else cluster_executor(cluster, experiment=known[name])
    total = len(known[name].distinct_cells(quick))
    try:
        with place as executor, session.step(name, total=total) as progress:
            records = run(
                known[name],
                output=output,
                quick=quick,
                resume=resume,
                n_jobs=jobs,
                executor=executor,
                progress=lambda _, done, __: progress(done),
            )
    except ChildProcessError as error:
        print(f"kernelwise: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    failed = [record for record in records if not record.ok]
    paths = publish(known[name], records, output / name)
    session.show(
        {"experiment": name, "cells": total, "failed": len(failed), "files": [str(path) for path in paths]},
        lambda console: console.print("\n".join(str(path) for path in paths), markup=False),
    )
    if failed:
        print(f"kernelwise: {len(failed)} of {total} cells failed; the table names them", file=sys.stderr)
        raise typer.Exit(1)
