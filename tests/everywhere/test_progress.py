"""Long work says how much of it is done, and how long the rest takes."""

import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from kernelwise import (
    LinkedClustering,
    NoisyLabelClassifier,
    NoisyPairClustering,
    PairCompleter,
    Pairs,
    audit_labels,
    audit_pairs,
    audit_record_pairs,
    plan_labelling,
)
from kernelwise.files import Column, SavedModel, Table, TableFeatures, make_card
from kernelwise.pairs.audit.wrong_pairs import FITTED
from kernelwise.progress import News, part, teller

Y = np.repeat([0, 1, 2], 20)
X = np.eye(3)[Y] @ np.random.RandomState(1).randn(3, 6) + 0.3 * np.random.RandomState(0).randn(60, 6)
PAIRS = Pairs.from_labels(Y, n_pairs=200, random_state=0).flip(0.1, random_state=0)
LINKS = PAIRS[PAIRS.labels > 0]
NAMES = [f"{name}{'xy'[t % 2]}" for t, name in enumerate("abcdefghijklmnopqrst" * 3)]
LEFT, ANSWERS = np.tile(np.arange(20), 2), np.append(np.where(np.arange(20) % 7, 1, -1), np.full(20, -1))
RECORDS = Pairs(LEFT, np.append(np.arange(20), (np.arange(20) + 5) % 20) + 20, ANSWERS, n_samples=60)

WORK = {
    "labels": lambda told: NoisyLabelClassifier(random_state=0).fit(X, Y, progress=told),
    "audit of labels": lambda told: audit_labels(X, Y, random_state=0, progress=told),
    "classes": lambda told: NoisyPairClustering(3, random_state=0).fit(X, pairs=PAIRS, progress=told),
    "number of classes": lambda told: NoisyPairClustering(random_state=0).fit(X, pairs=PAIRS, progress=told),
    "links": lambda told: LinkedClustering(3, random_state=0).fit(X, pairs=LINKS, progress=told),
    "no links": lambda told: LinkedClustering(3, random_state=0).fit(X, progress=told),
    "audit by classes": lambda told: audit_pairs(X, PAIRS, kind="classes", random_state=0, progress=told),
    "audit by links": lambda told: audit_pairs(X, LINKS, kind="links", random_state=0, progress=told),
    "audit by what fits": lambda told: audit_pairs(X, PAIRS, random_state=0, progress=told),
    "completion": lambda told: PairCompleter("auto", random_state=0).fit(X @ X.T, pairs=PAIRS, progress=told),
    "plan of labels": lambda told: plan_labelling(X @ X.T, 3, n_repeats=1, random_state=0, progress=told),
    "audit of records": lambda told: audit_record_pairs(NAMES, RECORDS, random_state=0, progress=told),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_shares_grow_to_one(work):
    shares = []
    work(lambda done, total: shares.append(done / total))
    assert len(shares) >= 3
    assert shares[0] > 0
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_progress_changes_no_answer():
    told, untold = (NoisyPairClustering(random_state=0).fit(X, pairs=PAIRS, progress=p) for p in (True, None))
    np.testing.assert_array_equal(told.probabilities_, untold.probabilities_)


def test_news_are_a_share_and_a_time_after_ten_seconds(capsys):
    news = News("clustering")
    news(1, 4)
    assert not capsys.readouterr().err  # short work is silent
    news.started -= 30
    news(1, 4)
    said = capsys.readouterr().err
    assert said.startswith("clustering: 25% done")
    assert abs(int(re.search(r"about (\d+) s left", said).group(1)) - 90) <= 3
    news(2, 4)
    assert not capsys.readouterr().err  # the next line comes after twice the time
    news.started -= 60
    news(2, 4)
    assert capsys.readouterr().err
    news.started -= 31
    news(3, 4)
    assert capsys.readouterr().err  # and then every 30 seconds
    news.started -= 60
    news(4, 4)
    assert not capsys.readouterr().err  # what is done needs no news


def test_an_audit_of_links_tells_often():
    shares = []
    WORK["audit by links"](lambda done, total: shares.append(done / total))
    fitting = [share for share in shares if share <= FITTED]
    assert len(fitting) > 50
    assert np.diff([0.0, *shares]).max() < 0.5  # models of many classes are left out where more classes predict worse


def test_an_audit_by_classes_takes_most_of_the_time_after_the_models_of_links():
    shares = []
    WORK["audit by what fits"](lambda done, total: shares.append(done / total))
    first_quarter = [share for share in shares if 0.05 < share < 0.25]
    assert len(first_quarter) > 50  # the many steps of the models


def test_parts_tile_the_work():
    told = []
    first, second = (part(lambda done, total: told.append(done / total), *ends) for ends in ((0, 0.4), (0.4, 1)))
    for one in (first, second):
        one(1, 2)
        one(2, 2)
    assert told == [0.2, 0.4, 0.7, 1.0]


def test_a_word_for_progress_is_refused():
    with pytest.raises(TypeError, match="progress must be True, False, None or a function"):
        teller("yes", "clustering")


def test_predictions_of_files_tell_and_do_not_depend_on_the_blocks():
    rows = np.random.RandomState(2).randn(5000, 6)
    table = Table.of("rows.csv", [Column.of_numbers(f"x{j}", rows[:, j]) for j in range(6)])
    features = TableFeatures().fit(table)
    model = SavedModel(LogisticRegression().fit(X, Y), features, make_card())
    shares = []
    found = model.predict_proba(table, lambda done, total: shares.append(done / total))
    np.testing.assert_allclose(found, model.estimator.predict_proba(features.transform(table)), rtol=1e-12)
    assert shares == [0.4, 0.8, 1.0]
