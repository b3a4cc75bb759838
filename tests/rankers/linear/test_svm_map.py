"""SVMMap: the most violated ranking against all rankings, the optimum, and everything around the fit."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett import _native
from plackett.exceptions import ConvergenceWarning, DataWarning
from plackett.rankers.linear.svm_map import MarginOfAveragePrecision, SVMMap
from plackett.storage import models

DATA = pk.datasets.make_web_like(60, n_features=5, random_state=0)
RAW = DATA.X.astype(float)
X = (RAW - RAW.mean(0)) / RAW.std(0)
Y, QID = DATA.y, DATA.qid
LETOR = {"mq2008": ("letor4-mq2008", 0.465), "ohsumed": ("letor3-ohsumed/QueryLevelNorm", 0.440)}


def fitted(rows=X, labels=Y, qid=QID, **parameters):
    return SVMMap(**{"C": 10.0, "relevant_from": 2, **parameters}).fit(rows, labels, qid=qid)


def average_precision(is_relevant):
    hits = np.flatnonzero(is_relevant)
    return np.mean([(place + 1) / (hit + 1) for place, hit in enumerate(hits)])


def violation(order, scores, is_relevant):
    """``1 - AP + w·Ψ(order) - w·Ψ(ideal)``, pair by pair."""
    order = list(order)
    relevant, others = np.flatnonzero(is_relevant), np.flatnonzero(~is_relevant)
    margin = 0.0
    for i, j in itertools.product(relevant, others):
        above = 1 if order.index(i) < order.index(j) else -1
        margin += (above - 1) * (scores[i] - scores[j]) / (relevant.size * others.size)
    return 1 - average_precision(is_relevant[order]) + margin


def worst(scores, is_relevant):
    """The violation by the kernel, its loss, and its slopes."""
    scores = np.asarray(scores, dtype=float)
    losses, pulls = np.empty(1), np.empty(scores.size)
    _native.rankers.most_violated(scores, is_relevant, np.array([0, scores.size]), losses, pulls)
    return losses[0] + pulls @ scores, losses[0], pulls


@st.composite
def judged_lists(draw, most):
    n = draw(st.integers(2, most))
    values = st.one_of(st.integers(-2, 2).map(float), st.floats(-3, 3, allow_subnormal=False))
    scores = draw(st.lists(values, min_size=n, max_size=n))
    is_relevant = draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda flags: 0 < sum(flags) < n))
    return np.array(scores) * draw(st.sampled_from([0.1, 1.0])), np.array(is_relevant)  # near ties matter most


@settings(max_examples=80, deadline=None)
@given(judged_lists(6))
def test_the_most_violated_ranking_is_the_worst_of_all_orders(judged):
    scores, is_relevant = judged
    expected = max(violation(order, scores, is_relevant) for order in itertools.permutations(range(scores.size)))
    assert worst(scores, is_relevant)[0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n_relevant", range(1, 7))
def test_the_most_violated_ranking_of_seven_documents_is_the_worst_of_all_orders(n_relevant):
    rng = np.random.default_rng(n_relevant)
    scores, is_relevant = rng.normal(size=7).round(1), rng.permutation(np.arange(7) < n_relevant)
    expected = max(violation(order, scores, is_relevant) for order in itertools.permutations(range(7)))
    assert worst(scores, is_relevant)[0] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 200), scale=st.sampled_from([0.01, 0.3, 1.0, 30.0]))
def test_halving_finds_the_places_that_a_full_scan_finds(seed, n, scale):
    rng = np.random.default_rng(seed)
    n_relevant = int(rng.integers(1, n))
    relevant = -np.sort(-rng.normal(size=n_relevant) * scale)
    others = -np.sort(-rng.normal(size=n - n_relevant) * scale)
    places = np.empty(others.size, dtype=np.int64)
    _native.rankers.find_places(relevant, others, places)
    k = np.arange(1, n_relevant + 1)
    for j, score in enumerate(others, 1):
        gains = (k / (k + j - 1) - k / (k + j)) / n_relevant - 2 * (relevant - score) / (n_relevant * others.size)
        totals = np.append(np.cumsum(gains[::-1])[::-1], 0)
        assert totals[places[j - 1]] == pytest.approx(totals.max(), abs=1e-9)
    assert (np.diff(places) >= 0).all()


@settings(max_examples=50, deadline=None)
@given(judged_lists(7), st.integers(0, 1000))
def test_slopes_give_a_plane_below_the_violation_and_ignore_the_order_of_rows(judged, seed):
    scores, is_relevant = judged
    value, _, pulls = worst(scores, is_relevant)
    rng = np.random.default_rng(seed)
    elsewhere = rng.normal(size=scores.size)
    assert worst(elsewhere, is_relevant)[0] >= value + pulls @ (elsewhere - scores) - 1e-9
    assert pulls.sum() == pytest.approx(0, abs=1e-12)
    order = rng.permutation(scores.size)
    assert worst(scores[order], is_relevant[order])[2] == pytest.approx(pulls[order], abs=1e-12)


def test_documents_of_equal_score_share_their_pulls():
    # one other document goes between the two relevant ones: 2 and 3 others above them, 2, 2 and 1 relevant below
    is_relevant = np.array([True, False, False, True, False])
    _, loss, pulls = worst(np.where(is_relevant, 0.14, 0.0), is_relevant)
    assert loss == pytest.approx(1 - (1 / 3 + 2 / 5) / 2)
    assert pulls == pytest.approx(np.where(is_relevant, -(2 + 3) / 2, (2 + 2 + 1) / 3) * 2 / 6)


def test_the_violation_is_at_least_one_less_average_precision():
    rng = np.random.default_rng(0)
    for scale in (0.01, 1, 10):
        scores, is_relevant = rng.normal(size=30) * scale, rng.random(30) < 0.3
        value = worst(scores, is_relevant)[0]
        assert value >= 1 - average_precision(is_relevant[np.argsort(-scores)]) - 1e-12
    assert worst(np.where(is_relevant, 10.0, -10.0), is_relevant)[:2] == (0, 0)


def test_risk_and_subgradient_are_those_of_a_loop_over_queries():
    coef = np.random.default_rng(1).normal(size=5)
    weights = np.random.default_rng(2).random(DATA.n_queries)
    value, gradient, loss = MarginOfAveragePrecision(X, Y >= 2, DATA.indptr, weights)(coef)
    expected_value, expected = 0.0, np.zeros(5)
    for query, share in enumerate(weights / weights.sum()):
        rows = slice(DATA.indptr[query], DATA.indptr[query + 1])
        if 0 < (Y[rows] >= 2).sum() < Y[rows].size:
            worst_value, _, pulls = worst(X[rows] @ coef, Y[rows] >= 2)
            expected_value += share * worst_value
            expected += share * pulls @ X[rows]
    assert value == pytest.approx(expected_value)
    assert gradient == pytest.approx(expected)
    assert loss == pytest.approx(value - gradient @ coef)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_the_violation_at_the_end_is_below_tol_and_no_point_nearby_is_better(C):
    ranker = fitted(C=C, tol=1e-5)
    assert ranker.stop_reason_ == "violation below tol"
    assert 0 <= ranker.violation_ <= 1e-5
    risk = MarginOfAveragePrecision(X, Y >= 2, DATA.indptr)

    def objective(coef):
        return 0.5 * coef @ coef + C * risk(coef)[0]

    assert ranker.objective_ == pytest.approx(objective(ranker.coef_))
    rng = np.random.default_rng(0)
    for length in (1e-3, 1e-2, 1e-1, 1):
        for _ in range(50):
            move = rng.normal(size=5) * length * np.abs(ranker.coef_).max()
            assert objective(ranker.coef_ + move) >= ranker.objective_ - C * 1e-5
    assert len(ranker.history_["objective"]) == len(ranker.history_["violation"]) == ranker.n_iter_
    assert ranker.history_["objective"][-1] == ranker.objective_
    assert ranker.history_["violation"][-1] == ranker.violation_


HELD = pk.datasets.make_web_like(20, n_features=5, random_state=1)
HELD_OUT = ((HELD.X - RAW.mean(0)) / RAW.std(0), HELD.y, HELD.qid)


def after(n_planes):
    """The coefficients that so many planes give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fitted(max_iter=n_planes, tol=1e-6).coef_


@pytest.mark.parametrize("metric", ["map(relevant_from=2)", "mre"])
def test_validation_is_of_the_coefficients_after_every_plane(metric):
    ranker = SVMMap(C=10.0, relevant_from=2, tol=1e-6)
    ranker.fit(X, Y, qid=QID, eval_set=HELD_OUT, eval_metric=metric)
    measure = pk.metrics.Measure.parse(metric)
    planes = [1, 2, 3, 10, ranker.n_iter_]
    expected = [measure(HELD.y, HELD_OUT[0] @ after(n), qid=HELD.qid).mean() for n in planes]
    assert [ranker.history_[metric][n - 1] for n in planes] == pytest.approx(expected)
    assert len(ranker.history_[metric]) == ranker.n_iter_
    best = (max if measure.higher_is_better else min)(ranker.history_[metric])
    assert ranker.best_score_ == best
    assert ranker.best_iteration_ == 1 + ranker.history_[metric].index(best)
    assert ranker.coef_ == pytest.approx(after(ranker.best_iteration_), abs=1e-12)


def test_patience_keeps_the_best_plane_and_says_how_far_it_is_from_the_minimum():
    ranker = SVMMap(C=10.0, relevant_from=2, tol=1e-6, patience=5).fit(X, Y, qid=QID, eval_set=HELD_OUT)
    values = ranker.history_["ndcg@10"]
    assert ranker.stop_reason_ == "no improvement on the validation set"
    assert ranker.best_iteration_ == 1 + int(np.argmax(values)) == ranker.n_iter_ - 5
    assert ranker.coef_ == pytest.approx(after(ranker.best_iteration_), abs=1e-12)
    assert ranker.score(*HELD_OUT[:2], qid=HELD_OUT[2]) == pytest.approx(ranker.best_score_)
    least = fitted(tol=1e-6).objective_
    risk = MarginOfAveragePrecision(X, Y >= 2, DATA.indptr)(ranker.coef_)[0]
    assert ranker.objective_ == pytest.approx(0.5 * ranker.coef_ @ ranker.coef_ + 10.0 * risk)
    assert ranker.objective_ - 10.0 * ranker.violation_ <= least


def test_ctrl_c_leaves_the_planes_so_far(monkeypatch):
    measure, n_planes = MarginOfAveragePrecision.__call__, iter(range(99))

    def ten_times(self, coef):
        if next(n_planes) == 10:
            raise KeyboardInterrupt
        return measure(self, coef)

    monkeypatch.setattr(MarginOfAveragePrecision, "__call__", ten_times)
    ranker = SVMMap(C=10.0, relevant_from=2, tol=1e-6)
    with pytest.raises(KeyboardInterrupt, match="its result so far was kept"):
        ranker.fit(X, Y, qid=QID, eval_set=HELD_OUT)
    monkeypatch.undo()
    assert ranker.stop_reason_ == "interrupted"
    assert {len(values) for values in ranker.history_.values()} == {ranker.n_iter_} == {10}
    assert ranker.coef_.tolist() == after(ranker.best_iteration_).tolist()


def test_a_progress_bar_goes_to_standard_error(capsys):
    fitted(verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting" in err


def test_shuffled_rows_give_the_same_ranker():
    order = np.random.default_rng(0).permutation(Y.size)
    ranker, shuffled = fitted(tol=1e-6), fitted(X[order], Y[order], QID[order], tol=1e-6)
    assert shuffled.coef_ == pytest.approx(ranker.coef_, abs=1e-6)
    assert shuffled.predict(X[order], qid=QID[order]) == pytest.approx(ranker.predict(X, qid=QID)[order], abs=1e-5)


def test_forms_of_x_and_numbers_of_threads_agree(monkeypatch):
    monkeypatch.setattr("plackett.rankers.linear.svm_map.VALUES_PER_BLOCK", 100)  # many blocks
    ranker = fitted(tol=1e-6)
    for form in (sparse.csr_matrix(X), np.asfortranarray(X)):
        assert fitted(form, tol=1e-6).coef_ == pytest.approx(ranker.coef_, abs=1e-6)
    from plackett import _threads

    _threads.set_n_threads(1)
    try:
        assert fitted(tol=1e-6).coef_.tolist() == ranker.coef_.tolist()
    finally:
        _threads.set_n_threads(None)


def test_weights_are_copies_of_queries():
    twice = DATA.indptr[20]  # the first twenty queries
    rows, labels = np.vstack([X, X[:twice]]), np.append(Y, Y[:twice])
    copies = fitted(rows, labels, np.append(QID.astype(str), np.char.add("again ", QID[:twice].astype(str))), tol=1e-6)
    weights = np.where(np.arange(DATA.n_queries) < 20, 2.0, 1.0)
    weighted = SVMMap(C=10.0, relevant_from=2, tol=1e-6).fit(X, Y, qid=QID, sample_weight=weights)
    assert weighted.objective_ == pytest.approx(copies.objective_, abs=1e-4)
    assert weighted.coef_ == pytest.approx(copies.coef_, abs=1e-2)


def test_queries_of_one_kind_count_in_the_mean_only():
    extra = np.ones((4, 5))
    more = fitted(np.vstack([X, extra]), np.append(Y, [0, 0, 4, 4]), np.append(QID, [-1, -1, -2, -2]), tol=1e-6)
    fewer = fitted(C=10.0 * DATA.n_queries / (DATA.n_queries + 2), tol=1e-6)
    assert more.objective_ == pytest.approx(fewer.objective_, abs=1e-4)


def test_top_takes_the_best_documents_of_each_query():
    rng = np.random.default_rng(0)
    ranks = np.concatenate([rng.permutation(n) for n in np.diff(DATA.indptr)]).astype(float)
    lengths = np.repeat(np.diff(DATA.indptr), np.diff(DATA.indptr))
    by_hand = SVMMap(C=10.0).fit(X, (ranks >= lengths - 3).astype(float), qid=QID)
    assert SVMMap(C=10.0, top_k=3).fit(X, ranks, qid=QID).coef_.tolist() == by_hand.coef_.tolist()
    tied = pk.Queries(X[:5], [7, 5, 5, 5, 1], None)
    assert SVMMap(top_k=2)._relevant(tied).tolist() == [True, True, True, True, False]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [([[1.0, 2.0]], [1]), ([[1.0, 2.0], [3.0, 1.0]], [1, 1]), ([[1.0, 2.0], [3.0, 1.0]], [0, 0])],
    ids=["one document", "all relevant", "none relevant"],
)
@pytest.mark.filterwarnings("ignore::plackett.exceptions.NothingToLearnWarning")
def test_lists_of_one_kind_give_zero_coefficients_and_a_warning(rows, labels):
    ranker = SVMMap()
    with pytest.warns(DataWarning, match="no query has both relevant and other documents") as caught:
        ranker.fit(rows, labels)
    assert caught[0].filename == __file__  # points at the caller
    assert ranker.coef_.tolist() == [0.0, 0.0]
    assert ranker.objective_ == 0
    with pytest.warns(DataWarning, match="with top_k=5 no query"):
        SVMMap(top_k=5).fit(rows, labels)


def test_constant_features_get_no_weight():
    ranker = fitted(np.column_stack([X, np.full(Y.size, 3.0)]))
    assert ranker.coef_[-1] == pytest.approx(0, abs=1e-9)
    nothing = fitted(np.ones((Y.size, 2)))
    assert nothing.coef_ == pytest.approx([0, 0], abs=1e-9)
    assert nothing.stop_reason_ == "violation below tol"


def test_one_perfect_feature_is_ranked_by():
    ranker = SVMMap().fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert ranker.coef_[0] > 0


def test_wrong_parameters_are_refused_and_leave_the_ranker_alone():
    ranker = fitted()
    before = ranker.coef_
    for name, value in [
        ("C", 0),
        ("tol", -1),
        ("relevant_from", "x"),
        ("top_k", 0),
        ("max_iter", 1.5),
        ("patience", 0),
    ]:
        with pytest.raises(ValueError, match=f"{name}="):
            fitted(**{name: value})
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit(np.full((2, 5), np.nan), [0, 1])
    assert ranker.coef_ is before


def test_too_few_planes_warn():
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 iterations .* above tol=1e-08 \(max_iter reached\)"):
        fitted(max_iter=2, tol=1e-8)


def test_contributions_sum_to_the_score_above_the_mean():
    ranker = fitted(normalize="query-zscore")
    scores = ranker.predict(X, qid=QID)
    means = {query: scores[query == QID].mean() for query in set(QID.tolist())}
    sums = np.asarray(ranker.explain(X, qid=QID).contributions).sum(1)
    assert sums == pytest.approx(scores - [means[query] for query in QID.tolist()], abs=1e-9)


def test_a_model_survives_a_file_and_a_damaged_one_is_refused(tmp_path):
    models.register(SVMMap)
    ranker = fitted()
    models.save(ranker, tmp_path / "svm-map.plackett")
    assert models.load(tmp_path / "svm-map.plackett").predict(X).tolist() == ranker.predict(X).tolist()
    ranker.coef_ = ranker.coef_[1:]
    with pytest.raises(ValueError, match="coef_ must have 5 numbers"):
        ranker.check_loaded()


@pytest.mark.parametrize("name", LETOR)
def test_mean_average_precision_on_the_folds_of_letor(name, shared_data):
    folder, floor = LETOR[name]
    values = []
    for number in range(1, 6):
        fold = pk.datasets.load_fold(name, number, shared_data / folder)
        rankers = [SVMMap(C=C).fit(fold.train) for C in (0.1, 1.0, 10.0, 100.0)]
        best = max(rankers, key=lambda ranker, held=fold.validation: ranker.score(held, metric="map"))
        means = pk.evaluate(fold.test, best.predict(fold.test), metrics=["map"], convention="letor4").mean()
        values.append(means["map"])
    assert np.mean(values) >= floor


def test_columns_too_large_for_the_penalty_are_reported_and_never_taken_as_solved():
    rng = np.random.default_rng(0)
    features, is_relevant, qid = rng.normal(size=(100, 4)), rng.integers(2, size=100), np.arange(100) // 10
    small = SVMMap().fit(features, is_relevant, qid=qid)
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        large = SVMMap().fit(1e8 * features, is_relevant, qid=qid)
    assert large.objective_ / 100 - large.violation_ <= small.objective_ / 100  # its penalty is next to nothing


def test_an_iteration_without_coefficients_is_never_the_best():
    validation = X, np.zeros(len(Y)), QID  # every model has the same measure
    ranker = SVMMap(C=10.0).fit(X, Y, qid=QID, eval_set=validation)
    assert ranker.coef_.any()
    assert ranker.best_iteration_ > 1
