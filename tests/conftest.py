import numpy as np
import pytest
from hypothesis import settings

# The clock of a busy machine says nothing of the code.
settings.register_profile("kernelwise", deadline=None)
settings.load_profile("kernelwise")


@pytest.fixture
def rng():
    """A fresh generator with a fixed seed: tests never share or leak random state."""
    return np.random.default_rng(20260101)
