"""Public names that a package loads on their first use, so that importing the package stays quick.

The names are written once, in the stub ``__init__.pyi`` of the package, which type checkers read as well.
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

__all__ = ["loaders"]


def loaders(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package, and its list ``__all__``.

    ``file`` is the ``__file__`` of the package; the stub beside it imports every public name from its module.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    homes = {
        name.name: f"{'.' * line.level}{line.module or ''}"
        for line in stub.body
        if isinstance(line, ast.ImportFrom)
        for name in line.names
    }

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f".{name}", package) if home == "." else getattr(import_module(home, package), name)
        vars(sys.modules[package])[name] = value
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *homes}), sorted(homes)
