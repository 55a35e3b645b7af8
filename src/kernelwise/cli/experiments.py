"""The tour and the published tables and figures."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from .session import Session, option

FolderOption = Annotated[Path, option("FOLDER", "Where to write.", "--output", "-o")]


def demo(session: Session, output: FolderOption = Path("demo-output")) -> None:
    """Show what kernelwise does, on the data that it brings: a minute or so."""
    from .tour import tour

    rows, text, paths = tour(session.step, output)
    said = f"\n{text}\nWritten to {' and '.join(map(str, paths))}"
    session.show({"results": rows, "files": [str(path) for path in paths]}, lambda console: console.print(said))


def reproduce(
    session: Session,
    name: Annotated[str | None, typer.Argument(help="The table or figure.")] = None,
    list_all: Annotated[bool, option(None, "Show what can be reproduced.", "--list")] = False,
    quick: Annotated[bool, option(None, "A version that takes seconds.", "--quick")] = False,
    resume: Annotated[bool, option(None, "Continue an earlier run.")] = True,
    jobs: Annotated[int, option(None, "Processes to use.", "--jobs", min=1)] = 1,
    cluster: Annotated[
        str | None, option("ADDRESS", "Run on a Dask cluster: tcp://host:8786, or its scheduler file.")
    ] = None,
    output: FolderOption = Path("results"),
) -> None:
    """Run a published table or figure again. A run that was stopped continues where it was."""
    from ..papers import catalogue, runner

    known = catalogue()
    if list_all:
        titles = {experiment.name: f"{experiment.citation}: {experiment.title}" for experiment in known.values()}
        session.show(titles, lambda console: console.print("\n".join(map(str, known.values()))))
        return
    experiment = runner.chosen(known, name, n_jobs=jobs, cluster=cluster)
    total = len(experiment.distinct_cells(quick))
    try:
        with session.step(experiment.name) as tell:
            records, paths = runner.reproduce(
                experiment,
                output=output,
                cluster=cluster,
                quick=quick,
                resume=resume,
                n_jobs=jobs,
                progress=lambda _, done, total: tell(done, total),
            )
    except ChildProcessError as error:
        print(f"kernelwise: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    failed = [record for record in records if not record.ok]
    session.show(
        {"experiment": experiment.name, "cells": total, "failed": len(failed), "files": [str(path) for path in paths]},
        lambda console: console.print("\n".join(str(path) for path in paths)),
    )
    if failed:
        print(f"kernelwise: {len(failed)} of {total} cells failed; the table names them", file=sys.stderr)
        raise typer.Exit(1)
