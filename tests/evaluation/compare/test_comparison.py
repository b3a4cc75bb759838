"""A comparison claims no more than its test queries support: baseline, correction, headline, best feature."""

import itertools
import json
import pickle

import numpy as np
import pytest

import plackett as pk
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.evaluate import Evaluation
from plackett.evaluation.significance import holm, paired_t_columns

LEVEL = 0.05
N_DRAWS = 2000


def made_up(values, reference=None, metrics=("map",), **changes):
    """A comparison of given values by one measure, a row of numbers for each contestant."""
    n = len(next(iter(values.values())))
    ids = np.arange(n)
    queries = pk.Queries.from_groups(np.zeros((2 * n, 0)), np.tile([1.0, 0.0], n), ids, np.arange(0, 2 * n + 1, 2))

    def table(row, **given):
        columns = np.repeat(np.array(row, dtype=float).reshape(n, 1), len(metrics), axis=1)
        return Evaluation(list(metrics), ids, columns, convention="standard", **given)

    references = {}
    if reference is not None:
        references = {"best feature": table(reference, best_features=dict.fromkeys(metrics, "bm25 (descending)"))}
    return Comparison(
        metrics=list(metrics),
        convention="standard",
        tables={name: table(row) for name, row in values.items()},
        queries=queries,
        fold_of=np.ones(n, dtype=int),
        scores={},
        fits={},
        reference_scores=references,
        **changes,
    )


# --- The baseline -----------------------------------------------------------------------------------------------------


def null_families(n_rankers, n_queries=40, seed=0):
    """p-values of all pairs, (draws, pairs), of rankers that do not differ, and which of them came out best."""
    values = np.random.default_rng(seed).normal(size=(n_queries, N_DRAWS, n_rankers))
    pairs = np.array(list(itertools.combinations(range(n_rankers), 2)))
    gaps = values[:, :, pairs[:, 0]] - values[:, :, pairs[:, 1]]
    p_values = paired_t_columns(gaps.reshape(n_queries, -1)).reshape(N_DRAWS, len(pairs))
    return p_values, pairs, values.mean(axis=0).argmax(axis=1)


@pytest.mark.parametrize("n_rankers", [3, 6, 12])
def test_the_chance_of_any_false_mark_holds_its_level(n_rankers):
    p_values, pairs, best = null_families(n_rankers)
    with_best = (pairs == best[:, None, None]).any(axis=2)
    with_first = (pairs == 0).any(axis=1)
    over_all = np.apply_along_axis(holm, 1, p_values)
    assert ((over_all <= LEVEL) & with_best).any(axis=1).mean() <= 0.06, "the best, Holm over all pairs"
    first = np.apply_along_axis(holm, 1, p_values[:, with_first])
    assert (first <= LEVEL).any(axis=1).mean() <= 0.06, "the first, Holm over the pairs with it"
    its_own = np.apply_along_axis(holm, 1, p_values[with_best].reshape(N_DRAWS, n_rankers - 1))
    assert (its_own <= LEVEL).any(axis=1).mean() > 0.06, "the best, Holm over the pairs with it: what must not be"


@pytest.fixture(scope="module")
def noisy():
    draws = np.random.default_rng(7)
    common = draws.uniform(0.3, 0.6, size=30)
    return {name: common + draws.normal(0.02 * place, 0.05, size=30) for place, name in enumerate("abcd")}


def test_the_first_contestant_named_is_the_baseline(noisy):
    comparison = made_up(noisy)
    assert (comparison.baseline, comparison.is_baseline_best, comparison.best()) == ("a", False, "d")
    pairs = comparison.differences(against="a")
    np.testing.assert_allclose([pair.p_random_holm for pair in pairs], holm([pair.p_random for pair in pairs]))
    assert "worse than a: p ≤ 0.05" in str(comparison)
    assert "Holm over the 3 pairs with it" in str(comparison)


def test_a_baseline_chosen_as_the_best_is_corrected_for_all_pairs(noisy):
    comparison = made_up(noisy, baseline="best")
    assert (comparison.baseline, comparison.is_baseline_best) == ("d", True)
    every = {frozenset((pair.a, pair.b)): pair for pair in comparison.differences()}
    expected = dict(zip(every, holm([pair.p_random for pair in every.values()]), strict=True))
    for pair in comparison.differences(against="d"):
        assert pair.b == "d"
        assert pair.p_random_holm == expected[frozenset((pair.a, "d"))]
        assert pair.mean == pytest.approx((noisy[pair.a] - noisy["d"]).mean())
    assert "Holm over all 6 pairs, since the baseline was chosen as the best" in str(comparison)
    named = made_up(noisy, baseline="d")
    assert sum(map(len, comparison.marks().values())) < sum(map(len, named.marks().values()))


def test_who_is_looked_at_after_the_results_is_corrected_for_all_pairs(noisy):
    comparison = made_up(noisy, baseline="a")
    for name in "bcd":
        for pair in comparison.differences(against=name):
            same = next(one for one in comparison.differences() if {one.a, one.b} == {pair.a, pair.b})
            assert pair.p_random_holm == same.p_random_holm


def test_the_rule_of_the_baseline_survives_a_file(noisy):
    for baseline in ("b", "best"):
        comparison = made_up(noisy, baseline=baseline)
        again = Comparison.from_dict(json.loads(comparison.to_json()))
        assert (again.baseline, again.is_baseline_best) == (comparison.baseline, baseline == "best")
        assert again.marks() == comparison.marks()
    old = comparison.to_dict()
    del old["is_baseline_best"]
    assert Comparison.from_dict(old).is_baseline_best


def test_rows_of_the_summary_are_pickled():
    rows = made_up({"a": [0.5, 0.25], "b": [0.25, 0.5]}, [0.5, 0.5]).summary()
    assert [row.is_reference for row in rows] == [False, False, True]
    assert [row.marks for row in pickle.loads(pickle.dumps(rows))] == [row.marks for row in rows]


def test_no_contestant_is_called_best():
    with pytest.raises(ValueError, match="'best' means the best contestant"):
        pk.compare({"best": "listmle"}, pk.datasets.make_web_like(6, random_state=0), cv=2)


# --- The headline -----------------------------------------------------------------------------------------------------


def over(reference, *, by, noise=0.01, seed=0):
    return reference + by + np.random.default_rng(seed).normal(scale=noise, size=reference.size)


@pytest.fixture(scope="module")
def reference():
    return np.random.default_rng(9).uniform(0.3, 0.5, size=30)


def test_the_headline_says_that_no_ranker_beats_a_single_feature(reference):
    comparison = made_up({"a": over(reference, by=0.001), "b": over(reference, by=0.0, seed=1)}, reference)
    last = comparison.headline()[-1]
    assert last == (
        f"No ranker is significantly better than the best single feature (bm25 (descending), {reference.mean():.4f})."
    )
    assert last in str(comparison)
    assert last in comparison.to_dict(per_query=False)["headline"]


def test_the_headline_names_the_rankers_that_do_not_beat_it(reference):
    values = {
        "a": over(reference, by=0.05),
        "b": over(reference, by=0.0, seed=1),
        "c": over(reference, by=-0.05, seed=2),
    }
    last = made_up(values, reference).headline()[-1]
    assert last.startswith("b and c are not significantly better than the best single feature (bm25")
    alone = made_up({"b": values["b"]}, reference).headline()
    assert alone[0].startswith("b reaches 0.")
    assert alone[1].startswith("b is not significantly better than the best single feature")
    assert made_up({"a": values["a"]}, reference).headline()[1].startswith("It is significantly better than the best")


def test_every_ranker_is_tested_against_the_best_feature_as_one_family(reference):
    values = {name: over(reference, by=0.004, seed=seed) for seed, name in enumerate("abcdef", 12)}
    comparison = made_up(values, reference)
    pairs = comparison.differences(against="best feature")
    assert [pair.a for pair in pairs] == list("abcdef")
    np.testing.assert_allclose([pair.p_random_holm for pair in pairs], holm([pair.p_random for pair in pairs]))
    below = [pair.a for pair in pairs if pair.p_random_holm > LEVEL]
    uncorrected = [pair.a for pair in pairs if pair.p_random > LEVEL]
    assert len(uncorrected) < len(below) < 6
    assert (
        f"not significantly better than the best single feature (bm25 (descending), {reference.mean():.4f})"
        in (comparison.headline()[-1])
    )
    assert all(name in comparison.headline()[-1] for name in below)


def test_the_best_by_a_distance_is_the_lowest(reference):
    values = {"a": over(reference, by=-0.05), "b": over(reference, by=0.05, seed=1)}
    headline = made_up(values, reference, metrics=("kendall",)).headline()
    assert headline[0].startswith("a is the best by kendall")
    assert headline[-1].startswith("b is not significantly better")


def test_further_measures_have_a_remark_of_their_own(reference):
    comparison = made_up(
        {"a": over(reference, by=0.05), "b": over(reference, by=0.0, seed=1)}, reference, ("map", "mrr")
    )
    assert "not significantly better than the best feature by mrr: b" in comparison.remarks()


def test_the_headline_tells_of_a_lead_only_what_is_significant_after_correction(noisy):
    for baseline in ("a", "best"):
        comparison = made_up(noisy, baseline=baseline)
        equals = [pair.a for pair in comparison.differences(against="d") if pair.p_random_holm > LEVEL]
        second = comparison.headline()[1]
        assert 0 < len(equals) < 3
        assert second.startswith("Its lead over ")
        assert second.endswith(" is not significant.")
        assert all(name in second.removeprefix("Its lead over ") for name in equals)
    ahead = {"a": noisy["a"] + 0.5, "b": noisy["b"]}
    assert made_up(ahead).headline()[1] == "Its lead over the other one is significant (p ≤ 0.05)."
    assert made_up({"a": noisy["a"][:4], "b": noisy["b"][:4]}).headline()[1] == (
        "Its lead over the other one is not significant."
    )


def test_without_results_there_is_a_headline_too():
    empty = made_up({"a": [0.5, 0.5]})
    empty.tables = {}
    assert empty.headline() == ["No ranker finished."]


# --- Frames, LaTeX, plots and notebooks -------------------------------------------------------------------------------


def test_a_frame_has_means_and_p_values_or_every_query(noisy):
    comparison = made_up(noisy, reference=noisy["a"])
    frame = comparison.to_frame()
    assert frame.index.tolist() == ["a", "b", "c", "d", "best feature"]
    assert frame.loc["d", "map"] == comparison.mean()["d"]["map"]
    assert frame.loc["d", "map p"] == comparison.differences(against="a")[-1].p_random_holm
    assert frame.attrs == {"convention": "standard", "baseline": "a"}
    queries = comparison.to_frame(per_query=True)
    assert queries.index.names == ["ranker", "qid"]
    assert queries.loc["d", "map"].tolist() == comparison.tables["d"]["map"].tolist()


def test_the_best_of_each_measure_is_bold(noisy):
    comparison = made_up(noisy)
    assert rf"d & \textbf{{{comparison.mean()['d']['map']:.4f}}}" in comparison.to_latex()
    assert f"**{comparison.mean()['d']['map']:.4f}**" in comparison.to_markdown()
    assert comparison.to_latex().count("textbf") == 1


def test_a_notebook_shows_the_headline_the_table_and_the_remarks(noisy):
    html = made_up({"<b>": noisy["a"], "d": noisy["d"]})._repr_html_()
    assert html.partition("</style>\n")[2].startswith("<p>d is the best by map")
    assert "<button" not in html
    assert "<b>" not in html.replace('<b class="best">', "")
    assert html.count("<tr>") == 3
    assert html.endswith("</small></p>\n</div>")


def test_a_plot_shows_each_mean_with_its_interval(noisy):
    pytest.importorskip("matplotlib").use("agg")
    comparison = made_up(noisy, reference=noisy["a"])
    axes = comparison.plot()
    marks = comparison.marks()
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"{one} {marks[one]}".strip() for one in "abcd"]
    values = axes.lines[0].get_xdata().tolist()
    assert values == [comparison.mean()[name]["map"] for name in "abcd"]
    (low, _), (high, _) = axes.collections[0].get_segments()[0]
    assert low < values[0] < high
    assert comparison.plot("map", ax=axes) is axes
