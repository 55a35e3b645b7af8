"""Public names that a package loads on their first use, so that importing the package stays quick."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["loaders"]


def loaders(package: str, homes: Mapping[str, str | None]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    ``homes`` gives the module of each public name, relative to the package, or None where the name is a module itself.
    """

    def load(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{homes[name] or name}", package)
        value = module if homes[name] is None else getattr(module, name)
        vars(sys.modules[package])[name] = value
        return value

    return load, lambda: sorted({*vars(sys.modules[package]), *homes})
