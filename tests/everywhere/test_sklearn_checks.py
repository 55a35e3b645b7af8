"""scikit-learn's own checks over every public estimator."""

import pytest
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from public_estimators import CHECKED, public_estimators


def test_every_public_estimator_is_checked():
    assert public_estimators() == {type(estimator) for estimator in CHECKED}


def not_for_similarities(estimator):
    """One check hands features to estimators that cluster by similarities. No other failure is expected."""
    tags = get_tags(estimator)
    hands_features = tags.estimator_type == "clusterer" and tags.input_tags.pairwise
    return {"check_clustering": "its data is not a similarity"} if hands_features else {}


# The checks ask for more clusters than their data has distinct points, and fit random labels, which can leave no kernel
# with a positive weight and no core that goes with them: our warnings say so.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:all kernel weights are zero")
@pytest.mark.filterwarnings("ignore:all eigenvalues are zero:UserWarning")
@pytest.mark.filterwarnings("ignore:the estimated label matrix is zero")
@pytest.mark.filterwarnings("ignore:PairCompleter stopped after")
@parametrize_with_checks(CHECKED, expected_failed_checks=not_for_similarities)
def test_scikit_learn_check(estimator, check):
    check(estimator)
