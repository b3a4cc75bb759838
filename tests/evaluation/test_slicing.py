"""Slices of test queries against means computed by hand."""

import numpy as np
import pytest

from plackett.evaluation.slicing import MOST_GROUPS, OTHERS, UNKNOWN, slices
from tests.report.made_up import made_up

METRIC = "ndcg@10"


@pytest.fixture(scope="module")
def comparison():
    return made_up(n_queries=40)


def values(comparison, name):
    return comparison.tables[name][METRIC]


def test_every_division_has_each_query_once_and_the_means_of_its_queries(comparison):
    found = slices(comparison, "ranksvm", "listmle")
    by = list(dict.fromkeys(one.by for one in found))
    assert by == ["list length", "relevant documents", "share of relevant", "highest label"][: len(by)]
    for division in by:
        assert sum(one.n_queries for one in found if one.by == division) == 40
    lengths = np.diff(comparison.queries.indptr)
    for one in found:
        if one.by == "list length":
            first, _, last = one.name.partition(" to ")
            is_in = (lengths >= int(first)) & (lengths <= int(last or first))
            assert one.n_queries == is_in.sum()
            assert one.mean_a == pytest.approx(values(comparison, "ranksvm")[is_in].mean())
            assert one.mean_b == pytest.approx(values(comparison, "listmle")[is_in].mean())
            assert one.difference == pytest.approx(one.mean_b - one.mean_a)
            assert one.interval.low <= one.difference <= one.interval.high
            means = {name: values(comparison, name)[is_in].mean() for name in comparison.tables}
            assert one.best == (max(means, key=means.get),)


def test_groups_may_be_given_by_text_and_queries_without_one_are_a_slice(comparison):
    groups = {f"q{place}": "odd" if place % 2 else "even" for place in range(30)}
    found = {one.name: one for one in slices(comparison, "ranksvm", "listmle", groups=groups) if one.by == "group"}
    assert {name: one.n_queries for name, one in found.items()} == {"even": 15, "odd": 15, UNKNOWN: 10}
    odd = [place for place in range(30) if place % 2]
    assert found["odd"].mean_b == pytest.approx(values(comparison, "listmle")[odd].mean())
    with pytest.raises(ValueError, match="none of the 1 queries with a group is a test query"):
        slices(comparison, "ranksvm", "listmle", groups={"nowhere": "a"})


def test_of_many_groups_the_small_ones_are_together(comparison):
    groups = {f"q{place}": f"g{place}" for place in range(40)}
    found = [one for one in slices(comparison, "ranksvm", "listmle", groups=groups) if one.by == "group"]
    assert len(found) == MOST_GROUPS
    assert (found[-1].name, found[-1].n_queries) == (OTHERS, 40 - MOST_GROUPS + 1)


def test_a_slice_with_one_query_has_no_interval_and_missing_values_do_not_count():
    comparison = made_up(n_queries=6)
    comparison.tables["listmle"].values[2] = np.nan
    found = {
        one.name: one
        for one in slices(comparison, "ranksvm", "listmle", groups={"q0": "one", "q2": "two", "q3": "two"})
        if one.by == "group"
    }
    assert np.isnan(found["one"].interval.low)
    gap = values(comparison, "listmle")[3] - values(comparison, "ranksvm")[3]
    assert found["two"].difference == pytest.approx(gap)


def test_a_reference_score_can_be_a_side_and_an_unknown_name_is_refused(comparison):
    found = slices(comparison, "best feature", "listmle")[0]
    lengths = np.diff(comparison.queries.indptr)
    first, _, last = found.name.partition(" to ")
    is_in = (lengths >= int(first)) & (lengths <= int(last or first))
    assert found.mean_a == pytest.approx(comparison.reference_scores["best feature"][METRIC][is_in].mean())
    with pytest.raises(ValueError, match="'nothing' is not in this comparison of listmle, ranksvm"):
        slices(comparison, "nothing", "listmle")


def test_large_labels_are_in_order():
    scale = np.array([0.0, 5e6, 2e7, 1e8])
    comparison = made_up(n_queries=30, labels=lambda n: scale[np.arange(n) * 7 // 20 % 4], metrics=("map",))
    names = [one.name for one in slices(comparison, "ranksvm", "listmle") if one.by == "highest label"]
    assert names == [f"{value:g}" for value in scale if f"{value:g}" in names]
    assert len(names) > 2
