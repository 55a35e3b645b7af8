import numpy as np
import pytest
from hypothesis import settings

# No deadline: the clock of a busy machine says nothing of the code.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=200)  # make test-all
settings.load_profile("quick")


@pytest.fixture
def rng():
    """A fresh generator with a fixed seed: tests never share or leak random state."""
    return np.random.default_rng(20260101)
