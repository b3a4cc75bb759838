"""All refiners: queries, rows, ties, little or odd feedback, parameters, files, scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import plackett as pk
from plackett._threads import set_n_threads
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner
from tests.rankers.refinement.refined_lists import BOOSTED, REFINERS, make_list, make_queries, of_class


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
@pytest.mark.parametrize("seed", range(5))
def test_without_feedback_the_base_ranking_stays(refiner, seed):
    draws = np.random.default_rng(seed)
    X = draws.normal(size=(60, 5))
    refiner = clone(refiner).set_params(n_rounds=20).fit(X, base_score=2)
    F = refiner._score_query(0, X, None)
    apart = (X[:, 2][:, None] - X[:, 2][None, :]) > 0
    as_before = (refiner.scores_[:, None] > refiner.scores_[None, :])[apart].mean()
    assert as_before >= 0.9
    assert (F[:, None] < F[None, :])[apart].mean() <= 0.1


@pytest.mark.parametrize("y", [None, np.full(17, np.nan), np.zeros(17), np.ones(17)])
@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_labels_that_say_nothing_are_no_feedback(refiner, y):
    X, base, _ = make_list(5)
    nothing = clone(refiner).fit(X, base_score=base, pairs=[])
    np.testing.assert_array_equal(clone(refiner).fit(X, y, base_score=base).scores_, nothing.scores_)
    if y is not None and not np.isnan(y).any():
        y = np.where(np.arange(17) < 4, y, np.nan)  # a few of one kind
        np.testing.assert_array_equal(clone(refiner).fit(X, y, base_score=base).scores_, nothing.scores_)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
@pytest.mark.parametrize("y", [None, [1.0], [np.nan]])
def test_one_document(refiner, y):
    fitted = clone(refiner).fit([[1.0, 2.0]], y, base_score=[3.0])
    assert np.isfinite(fitted.scores_).all()
    assert fitted.predict([[1.0, 2.0]]).shape == (1,)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_all_documents_judged(refiner):
    X, base, y = make_list(1, n=40, n_judged=40, n_levels=5)
    X[:, 2] = y
    fitted = clone(refiner).fit(X, y, base_score=base)
    assert pk.metrics.kendall(y, fitted.scores_, qid=np.zeros(40))[0] < pk.metrics.kendall(y, base, qid=np.zeros(40))[0]


@pytest.fixture(scope="module")
def ohsumed(shared_data):
    """The queries, and the judgements of the first ten documents by feature 21."""
    folder = shared_data / "letor2-ohsumed"
    data = pk.Queries.concat([pk.read_letor(folder / f"S{part}.txt.gz") for part in range(1, 6)])
    labels = (data.y == 2).astype(float)
    feedback = np.full(data.n_docs, np.nan)
    for first, last in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        judged = first + np.argsort(-data.X[first:last, 20], kind="stable")[:10]
        feedback[judged] = labels[judged]
    return data, labels, feedback


@pytest.mark.parametrize(
    ("refiner", "expected"),
    [
        (None, (0.340, 0.317, 0.292, 0.222)),
        (RocchioRefiner(alpha=1, beta=1), (0.519, 0.355, 0.269, 0.210)),
        (MultiplicativeRefiner(eta=0.5), (0.415, 0.340, 0.297, 0.233)),
        (MultiplicativeRefiner(eta=0.1), (0.679, 0.462, 0.320, 0.241)),
        (MultiplicativeRefiner(), (0.811, 0.530, 0.368, 0.242)),
    ],
)
def test_ten_judgements_refine_ohsumed(refiner, expected, ohsumed):
    """P@1, P@5, P@10 of all documents, average precision of those that were not judged.

    All but Rocchio's last value and the last line were measured with another implementation, in which equal scores
    keep the order of the rows.
    """
    data, labels, feedback = ohsumed
    scores = data.X[:, 20] if refiner is None else clone(refiner).fit(data, feedback, base_score=20).scores_
    means = [pk.metrics.precision(labels, scores, qid=data.qid, k=k, ties="stable").mean() for k in (1, 5, 10)]
    rest = np.isnan(feedback)
    of_rest = pk.metrics.average_precision(labels[rest], scores[rest], qid=data.qid[rest], empty="skip", ties="stable")
    np.testing.assert_allclose([*means, np.nanmean(of_rest)], expected, atol=0.0025)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_queries_are_refined_each_on_its_own(refiner):
    X, base, y, qid = make_queries()
    together = clone(refiner).fit(X, y, base_score=base, qid=qid)
    for query in np.unique(qid):
        own = qid == query
        alone = clone(refiner).fit(X[own], y[own], base_score=base[own])
        np.testing.assert_array_equal(together.scores_[own], alone.scores_)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_the_number_of_threads_and_the_order_of_rows_change_nothing(refiner, monkeypatch):
    monkeypatch.setattr("plackett.rankers.refinement.base.DOCS_PER_BLOCK", 8)
    X, base, y, qid = make_queries(8)
    first = clone(refiner).fit(X, y, base_score=base, qid=qid)
    try:
        set_n_threads(1)
        np.testing.assert_array_equal(clone(refiner).fit(X, y, base_score=base, qid=qid).scores_, first.scores_)
    finally:
        set_n_threads(None)
    mixed = np.random.default_rng(1).permutation(y.size)
    again = clone(refiner).fit(X[mixed], y[mixed], base_score=base[mixed], qid=qid[mixed])
    np.testing.assert_allclose(again.scores_, first.scores_[mixed], atol=1e-9)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_scores_are_f_and_among_equal_f_the_base_order(refiner):
    X, base, y, qid = make_queries(seed=3)
    base[:6] = base[0]
    fitted = clone(refiner).fit(X, y, base_score=base, qid=qid)
    for place, query in enumerate(fitted.query_ids_):
        own = np.flatnonzero(qid == query)
        F = fitted._score_query(place, X[own], base[own])
        for i in range(own.size):
            for j in range(own.size):
                lead = fitted.scores_[own[i]] - fitted.scores_[own[j]]
                if abs(F[i] - F[j]) > 1e-9:
                    assert np.sign(lead) == np.sign(F[i] - F[j])
                else:
                    assert np.sign(lead) == np.sign(base[own[i]] - base[own[j]])
        np.testing.assert_allclose(fitted.scores_[own], F, atol=1.1e-6)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_the_rows_of_fit_are_recognised_and_predicted_as_they_were(refiner):
    X, base, y, qid = make_queries(seed=4)
    fitted = clone(refiner).fit(X, y, base_score=base, qid=qid)
    np.testing.assert_array_equal(fitted.predict(X, qid=qid), fitted.scores_)
    np.testing.assert_array_equal(fitted.predict(X, qid=qid, base_score=base), fitted.scores_)
    mixed = np.random.default_rng(0).permutation(y.size)
    np.testing.assert_array_equal(fitted.predict(X[mixed], qid=qid[mixed]), fitted.scores_[mixed])


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_queries_with_one_step_are_predicted_as_they_were_fitted(refiner):
    X, base, y, qid = make_queries()
    fitted = clone(refiner).set_params(n_rounds=1).fit(X, y, base_score=base, qid=qid)
    assert np.diff(fitted.steps_indptr_).tolist() == [1] * 5
    np.testing.assert_array_equal(fitted.predict(X, qid=qid), fitted.scores_)


@pytest.mark.parametrize("refiner", BOOSTED, **of_class)
def test_further_documents_of_a_query(refiner):
    X, base, y = make_list(0)
    fitted = clone(refiner).fit(X, y, base_score=base)
    new = np.vstack([X[:2], X[0] + 0.01, X[0] + 0.01])
    scores = fitted.predict(new)
    np.testing.assert_allclose(scores, fitted._score_query(0, new, None), atol=1e-12)
    assert scores[2] == scores[3]
    settled = fitted.predict(new, base_score=[0.0, 0.0, 1.0, 2.0])
    assert settled[2] < settled[3] < settled[2] + 1e-6


def test_a_column_as_base_settles_ties_of_further_documents_too():
    X, _, y = make_list(0)
    fitted = MultiplicativeRefiner().fit(X, y, base_score=3)
    new = np.vstack([X[0], X[0]]) + np.array([[0, 0, 0, 1e-7], [0, 0, 0, 2e-7]])
    assert fitted.predict(new)[0] < fitted.predict(new)[1]


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_an_unknown_query_is_an_error(refiner):
    X, base, y, qid = make_queries()
    fitted = clone(refiner).fit(X, y, base_score=base, qid=qid)
    with pytest.raises(ValueError, match=r"query 'new' was not in fit \(1 of 1 were not\)"):
        fitted.predict(X[:2], qid=["new", "new"])
    with pytest.raises(ValueError, match="fit had qid, but these rows have none"):
        fitted.predict(X[:2])
    with pytest.raises(ValueError, match="fit had no qid"):
        clone(refiner).fit(X, y, base_score=base).predict(X, qid=qid)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
@pytest.mark.parametrize("kind", ["csr", "float32", "frame", "queries"])
def test_every_form_of_x_gives_the_same(refiner, kind):
    X, base, y, qid = make_queries()
    X = X.astype(np.float32).astype(float)
    expected = clone(refiner).fit(X, y, base_score=base, qid=qid).scores_
    if kind == "queries":
        data = pk.Queries(X, y, qid)
        for fitted in (
            clone(refiner).fit(data, base_score=base),
            clone(refiner).fit(data, data.y, base_score=base),
        ):
            np.testing.assert_array_equal(fitted.scores_, expected)
            np.testing.assert_array_equal(fitted.predict(data), fitted.scores_)
        return
    if kind == "csr":
        given_as = sparse.csr_matrix(X)
    elif kind == "float32":
        given_as = X.astype(np.float32)
    else:
        given_as = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    fitted = clone(refiner).fit(given_as, y, base_score=base, qid=qid)
    np.testing.assert_allclose(fitted.scores_, expected, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(given_as, qid=qid), fitted.scores_)


def test_labels_and_pairs_at_once_are_refused():
    with pytest.raises(ValueError, match="pass y or pairs, not both"):
        MultiplicativeRefiner().fit(np.eye(3), [0, 1, 2], base_score=0, pairs=[(0, 1)])
    with pytest.raises(ValueError, match="needs labels: pass y, not pairs"):
        RocchioRefiner().fit(np.eye(3), base_score=0, pairs=[(0, 1)])
    data = pk.Queries(np.eye(3), [0, 1, 2])  # its labels may be the truth, of which the feedback is not to know
    fitted = MultiplicativeRefiner().fit(data, base_score=0, pairs=[(0, 1)])
    np.testing.assert_array_equal(
        fitted.scores_, MultiplicativeRefiner().fit(np.eye(3), base_score=0, pairs=[(0, 1)]).scores_
    )


@pytest.mark.parametrize(
    ("refiner", "message"),
    [
        (MultiplicativeRefiner(n_rounds=0), "n_rounds=0"),
        (MultiplicativeRefiner(eta=1.5), "eta=1.5; it must be between 0 and 1"),
        (MultiplicativeRefiner(eta=-0.1), "eta=-0.1"),
        (MultiplicativeRefiner(confidence=-1), "confidence=-1"),
        (MultiplicativeRefiner(estimator="tree"), "must be a classifier"),
        (MultiplicativeRefiner(estimator=KNeighborsClassifier()), "takes no sample_weight; sample_size='paper'"),
        (MultiplicativeRefiner(sample_size="paper"), "sample_size needs an estimator"),
        (MultiplicativeRefiner(estimator=LogisticRegression(), sample_size=0), "sample_size=0"),
        (MultiplicativeRefiner(estimator=LogisticRegression(), sample_size=1), "needs documents of two classes"),
        (MultiplicativeRefiner(estimator=LinearRegression()), "must be a classifier"),
        (MultiplicativeRefiner(estimator=LogisticRegression), "must be a classifier"),
        (LinearRefiner(gamma=-1.0), "gamma=-1.0"),
        (RocchioRefiner(alpha=-1.0), "alpha=-1.0"),
        (RocchioRefiner(relevant_from=None), "relevant_from=None"),
    ],
)
def test_parameters_are_checked_in_fit(refiner, message):
    with pytest.raises(ValueError, match=message):
        refiner.fit(np.eye(3), [0, 1, 2], base_score=0)


def test_an_infinite_label_is_refused():
    with pytest.raises(ValueError, match="infinite label in row 1"):
        MultiplicativeRefiner().fit(np.eye(3), [0, np.inf, np.nan], base_score=0)


@pytest.mark.parametrize("refiner", REFINERS, **of_class)
def test_a_saved_refiner_predicts_the_same(refiner, data, feedback, tmp_path):
    fitted = clone(refiner).fit(data, feedback, base_score=np.asarray(data.X[:, 1]))
    fitted.save(tmp_path / "model.plackett")
    loaded = pk.load(tmp_path / "model.plackett")
    assert repr(loaded) == repr(fitted)
    np.testing.assert_array_equal(loaded.predict(data), fitted.scores_)
    np.testing.assert_array_equal(loaded.scores_, fitted.scores_)
    if hasattr(fitted, "history_"):
        assert loaded.history_.keys() == fitted.history_.keys()


class FirstColumnIsTheBase:
    """What scikit-learn's checks do not know to give."""

    def fit(self, X, y=None, *, base_score=0, qid=None, pairs=None):
        return super().fit(X, y, base_score=base_score, qid=qid, pairs=pairs)


class CheckedMultiplicative(FirstColumnIsTheBase, MultiplicativeRefiner):
    pass


class CheckedLinear(FirstColumnIsTheBase, LinearRefiner):
    pass


class CheckedRocchio(FirstColumnIsTheBase, RocchioRefiner):
    pass


BY_NAME = {"check_dataframe_column_names_consistency": "a frame's columns are taken by name, in any order"}
LIST_MATTERS = {"check_methods_subset_invariance": "ties are settled within the list; the check takes the list apart"}


@parametrize_with_checks(
    [CheckedMultiplicative(n_rounds=5), CheckedLinear(n_rounds=5), CheckedRocchio()],
    expected_failed_checks=lambda estimator: (
        BY_NAME if isinstance(estimator, CheckedRocchio) else LIST_MATTERS | BY_NAME
    ),
)
def test_scikit_learn_s_checks_pass(estimator, check):
    check(estimator)


def test_base_scores_and_ids_pass_through_a_pipeline(data, feedback):
    base = np.asarray(data.X[:, 1])
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), MultiplicativeRefiner())
        pipeline.fit(data.X, feedback, base_score=base, qid=data.qid)
        scores = pipeline.predict(data.X, qid=data.qid, base_score=base)
    np.testing.assert_array_equal(scores, pipeline[-1].scores_)


def test_score_measures_the_refined_ranking(data, feedback):
    base = np.asarray(data.X[:, 1])
    fitted = MultiplicativeRefiner().fit(data, feedback, base_score=base)
    expected = np.nanmean(pk.metrics.ndcg(data.y, fitted.scores_, qid=data.qid, k=10))
    assert fitted.score(data) == pytest.approx(expected)
    assert fitted.score(data, base_score=base) == pytest.approx(expected)
    mixed = np.random.default_rng(0).permutation(data.n_docs)
    for given in (base[mixed], pk.LinearRanker().fit(data)):
        shown = fitted.predict(data.X[mixed], qid=data.qid[mixed], base_score=given)
        assert fitted.score(
            data.X[mixed], data.y[mixed], qid=data.qid[mixed], base_score=given, metric="kendall"
        ) == pytest.approx(-np.nanmean(pk.metrics.kendall(data.y[mixed], shown, qid=data.qid[mixed])))


def test_a_failed_fit_leaves_the_refiner_as_it_was(data, feedback):
    fitted = MultiplicativeRefiner().fit(data, feedback, base_score=1)
    before = fitted.scores_
    with pytest.raises(ValueError, match="no column"):
        fitted.fit(data, feedback, base_score="pagerank")
    assert fitted.scores_ is before
