"""Explanations of FeatureRank, BL-FeatureRank and DiffRank: sums, replayed ranks, tables, and what does not fit."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import plackett as pk
from plackett.rankers.boosting.diff_rank import DiffRank
from plackett.rankers.boosting.feature_rank import BLFeatureRank, FeatureRank

RANKERS = [DiffRank, FeatureRank, BLFeatureRank]
every_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: ranker.__name__)
of_ranks = pytest.mark.parametrize("ranker", RANKERS[1:], ids=lambda ranker: ranker.__name__)


def make_data(seed, *, lengths=(12, 1, 2, 3, 20), n_features=5):
    """Rows of the queries are mixed."""
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    X = rng.normal(size=(n, n_features))
    X[:, 1] = rng.integers(0, 3, n)
    X[:, 2] = 4.0
    y = np.round(X[:, 0] - X[:, -1] ** 2 + rng.normal(size=n))
    return X, y, rng.permutation(np.repeat(np.arange(len(lengths)), lengths))


# --- What is true of every explanation --------------------------------------------------------------------------------


@every_ranker
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), cycles=st.integers(1, 3), discovery=st.sampled_from(["quasi-knn", "linear"]))
def test_what_moved_a_document_sums_to_its_score_less_the_mean_of_its_list(ranker, seed, cycles, discovery):
    X, y, qid = make_data(seed)
    fitted = ranker(n_intervals=4, cycles=cycles, discovery=discovery).fit(X, y, qid=qid)
    found = fitted.explain(X, qid=qid)
    scores = fitted.predict(X, qid=qid)
    np.testing.assert_array_equal(found.scores, scores)
    np.testing.assert_allclose(found.baseline, [scores[qid == q].mean() for q in qid], atol=1e-9)
    np.testing.assert_allclose(found.contributions.sum(axis=1), scores - found.baseline, atol=1e-9)
    by_part = [sum(part[-1] for part in found.top(row, None)) for row in range(y.size)]
    np.testing.assert_allclose(by_part, scores - found.baseline, atol=1e-9)
    a, b = np.flatnonzero(qid == 4)[:2]
    comparison = found.why(a, b)
    assert comparison.total == scores[a] - scores[b]
    assert sum(part.difference for part in comparison.differences) == pytest.approx(comparison.total, abs=1e-9)


def test_contributions_of_diffrank_are_weights_times_ranks_less_their_mean():
    X, y, qid = make_data(0)
    fitted = DiffRank(discovery="linear", cycles=2).fit(X, y, qid=qid)
    found = fitted.explain(X, qid=qid)
    for row, feature in itertools.product(range(y.size), range(5)):
        peers = X[qid == qid[row], feature]
        below, tied = (
            (peers * fitted.signs_[feature] < X[row, feature] * fitted.signs_[feature]),
            peers == X[row, feature],
        )
        rank = below.sum() + (tied.sum() + 1) / 2
        expected = fitted.feature_weights_[feature] * (rank - (peers.size + 1) / 2)
        assert found.contributions[row, feature] == pytest.approx(expected, abs=1e-12)
    assert (found.contributions[:, 2] == 0).all()  # a constant feature


@of_ranks
def test_a_feature_contributes_the_moves_of_its_steps(ranker):
    X, y, qid = make_data(1)
    fitted = ranker(cycles=2).fit(X, y, qid=qid)
    found = fitted.explain(X, qid=qid)
    steps, before = fitted.steps_, (np.bincount(qid)[qid] + 1) / 2
    np.testing.assert_array_equal(found.baseline, before)
    expected = np.zeros(X.shape)
    for n_steps in range(1, 11):
        fitted.steps_ = steps[:n_steps]
        after = fitted.predict(X, qid=qid)
        expected[:, steps["feature"][n_steps - 1]] += after - before
        before = after
    np.testing.assert_array_equal(found.contributions, expected)


@every_ranker
def test_a_model_without_steps_explains_that_nothing_moved(ranker):
    X, y, qid = make_data(2)
    fitted = ranker().fit(X, y, qid=qid)
    fitted.steps_ = fitted.steps_[:0]
    found = fitted.explain(X, qid=qid)
    assert found.top(0) == []
    assert "–" in str(found)


@every_ranker
def test_chosen_rows_are_explained_as_among_all(ranker):
    X, y, qid = make_data(3)
    fitted = ranker().fit(X, y, qid=qid)
    rows = np.random.default_rng(0).permutation(y.size)[:9]
    whole, some = fitted.explain(X, qid=qid), fitted.explain(X, qid=qid, rows=rows)
    np.testing.assert_array_equal(some.rows, rows)
    np.testing.assert_array_equal(some.qid, qid[rows])
    np.testing.assert_array_equal(some.contributions, whole.contributions[rows])
    assert some.top(rows[0]) == whole.top(rows[0])
    with pytest.raises(ValueError, match="was not explained; there are 9 rows"):
        some.top(int(np.setdiff1d(np.arange(y.size), rows)[0]))


@every_ranker
def test_the_order_of_the_rows_does_not_matter(ranker):
    X, y, qid = make_data(4)
    fitted = ranker(cycles=2).fit(X, y, qid=qid)
    shuffled = np.random.default_rng(1).permutation(y.size)
    found, other = fitted.explain(X, qid=qid), fitted.explain(X[shuffled], qid=qid[shuffled])
    np.testing.assert_allclose(other.contributions, found.contributions[shuffled], atol=1e-12)
    np.testing.assert_array_equal(other.values, X[shuffled])


@every_ranker
def test_forms_of_x_are_explained_alike(ranker):
    X, y, qid = make_data(5)
    X = np.round(4 * X) / 4
    fitted = ranker().fit(X, y, qid=qid)
    expected = fitted.explain(X, qid=qid)
    for form in (sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        found = fitted.explain(form, qid=qid)
        assert found.to_dict() == expected.to_dict()
        assert str(found.why(*np.flatnonzero(qid == 0)[:2])) == str(expected.why(*np.flatnonzero(qid == 0)[:2]))


@every_ranker
def test_a_model_that_was_saved_explains_as_before(ranker, tmp_path):
    X, y, qid = make_data(6)
    names = ["bm25", "length", "pagerank", "age", "clicks"]
    data = pk.Queries(X, y, qid, feature_names=names, docid=[f"d{row}" for row in range(y.size)])
    fitted = ranker(cycles=2).fit(data)
    fitted.save(tmp_path / "model.plackett")
    found, expected = pk.load(tmp_path / "model.plackett").explain(data), fitted.explain(data)
    assert found.to_dict() == expected.to_dict()
    assert found.feature_names == names
    assert found.docid == data.docid.tolist()  # in the order of the rows of a Queries
    assert {part.feature for row in range(y.size) for part in found.top(row, None)} <= set(names)


@every_ranker
def test_documents_go_by_the_names_given(ranker):
    X, y, qid = make_data(7)
    fitted = ranker().fit(X, y, qid=qid)
    names = [f"d{row}" for row in range(y.size)]
    found = fitted.explain(X, qid=qid, rows=[5, 2], docid=names)
    assert found.docid == ["d5", "d2"]
    assert "document" in str(found)
    assert "d5" in str(found)
    a, b = np.flatnonzero(qid == 4)[:2]
    assert f"row {a} (d{a})" in str(fitted.explain(X, qid=qid, docid=names).why(a, b))


@every_ranker
def test_one_document_alone_is_moved_by_nothing(ranker):
    X, y, qid = make_data(8)
    fitted = ranker().fit(X, y, qid=qid)
    found = fitted.explain(X[:1], qid=0)
    assert found.top(0) == []
    assert found.scores == found.baseline
    assert str(found).splitlines()[1].endswith("–")
    assert found.to_csv().count("\n") == 1
    assert found.why(0, 0).total == 0
    assert found.why(0, 0).differences == []
    assert str(found.why(0, 0))


@every_ranker
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [38]}, "rows contains 38, but X has rows 0 to 37"),
        ({"rows": [-1]}, "rows contains -1, but X has rows 0 to 37"),
        ({"rows": [1, 1]}, "rows contains a row twice"),
        ({"rows": [0.5]}, "rows must be row numbers"),
        ({"docid": ["a"]}, "docid has 1 ids but X has 38 rows"),
        ({"qid": [1]}, "qid has 1 ids but there are 38 rows"),
        ({"X": np.zeros((38, 4))}, "X has 4 features"),
        ({"X": np.full((38, 5), np.nan)}, "X has a NaN"),
    ],
)
def test_what_does_not_fit_is_refused(ranker, options, message):
    X, y, qid = make_data(9)
    fitted = ranker().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=message):
        fitted.explain(**{"X": X, "qid": qid, **options})


@every_ranker
def test_rows_of_two_queries_are_not_compared(ranker):
    X, y, qid = make_data(9)
    found = ranker().fit(X, y, qid=qid).explain(X, qid=qid)
    with pytest.raises(ValueError, match="only documents of the same query can be compared"):
        found.why(np.flatnonzero(qid == 0)[0], np.flatnonzero(qid == 4)[0])


@every_ranker
def test_a_ranker_without_a_fit_explains_nothing(ranker):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ranker().explain([[1.0]])


@every_ranker
def test_no_rows_are_explained_by_nothing(ranker):
    X, y, qid = make_data(3)
    found = ranker().fit(X, y, qid=qid).explain(X, qid=qid, rows=[])
    assert len(found) == 0
    assert found.to_dict()["rows"] == []
    assert str(found).startswith("row  query")


@every_ranker
def test_the_command_explains_them(ranker, tmp_path):
    from click.testing import CliRunner

    from plackett.cli.app import app

    data = pk.datasets.make_web_like(6, n_features=4, random_state=0)
    fitted = ranker().fit(data)
    fitted.save(tmp_path / "model.plackett")
    pk.write_letor(data, tmp_path / "data.txt")
    words = ["explain", str(tmp_path / "model.plackett"), str(tmp_path / "data.txt"), "--query", str(data.ids[1])]
    order = (-fitted.predict(data[1])).argsort(kind="stable")
    listed = CliRunner().invoke(app, words)
    assert listed.exit_code == 0
    assert listed.stdout.splitlines()[1].split()[0] == str(order[0])
    two = [*words, "--above", str(order[0]), "--below", str(order[-1])]
    assert f"row {order[0]} leads" in CliRunner().invoke(app, two).stdout
    assert json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)["rows"][0]["row"] == order[0]
    assert CliRunner().invoke(app, [*two, "--csv"]).stdout.count("total") == 1
