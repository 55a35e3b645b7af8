import numpy as np
import pytest


@pytest.fixture
def rng():
    """A fresh generator with a fixed seed: tests never share or leak random state."""
    return np.random.default_rng(20260101)
