"""The report of a real set with twelve rankers: its size, its console, its clicks, and its accessibility."""

import statistics

import pytest

import plackett as pk
from tests.axe import violations_everywhere
from tests.browser import media, screen

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

LOSSES = ("listmle", "p-listmle", "listnet", "rankcosine", "ranknet", "regression")
CLICK = """
const done = arguments[arguments.length - 1];
const element = document.querySelectorAll(arguments[0])[arguments[1]];
const start = performance.now();
element.click();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
"""


@pytest.fixture(scope="module")
def path(shared_data, tmp_path_factory):
    rankers = {
        f"{name}, l2={l2:g}": pk.ranker(name, l2=l2, max_iter=15, patience=None)
        for name in LOSSES
        for l2 in (1.0, 0.01)
    }
    folder = shared_data / "letor4-mq2008"
    comparison = pk.compare(rankers, folder, cv="letor", convention="letor4", metrics="map", explain=True)
    assert (len(comparison), comparison.queries.n_queries) == (12, 784)
    return pk.write_report(comparison, tmp_path_factory.mktemp("mq2008") / "report.html", title="MQ2008")


@pytest.fixture
def page(browser, path):
    screen(browser, 1200)
    media(browser, "screen", "light", "reduce")
    browser.get(path.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def test_the_report_is_small_and_answers_clicks_at_once(page, path):
    assert path.stat().st_size < 3_000_000
    assert page.find_element("css selector", ".pk-found").text == "784 queries"
    for selector in (".pk-open", ".pk-scroll thead button", "button[aria-label='Swap A and B']", ".pk-check input"):
        n_places = len(page.find_elements("css selector", selector))
        times = [page.execute_async_script(CLICK, selector, number % n_places) for number in range(7)]
        assert statistics.median(times) < 100, (selector, times)


def test_the_report_has_no_accessibility_violations(page):
    page.find_element("css selector", ".pk-open").click()
    page.find_element("xpath", "//button[text()='Show all reasons']").click()
    assert violations_everywhere(page) == []
