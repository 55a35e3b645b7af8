"""The old place of methods to compare with: estimators are names of ``kernelwise``, the rest is in ``papers``."""

import warnings
from importlib import import_module

_PAPERS = ("DenseCompletion", "singular_value_thresholding", "soft_impute")


def __getattr__(name: str) -> object:
    """Load a name from its new place, and say which it is."""
    if name.startswith("_"):
        raise AttributeError(name)
    home = "kernelwise.papers" if name in _PAPERS else "kernelwise"
    value = getattr(import_module(home), name)
    warnings.warn(f"kernelwise.baselines goes in 0.4: use {home}.{name}", FutureWarning, stacklevel=2)
    return value
