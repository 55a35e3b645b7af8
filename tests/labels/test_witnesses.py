"""Groups and copies in audits: a row is never vouched for by rows that share its error."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

import kernelwise as kw
from kernelwise.labels.sample import FEWEST, draw_groups


def groups_of_five(seed, n_groups=100):
    """Groups of five rows that are near each other and share their label, and which labels are wrong."""
    X, y = make_classification(n_groups, 6, n_informative=4, class_sep=1.5, flip_y=0, random_state=seed)
    group, draw = np.repeat(np.arange(n_groups), 5), np.random.RandomState(seed)
    wrong = (draw.rand(n_groups) < 0.2)[group]
    return X[group] + 0.05 * draw.randn(len(group), 6), np.where(wrong, 1 - y[group], y[group]), group, wrong


def copied_errors(away=0.0, seed=0):
    """Three hundred rows of which thirty have a wrong label and are repeated five more times; and which are wrong."""
    X, y = make_classification(300, 8, n_informative=5, class_sep=1.5, flip_y=0, random_state=seed)
    draw = np.random.RandomState(seed)
    chosen = draw.choice(300, 30, replace=False)
    wrong = np.isin(np.arange(300), chosen)
    rows = np.concatenate([np.arange(300), np.tile(chosen, 5)])
    moved = away * draw.randn(450, 8) * (np.arange(450) >= 300)[:, None]
    return X[rows] + moved, np.where(wrong, 1 - y, y)[rows], wrong[rows]


@pytest.fixture
def quiet():
    """Many copies are warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def test_groups_that_share_their_errors_are_audited_as_well_as_by_grouped_folds():
    ours, others, without = [], [], []
    for seed in range(3):
        X, given, group, wrong = groups_of_five(seed)
        audit = kw.audit_labels(X, given, groups=group, random_state=0)
        low, high = audit.noise_interval
        assert low <= wrong.mean() <= high
        ours.append(roc_auc_score(wrong, -audit.quality))
        alone = kw.audit_labels(X, given, groups=np.arange(500), random_state=0)
        without.append(roc_auc_score(wrong, -alone.quality))
        chances = cross_val_predict(
            LogisticRegression(), X, given, groups=group, cv=GroupKFold(5), method="predict_proba"
        )
        others.append(roc_auc_score(wrong, 1 - chances[np.arange(500), given]))
    assert np.mean(ours) > np.mean(others) - 0.02
    assert np.mean(ours) > np.mean(without) + 0.1


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("away", [0.0, 0.01])
def test_copies_of_wrong_rows_do_not_vouch_for_each_other(away):
    X, given, wrong = copied_errors(away)
    audit = kw.audit_labels(X, given, random_state=0)
    assert roc_auc_score(wrong, -audit.quality) > 0.85
    assert not audit.diagnostic["reliable"]
    low, high = audit.noise_interval
    assert low <= wrong.mean() <= high
    assert low <= audit.noise_rate <= high
    assert audit.diagnostic["copies"]["near_copies" if away else "equal_rows"] == 180
    assert audit.diagnostic["copies"]["one_witness"]


def test_many_copies_are_warned_of_and_the_warning_says_what_to_do():
    X, given, _ = copied_errors()
    with pytest.warns(UserWarning, match=r"180 rows equal another row.*groups=numpy.arange\(len\(X\)\)") as caught:
        kw.audit_labels(X, given, random_state=0)
    assert len(caught) == 1


def test_each_row_is_a_witness_if_the_user_says_so():
    X, given, wrong = copied_errors()
    audit = kw.audit_labels(X, given, groups=np.arange(450), random_state=0)
    assert roc_auc_score(wrong, -audit.quality) < 0.7  # as copies were told to vouch for each other
    assert audit.diagnostic["copies"]["equal_rows"] == 180
    assert not audit.diagnostic["copies"]["one_witness"]


@pytest.mark.usefixtures("quiet")
def test_equal_rows_with_different_labels_are_certain_errors():
    X, y = make_moons(200, noise=0.2, random_state=0)
    given, twins = np.concatenate([y, 1 - y[:30]]), np.arange(200, 230)
    audit = kw.audit_labels(np.vstack([X, X[:30]]), given, random_state=0)
    copies = audit.diagnostic["copies"]
    assert (copies["contradicting_rows"], copies["certain_errors"]) == (60, 30)
    assert "60 rows equal another row that has another label: at least 30 of their labels" in audit.diagnostic["reason"]
    np.testing.assert_allclose(audit.quality[:30] + audit.quality[twins], 1.0, atol=1e-9)  # one of the two is right
    assert np.mean(audit.quality[:30] > audit.quality[twins]) > 0.9


def test_tables_of_categories_have_no_copies(rng):
    X = rng.integers(3, size=(300, 3)).astype(float)
    given = kw.flip_labels((X[:, 0] > 0).astype(int), 0.1, random_state=0)
    model = kw.NoisyLabelClassifier(random_state=0).fit(X, given)
    assert model.diagnostic_["copies"]["equal_rows"] == model.diagnostic_["copies"]["equal_by_chance"] == 300
    assert "equal" not in model.diagnostic_["reason"]
    alone = kw.NoisyLabelClassifier(random_state=0).fit(X, given, groups=np.arange(300))
    np.testing.assert_array_equal(model.label_quality_, alone.label_quality_)


def test_groups_are_for_labels_in_memory():
    X, given, group, _ = groups_of_five(0)
    da = pytest.importorskip("dask.array")
    for fit in (kw.audit_labels, kw.estimate_label_noise, kw.NoisyLabelClassifier().fit):
        with pytest.raises(ValueError, match="groups are for rows in memory"):
            fit(da.from_array(X), da.from_array(given), groups=group)
        with pytest.raises(ValueError, match="one value for each of 500 rows"):
            fit(X, given, groups=group[1:])
    with pytest.raises(ValueError, match="leave out groups"):
        kw.audit_labels(None, given, probabilities=np.full((500, 2), 0.5), groups=group)
    answers = kw.Answers(np.arange(500), np.zeros(500), given, n_rows=500)
    with pytest.raises(ValueError, match="groups are for the models of features"):
        kw.audit_answers(None, answers, groups=group)
    with pytest.raises(ValueError, match="one value for each of 500 rows"):
        kw.NoisyLabelClassifier().fit(X, answers, groups=group[1:])


def test_an_estimator_of_the_user_gets_whole_groups_in_a_fold():
    X, given, group, wrong = groups_of_five(1)
    estimator = KNeighborsClassifier(1)
    found = [
        roc_auc_score(wrong, -kw.audit_labels(X, given, estimator=estimator, groups=one, random_state=0).quality)
        for one in (group, np.arange(len(X)))
    ]
    # The nearest row is one of the same group: it repeats the error, unless it was left out.
    assert found[0] > found[1] + 0.1
    assert found[1] < 0.55


def test_the_belief_of_answers_comes_from_models_that_saw_no_row_of_the_group():
    X, given, group, wrong = groups_of_five(1)
    answers, found = kw.Answers.from_table(given[:, None], sources=["Ann"]), []
    for one in (group, np.arange(len(X))):
        model = kw.NoisyLabelClassifier(random_state=0).fit(X, answers, groups=one)
        found.append(roc_auc_score(wrong, -model.out_of_sample_probabilities_[np.arange(len(X)), given]))
    assert found[0] > found[1] + 0.05


def test_a_sample_has_all_rows_of_a_group_or_none():
    X, given, group, wrong = groups_of_five(2, 180)
    model = kw.NoisyLabelClassifier(sample_size=500, random_state=0).fit(X, given, groups=group)
    assert 500 <= model.diagnostic_["learned_from"] < 540
    assert roc_auc_score(wrong, -model.label_quality_) > 0.85
    positions = draw_groups([(given, None)], group, np.array([7]), 500, np.random.RandomState(0))
    rows = np.concatenate([np.flatnonzero(given == label)[drawn] for label, drawn in positions.items()])
    assert 7 in rows
    assert set(np.bincount(group[rows], minlength=180)) == {0, 5}


def test_a_sample_of_groups_has_enough_rows_of_each_class():
    given, group = np.repeat([0, 1], [900, 60]), np.arange(960) // 3
    positions = draw_groups([(given, None)], group, np.zeros(0, dtype=int), 90, np.random.RandomState(0))
    assert FEWEST <= len(positions[1]) < 40


def test_outliers_are_listed_by_their_rows():
    X, y = make_moons(300, noise=0.2, random_state=0)
    X[17] = [40.0, -30.0]
    assert kw.audit_labels(X, y, random_state=0).outliers.tolist() == [17]
    labels = y.astype(object)
    labels[:5] = None
    assert kw.audit_labels(X, labels, random_state=0).outliers.tolist() == [17]


def test_outliers_in_a_sample_are_listed_by_their_rows():
    X, y = make_moons(800, noise=0.2, random_state=0)
    X[::2] += 0.01
    far = np.arange(5, 800, 160)
    X[far] = 30.0 * np.random.RandomState(0).randn(5, 2)
    found = kw.NoisyLabelClassifier(sample_size=500, random_state=0).fit(X, y).diagnostic_["outliers"]
    assert found
    assert set(found) <= set(far.tolist())
