"""Verdicts, tables and recipes, whatever the paper."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from plackett import reproductions
from plackett.reproductions.base import (
    Figure,
    Item,
    Job,
    Paper,
    Row,
    Table,
    Verdict,
    as_text,
    counts_of,
    gap_and_p,
    in_print,
    results,
    rows_table,
    summary,
)


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


def test_a_table_becomes_plain_values_with_the_counts_of_its_verdicts():
    rows = (
        Row.of_number("a | b", 0.5, 0.5, tolerance=0.1),
        Row.of_claim("grows", "yes", "no", False, "p 0.3"),
        Row.not_comparable("bar", None, 0.25, "no number"),
    )
    table = Table("Table 1", "as printed", "0.1", rows, ("a note",))
    values = json.loads(json.dumps(table.to_dict()))
    counts = {"confirmed": 1, "better": 0, "not confirmed": 1, "undecided": 0, "not comparable": 1}
    assert values["verdicts"] == counts == counts_of(rows)
    assert values["rows"][1]["verdict"] == "not confirmed"
    assert values["notes"] == ["a note"]
    assert summary(counts) == "3 rows: 1 confirmed, 1 not confirmed, 1 not comparable"
    lines = rows_table(values["rows"]).to_text().split("\n")
    assert [line.split("  ")[0] for line in lines] == ["number or claim", "a | b", "grows", "bar"]
    assert lines[3].split() == ["bar", "–", "0.2500", "not", "comparable", "no", "number"]


def test_lines_are_as_wide_as_the_terminal_and_lose_no_word():
    row = Row.of_claim("a claim of several words about two rankers", "above", "below", True, "a long reason " * 9)
    table = rows_table(Table("", "", "", (row,)).to_dict()["rows"])
    text = table.to_text(72)
    assert max(map(len, text.split("\n"))) <= 72
    assert sorted(text.split()) == sorted(table.to_text().split())


def test_numbers_show_their_standard_error():
    assert as_text(0.123456, 0.01) == "0.1235 (0.0100)"
    assert as_text(123.456) == "123.5"
    assert as_text(None) == "–"


def make_paper(run):
    printed = (Row.not_comparable("x", 0.3, None, "not available"),)
    needy = Item("Figure 2", run, 60, 10, needs=("mq2008-list",), figures=("Figure 2 (a)",), printed=printed)
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
    assert [row.printed for row in second.rows] == [0.3]
    assert second.figures == (Figure("Figure 2 (a)", missing="not available: mq2008-list"),)
    found = results(paper, Job(), [first, second])
    assert found["missing"] == {"mq2008-list": ["Figure 2"]}
    assert found["verdicts"]["confirmed"] == 1
    assert heard == ["Figure 1 (1 of 2)", "Figure 2 (2 of 2)"]
    assert [item.duration(Job(is_quick=True, folder=tmp_path)) for item in paper.items] == [5, 0]


def test_rows_of_made_data_have_no_verdict_and_are_not_counted(tmp_path):
    (tmp_path / "MQ2008-list").mkdir()
    for part in range(1, 6):
        lines = [f"{label} qid:{part} " + " ".join(f"{n}:0.5" for n in range(1, 47)) for label in (2, 1)]
        (tmp_path / "MQ2008-list" / f"S{part}.txt").write_text("\n".join(lines) + "\n")

    def run(job):
        assert job.load_fold("mq2008-list", 2).train.n_queries == 3
        return Table("Figure 1", "", "", (Row.of_claim("x", "above", "above", True, "p 0.01"),))

    paper = Paper("made-up", "A made-up paper", "nobody", (Item("Figure 1", run, 1, 1, needs=("mq2008-list",)),))
    job = Job(folder=tmp_path)
    (table,) = paper.run(job)
    assert table.rows[0].verdict is Verdict.MADE_DATA
    assert table.rows[0].reason == "confirmed; p 0.01"
    assert sum(results(paper, job, [table])["verdicts"].values()) == 0
    assert job.data == {"mq2008-list": "5 queries, 10 rows; made data: the published set has 784 queries"}


def test_an_unknown_paper_is_named_with_what_there_is():
    with pytest.raises(ValueError, match=r"'p-listmel'. Did you mean p-listmle\?"):
        reproductions.paper("p-listmel")


LARGE = {"mq2007-list", "td2003/letor2", "td2004/letor2"}  # data sets that nothing replaces


@pytest.mark.parametrize("name", reproductions.PAPERS)
def test_every_paper_has_a_recipe_and_a_reference(name):
    paper = reproductions.paper(name)
    assert paper.name == name
    assert paper.items
    titles = [item.title for item in paper.items]
    assert len(set(titles)) == len(titles)
    assert all(item.quick_seconds <= item.seconds for item in paper.items)
    assert sum(item.quick_seconds for item in paper.items if LARGE.isdisjoint(item.needs)) <= 120


def test_a_gap_comes_with_a_paired_test_over_queries_that_count_for_both():
    own, other = np.array([0.5, 0.25, np.nan, 1.0, 0.75]), np.array([0.25, 0.5, 1.0, 0.25, np.nan])
    gap, p = gap_and_p(own, other)
    differences = [0.25, -0.25, 0.75]
    assert gap == pytest.approx(sum(differences) / 3)
    assert p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue)
    assert gap_and_p(own, own) == (0.0, 1.0)


def test_printed_numbers_of_one_table_have_equally_many_decimals():
    cells = [("Table 1", 0.3), ("Table 1", 0.25), ("Table 2", 7.656), ("Table 2", 1.0), ("Table 2", "a")]
    rows = [Row("x", value, 0.1, Verdict.CONFIRMED).at(name, "row", "column") for name, value in cells]
    rows.append(Row("y", 0.5, 0.1, Verdict.CONFIRMED))
    assert in_print(Table("t", "", "", tuple(rows)).to_dict()["rows"]) == ["0.30", "0.25", "7.656", "1.000", "a", "0.5"]
