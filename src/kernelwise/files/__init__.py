"""Data, links and models in files: read with suspicion, written whole or not at all.

Each name is loaded on its first use, so that a command that needs no files starts quickly.
"""

from ..first_use import loaders

__getattr__, __dir__, __all__ = loaders(__name__, __file__)
