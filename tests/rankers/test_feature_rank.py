"""FeatureRank, BL-FeatureRank, DiffRank: every step against literal loops, the lemmas, invariances, edges."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import plackett as pk
from plackett import _threads
from plackett.data.queries import Queries
from plackett.rankers.diff_rank import DiffRank
from plackett.rankers.discovery import find_signs
from plackett.rankers.feature_rank import BLFeatureRank, FeatureRank
from tests.rankers.test_discovery import slow_centres, slow_keys, slow_pairs, slow_ranks

RANKERS = [DiffRank, FeatureRank, BLFeatureRank]
every_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)


def make_data(seed, *, is_tied=False, lengths=(9, 1, 2, 3, 14), n_features=4):
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = rng.normal(size=(n, n_features))
    X[:, 1] = rng.integers(0, 3, n)
    y = X[:, 0] - X[:, -1] ** 2 + rng.normal(size=n)
    y = np.round(y) if is_tied else y
    return X, y, np.repeat(np.arange(len(lengths)), lengths)


def slow_h(X, y, qid, ranker):
    """Ranks of every feature, list by list: a list of arrays (n_features, n)."""
    indptr = np.concatenate([[0], np.cumsum(np.unique(qid, return_counts=True)[1])])
    keys = []
    for m in range(X.shape[1]):
        centres = slow_centres(X[:, m], y, indptr, ranker.n_intervals, ranker.centre)
        if ranker.discovery == "linear":
            sign = find_signs(X[:, [m]], Queries(X, y, qid).lists)[0]
            keys.append([(0, sign * value) for value in X[:, m]])
        else:
            keys.append(slow_keys(X[:, m], centres))
    return [
        (np.array([slow_ranks(keys[m][a:b]) for m in range(X.shape[1])]), y[a:b]) for a, b in itertools.pairwise(indptr)
    ]


def slow_diffrank(lists, cycles, prec):
    """α, Z, H and the share of wrong pairs of every step, pair by pair."""
    pairs = []
    for q, (_, y) in enumerate(lists):
        top = [i for i in range(len(y)) if prec is None or sum(other > y[i] for other in y) < prec]
        pairs += [(q, i, j) for i in top for j in range(len(y)) if y[i] > y[j]]
    D = np.full(len(pairs), 1 / max(len(pairs), 1))
    H = [np.zeros(len(y)) for _, y in lists]
    steps = []
    for _ in range(cycles):
        for m in range(lists[0][0].shape[0]):
            gaps = np.array([(lists[q][0][m, i] - lists[q][0][m, j]) / (len(lists[q][1]) - 1) for q, i, j in pairs])
            r = float(D @ gaps)
            alpha = 0.5 * math.log(max(1 + r, 1e-12) / max(1 - r, 1e-12))
            D = D * np.exp(-alpha * gaps)
            Z = D.sum()
            D = D / Z
            H = [scores + alpha * h[m] for scores, (h, _) in zip(H, lists, strict=True)]
            wrong = sum(H[q][i] < H[q][j] - 1e-10 for q, i, j in pairs)
            steps.append((alpha, Z, np.concatenate(H), wrong / len(pairs)))
    return steps


def training_of(ranker, X, y, qid):
    """The training of a fitted ranker, before its first step, and the rows in its order."""
    queries = Queries(X, y, qid)
    return ranker._training(queries, None), queries.lists.order


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("prec", [None, 1, 3])
@pytest.mark.parametrize(("discovery", "centre"), [("quasi-knn", "mean"), ("quasi-knn", "prior"), ("linear", "mean")])
def test_every_step_of_diffrank_matches_a_loop_over_pairs(is_tied, prec, discovery, centre):
    X, y, qid = make_data(1, is_tied=is_tied)
    ranker = DiffRank(n_intervals=3, discovery=discovery, centre=centre, cycles=2, prec=prec).fit(X, y, qid=qid)
    training, order = training_of(ranker, X, y, qid)
    bound = 1.0
    for t, (alpha, Z, H, error) in enumerate(slow_diffrank(slow_h(X, y, qid, ranker), 2, prec)):
        training.step(t % 4)
        bound *= Z
        assert ranker.feature_weights_[t] == pytest.approx(alpha, abs=1e-9)
        assert ranker.history_["bound"][t] == pytest.approx(bound, abs=1e-9)
        assert ranker.history_["error"][t] == pytest.approx(error, abs=1e-12)
        np.testing.assert_allclose(training.scores, H[order], atol=1e-9)
    np.testing.assert_allclose(ranker.predict(X, qid=qid), H, atol=1e-9)
    np.testing.assert_array_equal(ranker.predict(X, qid=qid)[order], training.scores)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 6), st.sampled_from([None, 2]))
def test_lemmas_3_and_4_hold_at_every_step(seed, is_tied, n_intervals, prec):
    X, y, qid = make_data(seed, is_tied=is_tied)
    ranker = DiffRank(n_intervals=n_intervals, cycles=3, prec=prec).fit(X, y, qid=qid)
    bound, error = np.array(ranker.history_["bound"]), np.array(ranker.history_["error"])
    assert (error <= bound + 1e-12).all()
    assert (np.diff(np.r_[1.0, bound]) <= 1e-12).all()
    # Lemma 4's own bound on Z, with r = tanh α
    Z = bound / np.r_[1.0, bound[:-1]]
    assert (Z * np.cosh(ranker.feature_weights_) <= 1 + 1e-9).all()


def test_scores_far_apart_do_not_overflow():
    X, y, qid = np.array([[1.0, 1], [0, 0], [1, 1], [0, 0]]), [1, 0, 1, 0], [0, 0, 1, 1]
    ranker = DiffRank(n_intervals=2, cycles=200).fit(X, y, qid=qid)
    assert np.isfinite(ranker.feature_weights_).all()
    assert ranker.history_["bound"][-1] < 1e-200
    assert ranker.history_["error"][-1] == 0


def test_the_wide_form_of_the_pair_weights_matches_the_narrow_one():
    from plackett.rankers import _diff_rank

    rng = np.random.default_rng(0)
    scores, level_start = rng.normal(size=8) * 9, np.array([0, 1, 1, 3, 3, 3, 6, 7])
    for top in (1, 2, 8):
        narrow, wide = np.empty(8), np.empty(8)
        total = _diff_rank._weigh_pairs(scores, 7.0, level_start, top, np.empty(8), np.empty(8), narrow)
        assert _diff_rank._weigh_wide_pairs(scores, 7.0, level_start, top, wide) == pytest.approx(total)
        np.testing.assert_allclose(wide, narrow, atol=1e-12)


def slow_E(ranking, y):
    n_pairs = sum(a > b for a in y for b in y)
    right, wrong = slow_pairs(slow_ranks(list(ranking)), y)
    return (right - wrong) / n_pairs


def slow_feature_rank(lists, cycles, balance=None):
    """λ, H, E of every list, what enters and β, of every step; lists without pairs keep a ranking but do not count."""
    counted = [q for q, (_, y) in enumerate(lists) if len(set(y)) > 1]
    H = [np.zeros(len(y)) for _, y in lists]
    w = dict.fromkeys(counted, 1.0)
    E = dict.fromkeys(counted, 0.0)
    steps = []
    for _ in range(cycles):
        for m in range(lists[0][0].shape[0]):
            hats = [h[m] for h, _ in lists]
            choice, mean_beta = 0, 0.0
            if balance is not None:
                chosen, betas = {}, {}
                for q in counted:
                    y, of_h = lists[q][1], slow_E(hats[q], lists[q][1])
                    betas[q] = E[q] / (of_h + E[q]) if of_h + E[q] > 0 else 0.5
                    mixture = betas[q] * H[q] + (1 - betas[q]) * hats[q]
                    candidates = [of_h, slow_E(mixture, y), E[q]]
                    chosen[q] = candidates.index(max(candidates))
                votes = [sum(w[q] for q in counted if chosen[q] == c) for c in range(3)]
                choice = votes.index(max(votes))
                if choice == 1:
                    mean_beta = sum(w[q] * betas[q] for q in counted if chosen[q] == 1) / votes[1]
                for q in range(len(lists)):
                    c, beta = choice, mean_beta
                    if balance == "query":
                        c, beta = chosen.get(q, 0), betas.get(q, 0.0)
                    hats[q] = [hats[q], beta * H[q] + (1 - beta) * hats[q], H[q]][c]
            of_hats = {q: slow_E(hats[q], lists[q][1]) for q in counted}
            up = max(sum(w[q] * (1 + of_hats[q]) for q in counted), 1e-12)
            down = max(sum(w[q] * (1 - of_hats[q]) for q in counted), 1e-12)
            weight = 0.5 * math.log(up / down)
            H = [slow_ranks(list(H[q] + weight * hats[q])) for q in range(len(lists))]
            E = {q: slow_E(H[q], lists[q][1]) for q in counted}
            w = {q: math.exp(-E[q]) for q in counted}
            steps.append((weight, np.concatenate(H), E, w, choice, mean_beta))
    return steps


@pytest.mark.parametrize("balance", [None, "global", "query"])
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("discovery", ["quasi-knn", "linear"])
@pytest.mark.parametrize("seed", range(4))
def test_every_step_of_featurerank_matches_a_literal_loop(balance, is_tied, discovery, seed):
    X, y, qid = make_data(seed, is_tied=is_tied, lengths=(9, 1, 2, 3, 14, 6))
    parameters = {"n_intervals": 3, "discovery": discovery, "cycles": 3}
    ranker = BLFeatureRank(balance=balance, **parameters) if balance else FeatureRank(**parameters)
    ranker.fit(X, y, qid=qid)
    training, order = training_of(ranker, X, y, qid)
    lists = slow_h(X, y, qid, ranker)
    n_pairs = sum(a > b for _, own in lists for a in own for b in own)
    is_counted = np.array([len(set(own)) > 1 for _, own in lists])
    is_counted_doc = np.repeat(is_counted, [len(own) for _, own in lists])
    for t, (weight, H, E, w, choice, beta) in enumerate(slow_feature_rank(lists, 3, balance)):
        training.step(t % 4)
        assert ranker.feature_weights_[t] == pytest.approx(weight, abs=1e-9)
        np.testing.assert_allclose((0.5 * training.twice)[is_counted_doc], H[order][is_counted_doc], atol=1e-9)
        np.testing.assert_allclose(training.E[is_counted], list(E.values()), atol=1e-9)
        np.testing.assert_allclose(training._w[is_counted], list(w.values()), atol=1e-9)
        assert ranker.history_["E"][t] == pytest.approx(np.mean(list(E.values())), abs=1e-9)
        bounds = np.searchsorted(qid, np.arange(len(lists) + 1))
        ranks = [H[a:b] for a, b in itertools.pairwise(bounds)]
        wrong = sum(slow_pairs(own, labels)[1] for own, (_, labels) in zip(ranks, lists, strict=True))
        assert ranker.history_["error"][t] == pytest.approx(wrong / n_pairs, abs=1e-12)
        if balance is not None:
            assert ranker.choices_[t] == choice
            assert ranker.betas_[t] == pytest.approx(beta, abs=1e-9)
    if balance != "query":
        np.testing.assert_array_equal(ranker.predict(X, qid=qid)[order], 0.5 * training.twice)
        np.testing.assert_array_equal(ranker.predict(X, qid=qid), H)


def test_the_mixture_is_chosen_and_replayed():
    X, y, qid = make_data(0, lengths=(30, 30, 30), n_features=8)
    ranker = BLFeatureRank(cycles=2).fit(X, y, qid=qid)
    assert set(ranker.choices_) == {0, 1, 2}
    assert ((ranker.betas_ != 0) <= (ranker.choices_ == 1)).all()
    plain = FeatureRank(cycles=2).fit(X, y, qid=qid)
    assert ranker.history_["E"] != plain.history_["E"]


def test_balance_per_query_ranks_the_training_lists_by_their_own_labels():
    X, y, qid = make_data(1, lengths=(30, 30, 30), n_features=8)
    ranker = BLFeatureRank(balance="query").fit(X, y, qid=qid)
    training, order = training_of(ranker, X, y, qid)
    for feature in range(8):
        training.step(feature)
    assert (ranker.predict(X, qid=qid)[order] != 0.5 * training.twice).any()


def test_balance_is_checked_by_fit():
    with pytest.raises(ValueError, match="balance='all' is not known"):
        BLFeatureRank(balance="all").fit([[1.0], [2]], [0, 1])


def test_damaged_choices_are_refused():
    X, y, qid = make_data(3)
    for name, value in [("choices_", np.full(4, 3)), ("choices_", np.zeros(3, int)), ("betas_", np.full(4, np.inf))]:
        ranker = BLFeatureRank().fit(X, y, qid=qid)
        setattr(ranker, name, value)
        with pytest.raises(ValueError, match="must"):
            ranker._check_loaded()


@every_ranker
@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("discovery", ["quasi-knn", "linear"])
def test_row_order_changes_nothing_but_the_order_of_the_answer(ranker, is_tied, discovery):
    X, y, qid = make_data(2, is_tied=is_tied, lengths=(20, 15, 2, 1, 30))
    rows = np.random.default_rng(0).permutation(y.size)
    one = ranker(discovery=discovery, cycles=2).fit(X, y, qid=qid)
    other = ranker(discovery=discovery, cycles=2).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(other.feature_weights_, one.feature_weights_, atol=1e-12)
    np.testing.assert_allclose(other.predict(X[rows], qid=qid[rows]), one.predict(X, qid=qid)[rows], atol=1e-9)


@every_ranker
@pytest.mark.parametrize(
    ("X", "y", "qid"),
    [
        ([[3.0], [3], [3]], [2, 1, 0], [0, 0, 0]),
        ([[1.0], [2], [3]], [1, 1, 1], [0, 0, 0]),
        ([[1.0], [2], [3]], [0, 1, 2], [0, 1, 2]),
        ([[1.0, 1], [2, 2], [3, 3], [4, 4]], [0, 1, 0, 1], [0, 0, 1, 1]),
        ([[5.0, 0], [1, 0]], [1, 0], None),
        ([[7.0]], [1], None),
    ],
    ids=["constant", "one label", "single documents", "twins and pairs", "two documents", "one document"],
)
def test_degenerate_lists_give_finite_models(ranker, X, y, qid):
    for parameters in ({"n_intervals": 50}, {"n_intervals": 1}, {"discovery": "linear"}):
        fitted = ranker(cycles=3, **parameters).fit(X, y, qid=qid)
        assert np.isfinite(fitted.feature_weights_).all()
        assert np.isfinite(fitted.predict(X, qid=qid)).all()
        assert fitted.feature_weights_.size == 3 * len(X[0])


@every_ranker
def test_a_perfect_feature_gets_a_finite_weight_and_ranks_perfectly(ranker):
    X, qid = np.r_[np.arange(2.0), np.arange(2.0)][:, None], [0, 0, 1, 1]
    fitted = ranker(n_intervals=2).fit(X, X[:, 0], qid=qid)
    assert 5 < fitted.feature_weights_[0] < 20
    assert fitted.history_["error"] == [0]
    assert fitted.score(X, X[:, 0], qid=qid) == 1


@every_ranker
def test_a_query_of_weight_two_counts_as_two(ranker):
    X, y, qid = make_data(4, lengths=(8, 12, 5))
    twice = np.r_[np.arange(y.size), np.arange(8)]
    expected = ranker().fit(X[twice], y[twice], qid=np.r_[qid, np.full(8, 9)])
    fitted = ranker().fit(X, y, qid=qid, sample_weight=[2, 1, 1])
    np.testing.assert_allclose(fitted.feature_weights_, expected.feature_weights_, atol=1e-9)
    left_out = ranker().fit(X, y, qid=qid, sample_weight=[0, 1, 1])
    np.testing.assert_allclose(left_out.feature_weights_, ranker().fit(X[8:], y[8:], qid=qid[8:]).feature_weights_)


@every_ranker
def test_forms_of_x_agree(ranker):
    X, y, qid = make_data(6, is_tied=True)
    X = np.round(4 * X) / 4
    expected = ranker().fit(X, y, qid=qid)
    for form in (sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        fitted = ranker().fit(form, y, qid=qid)
        np.testing.assert_array_equal(fitted.feature_weights_, expected.feature_weights_)
        np.testing.assert_array_equal(fitted.predict(form, qid=qid), expected.predict(X, qid=qid))


@every_ranker
def test_the_number_of_threads_does_not_matter(ranker, monkeypatch):
    from plackett.rankers import discovery, feature_rank, feature_steps

    for module in (discovery, feature_rank, feature_steps):
        monkeypatch.setattr(module, "DOCS_PER_BLOCK", 16)
    X, y, qid = make_data(7, is_tied=True, lengths=(20, 15, 9, 30, 2, 11))
    answers = []
    try:
        for n_threads in (1, 3):
            _threads.set_n_threads(n_threads)
            fitted = ranker(cycles=2).fit(X, y, qid=qid)
            answers.append(np.r_[fitted.feature_weights_, fitted.predict(X, qid=qid)])
    finally:
        _threads.set_n_threads(None)
    np.testing.assert_array_equal(*answers)


@every_ranker
def test_the_steps_up_to_the_best_on_the_validation_set_are_kept(ranker):
    X, y, qid = make_data(8, lengths=(12, 12, 12), n_features=6)
    X_new, y_new, qid_new = make_data(9, lengths=(12, 12), n_features=6)
    held_back = (X_new, y_new, qid_new)
    fitted = ranker(cycles=5, patience=4).fit(X, y, qid=qid, eval_set=held_back, eval_metric="kendall")
    values = fitted.history_["kendall"]
    assert fitted.best_score_ == min(values)
    assert fitted.best_iteration_ == values.index(min(values)) + 1 == fitted.feature_weights_.size
    assert fitted.n_iter_ == len(values) == len(fitted.history_["error"])
    found = pk.metrics.kendall(y_new, fitted.predict(X_new, qid=qid_new), qid=qid_new).mean()
    assert found == pytest.approx(fitted.best_score_)
    whole = ranker(cycles=5, patience=None).fit(X, y, qid=qid, eval_set=Queries(*held_back), eval_metric="kendall")
    assert whole.feature_weights_.size == 30 == len(whole.history_["kendall"])
    if fitted.n_iter_ < 30:
        assert fitted.stop_reason_ == "no improvement on the validation set"
        assert fitted.n_iter_ - fitted.best_iteration_ == 4


@every_ranker
def test_parameters_are_checked_by_fit(ranker):
    X, y, qid = make_data(0)
    for wrong, message in [
        ({"n_intervals": 0}, "n_intervals=0; it must be a whole number"),
        ({"cycles": 1.0}, "cycles=1.0; it must be a whole number"),
        ({"discovery": "knn"}, "discovery='knn' is not known"),
        ({"centre": "median"}, "centre='median' is not known"),
        ({"patience": 0}, "patience=0"),
    ]:
        with pytest.raises(ValueError, match=message):
            ranker(**wrong).fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="eval_set must be a Queries or a tuple"):
        ranker().fit(X, y, qid=qid, eval_set=X)


def test_prec_is_checked_by_fit():
    with pytest.raises(ValueError, match="prec=0; it must be a whole number"):
        DiffRank(prec=0).fit([[1.0], [2]], [0, 1])


@every_ranker
def test_a_failed_fit_leaves_the_ranker_as_it_was(ranker):
    X, y, qid = make_data(0)
    fitted = ranker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match="NaN"):
        fitted.fit(np.full_like(X[:, :2], np.nan), y, qid=qid)
    assert fitted.n_features_in_ == 4
    assert fitted.predict(X, qid=qid).shape == y.shape


@every_ranker
def test_an_interrupted_fit_keeps_the_steps_it_has_taken(ranker, monkeypatch):
    X, y, qid = make_data(0)
    whole = ranker().fit(X, y, qid=qid)
    kind = type(whole._training(Queries(X, y, qid), None))
    step = kind.step

    def interrupted(self, feature):
        if feature == 2:
            raise KeyboardInterrupt
        return step(self, feature)

    monkeypatch.setattr(kind, "step", interrupted)
    fitted = ranker()
    with pytest.raises(KeyboardInterrupt, match="the steps taken so far were kept"):
        fitted.fit(X, y, qid=qid)
    np.testing.assert_array_equal(fitted.feature_weights_, whole.feature_weights_[:2])
    assert fitted.stop_reason_ == "interrupted"
    assert fitted.predict(X, qid=qid).shape == y.shape


@every_ranker
def test_clones_and_copies_predict_alike(ranker):
    X, y, qid = make_data(3)
    fitted = ranker(n_intervals=4).fit(X, y, qid=qid)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X, qid=qid), fitted.predict(X, qid=qid))
    again = clone(fitted).fit(X, y, qid=qid)
    np.testing.assert_array_equal(again.feature_weights_, fitted.feature_weights_)


@every_ranker
def test_saved_models_are_loaded_and_damaged_ones_refused(ranker, tmp_path):
    from plackett import persistence

    persistence.register(ranker)
    X, y, qid = make_data(3)
    for discovery in ("quasi-knn", "linear"):
        fitted = ranker(discovery=discovery, n_intervals=20).fit(X, y, qid=qid)
        persistence.save(fitted, tmp_path / "model.plackett")
        loaded = persistence.load(tmp_path / "model.plackett")
        np.testing.assert_array_equal(loaded.predict(X, qid=qid), fitted.predict(X, qid=qid))
        for name, value in [
            ("feature_weights_", np.array([np.nan])),
            ("centres_", np.zeros((3, 2))),
            ("signs_", np.array([1, 1, 2, 1])),
        ]:
            damaged = clone(fitted).fit(X, y, qid=qid)
            setattr(damaged, name, value)
            with pytest.raises(ValueError, match="must"):
                damaged._check_loaded()


@every_ranker
def test_a_list_of_its_own_is_what_counts_in_prediction(ranker):
    X, y, qid = make_data(5)
    fitted = ranker().fit(X, y, qid=qid)
    scores = fitted.predict(X, qid=qid)
    np.testing.assert_allclose(fitted.predict(X[qid == 4]), scores[qid == 4], atol=1e-12)
