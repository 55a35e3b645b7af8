"""Learning from supervision that cannot be trusted.

Each public name is loaded on its first use, together with the modules that the name needs and no others. So ``import
kernelwise`` stays quick, and a program that uses one estimator loads the package of one task.
"""

from .first_use import loaders

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = loaders(__name__, __file__)
