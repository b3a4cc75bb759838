"""Tables in every format."""

import csv
import io
import json
import math
import re

from plackett._tables import Column, Estimate, Marked, Table, for_display, p_value

TABLE = Table(
    [
        Column("#", digits=0),
        Column("ranker", "text"),
        Column("map", "marked"),
        Column("Δ", "estimate"),
        Column("p", "p"),
    ],
    [
        [1, "a|b", Marked(0.51239, "▲▲", True), Estimate(0.01, -0.002, 0.022), 0.00001],
        [2, "c_d", Marked(math.nan), "baseline", math.nan],
    ],
    foot=[[math.nan, "random", Marked(0.1), "", math.nan]],
    name="one",
    title="One table",
    notes=["a note"],
)


def test_markdown_has_marks_bold_and_escaped_bars():
    assert TABLE.to_markdown().splitlines() == [
        "| # | ranker | map | Δ | p |",
        "|---:|---|---:|---:|---:|",
        r"| 1 | a\|b | **0.5124** ▲▲ | +0.0100 [−0.0020, +0.0220] | < 0.0001 |".replace("<", "&lt;"),
        "| 2 | c_d | – | baseline | – |",
        "| – | random | 0.1000 |  | – |",
    ]


def test_latex_is_escaped_and_marked():
    lines = TABLE.to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{rlrrr}"
    assert lines[2] == r"\# & ranker & map & $\Delta$ & p \\"
    marks = r"$\blacktriangle$$\blacktriangle$"
    interval = "+0.0100 [$-$0.0020, +0.0220]"
    assert lines[4] == rf"1 & a|b & \textbf{{0.5124}} {marks} & {interval} & \textless{{}} 0.0001 \\"
    assert r"c\_d & -- & baseline & --" in lines[5]
    assert lines[-1] == r"\end{tabular}"


def test_csv_has_all_digits_and_columns_for_marks_and_interval_ends():
    rows = list(csv.reader(io.StringIO(TABLE.to_csv())))
    assert rows[0] == ["#", "ranker", "map", "map mark", "Δ", "Δ low", "Δ high", "p"]
    assert rows[1] == ["1", "a|b", "0.51239", "▲▲", "0.01", "-0.002", "0.022", "1e-05"]
    assert rows[2] == ["2", "c_d", "", "", "", "", "", ""]


def test_json_has_none_for_nan():
    values = json.loads(TABLE.to_json())
    assert values == TABLE.to_dict()
    assert values["columns"][2:4] == ["map", "map mark"]
    assert values["rows"][1] == [2, "c_d", None, "", None, None, None, None]
    assert values["notes"] == ["a note"]


def test_seconds_and_megabytes_are_short():
    column = Column("seconds", digits=None)
    assert [column.text(value) for value in (0.016, 3.14159, 42.26, 1234.5, math.nan, None)] == [
        "0.02", "3.14", "42.3", "1,234", "–", "–",
    ]  # fmt: skip


def test_text_is_aligned_with_marks_beside_the_numbers():
    assert TABLE.to_text().splitlines() == [
        "#  ranker     map                              Δ         p",
        "1  a|b     0.5124 ▲▲  +0.0100 [−0.0020, +0.0220]  < 0.0001",
        "2  c_d          –                       baseline         –",
        "–  random  0.1000                                        –",
    ]


def test_html_has_sortable_values_marks_and_escaped_text():
    table = Table(
        [Column("ranker", "text"), Column("map", "marked")], [["<b>", Marked(0.25, "▼", True)], ["n", Marked(math.nan)]]
    )
    text = table.to_html()
    assert '<th scope="row">&lt;b&gt;</th><td class="n" data-value="0.25"><b class="best">0.2500</b>' in text
    assert 'class="mark down" role="img" aria-label="worse, p at most 0.05">▼</span>' in text
    assert '<td class="n" data-value=""><span>–</span><span class="mark"></span></td>' in text
    assert "<thead" not in table.to_html(with_headings=False)


def bars_of(*cells):
    text = Table([Column("Δ", "estimate")], [[cell] for cell in cells]).to_html()
    lines = re.findall(r'<line class="(\w+)(?: (\w+))?" x1="([^"]+)" x2="([^"]+)"', text)
    return [(kind, side, float(first), float(last)) for kind, side, first, last in lines]


def test_bars_lie_where_the_intervals_do():
    ends = Estimate(0.0, -1.0, 1.0)  # sets the scale
    assert bars_of(ends, Estimate(0.5, 0.25, 1.0, 0.05))[3:] == [
        ("zero", "", 50.0, 50.0),
        ("range", "good", 61.8, 97.0),
        ("middle", "good", 73.5, 73.5),
    ]
    sides = {
        "bad": Estimate(0.5, 0.25, 1.0, 0.01, False),
        "even": Estimate(0.5, 0.25, 1.0, 0.06),
        "good": Estimate(0.5, -0.01, 1.0, 0.04),
    }
    for side, cell in sides.items():
        assert bars_of(ends, cell)[4][1] == side
    assert bars_of(Estimate(0.5, -0.25, 1.0))[1][1] == "even"
    assert bars_of(Estimate(math.nan, math.nan, math.nan)) == []


def test_texts_are_shown_without_control_characters():
    assert for_display("a\u202eb\x07c") == "a�b�c"
    assert for_display("abcdef", 4) == "abc…"


def test_small_p_values_are_not_shown_as_zero():
    assert [p_value(p) for p in (1.0, 0.03125, 0.0001, 0.00003, 0.0)] == [
        "1.0000",
        "0.0312",
        "0.0001",
        "< 0.0001",
        "< 0.0001",
    ]


def test_a_printed_table_has_its_title_and_notes():
    table = Table([Column("run", "text"), Column("ndcg@10")], [["bm25", 0.5]], title="One run.", notes=["1 query"])
    assert str(table) == "One run.\nrun   ndcg@10\nbm25   0.5000\n1 query"
