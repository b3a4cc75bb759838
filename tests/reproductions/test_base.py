"""Verdicts, tables and recipes, whatever the paper."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from plackett import reproductions
from plackett.reproductions.base import Item, Job, Paper, Row, Table, Verdict, as_text, gap_and_p, summary


@pytest.mark.parametrize(
    ("printed", "ours", "is_error", "verdict"),
    [
        (0.50, 0.51, False, Verdict.CONFIRMED),
        (0.50, 0.52, False, Verdict.CONFIRMED),  # on the edge, where binary fractions are above it
        (0.50, 0.53, False, Verdict.BETTER),
        (0.50, 0.47, False, Verdict.NOT_CONFIRMED),
        (0.50, 0.53, True, Verdict.NOT_CONFIRMED),
        (0.50, 0.47, True, Verdict.BETTER),
        (0.50, math.nan, False, Verdict.NOT_COMPARABLE),
    ],
)
def test_a_number_is_judged_by_its_tolerance_and_by_what_is_better(printed, ours, is_error, verdict):
    assert Row.of_number("x", printed, ours, tolerance=0.02, is_error=is_error).verdict is verdict


@pytest.mark.parametrize(
    ("ours", "error", "verdict"),
    [
        (0.45, 0.0, Verdict.NOT_CONFIRMED),
        (0.45, 0.014, Verdict.NOT_CONFIRMED),
        (0.45, 0.016, Verdict.UNDECIDED),  # from .418 to .482, where .48 would be near enough
        (0.55, 0.016, Verdict.UNDECIDED),
        (0.55, 0.014, Verdict.BETTER),
        (0.50, 0.011, Verdict.UNDECIDED),  # as printed, but .478 would not be
        (0.50, 0.010, Verdict.CONFIRMED),
    ],
)
def test_a_number_whose_interval_is_neither_within_nor_beyond_the_tolerance_is_undecided(ours, error, verdict):
    assert Row.of_number("x", 0.5, ours, tolerance=0.02, error=error).verdict is verdict


@pytest.mark.parametrize(
    ("gaps", "verdict"),
    [
        ([(0.1, 0.01)], Verdict.CONFIRMED),
        ([(-0.1, 0.01)], Verdict.NOT_CONFIRMED),
        ([(0.1, 0.06)], Verdict.UNDECIDED),
        ([(-0.1, 0.06)], Verdict.UNDECIDED),
        ([(0.1, math.nan)], Verdict.UNDECIDED),
        ([(0.1, 0.01), (0.1, 0.06)], Verdict.UNDECIDED),
        ([(0.1, 0.01), (-0.1, 0.01), (0.1, 0.06)], Verdict.NOT_CONFIRMED),
        ([(0.1, 0.01), (0.2, 0.001)], Verdict.CONFIRMED),
    ],
)
def test_a_claim_is_undecided_where_an_interval_holds_it_and_its_opposite(gaps, verdict):
    assert Row.of_gaps("x above y", "above", "so", gaps).verdict is verdict


def test_too_few_queries_leave_a_true_claim_undecided_and_more_confirm_it():
    draws = np.random.default_rng(0).normal(0.05, 0.3, size=2000)
    few, many = (Row.of_gaps("x", "", "", [gap_and_p(draws[:n], np.zeros(n))]) for n in (10, 2000))
    assert (few.verdict, many.verdict) == (Verdict.UNDECIDED, Verdict.CONFIRMED)


def test_a_table_counts_its_verdicts_and_prints_them():
    rows = (
        Row.of_number("a | b", 0.5, 0.5, tolerance=0.1),
        Row.of_claim("grows", "yes", "no", False, "p 0.3"),
        Row.not_comparable("bar", None, 0.25, "no number"),
    )
    table = Table("Table 1", "as printed", "0.1", rows, ("a note",))
    assert table.counts() == {"confirmed": 1, "better": 0, "not confirmed": 1, "undecided": 0, "not comparable": 1}
    text = table.to_markdown()
    assert "| a \\| b | 0.5000 | 0.5000 | confirmed |" in text
    assert "| bar | – | 0.2500 | not comparable | no number |" in text
    assert "a note" in text
    assert json.loads(json.dumps(table.to_dict()))["rows"][1]["verdict"] == "not confirmed"
    assert summary([table, table]) == "6 rows: 2 confirmed, 2 not confirmed, 2 not comparable"


def test_numbers_show_their_standard_error():
    assert as_text(0.123456, 0.01) == "0.1235 (0.0100)"
    assert as_text(123.456) == "123.5"
    assert as_text(None) == "–"


def make_paper(run):
    needy = Item("Figure 2", run, 60, 10, needs=("mq2008-list",))
    return Paper("made-up", "A made-up paper", "nobody", (Item("Figure 1", run, 30, 5), needy))


def test_items_without_their_data_say_so_and_run_nothing(tmp_path):
    ran = []

    def run(job):
        ran.append(job)
        return Table("Figure 1", "", "", (Row("x", 1.0, 1.0, Verdict.CONFIRMED),))

    heard = []
    paper = make_paper(run)
    first, second = paper.run(Job(folder=tmp_path, progress=heard.append))
    assert len(ran) == 1
    assert first.seconds >= 0
    assert second.rows[0].verdict is Verdict.NOT_COMPARABLE
    assert "mq2008-list" in second.protocol
    assert heard == ["Figure 1 (1 of 2)", "Figure 2 (2 of 2)"]
    assert paper.seconds(is_quick=True) == 15


def test_an_unknown_paper_is_named_with_what_there_is():
    with pytest.raises(ValueError, match=r"'p-listmel'. Did you mean p-listmle\?"):
        reproductions.paper("p-listmel")


@pytest.mark.parametrize("name", reproductions.PAPERS)
def test_every_paper_has_a_recipe_and_a_reference(name):
    paper = reproductions.paper(name)
    assert paper.name == name
    assert paper.items
    titles = [item.title for item in paper.items]
    assert len(set(titles)) == len(titles)
    assert all(item.quick_seconds <= item.seconds for item in paper.items)
    assert paper.seconds(is_quick=True) <= 120


def test_a_gap_comes_with_a_paired_test_over_queries_that_count_for_both():
    own, other = np.array([0.5, 0.25, np.nan, 1.0, 0.75]), np.array([0.25, 0.5, 1.0, 0.25, np.nan])
    gap, p = gap_and_p(own, other)
    differences = [0.25, -0.25, 0.75]
    assert gap == pytest.approx(sum(differences) / 3)
    assert p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert gap_and_p(own, own) == (0.0, 1.0)
