"""The examples on refinement: their pieces by hand and, where the real data are, the main findings they print."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import plackett as pk
from plackett.data.text_collections import read_cranfield
from plackett.evaluation.feedback import relevance_feedback

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    found = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def figures():
    return load("refinement_figures")


@pytest.fixture(scope="module")
def cranfield():
    return load("cranfield")


@pytest.fixture(scope="module")
def lists():
    return pk.datasets.make_web_like(6, 15, 4, random_state=1)


def test_sorting_what_was_judged_leaves_the_rest_as_by_the_base(figures):
    queries = pk.Queries(np.array([[5.0], [4.0], [3.0], [2.0], [1.0]]), qid=[1] * 5)
    told = np.array([0.0, np.nan, 1.0, 1.0, np.nan])
    scores = figures.JudgedSorted().fit(queries, told, base_score=0).scores_
    assert np.argsort(-scores).tolist() == [2, 3, 1, 4, 0]


def test_ranksvm_orders_what_was_judged_and_leaves_other_lists_to_the_base(figures, lists):
    told = np.full(lists.n_docs, np.nan)
    first, second = lists.indptr[:2]
    told[first : first + 2] = [0.0, 1.0]  # one pair in the first list; in the second all judged alike
    told[second : second + 3] = 1.0
    base = lists.X[:, 0].astype(float)
    scores = figures.RankSVM(l2=0.01).fit(lists, told, base_score=base).scores_
    assert scores[first + 1] > scores[first]
    np.testing.assert_array_equal(scores[second:], base[second:])
    assert not np.array_equal(scores[:second], base[:second])


def test_ranksvm_does_not_see_what_was_not_judged(figures, lists):
    result = relevance_feedback(lists, 0, {"svm": figures.RankSVM()}, n_judged=5, relevant_from=2, metrics="p@5")
    other = np.where(result.judged, lists.labels, 4 - lists.labels)
    flipped = pk.Queries(lists.X, other, lists.qid)
    again = relevance_feedback(flipped, 0, {"svm": figures.RankSVM()}, n_judged=5, relevant_from=2, metrics="p@5")
    np.testing.assert_array_equal(result.scores["svm"], again.scores["svm"])


def test_comparison_is_a_paired_test_over_queries_that_count_for_both(figures):
    own, other = np.array([0.5, 0.25, np.nan, 1.0, 0.75]), np.array([0.25, 0.5, 1.0, 0.25, np.nan])
    gap, p = figures.compare(own, other)
    differences = [0.25, -0.25, 0.75]
    assert gap == pytest.approx(sum(differences) / 3)
    assert p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert figures.compare(own, own) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("found", "word"),
    [
        ([(0.1, 0.01), (0.2, 0.04)], "**confirmed**"),
        ([(0.1, 0.01), (0.1, 0.02), (0.1, 0.2)], "**partly**"),
        ([(0.1, 0.01), (0.1, 0.2)], "**not confirmed**"),  # half is not most
        ([(0.1, 0.01), (0.1, 0.02), (-0.1, 0.02)], "**not confirmed**"),
    ],
)
def test_a_claim_about_all_cases_is_confirmed_only_in_all(figures, found, word):
    assert figures.verdict_of(found).startswith(word)


def test_best_and_worst_are_those_of_the_group(figures, lists):
    refiners = {name: figures.REFINERS[name] for name in (figures.MRR, *figures.ROCCHIO)}
    result = relevance_feedback(
        lists, 0, refiners, n_judged=5, relevant_from=2, metrics=[*figures.PRECISIONS, *figures.GAINS]
    )
    rankings = result.tables["full"]
    chosen = figures.with_extremes(rankings)
    means = {name: rankings[name].mean()[figures.CHOSEN_BY] for name in figures.ROCCHIO}
    best, worst = (next(name for name in chosen if f"Rocchio {word}" in name) for word in ("best", "worst"))
    assert chosen[best].mean()[figures.CHOSEN_BY] == max(means.values())
    assert chosen[worst].mean()[figures.CHOSEN_BY] == min(means.values())
    assert {"base", figures.MRR} <= set(chosen)


def test_on_ohsumed_feedback_pays_on_the_full_list_and_little_beyond(figures, shared_data):
    folder = shared_data / "letor2-ohsumed"
    if not folder.is_dir():
        pytest.skip("LETOR 2.0 OHSUMED is not there")
    names = (figures.SORTED, figures.MRR, "LRR, gamma=0.1", "Rocchio, 2:1")
    refiners = {name: figures.REFINERS[name] for name in names}
    tables = figures.measure(figures.read_ohsumed(folder), 20, refiners).tables
    full = tables["full"]
    assert full["base"].mean()["p@1"] == pytest.approx(36 / 106)  # of 106 queries
    for other in ("base", "LRR, gamma=0.1", "Rocchio, 2:1"):
        for metric in ("p@1", "p@5", "p@10"):
            gap, p = figures.compare(full[figures.MRR][metric], full[other][metric])
            assert gap > 0, (other, metric)
            assert p < 0.05, (other, metric)
    gap, p = figures.compare(full[figures.SORTED]["p@10"], full[figures.MRR]["p@10"])
    assert gap > 0  # what takes no learning gains more there
    assert p < 0.05
    np.testing.assert_array_equal(tables["residual"][figures.SORTED].values, tables["residual"]["base"].values)
    gap, p = figures.compare(tables["residual"][figures.MRR]["p@10"], tables["residual"]["base"]["p@10"])
    assert abs(gap) < 0.03
    assert p > 0.05


def test_on_cranfield_features_and_judgements_improve_bm25(cranfield, shared_data):
    folder = shared_data / "ir-classic" / "cranfield"
    if not folder.is_dir():
        pytest.skip("Cranfield is not there")
    collection = read_cranfield(folder)
    queries = cranfield.make_candidates(collection)
    assert queries.n_queries == 225
    assert np.diff(queries.indptr).max() == cranfield.N_CANDIDATES
    bm25 = queries.X[:, queries.feature_names.index("bm25_body")]
    for first, last in zip(queries.indptr[:-1], queries.indptr[1:], strict=True):
        assert np.all(np.diff(bm25[first:last]) <= 0)  # in the order of the run
    base = cranfield.measure(collection, queries, bm25)
    refined = relevance_feedback(queries, bm25, pk.MultiplicativeRefiner(), relevant_from=1, metrics="map").scores
    assert base.mean()["map"] > 0.35
    assert cranfield.measure(collection, queries, refined["refined"]).mean()["map"] > base.mean()["map"] + 0.08
