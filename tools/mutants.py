"""Change the statistical core in small ways, and see whether the tests notice: ``make mutants``.

A mutant is one small change: a constant scaled, ``+`` for ``-``, a term dropped, a comparison turned round, a view
switched off, a refinement left out. A mutant is *killed* if a golden test or a unit test of the mutated package fails.
Some mutants are written by hand (:data:`HAND_WRITTEN`), and the others are drawn with a seed from all changes that
the operators below can make. Changes that nothing can notice are listed with their reasons in :data:`EQUIVALENT`.

Why not mutmut or cosmic-ray: both start pytest for every mutant, and starting pytest and importing SciPy and
scikit-learn takes several times longer than the golden cases that kill most mutants. Here one process imports them once
and forks for every mutant. The operators of those tools also know nothing of statistics: they change messages, names
and argument checks, and they do not switch a view off.

``<`` is not changed to ``<=``: for real numbers that is the same statement. Numbers that only keep a division finite,
or that only bound memory and time, are not scaled (:data:`SMALLEST`, :data:`LARGEST`): no answer depends on them.
Indices, axes and messages are left alone, because a change of them raises an exception in any test and would flatter
the result.

    python tools/mutants.py --count 120 --seed 0           # all by hand, and drawn ones up to 120 in all
    python tools/mutants.py --file labels/views/pool.py    # of one file
    python tools/mutants.py --list                         # show what would be run
"""

import argparse
import ast
import copy
import os
import random
import resource
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/kernelwise")
#: The statistical core, as files and folders of the package.
CORE = (
    "labels/noise_model",
    "labels/views",
    "labels/classifier.py",
    "labels/audit.py",
    "labels/softmax.py",
    "labels/verdict.py",
    "pairs/audit",
    "pairs/statistics.py",
    "supervision/noise.py",
    "supervision/audit.py",
)
#: For each part of the core, the golden cases that depend on it and the unit tests, in the order in which they are run.
LABEL_CASES = ("audit_labels", "estimate_label_noise", "noisy_label_classifier")
PAIR_CASES = ("audit_pairs", "pair_kernel_learner", "pair_completer")
SUITES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "labels": (LABEL_CASES, ("tests/labels",)),
    "pairs/audit": (PAIR_CASES, ("tests/pairs/test_audit.py",)),
    "pairs/statistics.py": (
        ("pair_kernel_learner", "pair_kernel_clustering"),
        ("tests/pairs/test_problem.py", "tests/pairs/test_learner.py", "src/kernelwise/pairs/statistics.py"),
    ),
    "supervision": (
        ("pair_kernel_learner", "audit_labels_two_classes"),
        ("tests/supervision", "tests/labels/test_audit.py"),
    ),
}
#: What every test needs, except for kernelwise.
IMPORTED_ONCE = (
    *("pytest", "hypothesis", "pandas", "scipy.stats", "scipy.optimize", "scipy.sparse.linalg", "sklearn.cluster"),
    *("sklearn.ensemble", "sklearn.kernel_approximation", "sklearn.linear_model", "sklearn.model_selection"),
    *("sklearn.naive_bayes", "sklearn.preprocessing", "sklearn.svm"),
)
#: A mutant may take this many times the processor seconds of the tests on the unchanged tree.
PATIENCE = 3.0

#: File, text to replace, replacement, what the change is.
HAND_WRITTEN = (
    ("labels/views/pool.py", "for share in shares:", "for share in ():", "forests switched off"),
    ("labels/views/pool.py", "GAIN = 2.0", "GAIN = 1e9", "one scale for all columns switched off"),
    (
        "labels/views/pool.py",
        "SHARPNESS, SHARPEST = 0.2",
        "SHARPNESS, SHARPEST = 0.0",
        "views start with equal weights",
    ),
    ("labels/views/pool.py", "N_MIXTURE_STEPS = 100", "N_MIXTURE_STEPS = 1", "the mixture of views is not fitted"),
    ("labels/views/logistic.py", "if losses[-1] > min(losses):", "if False:", "the path of penalties never stops"),
    ("labels/verdict.py", "WIDE_RANGE = 0.15", "WIDE_RANGE = 0.9", "wide ranges are called answers"),
    ("labels/views/diverse_kernels.py", "for order in (1, 2)", "for order in (1,)", "pairs of features switched off"),
    ("labels/noise_model/posterior.py", "EQUAL, DIFFERENCE = 0.75", "EQUAL, DIFFERENCE = 0.65", "prior of equal rates"),
    ("labels/noise_model/posterior.py", "(0.7, -2.1)", "(0.7, 0.0)", "the slope does not depend on the noise"),
    ("labels/noise_model/posterior.py", "ZOOMS = 3", "ZOOMS = 1", "zoom left out"),
    ("labels/noise_model/posterior.py", "SYMMETRY = 0.8", "SYMMETRY = 0.7", "less symmetry for single labels"),
    ("labels/noise_model/many_classes.py", "ROWS = 30.0", "ROWS = 25.0", "prior of a row of T"),
    ("labels/noise_model/many_classes.py", "0.64]), 7, 2", "0.64]), 7, 1", "the grid zooms in less"),
    ("labels/noise_model/many_classes.py", "RARE = 4.0", "RARE = 1e9", "rare classes are given as often as others"),
    ("labels/noise_model/explanations.py", "return 0.5, 0.5", "return 0.3, 0.3", "odds of explanations, many classes"),
    ("labels/noise_model/explanations.py", "OVERLAP = 0.118", "OVERLAP = 0.13", "prior of overlap"),
    ("labels/noise_model/explanations.py", "ALIKE = 0.1", "ALIKE = 0.0001", "no overlap looks like errors"),
    ("labels/noise_model/explanations.py", "* self.counting_error", "* 0.0", "the rate is taken as exact"),
    ("labels/noise_model/fading_errors.py", "STEEPEST = 2.0", "STEEPEST = 1.5", "prior of the shape of errors"),
    ("labels/views/pool.py", "_positive_mean(agreement", "(lambda c, e: c)(agreement", "correlations at their word"),
    ("pairs/audit/by_links.py", "starts = [factors, smoothed", "starts = [smoothed", "start by factors left out"),
    ("pairs/audit/hidden_classes.py", "logs = prior + graph.gather", "logs = graph.gather", "features left out"),
    ("pairs/audit/hidden_classes.py", "MARGIN = 1.5", "MARGIN = 0.0", "only the best number of classes"),
    ("pairs/audit/views.py", "FACTOR_ROUNDS = 4, 3.0, 6", "FACTOR_ROUNDS = 4, 3.0, 5", "one round of factors left out"),
)

#: File, line of code, change -> why nothing can notice.
EQUIVALENT = {
    (
        "pairs/audit/views.py",
        "if pairs.n_samples <= 4 * GRAPH_RANK:",
        "4 -> 5",
    ): "from this number of samples on, the same eigenvectors are found by iteration",
    (
        "labels/views/ridge.py",
        "kept = squares > ROUNDING * max(squares.max(initial=0.0), np.finfo(float).tiny)",
        "squares.max(initial=0.0) -> squares.min(initial=0.0)",
    ): "directions of the size of rounding are kept, and any penalty shrinks them to nothing",
}

SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
OTHER_CALL = {
    "maximum": "minimum",
    "minimum": "maximum",
    "max": "min",
    "min": "max",
    "argmax": "argmin",
    "log1p": "log",
}
WITHOUT = {"sqrt", "clip", "log", "exp", "expit", "normalize", "abs"}
#: Constants outside of these bounds are guards against rounding, and limits of size.
SMALLEST, LARGEST = 1e-5, 299
#: Keywords whose values are no statistics, and functions that check arguments or write texts.
STRUCTURAL = {"axis", "ndim", "dtype", "keepdims", "minlength", "strict", "initial", "side", "slots"}
NOT_STATISTICS = (
    "_check",
    "check_",
    "__repr__",
    "__eq__",
    "__post_init__",
    "to_frame",
    "label",
    "_keep",
    "_with_interval",
)


class Mutant(NamedTuple):
    """One changed file."""

    file: str
    line: int
    code: str
    change: str
    source: str  # of the whole changed file

    @property
    def is_equivalent(self) -> bool:
        return (self.file, self.code, self.change) in EQUIVALENT


def core_files() -> Iterator[str]:
    """The files of the core, relative to the package."""
    for part in CORE:
        path = ROOT / PACKAGE / part
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            yield file.relative_to(ROOT / PACKAGE).as_posix()


def written_by_hand() -> Iterator[Mutant]:
    """The mutants of :data:`HAND_WRITTEN`."""
    for file, old, new, change in HAND_WRITTEN:
        source = (ROOT / PACKAGE / file).read_text(encoding="utf-8")
        if source.count(old) != 1:
            raise SystemExit(f"{file} holds {old!r} {source.count(old)} times, not once: mend HAND_WRITTEN")
        line = source[: source.index(old)].count("\n") + 1
        yield Mutant(file, line, source.splitlines()[line - 1].strip(), change, source.replace(old, new))


def drawn_from(file: str) -> Iterator[Mutant]:
    """Every change of one file that the operators can make."""
    source = (ROOT / PACKAGE / file).read_text(encoding="utf-8")
    for node in _statistics(ast.parse(source)):
        for changed in _changes(node):
            old, new = ast.unparse(node), ast.unparse(changed) if isinstance(changed, ast.AST) else changed
            replaced = _replaced(source, node, f"({new})" if isinstance(node, ast.expr) else new)
            code = source.splitlines()[node.lineno - 1].strip()
            yield Mutant(file, node.lineno, code, f"{_short(old)} -> {_short(new)}", replaced)


def _statistics(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute, without annotations, indices, messages and checks of arguments."""
    if isinstance(node, ast.FunctionDef) and node.name.startswith(NOT_STATISTICS):
        return
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    if isinstance(node, ast.If) and all(isinstance(part, ast.Raise) for part in node.body):
        return
    if isinstance(node, ast.keyword) and node.arg in STRUCTURAL:
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "slice"):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _statistics(part)


def _changes(node: ast.AST) -> Iterator[ast.AST | str]:
    """The operators."""
    match node:
        case ast.Constant(value=int() | float() as number) if _matters(number):
            yield ast.Constant(number + 1 if isinstance(number, int) else 1.5 * number or 0.1)
        case ast.BinOp(op=op) if type(op) in SWAPS:
            yield _with(node, op=SWAPS[type(op)]())
            if isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div):
                yield node.left
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            yield _with(node, ops=[SWAPS[type(op)]()])
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in OTHER_CALL:
            yield _with(node, func=_with(called, attr=OTHER_CALL[name]))
        case ast.Call(func=ast.Name(id=name)) if name in OTHER_CALL:
            yield _with(node, func=ast.Name(OTHER_CALL[name]))
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[first, *_]) if name in WITHOUT:
            yield first
        case ast.AugAssign():
            yield "pass"
        case ast.IfExp(test=test):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))


def _matters(number: float) -> bool:
    return not isinstance(number, bool) and (number == 0 or SMALLEST <= abs(number) <= LARGEST)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _replaced(source: str, node: ast.AST, text: str) -> str:
    lines = source.encode().splitlines(keepends=True)  # columns of ast count bytes
    first, last = node.lineno - 1, node.end_lineno - 1
    before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    return b"".join([*lines[:first], before + text.encode() + after, *lines[last + 1 :]]).decode()


def _short(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."


def chosen(count: int, seed: int, file: str | None) -> list[Mutant]:
    """The mutants by hand, and drawn ones up to the count."""
    files = [name for name in core_files() if file is None or name.endswith(file)]
    if not files:
        raise SystemExit(f"{file} is no file of the statistical core")
    by_hand = [mutant for mutant in written_by_hand() if mutant.file in files]
    drawn = [mutant for name in files for mutant in drawn_from(name)]
    drawn = random.Random(seed).sample(drawn, min(len(drawn), max(count - len(by_hand), 0)))
    return [mutant for mutant in [*by_hand, *sorted(drawn)] if not mutant.is_equivalent]


# Running --------------------------------------------------------------------------------------------------------------


def suite_of(file: str) -> str:
    """The part of :data:`SUITES` that a file belongs to."""
    return next(part for part in SUITES if file.startswith(part))


def run_tests(tree: Path, suite: str, limit: float | None) -> tuple[bool, float]:
    """Whether the tests pass in this tree, and the processor seconds that they took, in a process of their own."""
    child = os.fork()
    if not child:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
        log = os.open(tree / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os._exit(_fails(tree, suite))
    _, status, used = os.wait4(child, 0)
    return status == 0, used.ru_utime + used.ru_stime


def _fails(tree: Path, suite: str) -> bool:
    """Whether a test fails: first the golden cases, without the seconds that pytest takes to start, then unit tests."""
    os.chdir(tree)
    sys.path[:0] = [str(tree / "src"), str(tree / "tests")]
    sys.dont_write_bytecode = True
    prefixes, unit_tests = SUITES[suite]
    try:
        return _answers_differ(tree, prefixes) or _unit_tests_fail(unit_tests)
    except BaseException as problem:
        print(repr(problem))
        return True


def _answers_differ(tree: Path, prefixes: tuple[str, ...]) -> bool:
    import kernelwise
    from golden.cases import CASES
    from golden.stored import TOLERANCE, difference, plain, read

    assert Path(kernelwise.__file__).is_relative_to(tree), kernelwise.__file__
    for name in (name for name in CASES if name.startswith(prefixes)):
        with warnings.catch_warnings(action="error"):
            found = plain(CASES[name]())
        if any(not difference(old, found[output]) <= TOLERANCE for output, old in read(name).items()):
            print(name)
            return True
    return False


def _unit_tests_fail(tests: tuple[str, ...]) -> bool:
    import pytest

    options = ["-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-m", "not slow and not browser"]
    options += ["-W", "ignore:Module already imported"]  # since it was, before the fork
    return pytest.main([*options, *tests]) != 0


def import_once() -> None:
    """Import what tests need before any fork, with one thread."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in IMPORTED_ONCE:
        import_module(name)


def run(mutants: list[Mutant], tree: Path, limit: float | None) -> list[Mutant]:
    """Run every mutant in the copied tree, and return those that survive.

    The tests of the unchanged tree, which have to pass, say how long a mutant may take, unless a limit is given.
    """
    for name in ("src", "tests", "pyproject.toml"):
        origin = ROOT / name
        (shutil.copytree if origin.is_dir() else shutil.copy)(origin, tree / name)
    suites = sorted({suite_of(mutant.file) for mutant in mutants})
    limits = {} if limit is None else dict.fromkeys(suites, limit)
    for suite in suites if limit is None else ():
        passed, seconds = run_tests(tree, suite, None)
        if not passed:
            raise SystemExit(f"the tests of {suite} fail on the unchanged tree:\n{(tree / 'log.txt').read_text()}")
        limits[suite] = PATIENCE * seconds
        print(f"unchanged, {suite}: {seconds:.0f} s", flush=True)
    survivors = []
    for mutant in mutants:
        path = tree / PACKAGE / mutant.file
        unchanged = path.read_text(encoding="utf-8")
        path.write_text(mutant.source, encoding="utf-8")
        suite = suite_of(mutant.file)
        passed, seconds = run_tests(tree, suite, limits[suite])
        path.write_text(unchanged, encoding="utf-8")
        place = f"{mutant.file}:{mutant.line}"
        print(f"{'SURVIVED' if passed else 'killed':8s} {seconds:5.1f} s  {place}  {mutant.change}", flush=True)
        survivors += [mutant] * passed
    return survivors


def main() -> None:
    """Run the mutants and print the share that is killed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=120, help="mutants in all (default: 120)")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn (default: 0)")
    parser.add_argument("--file", help="mutate this file alone, for example labels/views/pool.py")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    parser.add_argument("--limit", type=float, help="processor seconds per mutant; skips the run that measures them")
    options = parser.parse_args()
    mutants = chosen(options.count, options.seed, options.file)
    if options.list:
        for mutant in mutants:
            print(f"{mutant.file}:{mutant.line}  {mutant.change}")
        return
    import_once()
    with tempfile.TemporaryDirectory() as folder:
        survivors = run(mutants, Path(folder).resolve(), options.limit)
    totals, left = Counter(mutant.file for mutant in mutants), Counter(mutant.file for mutant in survivors)
    print(f"\n{'file':45s} mutants  killed")
    for file, total in sorted(totals.items()):
        print(f"{file:45s} {total:7d} {total - left[file]:7d}")
    share = 1 - len(survivors) / len(mutants)
    print(f"{'all':45s} {len(mutants):7d} {len(mutants) - len(survivors):7d}  {share:.1%}")
    for mutant in survivors:
        print(f"survived: {mutant.file}:{mutant.line}  {mutant.change}\n          {mutant.code}")


if __name__ == "__main__":
    main()
