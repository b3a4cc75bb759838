import re

import numpy as np
import pytest

import plackett as pk
from tests.report.made_up import HOSTILE


@pytest.fixture(scope="module")
def log():
    lists = pk.datasets.make_web_like(30, 15, 3, random_state=0)
    rankers = {"one": lists.X[:, 0], "other": lists.X[:, 1]}
    return pk.clicks.simulate_clicks(lists, rankers, 3_000, k=4, random_share=0.3)


@pytest.fixture(scope="module")
def page(log, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "clicks.html"
    found = [pk.clicks.estimate_propensities(log, method) for method in ("randomised", "harvesting")]
    comparison = pk.clicks.compare_click_models(["pbm", "dctr"], log, cv=2, n_draws=200)
    pk.write_click_report(log, path, propensities=found, comparison=comparison)
    return path.read_text(encoding="utf-8")


def test_every_section_and_number_is_on_the_page(log, page):
    about = log.describe()
    assert "A click log of 3,000 sessions" in page
    for part in ("log", "ranks", "propensities", "models"):
        assert f'<section id="{part}"' in page
    for rate in about.click_rate_by_rank:
        assert f"{rate:.4f}" in page
    value = pk.clicks.estimate_propensities(log, "harvesting").values[1]
    assert page.count(f"{value:.3f}") >= 2  # in the table, and in the text of the picture


def test_intervals_of_all_methods_are_drawn(log, page):
    assert len(re.findall(r"LineCollection|<path d=\"M", page)) > 0
    assert "Vertical lines are 95% intervals." in page
    picture = page[page.index('aria-label="Propensity of each rank.') :]
    assert {"randomised:", "harvesting:"} <= set(re.findall(r"\w+:", picture[:600]))


def test_the_same_log_gives_the_same_bytes_and_loads_nothing(log, tmp_path):
    pages = [pk.write_click_report(log, tmp_path / name).read_bytes() for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]
    assert not re.search(rb'(src|href)="https?:', pages[0])
    assert b'<section id="models"' not in pages[0]
    assert b'<section id="propensities"' not in pages[0]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_escaped(log, tmp_path, text):
    found = pk.clicks.Propensities([1.0, 0.5], method=text, notes=[text])
    page = pk.write_click_report(log, tmp_path / "clicks.html", propensities=found, title=text).read_text(
        encoding="utf-8"
    )
    assert "<script>alert" not in page
    assert "49" not in re.findall(r"<h1>(.*?)</h1>", page, re.S)[0]


def test_ranks_that_cannot_be_found_are_left_out_of_the_picture(log, tmp_path):
    found = pk.clicks.Propensities([1.0, np.nan, 0.5], [[1, 1], [np.nan, np.nan], [0.4, 0.6]], level=0.9)
    page = pk.write_click_report(log, tmp_path / "clicks.html", propensities=found).read_text(encoding="utf-8")
    assert "nan" not in page[page.index("<path") : page.index("</svg>")]
    assert "Vertical lines are 90% intervals." in page


def test_damage_is_shown_with_its_rule(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("session,query,docid,rank,click\n1,shoe,a,1,0\n1,shoe,b,3,1\nhello\n")
    page = pk.write_click_report(pk.clicks.read_clicks(path), tmp_path / "clicks.html").read_text(encoding="utf-8")
    assert "damaged line" in page
    assert "cut before the first missing position" in page
