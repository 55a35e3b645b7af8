"""A similarity and a few known pairs: complete the others, and plan which to label."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .. import files
from .session import OutputOption, Session, check_files, option
from .show import csv_text, print_list

SimilarityArgument = Annotated[
    Path, typer.Argument(help="A square, symmetric matrix: CSV, .npy, .npz or .mtx, with names or without.")
]
ComponentsOption = Annotated[
    int, option(None, "Eigenvectors of the similarity to use; 0 lets the data choose.", "--components", min=0)
]


def complete(
    session: Session,
    similarity: SimilarityArgument,
    known: Annotated[Path, typer.Argument(help="Two ids per line and 1 (same class) or -1 (different).")],
    query: Annotated[Path, option("FILE", "The pairs to tell about: two ids per line.", "--query")],
    components: ComponentsOption = 0,
    output: OutputOption = None,
) -> None:
    """Tell for pairs whether they are of the same class, from a similarity and the truth for a few pairs.

    Ids are the names in the similarity, or row numbers from 0 where it has none.
    """
    from .. import PairCompleter

    check_files(session, read=[similarity, known, query], write=[output])
    with session.step(f"reading {similarity}"):
        matrix, names = files.read_similarity(similarity)
        ids = names or [str(row) for row in range(len(matrix))]
        rows = {name: row for row, name in enumerate(ids)}
        given = files.read_links(known, rows, nodes=str(similarity))
        asked = files.read_links(query, rows, nodes=str(similarity))
    with session.step(f"completing {len(given)} known pairs") as tell:
        model = PairCompleter(components or "auto", random_state=session.seed).fit(matrix, pairs=given, progress=tell)
        chances = model.predict_proba_pairs(asked.rows, asked.cols)
        answers = model.predict_pairs(asked.rows, asked.cols)
    lines = [
        [ids[row], ids[col], str(answer), f"{chance:.4f}"]
        for row, col, answer, chance in zip(asked.rows, asked.cols, answers, chances, strict=True)
    ]
    header = ["id", "other_id", "same", "probability"]
    written = session.write({output: partial(csv_text, header, lines)})
    result: dict[str, Any] = {
        "items": len(ids),
        "known": len(given),
        "asked": len(asked),
        "same": int((answers > 0).sum()),
        "components": model.n_components_,
        "coherence": model.coherence_,
        "written": written,
    }
    if output is None:
        result["answers"] = [
            {"id": one, "other_id": other, "same": int(answer), "probability": float(chance)}
            for one, other, answer, chance in lines
        ]

    def text(console: Console) -> None:
        basis = f"{model.n_components_} eigenvectors of coherence {model.coherence_:.2f}"
        console.print(f"{similarity}: {len(ids)} items, {len(given)} known pairs, {basis}.")
        console.print(f"Of {len(asked)} pairs asked for, {result['same']} are of the same class.")
        print_list(console, header, lines, written)

    session.show(result, text)


def plan(
    session: Session,
    similarity: SimilarityArgument,
    n_clusters: Annotated[int, option(None, "How many classes to expect.", "-k", "--classes", min=2)],
    accuracy: Annotated[float, option(None, "What is to be reached.", "--accuracy", min=0.5, max=1.0)] = 0.95,
    components: ComponentsOption = 0,
    output: OutputOption = None,
) -> None:
    """How many items, and how many pairs of them, to label before kernelwise complete can tell the others.

    Classes are planted in the similarity and found again from samples, so the answer is optimistic where true classes
    are not clusters of the similarity.
    """
    from .. import PairCompleter, plan_labelling

    check_files(session, read=[similarity], write=[output])
    with session.step(f"reading {similarity}"):
        matrix, _ = files.read_similarity(similarity)
    completer = PairCompleter(components) if components else None
    with session.step("simulating") as tell:
        found = plan_labelling(
            matrix, n_clusters, completer=completer, accuracy=accuracy, random_state=session.seed, progress=tell
        )
    header = ["items to label", "share of pairs", "pairs to label", "accuracy"]
    lines = [
        [str(row["n_labelled"]), f"{row['share']:.0%}", str(row["n_pairs"]), f"{row['accuracy']:.1%}"]
        for row in found.rows
    ]
    written = session.write({output: partial(csv_text, header, lines)})
    result: dict[str, Any] = {
        "items": len(matrix),
        "components": found.n_components,
        "coherence": found.coherence,
        "recommended": found.recommended,
        "rows": list(found.rows),
        "written": written,
    }

    def text(console: Console) -> None:
        basis = f"{found.n_components} eigenvectors of coherence {found.coherence:.2f}"
        console.print(f"{similarity}: {len(matrix)} items, {basis}.")
        if (best := found.recommended) is None:
            console.print(f"None of the following reaches an accuracy of {accuracy:.0%}; more eigenvectors may help.")
        else:
            what = f"{best['n_pairs']} pairs of {best['n_labelled']} items"
            console.print(f"Label {what} for an accuracy of {accuracy:.0%} on all other pairs.")
        print_list(console, header, lines, written, shown=len(lines))

    session.show(result, text)
