"""The report of a real set with twelve rankers: its size, its console and its clicks."""

import functools
import statistics
import warnings

import pytest

import plackett as pk
from plackett.evaluation.compare import insight
from tests.browser import click_cost, media, screen

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

LOSSES = ("listmle", "p-listmle", "listnet", "rankcosine", "ranknet", "regression")


@pytest.fixture(scope="module")
def path(shared_data, tmp_path_factory, browser):
    rankers = {
        f"{name}, l2={l2:g}": pk.ranker(name, l2=l2, max_iter=3, patience=None) for name in LOSSES for l2 in (1.0, 0.01)
    }
    folder = shared_data / "letor4-mq2008"
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # three iterations are too few to converge
        patch.setattr(insight, "permutation_drops", functools.partial(insight.permutation_drops, n_repeats=1))
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
        times = [click_cost(page, selector, number % n_places).processor for number in range(7)]
        assert 0 < statistics.median(times) < 0.1, (selector, times)
