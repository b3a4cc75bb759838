"""Table, scatter and lists in a real browser, on the page of a comparison."""

import json
import re

import numpy as np
import pytest

from plackett.report.components import SCRIPTS, script
from plackett.report.components.payload import json_script
from plackett.report.html import write_report
from plackett.report.queries import queries_payload
from tests.axe import violations_everywhere
from tests.browser import media, screen
from tests.report.made_up import HOSTILE, made_up

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

ENTER = "\ue007"
METRIC = "ndcg@10"


@pytest.fixture(scope="module")
def comparison():
    return made_up(names=["listmle", "ranksvm", *HOSTILE], n_queries=130, baseline="ranksvm")


@pytest.fixture(scope="module")
def gaps(comparison):
    """What the table must show, computed from the tables of the comparison."""
    means = {name: table.mean()[METRIC] for name, table in comparison.tables.items()}
    best = max(means, key=means.get)
    values = comparison.tables[best][METRIC] - comparison.tables["ranksvm"][METRIC]
    return dict(zip(comparison.queries.ids.tolist(), values.tolist(), strict=True))


@pytest.fixture(scope="module")
def address(comparison, tmp_path_factory):
    return write_report(comparison, tmp_path_factory.mktemp("components") / "report.html").as_uri()


@pytest.fixture
def page(browser, address):
    screen(browser, 1200)
    media(browser, "screen", "light", "reduce")
    browser.get(address)
    yield browser
    assert browser.get_log("browser") == []


def rows(page):
    """The texts of the first two columns: query and difference."""
    return page.execute_script(
        "return [...document.querySelectorAll('.pk-scroll tbody tr')].map((r) => [...r.cells].slice(0, 2)"
        ".map((c) => c.textContent))"
    )


def write(page, selector, text):
    field = page.find_element("css selector", selector)
    field.clear()
    field.send_keys(text)


def choose(page, selector, words):
    for option in page.find_elements("css selector", f"{selector} option"):
        if option.text == words:
            return option.click()
    raise AssertionError(f"{selector} has no option {words!r}")


def number(text):
    return float(text.replace("−", "-"))


def test_the_largest_losses_come_first_and_every_query_can_be_shown(page, gaps):
    shown = rows(page)
    assert len(shown) == 50
    worst = sorted(gaps, key=lambda query: gaps[query])
    assert number(shown[0][1]) == pytest.approx(gaps[worst[0]], abs=1e-4)
    for n_rows in (50, 30, 30):  # the last click has no effect
        page.find_elements("css selector", ".pk-turn")[1].click()
        assert len(rows(page)) == n_rows, "the time of a click must not grow with the number of queries"
        shown += rows(page) if len(shown) < 130 else []
    assert page.find_element("css selector", ".pk-below").text.endswith("101 to 130 of 130")
    assert {query for query, _ in shown} == set(gaps)
    for query, gap in shown:
        assert number(gap) == pytest.approx(gaps[query], abs=2e-4)
    assert [number(gap) for _, gap in shown] == sorted(number(gap) for _, gap in shown)


def test_filters_and_the_sentence_agree_with_the_values(page, gaps):
    wins = sum(gap > 1e-12 for gap in gaps.values())
    losses = sum(gap < -1e-12 for gap in gaps.values())
    verdict = page.find_element("css selector", ".pk-verdict")
    assert f"B is better on {wins}, equal on {len(gaps) - wins - losses}, worse on {losses}." in verdict.text
    choose(page, "select[aria-label='Queries by outcome']", "B worse")
    assert page.find_element("css selector", ".pk-found").text == f"{losses} of 130 queries"
    mean = np.mean([gap for gap in gaps.values() if gap < -1e-12])
    assert number(verdict.find_element("css selector", "b").text) == pytest.approx(mean, abs=1e-4)
    choose(page, "select[aria-label='Queries by outcome']", "all queries")
    write(page, ".pk-tools input[type=search]", "q7")
    assert {query for query, _ in rows(page)} == {query for query in gaps if "q7" in query}
    write(page, ".pk-tools input[type=search]", "nothing like this")
    assert rows(page) == [["No query matches."]]


def test_a_row_opens_both_lists_by_mouse_and_by_keyboard(page, comparison):
    first = page.find_element("css selector", ".pk-open")
    query = first.text
    first.send_keys(ENTER)
    assert page.execute_script("return document.activeElement.textContent") == f"Query {query}"
    place = comparison.queries.ids.tolist().index(query)
    part = comparison.queries[place]
    best = np.argsort(-comparison.scores["ranksvm"][comparison.queries.qid == query], kind="stable")[:10]
    names = [item.text for item in page.find_elements("css selector", ".pk-pair section:first-child .pk-doc")]
    assert names == [part.docid[row] for row in best]
    labels = [chip.text for chip in page.find_elements("css selector", ".pk-pair section:first-child .pk-chip")]
    assert labels == [f"{part.labels[row]:g}" for row in best]
    page.find_element("xpath", "//button[text()='Close']").click()
    assert not page.find_elements("css selector", ".pk-lists:not([hidden])")
    assert page.execute_script("return document.activeElement.textContent") == query
    page.find_elements("css selector", ".pk-scroll tbody td")[1].click()
    assert page.find_element("css selector", ".pk-lists h3").text == f"Query {query}"


def test_what_was_left_out_is_said(page, comparison):
    changed = set(comparison.most_changed())
    with_lists = changed | {int(query.qid.removeprefix("q")) for query in comparison.hardest(10)}
    assert len(changed) == 50
    left_out = next(place for place in range(130) if place not in with_lists)
    write(page, ".pk-tools input[type=search]", f"q{left_out}")
    page.find_element("xpath", f"//button[@class='pk-open' and text()='q{left_out}']").click()
    assert "were left out of this file" in page.find_element("css selector", ".pk-lists").text
    assert (
        f"{130 - len(with_lists)} other queries were left out"
        in page.find_element("css selector", "#queries-view > .pk-quiet").text
    )


def test_dots_open_their_query_and_shared_dots_filter_the_table(page):
    click = """
    const dots = [...document.querySelectorAll(".pk-dot")];
    const dot = dots.find((one) => (Number(one.getAttribute("r")) > 4) === arguments[0]);
    const box = dot.getBoundingClientRect();
    dot.dispatchEvent(new MouseEvent("click", {
      bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 }));
    """
    page.execute_script(click, False)
    assert page.find_element("css selector", ".pk-lists h3").is_displayed()
    assert len(page.find_elements("css selector", ".pk-dot.pk-chosen")) == 1
    page.execute_script(click, True)
    found = page.find_element("css selector", ".pk-found").text
    assert re.fullmatch(r"\d+ of 130 queries", found)
    clear = page.find_element("xpath", "//button[contains(text(), 'at this dot')]")
    assert clear.text.startswith(found.split()[0])
    clear.click()
    assert page.find_element("css selector", ".pk-found").text == "130 queries"


def test_sides_can_be_swapped_and_every_ranker_can_be_shown(page, gaps):
    before = {query: number(gap) for query, gap in rows(page)}
    page.find_element("css selector", "button[aria-label='Swap A and B']").click()
    write(page, ".pk-tools input[type=search]", next(iter(before)))
    after = {query: number(gap) for query, gap in rows(page)}
    assert after[next(iter(before))] == -before[next(iter(before))]
    page.find_element("css selector", ".pk-check input").click()
    assert (
        len(page.find_elements("css selector", ".pk-scroll thead th")) == 1 + 1 + 8 + 2 + 3
    )  # with the reference scores


def test_the_page_has_no_accessibility_violations(page):
    page.find_element("css selector", ".pk-open").click()
    assert violations_everywhere(page) == []
    assert page.execute_script("return document.documentElement.scrollWidth") <= 320


def test_the_inlined_script_imports_nothing_and_has_each_name_once():
    text = script()
    assert "import " not in text
    names = re.findall(r"^(?:export )?(?:function|const|let) (\w+)", text, flags=re.M)
    assert len(names) == len(set(names)) > len(SCRIPTS)


def test_json_in_a_page_cannot_end_its_element():
    payload = {"name": "</script><!--", "other": "\u2028\u202e é"}
    text = json_script(payload)
    assert "<" not in text
    assert text.isascii()
    assert json.loads(text) == payload


def test_values_that_are_missing_are_null_and_unknown_queries_are_refused():
    comparison = made_up(n_queries=6)
    comparison.tables["listmle"].values[2] = np.nan
    payload = queries_payload(comparison, queries=["q3"])
    assert payload["values"][2][payload["rankers"].index("listmle")] is None
    assert "3" in payload["lists"]
    with pytest.raises(ValueError, match="query 'q99' is not among the test queries"):
        queries_payload(comparison, queries=["q99"])
