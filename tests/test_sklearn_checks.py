"""scikit-learn's own checks over every public estimator."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from estimator_table import ESTIMATORS, EXPECTED_FAILURES


@parametrize_with_checks(
    ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES.get(type(estimator).__name__, {})
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
