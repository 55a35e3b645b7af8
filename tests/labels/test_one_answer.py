"""Every figure of an audit agrees with every other: twenty sets with 2 to 100 classes."""

import numpy as np
import pytest
import scipy.sparse as sp

from kernelwise import NoisyLabelClassifier, audit_labels, flip_labels
from kernelwise.labels.audit import audit_by
from kernelwise.report import label_report, render
from kernelwise.report.page import headlines
from kernelwise.review.audit import whole_numbers

#: (number of classes, rows, columns, distance between classes, share of flips)
SETS = [
    (classes, rows, columns, distance, flips)
    for classes, rows in ((2, 120), (3, 150), (5, 150), (20, 300), (100, 400))
    for columns, distance, flips in ((4, 3.0, 0.0), (4, 1.0, 0.2), (8, 2.0, 0.2), (8, 3.0, 0.4))
]


def made(classes, rows, columns, distance, flips, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % classes
    X = distance * rng.normal(size=(classes, columns))[y] + rng.normal(size=(rows, columns))
    return X, flip_labels(y, flips, random_state=seed) if flips else y


@pytest.mark.filterwarnings("ignore:y holds 100 different numbers")
@pytest.mark.parametrize(
    "setting",
    [pytest.param(one, marks=pytest.mark.slow if one[0] > 5 and one[3] != 1.0 else [], id=str(one)) for one in SETS],
)
def test_every_figure_comes_from_one_posterior(setting):
    X, given = made(*setting)
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    audit = audit_by(model, given)
    wrong = 1 - audit.quality
    assert audit.noise_rate == model.noise_rate_ == pytest.approx(wrong.mean(), abs=1e-12)
    np.testing.assert_array_equal(audit.quality, model.label_quality_)
    low, high = audit.noise_interval
    assert 0 <= low <= audit.noise_rate <= high <= 1

    suspects = audit.order[: audit.worth_checking()]
    assert (wrong[suspects] > 0.5).all()
    assert (audit.suggested[suspects] != given[suspects]).all()
    assert (audit.alternative != given).all()

    shares = audit.probabilities.mean(axis=0)
    assert shares @ (1 - np.diag(audit.transition)) == pytest.approx(audit.noise_rate, abs=1e-9)

    page = label_report(audit)
    assert page["summary"]["to_check"] == len(suspects)
    assert page["summary"]["expected_wrong"] == pytest.approx(wrong[suspects].sum(), rel=1e-4)
    assert page["summary"]["rates"][0]["rate"] == pytest.approx(wrong.mean(), rel=1e-4)
    title, advice, sentences = headlines(page)
    assert str(len(suspects)) in advice or len(suspects) < 2
    assert audit.diagnostic["claim"] in sentences
    if audit.diagnostic["reliable"]:
        assert title in (f"About {round(wrong.sum())} of {len(given)} labels look wrong", "The labels look right")
    else:
        fewest, most = whole_numbers((low, high), len(given))
        assert title.startswith(f"Between {fewest} and {most} of {len(given)} ")
        assert "should be wrong" not in advice
        assert audit.diagnostic["reason"] in sentences
    assert title in render(page)


def test_the_range_is_over_the_explanations_and_its_width_decides(rng):
    X, given = made(3, 900, 4, 4.0, 0.1)
    clear = audit_labels(X, given, random_state=0)
    assert clear.diagnostic["reliable"]
    assert clear.noise_interval[0] < np.mean(given != np.arange(900) % 3) < clear.noise_interval[1]
    X, given = made(3, 240, 4, 0.5, 0.0)
    vague = audit_labels(X, given, random_state=0)
    assert not vague.diagnostic["reliable"]
    assert vague.diagnostic["interval_width"] > 0.15
    assert "few dozen rows" in vague.diagnostic["reason"]
    assert vague.diagnostic["explanations"]["errors follow the features"] == (0.0, 1.0)
    useless = audit_labels(rng.normal(size=(200, 3)), rng.integers(0, 2, 200), random_state=0)
    assert "hardly tell the given labels apart" in useless.diagnostic["reason"]


def test_a_class_with_one_row_and_rows_without_a_label(rng):
    X, y = made(3, 120, 4, 4.0, 0.0)
    given = np.array(["Adelie", "Chinstrap", "Gentoo"], dtype=object)[y]
    given[7] = "Adelei"
    given[[20, 21]] = None
    model = NoisyLabelClassifier(random_state=0).fit(X, given)
    audit = audit_by(model, given)
    assert audit.order[0] == 7
    assert np.isnan(audit.quality[[20, 21]]).all()
    assert np.isfinite(np.delete(audit.quality, [20, 21])).all()
    assert audit.suggested[[20, 21]].tolist() == ["Gentoo", "Adelie"]
    assert audit.noise_rate == pytest.approx(np.nanmean(1 - audit.quality), abs=1e-12)
    numbers = np.where(np.arange(120) == 20, np.nan, y)
    assert NoisyLabelClassifier(random_state=0).fit(X, numbers).classes_.tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="no label in any row"):
        NoisyLabelClassifier().fit(X, np.full(120, np.nan))
    with pytest.raises(ValueError, match="no label in row 20"):
        audit_labels(None, given, probabilities=np.full((120, 4), 0.25))


def test_progress_is_told_from_the_first_view_to_the_last(rng):
    told = []
    X, given = made(2, 80, 4, 2.0, 0.1)
    audit_labels(X, given, random_state=0, progress=lambda done, total: told.append((done, total)))
    done, totals = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == totals[-1] >= 5


def test_one_scale_for_all_columns_where_it_tells_more(rng):
    """The first of forty columns is large and tells the class; after standardisation it is one among many."""
    y = rng.integers(0, 2, 300)
    X = rng.normal(size=(300, 40))
    X[:, 0] = 12 * (y + 0.4 * rng.normal(size=300))
    model = NoisyLabelClassifier(random_state=0).fit(X, y)
    assert "logistic, one scale" in model.model_names_
    same = NoisyLabelClassifier(random_state=0).fit(X / X.std(axis=0), y)
    assert not any("one scale" in name for name in same.model_names_)


def test_sparse_text_is_seen_whole(rng):
    """A hundred words per class, each in few texts: landmarks would see few of them."""
    y = rng.integers(0, 2, 400)
    words = rng.integers(0, 100, (400, 6)) + 100 * y[:, None]
    X = sp.csr_array((np.ones(2400), (np.repeat(np.arange(400), 6), words.ravel())), shape=(400, 200))
    model = NoisyLabelClassifier(random_state=0).fit(X[:300], flip_labels(y[:300], 0.2, random_state=0))
    assert model.score(X[300:], y[300:]) > 0.97
    assert "logistic" in model.model_names_
