"""The page of a paper: in a real browser, offline, on wide and narrow screens."""

import json
import re

import pytest

from plackett.reproductions.base import Figure, Job, Paper, Row, Table, Verdict, results
from plackett.reproductions.page import paper_html, write_paper
from tests.axe import violations_everywhere
from tests.browser import screen, start_browser

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

HOSTILE = "</script><b onclick=x>$a_b$ & \N{RIGHT-TO-LEFT OVERRIDE}"
NOISE = (0.1, 0.3)


@pytest.fixture(scope="module")
def values():
    """A run with every verdict, every kind of figure, printed tables, claims, notes and missing data."""
    rows = (
        *(Row("x", 0.5, 0.25, verdict).at("Table 1", f"row {n}", "NDCG@10") for n, verdict in enumerate(Verdict)),
        Row.of_number("one", 0.5, 0.51, tolerance=0.1, error=0.01).at("Table 1", "row 0", HOSTILE),
        Row.of_claim(HOSTILE, "rises", "falls", False, f"{HOSTILE} " * 30),
    )
    figures = (
        Figure("Figure 1 (a)", "lines", "round", "loss", {HOSTILE: [(n, 1 / (1 + n)) for n in range(500)]}, (100, 200)),
        Figure("Figure 1 (b)", "bars", "cut", "nDCG", {"ours": [("at.3", 0.5), ("at.5", 0.6)], "b": [("at.3", 0.4)]}),
        Figure("Figure 1 (c)", "boxes", "noise", "MRE", {"q": [(x, [0.1, 0.2, 0.9]) for x in NOISE]}),
        Figure("Figure 1 (d)", missing="not available: td2003/letor2"),
    )
    tables = [
        Table("Table 1", "as printed", "0.1", rows, ("a note",), figures, 3.2, item="Table 1"),
        Table("Table 2", "", "", (), missing=("td2003/letor2",), item="Table 2"),
    ]
    return results(Paper("made-up", HOSTILE, "nobody", ()), Job(data={"mq2008": "784 queries"}), tables)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.fixture
def page(browser, values, tmp_path):
    screen(browser, 1200)
    browser.get(write_paper(values, tmp_path / "page.html").as_uri())
    yield browser
    assert browser.get_log("browser") == []


def test_the_page_is_made_of_the_json_alone(values):
    assert paper_html(json.loads(json.dumps(values))) == paper_html(values)


def test_the_page_loads_nothing_and_shows_texts_as_texts(page):
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert page.find_elements("css selector", "[onclick]") == []
    assert page.find_element("css selector", "h1").text.startswith("</script><b onclick=x>")


@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_is_as_wide_as_the_screen(page, width):
    screen(page, width)
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    plots = page.find_elements("css selector", "svg.plot")
    assert len(plots) == 3
    assert all(plot.size["width"] > 200 for plot in plots)


def test_printed_tables_show_our_number_its_verdict_and_the_printed_number(page):
    cell = page.find_element("css selector", "table.grid td.v-confirmed")
    assert cell.text.split() == ["0.2500", "✓", "0.5"]
    counts = [item.text for item in page.find_elements("css selector", "header .sizes li")]
    assert re.sub(r"\W", " ", counts[0]).split() == ["2", "confirmed"]
    assert "made data" not in " ".join(counts)


def test_an_empty_panel_gives_its_reason(page):
    empty = [figure for figure in page.find_elements("css selector", "figure") if "Figure 1 (d)" in figure.text]
    assert "not available: td2003/letor2" in empty[0].text


def test_the_page_is_accessible(page):
    assert violations_everywhere(page) == []
