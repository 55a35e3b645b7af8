"""The docstring of every estimator describes every parameter of its constructor, in the order of the constructor."""

import inspect
import re

import pytest

from public_estimators import public_estimators

PARAMETERS = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", flags=re.DOTALL | re.MULTILINE)


def described(docstring):
    """The names before the colons in the section "Parameters" of a docstring in numpydoc's format."""
    section = PARAMETERS.search(inspect.cleandoc(docstring))
    heads = re.findall(r"^(\w[^:\n]*?)(?: : .*)?$", section[1] if section else "", flags=re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


@pytest.mark.parametrize("estimator", sorted(public_estimators(), key=lambda each: each.__name__))
def test_every_parameter_is_described(estimator):
    assert described(estimator.__doc__) == [*inspect.signature(estimator).parameters]
