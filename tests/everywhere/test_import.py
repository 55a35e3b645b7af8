"""What ``import kernelwise`` brings, and what it costs."""

import subprocess
import sys
from importlib import import_module

import pytest

import kernelwise

OPTIONAL = ["typer", "rich", "jinja2", "matplotlib", "dask", "pandas"]


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    return done.stdout


@pytest.mark.parametrize("name", kernelwise.__all__)
def test_public_name_exists_and_is_documented(name):
    assert name in dir(kernelwise)
    assert getattr(kernelwise, name).__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("module", ["datasets", "kernels", "metrics"])
def test_names_of_public_modules_are_documented(module):
    home = getattr(kernelwise, module)
    for name in home.__all__:
        assert getattr(home, name).__doc__, f"kernelwise.{module}.{name} has no docstring"


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'kernelwise' has no attribute 'Perceptron'"):
        kernelwise.Perceptron  # noqa: B018 (to ask for it is the test)


def test_import_loads_neither_scikit_learn_nor_optional_packages():
    code = f"import sys, kernelwise; print([m for m in {[*OPTIONAL, 'sklearn', 'scipy']} if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_public_names_load_where_optional_packages_are_missing():
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({OPTIONAL}))\n"  # None there makes an import fail
        "import kernelwise\n"
        "for name in kernelwise.__all__: getattr(kernelwise, name)"
    )
    assert run(code) == ""


@pytest.mark.slow
def test_import_is_as_quick_as_that_of_scikit_learn():
    def seconds(module):
        return float(run(f"from time import perf_counter as t; a = t(); import {module}; print(t() - a)"))

    runs = [(seconds("kernelwise"), seconds("sklearn")) for _ in range(4)]
    ours, theirs = (min(column) for column in zip(*runs, strict=True))
    assert ours <= 1.2 * theirs


@pytest.mark.parametrize("name", ["ITML", "TransitiveClosure", "soft_impute"])
def test_names_of_the_old_place_work_and_say_the_new_one(name):
    home = "kernelwise.papers" if name == "soft_impute" else "kernelwise"
    with pytest.warns(FutureWarning, match=f"use {home}.{name}"):
        old = getattr(import_module("kernelwise.baselines"), name)
    assert old is getattr(import_module(home), name)
