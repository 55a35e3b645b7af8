import pytest

from dask_cluster import local_cluster


@pytest.fixture(scope="package")
def client():
    """One cluster for all tests of this folder: to start one takes longer than most of the tests."""
    with local_cluster() as client:
        yield client
