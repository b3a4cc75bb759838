"""Reasons, importance and learning curves of a comparison."""

import json
from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import plackett as pk
from plackett.evaluation.splits import as_folds
from plackett.report.tables import features_table

RANKERS = {
    "listmle": pk.ranker("listmle", l2=0.01, patience=None),
    "adarank": "adarank",
    "knn-svm": pk.ranker("knn-svm"),
}


@pytest.fixture(scope="module")
def data():
    return pk.datasets.make_web_like(24, 14, 5, random_state=1)


@pytest.fixture(scope="module")
def compared(data):
    return pk.compare(RANKERS, data, cv=3, metrics="ndcg@5", explain=True, learning_curve=[0.5])


def test_reasons_are_those_of_a_ranker_fitted_by_hand(data, compared):
    start = 0
    for fold in as_folds(3, data):
        ranker = pk.ranker("listmle", l2=0.01, patience=None, random_state=0).fit(fold.train)
        explanation = ranker.explain(fold.test)
        for row in range(fold.test.n_docs):
            found = compared.insights["listmle"].reasons.get(start + row)
            if found is not None:
                expected = explanation.top(row, 5)
                assert [one.feature for one in found] == [one.feature for one in expected]
                np.testing.assert_allclose([one.amount for one in found], [one.contribution for one in expected])
                assert [one.value for one in found] == [one.value for one in expected]
        start += fold.test.n_docs


def test_the_first_ten_documents_of_the_queries_that_changed_most_have_reasons(compared):
    queries = compared.queries
    expected = set()
    for place in compared.most_changed():
        rows = np.arange(queries.indptr[place], queries.indptr[place + 1])
        expected |= set(rows[np.argsort(-compared.scores["adarank"][rows], kind="stable")[:10]].tolist())
    assert set(compared.insights["adarank"].reasons) == expected


def test_own_contributions_are_averaged_over_the_first_ten_of_all_lists(data, compared):
    sums, n_docs = {}, 0
    for fold in as_folds(3, data):
        ranker = pk.ranker("listmle", l2=0.01, patience=None, random_state=0).fit(fold.train)
        scores, explanation = ranker.predict(fold.test), ranker.explain(fold.test)
        for start, end in zip(fold.test.indptr[:-1], fold.test.indptr[1:], strict=True):
            for row in (start + np.argsort(-scores[start:end], kind="stable")[:10]).tolist():
                n_docs += 1
                for part in explanation.top(row, None):
                    sums[part.feature] = sums.get(part.feature, 0.0) + abs(part.contribution)
    for name, mean in compared.insights["listmle"].explained.items():
        assert mean == pytest.approx(sums[name] / n_docs)


def test_an_estimator_without_explanations_says_so_and_still_has_importance(data):
    result = pk.compare({"ridge": Ridge(), "listmle": RANKERS["listmle"]}, data, cv=2, metrics="map", explain=True)
    insight = result.insights["ridge"]
    assert insight.problem == "Ridge cannot explain its scores feature by feature."
    assert not insight.reasons
    assert len(insight.permuted) == 5
    assert insight.n_permuted == 24


class OnlyKnownRows(Ridge):
    """Scores no row that it was not shown before, as an estimator does that looks rows up or checks its input."""

    known: ClassVar[set] = set()

    def predict(self, X):
        if not self.known >= {row.tobytes() for row in X}:
            raise LookupError("a row is not known")
        return super().predict(X)


def test_a_ranker_that_cannot_score_shuffled_features_has_a_note_and_no_importance(data, tmp_path):
    OnlyKnownRows.known = {row.tobytes() for row in data.X}
    rankers = {"strict": OnlyKnownRows(), "listmle": RANKERS["listmle"]}
    options = {"cv": 2, "metrics": "map", "explain": True, "folder": tmp_path}
    first, resumed = (pk.compare(rankers, data, **options) for _ in range(2))
    for result in (first, resumed):
        assert result.insights["strict"].permuted == []
        assert len(result.insights["listmle"].permuted) == 5
        (note,) = [note for note in result.notes if note.startswith("strict has no feature importance")]
        assert note.endswith("shuffled features could not be scored: a row is not known")
    alone = pk.compare({"ridge": Ridge(), "listmle": RANKERS["listmle"]}, data, cv=2, metrics="map", explain=True)
    np.testing.assert_array_equal(first.scores["strict"], alone.scores["ridge"])
    notes = features_table(first).notes
    assert "on 24 test queries;" in notes[0]


def test_importance_that_fails_in_one_fold_is_not_that_of_the_other_folds(data):
    folds = as_folds(2, data)
    OnlyKnownRows.known = {row.tobytes() for row in data.X}
    row = folds[0].test.X[:1]  # shuffling a list of one document changes nothing
    single = pk.Queries(row, y=np.ones(1), qid=folds[0].test.ids[:1], feature_names=data.feature_names)
    cv = [(folds[0].train, None, single), (folds[1].train, None, folds[1].test)]
    result = pk.compare({"strict": OnlyKnownRows()}, cv=cv, metrics="map", explain=True)
    assert result.insights["strict"].permuted == []
    assert result.insights["strict"].n_permuted == 0


def test_more_queries_can_be_named_and_unknown_ones_are_refused_before_the_fits(data):
    with pytest.raises(ValueError, match="query 'nowhere' is not among the test queries"):
        pk.compare(RANKERS, data, cv=2, explain=["nowhere"], progress=pytest.fail)


def test_a_resumed_run_and_a_restored_comparison_are_the_same(data, compared, tmp_path):
    options = {"cv": 3, "metrics": "ndcg@5", "explain": True, "learning_curve": [0.5], "folder": tmp_path}
    first, second = (pk.compare(RANKERS, data, **options) for _ in range(2))
    assert first.to_json() == second.to_json()
    assert first.insights == compared.insights
    assert first.learning_curves == compared.learning_curves
    restored = pk.evaluation.Comparison.from_dict(json.loads(first.to_json()))
    assert restored.insights == first.insights
    assert restored.to_json() == first.to_json()
    pk.compare(RANKERS, data, cv=3, metrics="ndcg@5", folder=tmp_path / "without")
    later = pk.compare(RANKERS, data, **{**options, "folder": tmp_path / "without"})  # fitted again for the reasons
    assert later.insights == first.insights


def test_a_learning_curve_is_that_of_fits_to_half_of_the_training_queries(data, compared):
    values = []
    for fold in as_folds(3, data):
        order = np.random.default_rng(0).permutation(fold.train.n_queries)
        half = fold.train[np.sort(order[: round(0.5 * fold.train.n_queries)])]
        ranker = pk.ranker("listmle", l2=0.01, patience=None, random_state=0).fit(half)
        values.append(pk.metrics.ndcg(fold.test.y, ranker.predict(fold.test), qid=fold.test.qid, k=5))
    half, whole = compared.learning_curves["listmle"]
    assert half.mean == pytest.approx(np.concatenate(values).mean())
    assert half.low <= half.mean <= half.high
    assert (half.share, whole.share) == (0.5, 1.0)
    assert whole.mean == pytest.approx(compared.mean()["listmle"]["ndcg@5"])
    with pytest.raises(ValueError, match="pass shares of the training queries, above 0 and at most 1"):
        pk.compare(RANKERS, data, cv=2, learning_curve=[0.5, 2.0])


def test_one_number_is_not_a_list_of_shares(data):
    with pytest.raises(ValueError, match=r"learning_curve=0.5: pass True, or a list of shares such as \[0.1, 0.5\]"):
        pk.compare("regression", data, cv=3, learning_curve=0.5)
