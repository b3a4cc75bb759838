"""The page: what it holds, that it holds nothing from elsewhere, and that no comparison breaks it."""

import base64
import itertools
import re
import sys
from dataclasses import dataclass, replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from plackett._tables import Estimate
from plackett.evaluation.compare.comparison import Comparison, FoldFit
from plackett.evaluation.evaluate import Evaluation, evaluate
from plackett.evaluation.significance import Interval
from plackett.evaluation.slicing import OTHERS, UNKNOWN, Slice
from plackett.report import plots
from plackett.report.html import report_html, write_report
from plackett.report.queries import queries_payload
from plackett.report.svg import thinned
from plackett.report.tables import summary_table, tables
from plackett.report.verdict import cards, recommendation
from tests.report.made_up import HOSTILE, made_up

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """Tags, ids and addresses of a page; complains about tags that are not closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.ids, self.addresses, self.labels, self.headings = [], [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.tags.append(tag)
        self.ids += [values["id"]] if "id" in values else []
        self.addresses += [values[key] for key in ("href", "src", "xlink:href", "action") if key in values]
        self.labels += [values["aria-label"]] if tag == "svg" and "aria-label" in values else []
        self.headings += [int(tag[1])] if re.fullmatch("h[1-6]", tag) else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def comparison():
    return made_up(baseline="ranksvm")


@pytest.fixture(scope="module")
def text(comparison):
    return report_html(comparison)


def test_the_page_is_well_formed_and_every_section_is_there(text):
    page = Page(text)
    sections = {
        "summary",
        "comparison",
        "slices",
        "quality",
        "differences",
        "queries",
        "learning",
        "fits",
        "data",
    }
    assert sections <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert all(later <= earlier + 1 for earlier, later in zip(page.headings, page.headings[1:], strict=False))


def test_nothing_is_loaded_from_elsewhere(text):
    page = Page(text)
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags)
    assert "default-src 'none'" in text


def test_every_plot_says_in_words_what_it_shows(text):
    labels = Page(text).labels
    assert len(labels) == 1 + 2 + 2  # by k, differences, histories
    assert any("listmle against ranksvm, ndcg@10 query by query: better on" in label for label in labels)


def test_the_same_comparison_gives_the_same_bytes_whatever_matplotlib_is_set_to(tmp_path, text):
    import matplotlib

    with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path", "axes.grid": False}):
        assert report_html(made_up(baseline="ranksvm")) == text
        assert matplotlib.rcParams["font.size"] == 30
    path = write_report(made_up(baseline="ranksvm"), tmp_path / "report.html")
    assert path == tmp_path / "report.html"
    assert path.read_bytes().decode() == text


@dataclass
class Label:
    """A name in a plot, with about the box of its letters."""

    x: float
    y: float
    anchor: str
    name: str

    def overlaps(self, other):
        is_beside = self.left + self.width <= other.left or other.left + other.width <= self.left
        return abs(self.y - other.y) < 11 and not is_beside

    @property
    def width(self):
        return 6.0 * len(self.name)

    @property
    def left(self):
        return self.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * self.width


def labels_of(plot, names):
    found = re.findall(r'<text style="[^"]*text-anchor: (\w+)[^"]*" x="([^"]+)" y="([^"]+)">([^<]+)</text>', plot.svg)
    return [Label(float(x), float(y), anchor, name) for anchor, x, y, name in found if name in names]


@pytest.mark.parametrize("is_equal", [False, True])
def test_rankers_fill_the_chart_and_their_names_do_not_overlap(monkeypatch, is_equal):
    names = [f"ranker:{number}" for number in range(12)]
    comparison = made_up(names, n_queries=60)
    worst = evaluate(comparison.queries, -comparison.queries.labels, metrics=comparison.metrics)
    comparison.reference_scores.update(dict.fromkeys(comparison.reference_scores, worst))
    if is_equal:
        comparison.tables.update(dict.fromkeys(names, comparison.tables["ranker:3"]))
        comparison.scores.update(dict.fromkeys(names, comparison.scores["ranker:3"]))
        comparison.fits.update(dict.fromkeys(names, comparison.fits["ranker:3"]))
    limits = []
    inline_svg = plots.inline_svg
    monkeypatch.setattr(
        plots, "inline_svg", lambda figure, *rest: limits.append(figure.axes[0].get_ylim()) or inline_svg(figure, *rest)
    )
    [by_k] = plots.metric_by_k(comparison)
    at_10 = [means["ndcg@10"] for means in comparison.mean().values()]
    ((low, high),) = limits
    assert low < min(at_10) <= max(at_10) < high
    labels = labels_of(by_k, names)
    assert sorted(label.name for label in labels) == sorted(names)
    assert not any(a.overlaps(b) for a, b in itertools.combinations(labels, 2))
    assert [key.name.partition(" 0.")[0] for key in by_k.keys] == ["random order"]


def test_plots_have_the_colours_of_the_page_and_none_of_their_own(text):
    for svg in re.findall(r'<svg class="plot".*?</svg>', text, flags=re.S):
        assert "#01" not in svg
        assert not re.search(r"(fill|stroke): #", svg)
        assert "<style" not in svg
        assert "font-family" not in svg


def test_files_in_the_page_are_the_tables(comparison, text):
    table = summary_table(comparison)
    for file, content in (("summary.csv", table.to_csv()), ("summary.md", table.to_markdown())):
        found = re.search(rf'href="data:[^"]*?;base64,([^"]*)" download="{file}"', text)
        assert base64.b64decode(found[1]).decode() == content


def test_hostile_names_and_titles_are_only_ever_text():
    comparison = made_up(
        names=HOSTILE,
        n_queries=6,
        failures={"<img src=x onerror=alert(1)>": ["fold 1: ValueError: <b>bad</b>"]},
        notes=["</ul><i>note</i>"],
    )
    text = report_html(comparison, title="</title><script>alert(2)</script>")
    page = Page(text)
    assert page.tags.count("script") == 2  # one of them is JSON
    assert "img" not in page.tags
    assert "i" not in page.tags
    assert "\u202e" not in text
    assert "49" not in re.findall(r"a\|b [^<]*", text)[0]
    assert "x" * 201 not in re.sub(r'data:[^"]*|aria-label="[^"]*"', "", text)


@pytest.mark.parametrize(
    "changes",
    [
        {"names": ("alone",)},
        {"names": ("alone",), "n_queries": 1, "n_folds": 1},
        {"names": ("a", "b"), "n_queries": 1, "n_folds": 1, "docid": False},
        {"labels": np.zeros, "n_queries": 3},
        {"labels": lambda n: np.random.default_rng(1).permutation(n).astype(float), "n_queries": 8},
        {"metrics": ("mre", "kendall"), "n_queries": 6},
        {"metrics": ("map",), "convention": "letor4", "n_queries": 6},
        {"metrics": ("ndcg@3",), "convention": "trec", "n_queries": 6},
        {"reference_scores": {}, "fits": {}, "description": {}, "settings": {}, "n_queries": 6},
    ],
    ids=["one", "one-query", "two-on-one-query", "one-label", "many-labels", "less-is-better", "map", "trec", "bare"],
)
def test_odd_comparisons_give_a_page(changes):
    comparison = made_up(**changes)
    text = report_html(comparison)
    page = Page(text)  # which complains about tags that are not closed
    assert {"summary", "data"} <= set(page.ids)
    for name, table in comparison.tables.items():
        assert name in text
        for metric in comparison.metrics:
            value = table.mean()[metric]
            assert np.isnan(value) or f"{value:.4f}" in text


def test_a_comparison_in_which_all_failed_gives_a_page():
    comparison = made_up(n_queries=3, tables={}, scores={}, fits={}, failures={"a": ["fold 1: ValueError: no"]})
    text = report_html(comparison)
    Page(text)
    assert "No ranker finished." in text
    assert "fold 1: ValueError: no" in text


def test_values_that_are_nan_give_a_page():
    comparison = made_up(n_queries=4)
    values = np.full((4, 2), np.nan)
    comparison.tables["p-listmle"] = Evaluation(["ndcg@10", "map"], comparison.queries.ids, values, convention="x")
    text = report_html(comparison)
    Page(text)
    assert ">nan<" not in text.lower()


def test_forty_rankers_give_a_page_of_bounded_size():
    comparison = made_up(names=[f"ranker {n}" for n in range(40)], n_queries=8)
    text = report_html(comparison)
    Page(text)
    assert len(text) < 2_000_000
    assert text.count("The 12 best of") == 1  # the differences; no fit has a history
    assert "28 others" in text


def test_the_page_can_be_written_from_a_stored_comparison(comparison, text):
    again = Comparison.from_dict(comparison.to_dict())
    assert report_html(again).count("<figure") == text.count("<figure")


def test_the_colour_of_a_difference_follows_the_corrected_p_and_not_the_interval():
    names = [f"r{place}" for place in range(8)]
    comparison = made_up(names=names, baseline="best", n_queries=40)
    for table in tables(comparison):
        cells = [cell for row in table.rows for cell in row if isinstance(cell, Estimate)]
        sides = re.findall(r'class="range (\w+)"', table.to_html())
        assert [side != "even" for side in sides] == [cell.p <= 0.05 for cell in cells]


def test_the_head_of_the_page_is_the_headline(comparison, text):
    lead = unescape(re.search(r'<p class="lead">(.*?)</p>', text).group(1))
    assert lead == f"<b>{recommendation(comparison)}</b> {' '.join(comparison.headline())}"
    assert "best single feature" in lead


@pytest.mark.parametrize(
    ("shift", "sentence"),
    [
        ((0.3, 0.0, -0.1), "Use a: it is significantly better than each of the 2 other rankers."),
        ((0.0, 0.3, 0.2), "Use b: it is significantly better than the baseline a."),
        ((0.0, 0.001, -0.3), "Keep a: none of the 2 other rankers is significantly better; b has the best mean."),
        ((0.001, 0.0, -0.3), "Use a, or by cost b: no significant difference was found."),
        ((0.0, 0.001), "Keep a: the other ranker is not significantly better; b has the best mean."),
    ],
)
def test_one_sentence_says_which_ranker_to_use(shift, sentence):
    draws = np.random.default_rng(0)
    noise = draws.normal(size=(3, 40, 2)) * 0.02
    noise -= noise.mean(axis=1, keepdims=True)
    shared = draws.uniform(0.3, 0.6, size=(40, 2))
    comparison = made_up(names=list("abc")[: len(shift)], n_queries=40, baseline="a")
    tables = {
        name: replace(table, values=shared + shift[place] + noise[place])
        for place, (name, table) in enumerate(comparison.tables.items())
    }
    assert recommendation(replace(comparison, tables=tables)) == sentence


def test_a_single_ranker_is_compared_with_the_best_feature():
    comparison = made_up(names=["listmle"], n_queries=70)
    payload = queries_payload(comparison)
    assert (payload["rankers"][payload["a"]], payload["rankers"][payload["b"]]) == ("best feature", "listmle")
    gap = np.abs(comparison.tables["listmle"]["ndcg@10"] - comparison.reference_scores["best feature"]["ndcg@10"])
    assert set(map(int, payload["lists"])) == set(np.argsort(-gap, kind="stable")[:50].tolist())
    assert "50 queries that changed most from best feature to listmle" in payload["note"]
    assert "A: best feature" in report_html(comparison)


def slice_named(by, name, difference):
    return Slice(by, name, 5, 0.5, 0.5 + difference, difference, Interval(-1.0, 1.0), ("listmle",))


@pytest.mark.parametrize(
    ("by", "name", "words"),
    [
        ("list length", "13 to 16", "lists of 13 to 16 documents"),
        ("list length", "1", "lists of 1 document"),
        ("relevant documents", "1", "queries with 1 relevant document"),
        ("relevant documents", "0", "queries with 0 relevant documents"),
        ("share of relevant", "1% to 12%", "queries with 1% to 12% relevant documents"),
        ("highest label", "2", "queries with the highest label 2"),
        ("group", "navigational", "queries of the group navigational"),
        ("group", UNKNOWN, "queries without a group"),
        ("group", OTHERS, "queries of small groups"),
    ],
)
def test_the_slice_with_the_largest_loss_is_named_in_words(monkeypatch, by, name, words):
    found = [slice_named("highest label", "1", 0.01), slice_named(by, name, -0.018)]
    monkeypatch.setattr("plackett.report.verdict.slices", lambda *_, **__: found)
    assert cards(made_up())[-1].words.endswith(f"; loses most on {words} (−0.0180 on average)")
    distance = cards(made_up(metrics=("kendall",)))[-1]  # lower is better
    assert distance.words.endswith("; loses most on queries with the highest label 1 (+0.0100 on average)")
    del found[1]
    assert cards(made_up())[-1].words.endswith("; on average worse in no slice")


def test_equal_rankers_have_lists_and_are_level_with_the_best_feature():
    comparison = made_up(n_queries=8)
    flat = comparison.reference_scores["best feature"]
    equal = made_up(n_queries=8, tables=dict.fromkeys(comparison.tables, flat))
    payload = queries_payload(equal)
    assert len(payload["lists"]) == 8
    assert payload["note"].startswith("The first 10 documents are included for every query, each with")
    assert "Level with the best feature" in [card.heading for card in cards(equal)]


def test_one_pair_has_one_corrected_p_on_the_page():
    best = made_up().best()
    comparison = made_up(baseline=best)
    [runner_up] = [card for card in cards(comparison) if card.heading.startswith("Against the runner-up")]
    other = runner_up.heading.rpartition(" ")[2]
    [pair] = [pair for pair in comparison.differences(against=best) if pair.a == other]
    [of_all] = [pair for pair in comparison.differences() if {pair.a, pair.b} == {best, other}]
    assert pair.p_random_holm < of_all.p_random_holm  # or both would be right
    assert f"corrected p {pair.p_random_holm:.4f}" in runner_up.words


def test_one_query_has_no_interval_and_none_is_written():
    comparison = made_up(n_queries=1, n_folds=1, baseline="ranksvm")
    words = [*comparison.headline(), *(card.words for card in cards(comparison))]
    assert "nan" not in " ".join(words)
    assert [card.value for card in cards(comparison)][-1] in ("0 of 1 query", "1 of 1 query")


def steps(history):
    return [dict(zip(history, values, strict=True)) for values in zip(*history.values(), strict=True)]


def test_histories_leave_out_what_is_no_number():
    history = {"feature": ["bm25", "tf"], "edge": [0.1, float("nan")], "train": [0.3, 0.4]}
    assert plots._columns(steps(history)) == {"train": [0.3, 0.4]}


def test_learning_curves_show_the_validation_measure_or_else_what_the_fit_improves():
    for history, quantity in (
        ({"r": [0.1, 0.2], "bound": [1.0, 0.5], "ndcg@10": [0.3, 0.4]}, "ndcg@10"),
        ({"r": [0.1, 0.2], "bound": [1.0, 0.5]}, "bound"),
        ({"r": [0.1, 0.2]}, "r"),
    ):
        fits = {"listmle": [FoldFit(1, {}, 0.5, 1.0, 1, steps(history))]}
        assert plots._curves(made_up(n_queries=1, fits=fits), "listmle") == (quantity, [history[quantity]])


def test_thinned_places_keep_the_ends():
    assert list(thinned(5, 10)) == [0, 1, 2, 3, 4]
    places = list(thinned(1000, 10))
    assert (places[0], places[-1], len(places)) == (0, 999, 10)
    assert places == sorted(set(places))


@pytest.mark.parametrize("package", ["matplotlib", "jinja2"])
def test_without_the_extra_the_error_says_what_to_install(monkeypatch, tmp_path, package):
    monkeypatch.setitem(sys.modules, package, None)
    message = f"write_report needs {package}. Install it with: pip install 'plackett[report]'"
    with pytest.raises(ModuleNotFoundError, match=re.escape(message)):
        write_report(made_up(n_queries=1), tmp_path / "never.html")
    assert not list(tmp_path.iterdir())
