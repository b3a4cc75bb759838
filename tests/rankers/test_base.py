"""Scores and normalizers of the base class of the rankers."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import plackett as pk
from plackett.data.preprocessing import QueryZScore

DATA = pk.datasets.make_web_like(6, docs_per_query=5, n_features=4, random_state=0)
X, Y, QID = DATA.X.astype(float), DATA.y, DATA.qid


def test_features_that_overflow_are_refused():
    with pytest.raises(ValueError, match=r"scores overflowed\. Scale the columns"):
        pk.PRank(random_state=0).fit(1e200 * X, Y, qid=QID)
    with pytest.raises(ValueError, match=r"squares of the features overflow\. Scale the columns"):
        pk.ranker("indv-svm").fit(1e200 * X, Y, qid=QID)
    ranker = pk.PRank(random_state=0).fit(X, Y, qid=QID)
    ranker.coef_ = 1e200 * ranker.coef_
    with pytest.raises(ValueError, match=r"the score of row \d+ overflowed"):
        ranker.predict(1e200 * X)


def test_a_score_over_empty_queries_only_is_an_error_of_ours():
    ranker = pk.LinearRanker().fit(X, Y, qid=QID)
    metric = "ndcg@10(empty=skip)"
    assert np.isfinite(ranker.score(X, Y, qid=QID, metric=metric))
    with pytest.raises(ValueError, match=r"no query has a value of ndcg@10"):
        ranker.score(X, np.zeros(30), qid=QID, metric=metric)


def test_a_normaliser_of_queries_hidden_in_a_pipeline_is_refused():
    with pytest.raises(ValueError, match=r"QueryZScore\(\) inside Pipeline, where it gets no qid"):
        pk.LinearRanker(normalize=make_pipeline(QueryZScore())).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        ("listmle", "first_index_", {}),
        ("listmle", "first_index_", True),
        ("xgboost", "n_jobs", False),
        ("qsvm", "n_jobs", False),
        ("qsvm", "n_jobs", 1.5),
    ],
)
def test_a_model_file_with_a_value_that_no_fit_stores_is_refused(name, attribute, value, tmp_path):
    if name == "xgboost":
        pytest.importorskip("xgboost")
    ranker = pk.ranker(name).fit(X, Y, qid=QID)
    setattr(ranker, attribute, value)
    ranker.save(tmp_path / "model.plk")
    with pytest.raises(pk.exceptions.ModelFormatError, match=attribute):
        pk.load(tmp_path / "model.plk")


def test_centres_whose_differences_overflow_are_refused_at_fit_and_in_a_file():
    with pytest.raises(ValueError, match="too large to be averaged"):
        pk.DiffRank().fit(np.where(np.sign(X - np.median(X)) == 1, 1.5e308, -1.5e308), Y, qid=QID)
