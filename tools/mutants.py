"""Change the statistical core in small ways, and see whether the tests notice: ``make mutants``.

A mutant is one small change: a constant scaled, ``+`` for ``-``, a term dropped, a comparison turned round, a view
switched off, a refinement left out. A mutant is *killed* if a golden test or a unit test of the mutated package fails.
Some mutants are written by hand (:data:`HAND_WRITTEN`), and the others are drawn with a seed from all changes that
the operators below can make. Changes that nothing can notice are listed with their reasons in :data:`EQUIVALENT`.

The tests are run once on the unchanged tree, with a record of the lines that each test executes. A mutant then meets
only the tests that execute its line, until one fails: the stored answers first, then the quickest.

Why not mutmut or cosmic-ray: both start pytest for every mutant, and starting pytest and importing SciPy and
scikit-learn takes several times longer than the tests that kill most mutants. Here one process imports them once and
forks for every mutant. The operators of those tools also know nothing of statistics: they change messages, names
and argument checks, and they do not switch a view off.

``<`` is not changed to ``<=``: for real numbers that is the same statement. Numbers that only keep a division finite,
or that only bound memory and time, are not scaled (:data:`SMALLEST`, :data:`LARGEST`): no answer depends on them.
Indices, axes and messages are left alone, because a change of them raises an exception in any test and would flatter
the result.

    python tools/mutants.py --sample 120 --seed 0          # all by hand, and drawn ones up to 120 in all
    python tools/mutants.py --sample 200 --part 1/4        # a quarter of them; the parts may run one after the other
    python tools/mutants.py --sample 200 --resume          # go on after an interruption, or gather all parts
    python tools/mutants.py --file scoring/pool.py    # of one file
    python tools/mutants.py --list                         # show what would be run
"""

import argparse
import ast
import copy
import hashlib
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("src/kernelwise")
#: The statistical core, as files and folders of the package.
CORE = (
    "scoring",
    "noise",
    "review",
    "labels/answers.py",
    "labels/classifier.py",
    "labels/audit.py",
    "pairs/audit",
    "pairs/classes",
    "pairs/statistics.py",
    "records",
    "links",
    "completion",
    "completion/matrix",
    "statements/noise.py",
    "statements/verdicts.py",
    "ties.py",
)
#: Files of these folders that are no statistics: the same computations in row blocks, and checks of arguments.
NOT_CORE = ("on_dask.py", "__init__.py")
#: For each part of the core, the tests that may notice a change; the first part that fits is taken. Those tests of
#: them are run that execute the changed line.
GOLDEN = "tests/golden/test_golden.py"
SUITES: dict[str, tuple[str, ...]] = {
    "labels": (GOLDEN, "tests/labels"),
    "scoring": (GOLDEN, "tests/scoring", "tests/labels"),
    "noise": (GOLDEN, "tests/noise", "tests/labels"),
    "records": (GOLDEN, "tests/records"),
    "pairs": (GOLDEN, "tests/pairs", "src/kernelwise/pairs/statistics.py"),
    "links": (GOLDEN, "tests/links"),
    "completion": (GOLDEN, "tests/completion"),
    "review": (GOLDEN, "tests/review", "tests/labels", "src/kernelwise/review/diagnosis.py"),
    "statements": (GOLDEN, "tests/statements", "tests/review"),
    "ties.py": (GOLDEN, "src/kernelwise/ties.py", "tests/review", "tests/pairs"),
}
#: What every test needs, except for kernelwise.
IMPORTED_ONCE = (
    *("pytest", "hypothesis", "pandas", "scipy.stats", "scipy.optimize", "scipy.sparse.linalg", "sklearn.cluster"),
    *("sklearn.ensemble", "sklearn.kernel_approximation", "sklearn.linear_model", "sklearn.model_selection"),
    *("sklearn.naive_bayes", "sklearn.preprocessing", "sklearn.svm"),
)
#: A test may take this many times its processor seconds on the unchanged tree, and so many seconds more.
PATIENCE, MORE_PATIENCE = 3.0, 10.0
#: Tests of a line are run as long as they take no more than so many seconds together.
MOST_SECONDS = 30.0
#: What was found so far, for ``--resume``.
RESULTS = ROOT / ".mutants.json"

#: File, text to replace, replacement, what the change is.
HAND_WRITTEN = (
    ("scoring/pool.py", "yield total, self.forest(found)", "yield total, None", "forests switched off"),
    ("scoring/pool.py", "GAIN = 2.0", "GAIN = 1e9", "one scale for all columns switched off"),
    ("scoring/pool.py", "N_MIXTURE_STEPS = 100", "N_MIXTURE_STEPS = 1", "the mixture of views is not fitted"),
    ("scoring/logistic.py", "if losses[-1] > min(losses):", "if False:", "the path of penalties never stops"),
    ("review/diagnosis.py", "WIDE_RANGE = 0.15", "WIDE_RANGE = 0.9", "wide ranges are called answers"),
    ("scoring/kernel_scores.py", "LAPLACE_WIDTH = 0.6, 0.5, 1.0", "LAPLACE_WIDTH = 0.6, 0.5, 2.0", "a wider kernel"),
    (
        "noise/two_classes.py",
        "EQUAL, DIFFERENCE = 0.75",
        "EQUAL, DIFFERENCE = 0.65",
        "prior of equal rates",
    ),
    ("noise/two_classes.py", "(0.7, -2.1)", "(0.7, 0.0)", "the slope does not depend on the noise"),
    ("noise/two_classes.py", "N_GRIDS, REACH = 3", "N_GRIDS, REACH = 1", "one grid alone"),
    ("noise/posterior.py", "SYMMETRY = 0.8", "SYMMETRY = 0.7", "less symmetry for single labels"),
    ("noise/posterior.py", "ROWS = 30.0", "ROWS = 25.0", "prior of a row of T"),
    ("noise/explanations.py", "share = 0.5 if", "share = 0.3 if", "odds of explanations, many classes"),
    ("noise/explanations.py", "OVERLAP = 0.25", "OVERLAP = 0.3", "prior of overlap"),
    ("noise/explanations.py", "* self.counting_error", "* 0.0", "the rate is taken as exact"),
    ("noise/explanations.py", "STEEPEST = 2.0", "STEEPEST = 1.5", "prior of the shape of errors"),
    ("scoring/pool.py", "_positive_mean(agreement", "(lambda c, e: c)(agreement", "correlations at their word"),
    ("pairs/audit/judgements.py", "MARGIN = 1.5", "MARGIN = 0.0", "only the best number of classes"),
    ("pairs/audit/hidden_classes.py", "prior = told.prior + ", "prior = ", "features of links left out"),
)

#: File, line of code, change -> why nothing can notice.
EQUIVALENT = {
    (
        "completion/basis.py",
        "if tol > 0:",
        "tol > 0 -> tol < 0",
    ): "exact eigenvectors in place of approximate ones, which are near enough to them",
    (
        "completion/basis.py",
        "checked = read_samples(estimator, X, ensure_min_samples=2)",
        "2 -> 3",
    ): "a check of arguments",
    (
        "completion/completer.py",
        "tell(N_STEPS - 1, N_STEPS)",
        "N_STEPS - 1 -> N_STEPS + 1",
    ): "progress",
    (
        "noise/sources.py",
        "chances = softmax(np.log(chances) + log_belief, axis=1)",
        "np.log(chances) -> chances",
    ): "where expectation and maximisation begin; they end at the same point",
    (
        "noise/two_classes.py",
        "wrong = np.clip(flips, FLOOR, 1 - FLOOR)",
        "1 - FLOOR -> 1",
    ): "no rate of errors comes near one",
    (
        "pairs/audit/judgements.py",
        "chance = np.clip(np.exp(fit.log_chance), 1e-6, 1.0 - 1e-6)",
        "1.0 -> 1.5",
    ): "keeps log-odds finite",
    (
        "pairs/audit/wrong_pairs.py",
        "FITTED, FITTED_BEFORE_CLASSES = 0.5, 0.25",
        "0.25 -> 0.375",
    ): "progress",
    (
        "pairs/classes/evidence.py",
        "return np.asarray(np.exp(np.clip(logs + self.verdicts, -LARGEST_ODDS, LARGEST_ODDS)))",
        "np.clip(logs + self.verdicts, -LARGEST_ODDS, LARGEST_ODDS) -> logs + self.verdicts",
    ): "keeps odds finite; beyond the limit they are certain",
    (
        "pairs/classes/features.py",
        "sizes = power_of_two(np.abs(X).max(axis=0))",
        "np.abs(X).max(axis=0) -> np.abs(X).min(axis=0)",
    ): "a power of two before columns are standardised, so that no square overflows",
    (
        "pairs/classes/features.py",
        "self.ridge = RidgeSystem.decompose(rows, np.zeros((len(rows), 1)))",
        "1 -> 2",
    ): "targets that nobody reads",
    (
        "pairs/classes/features.py",
        "shares = np.log(classes.mean(axis=0) + np.finfo(float).tiny)",
        "classes.mean(axis=0) + np.finfo(float).tiny -> classes.mean(axis=0)",
    ): "keeps a logarithm finite",
    (
        "review/bounds.py",
        "return int(np.searchsorted(np.cumsum(total), level - ROUNDING))",
        "level - ROUNDING -> level + ROUNDING",
    ): "a level that lies on a step but for rounding",
    (
        "scoring/kernel_scores.py",
        "wide = A.shape[1] > A.shape[0]",
        "0 -> 1",
    ): "which of two Gram matrices is decomposed",
    (
        "scoring/kernel_scores.py",
        "kept = squares > ROUNDING * max(squares.max(initial=0.0), np.finfo(float).tiny)",
        "squares.max(initial=0.0) -> squares.min(initial=0.0)",
    ): "directions of the size of rounding are kept, and any penalty shrinks them to nothing",
    (
        "completion/completer.py",
        "eigen_tol: float = 0.01",
        "0.01 -> 0.015",
    ): "the accuracy of the eigenvectors of large similarities; those of small ones are exact",
    (
        "completion/core.py",
        "kept = values > 1e-12 * max(float(values[-1]), 0.0)",
        "1e-12 * max(float(values[-1]), 0.0) -> 1e-12",
    ): "directions of the size of rounding",
    (
        "completion/matrix/factors.py",
        "found, before = int(np.sum(excess > 0)), iterate",
        "excess > 0 -> excess < 0",
    ): "how many directions are looked for at once: the answer is certified, and only its time changes",
    (
        "completion/basis.py",
        'n_bytes = getattr(similarity, "nnz", np.prod(similarity.shape)) * 16',
        "getattr(similarity, 'nnz', np.prod(similarity.shape)) * 16"
        " -> getattr(similarity, 'nnz', np.prod(similarity.shape))",
    ): "a limit of memory",
    (
        "completion/basis.py",
        "shortest, longest = min(side.min() for side in sides), max(side.max() for side in sides)",
        "min((side.min() for side in sides)) -> max((side.min() for side in sides))",
    ): "the three sides of a triple are drawn alike, so that their shortest ones agree",
    (
        "noise/two_classes.py",
        "points = np.hstack([np.repeat(flips[:, :n_flips], len(shape), axis=0), np.tile(shape, (len(flips), 1))])",
        "1 -> 2",
    ): "the same columns once more, which nobody reads",
    (
        "scoring/logistic.py",
        "curvature = _covariance(p, values, weight, slope) - _covariance(q, values, weight, slope)",
        "_covariance(p, values, weight, slope) - _covariance(q, va... -> _covariance(p, values, weight, slope)",
    ): "a step of another length towards the same maximum",
    (
        "scoring/logistic.py",
        "curvature[0, 0] = 1.0",
        "1.0 -> 1.5",
    ): "the slope is held, so that its curvature meets a gradient of zero",
    (
        "scoring/logistic.py",
        "step *= min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))",
        "1.0 -> 1.5",
    ): "a step of another length towards the same maximum",
    (
        "scoring/kernel_scores.py",
        "size = float(gram.trace()) / len(gram) or 1.0",
        "1.0 -> 1.5",
    ): "the unit of a nugget of the size of rounding",
    (
        "scoring/kernel_scores.py",
        "size = float(gram.trace()) / len(gram) or 1.0",
        "float(gram.trace()) / len(gram) -> float(gram.trace())",
    ): "the unit of a nugget of the size of rounding",
    (
        "links/choice.py",
        "n_rounds = FEWEST_ROUNDS if len(sample) < n_samples else N_ROUNDS",
        "len(sample) < n_samples -> len(sample) > n_samples",
    ): "fewer rounds for more than 20,000 documents, to save time",
    (
        "links/depth_weights.py",
        "shares = np.where(labels > 0, 0.5 / max((labels > 0).sum(), 1), 0.5 / max((labels < 0).sum(), 1))",
        "1 -> 2",
    ): "keeps a division finite where a kind of pairs is missing",
    (
        "pairs/audit/hidden_classes.py",
        "tell(sum(rounds[:done]) + step + 1, sum(rounds))",
        "step + 1 -> step",
    ): "the display of the progress",
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
    def key(self) -> str:
        """The same for the same change of the same file."""
        return hashlib.sha256(f"{self.file}\n{self.source}".encode()).hexdigest()[:16]

    @property
    def is_equivalent(self) -> bool:
        return (self.file, self.code, self.change) in EQUIVALENT


def core_files() -> Iterator[str]:
    """The files of the core, relative to the package."""
    for part in CORE:
        path = ROOT / PACKAGE / part
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            if file.name not in NOT_CORE:
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


class Coverage(NamedTuple):
    """For one suite: the processor seconds of every test, and the tests that execute each line of each file."""

    seconds: dict[str, float]
    tests: dict[str, dict[int, list[str]]]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that may notice a mutant, up to the limit of time: stored answers first, then the quickest."""
        lines = self.tests.get(mutant.file, {})
        wanted = _lines_that_depend_on((ROOT / PACKAGE / mutant.file).read_text(encoding="utf-8"), mutant.line)
        found = {test for line in wanted for test in lines.get(line, ())}
        found = found or {test for tests in lines.values() for test in tests}
        chosen, total = [], 0.0
        for test in sorted(found, key=lambda test: (not test.startswith(GOLDEN), self.seconds.get(test, 0.0))):
            total += self.seconds.get(test, 0.0)
            if chosen and total > MOST_SECONDS:
                break
            chosen.append(test)
        return chosen


def _lines_that_depend_on(source: str, line: int) -> set[int]:
    """The lines of the statement around a line; of a constant of a module, all lines that name it."""
    tree = ast.parse(source)
    around = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno <= line <= node.end_lineno]
    inner = max(around, key=lambda node: node.lineno)
    names = {node.id for node in ast.walk(inner) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    if inner in tree.body and names:
        users = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
        return {node.lineno for node in users if isinstance(node.ctx, ast.Load)}
    return set(range(inner.lineno, inner.end_lineno + 1)) if not hasattr(inner, "body") else {line}


def suite_of(file: str) -> str:
    """The part of :data:`SUITES` that a file belongs to."""
    return next(part for part in SUITES if file.startswith(part))


def in_child(tree: Path, limit: float | None, work: Callable[[], bool]) -> tuple[bool, float]:
    """Whether some work in the tree succeeds, and its processor seconds, in a process of its own."""
    child = os.fork()
    if not child:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
        log = os.open(tree / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(tree)
        sys.path[:0] = [str(tree / "src"), str(tree / "tests")]
        sys.dont_write_bytecode = True
        try:
            succeeded = work()
        except BaseException as problem:
            print(repr(problem))
            succeeded = False
        os._exit(not succeeded)
    _, status, used = os.wait4(child, 0)
    return status == 0, used.ru_utime + used.ru_stime


def passes(tests: Sequence[str], plugins: Sequence[object] = ()) -> bool:
    """Whether tests pass; they are given as files, folders or names."""
    import pytest

    options = ["-x", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:cov", "-m", "not slow and not browser"]
    options += ["-W", "ignore:Module already imported"]  # since it was, before the fork
    return pytest.main([*options, *tests], plugins=[*plugins]) == 0


def measured(tree: Path, suite: str) -> Coverage:
    """Run a suite on the unchanged tree, in which it has to pass."""

    def work() -> bool:
        import coverage
        import pytest

        seconds: dict[str, float] = {}
        record = coverage.Coverage(data_file=None, source=[str(tree / PACKAGE)])

        class Recorder:
            @pytest.hookimpl(wrapper=True)
            def pytest_runtest_protocol(self, item):  # type: ignore[no-untyped-def]
                record.switch_context(item.nodeid)
                before = time.process_time()
                result = yield
                seconds[item.nodeid] = time.process_time() - before
                return result

        record.start()
        passed = passes(SUITES[suite], [Recorder()])
        record.stop()
        data, tests = record.get_data(), {}
        for path in data.measured_files():
            by_line = data.contexts_by_lineno(path)
            file = Path(path).relative_to(tree / PACKAGE).as_posix()
            tests[file] = {line: [name for name in names if name] for line, names in by_line.items()}
        (tree / "coverage.json").write_text(json.dumps([seconds, tests]), encoding="utf-8")
        return passed

    passed, total = in_child(tree, None, work)
    if not passed:
        raise SystemExit(f"the tests of {suite} fail on the unchanged tree:\n{(tree / 'log.txt').read_text()}")
    print(f"unchanged, {suite}: {total:.0f} s", flush=True)
    seconds, tests = json.loads((tree / "coverage.json").read_text(encoding="utf-8"))
    lines = {file: {int(line): names for line, names in by_line.items()} for file, by_line in tests.items()}
    return Coverage(seconds, lines)


def import_once() -> None:
    """Import what tests need before any fork, with one thread."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    for name in IMPORTED_ONCE:
        import_module(name)


def run(mutants: list[Mutant], tree: Path, known: dict[str, bool]) -> list[Mutant]:
    """Run every mutant in the copied tree that is not known yet, and return those that survive."""
    for name in ("src", "tests", "docs", "tools", "pyproject.toml", "README.md"):  # some tests read the documentation
        origin = ROOT / name
        (shutil.copytree if origin.is_dir() else shutil.copy)(origin, tree / name)
    left = [mutant for mutant in mutants if mutant.key not in known]
    suites = {suite: measured(tree, suite) for suite in sorted({suite_of(mutant.file) for mutant in left})}
    for mutant in left:
        path, coverage = tree / PACKAGE / mutant.file, suites[suite_of(mutant.file)]
        tests = coverage.of(mutant)
        unchanged = path.read_text(encoding="utf-8")
        path.write_text(mutant.source, encoding="utf-8")
        expected = sum(coverage.seconds.get(test, 0.0) for test in tests)
        survived, seconds = in_child(tree, PATIENCE * expected + MORE_PATIENCE, partial(passes, tests))
        survived = survived or not tests
        path.write_text(unchanged, encoding="utf-8")
        place = f"{mutant.file}:{mutant.line}"
        print(f"{'SURVIVED' if survived else 'killed':8s} {seconds:5.1f} s  {place}  {mutant.change}", flush=True)
        known[mutant.key] = survived
        RESULTS.write_text(json.dumps(known, indent=0), encoding="utf-8")
    return [mutant for mutant in mutants if known[mutant.key]]


def main() -> None:
    """Run the mutants and print the share that is killed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=200, help="mutants in all (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn (default: 0)")
    parser.add_argument("--part", default="1/1", help="for example 2/4: the second quarter of the mutants")
    parser.add_argument("--resume", action="store_true", help="keep what earlier runs on the same files found")
    parser.add_argument("--file", help="mutate this file alone, for example scoring/pool.py")
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    mutants = chosen(options.sample, options.seed, options.file)[part - 1 :: parts]
    if options.list:
        for mutant in mutants:
            print(f"{mutant.file}:{mutant.line}  {mutant.change}")
        return
    import_once()
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if options.resume and RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        survivors = run(mutants, Path(folder).resolve(), known)
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
