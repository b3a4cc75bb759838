"""The day of a relevance team in a browser: two users, the project's own documentation, both kinds of database."""

import re
import urllib.request
from pathlib import Path

import pytest

import plackett as pk
from tests.apps.workbench.browsing import Server, follow, judge, one, order, text_of, until, visit
from tests.apps.workbench.serving import caller

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")

DOCS = Path(__file__).parents[4] / "docs"


def headings():
    """Sixty headings of the documentation, as its readers would search for them."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
    found = [re.sub(r"[^\w\s-]", " ", line[3:]) for text in texts for line in text.splitlines() if line[:3] == "## "]
    return [" ".join(words.lower().split()) for words in dict.fromkeys(found) if len(words.split()) > 1][:60]


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    from plackett.apps.workbench.collections.text import open_collection

    folder = tmp_path_factory.mktemp("docs")
    for path in DOCS.glob("*.md"):
        (folder / path.name).write_bytes(path.read_bytes())
    return open_collection(folder)


@pytest.fixture
def server(collection, store_url, tmp_path, browser):
    server = Server(collection, tmp_path, store_url)
    server.folder = tmp_path
    yield server
    server.stop()


def become(page, server, name):
    page.execute_cdp_cmd("Network.setCookie", {"url": server.url(), "name": "plackett_user", "value": name})


def submit(page, form, **values):
    """Fill a form in, and send it."""
    for name, value in values.items():
        field = one(page, f'{form} [name="{name}"]:not([type=file])')
        if field.tag_name == "select":
            page.execute_script(
                "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", field, value
            )
        else:
            field.clear()
            field.send_keys(value)
    one(page, f"{form} button.main").click()


def is_ranked(page):
    return page.execute_script("return document.querySelector('#board')?.dataset.complete") == "true"


def rows(page):
    """(query, value of the first ranker) of the scoreboard, in its order."""
    return page.execute_script(
        "return [...document.querySelectorAll('#rows tbody tr')].map((row) =>"
        " [row.cells[0].textContent.trim(), parseFloat(row.cells[1].querySelector('.value')?.textContent)])"
    )


def judge_first_ten(server, user, query, number):
    """The rest of a list is judged as a program would; a page has judged the first."""
    from plackett.apps.workbench.judging import JudgementRequest, judge

    bench = server.app.state.workbench
    for docid in bench.collection.search(query).docid[:10]:
        grade = float(sum(docid.encode()) % 3 == number % 3)
        judge(bench, caller(user), JudgementRequest(query=query, docid=docid, grade=grade, with_list=False))


def test_a_team_pulls_queries_judges_compares_with_yesterday_and_exports(page, server):
    # pull 50 queries
    become(page, server, "Ann")
    visit(page, server.url("/scoreboard"))
    submit(page, "#new-set", name="head queries", source="text", text="\n".join(headings()[:50]))
    until(lambda: page.find_elements("css selector", "#board[data-complete]"))
    until(lambda: is_ranked(page))
    assert len(rows(page)) == 50
    assert all(value is None or value != value for _, value in rows(page))  # nothing is judged yet

    # judge the first ten of some, on the page and by a second user
    query = rows(page)[0][0]
    follow(page, one(page, "#rows tbody th a"))
    first, second = order(page)[:2]
    judge(page, second, ".yes")
    judge(page, first, ".no")
    chosen = [query, *headings()[1:12]]
    for number, text in enumerate(dict.fromkeys(chosen)):
        judge_first_ten(server, ("Ann", "Ben")[number % 2], text, number)

    # see which fail: the worst comes first
    visit(page, server.url("/scoreboard"))
    until(lambda: is_ranked(page))
    values = [value for _, value in rows(page) if value is not None and value == value]
    assert len(values) == len(set(chosen))
    assert values == sorted(values)

    # yesterday's snapshot
    submit(page, "#freeze", name="yesterday")
    until(lambda: "yesterday" in text_of(page, "#history"))
    until(lambda: is_ranked(page))

    # change something: train a ranker on the judgements
    visit(page, server.url("/train"))
    one(page, "#train button.main").click()
    until(lambda: page.find_elements("css selector", ".trained[data-name]"), 30)
    trained = one(page, ".trained").get_attribute("data-name")

    # the second user compares with yesterday
    become(page, server, "Ben")
    visit(page, server.url("/scoreboard", ranker=trained))
    until(lambda: is_ranked(page))
    assert f"{trained}: trained on " in text_of(page, "#board")
    visit(page, server.url("/compare", side="1/bm25") + f"&side=now/{trained}")
    until(lambda: page.find_elements("css selector", "#comparison .pk-table tbody tr[data-row]"))
    cells = page.execute_script("return [...document.querySelector('#pairs tbody tr').cells].map((c) => c.textContent)")
    wins, ties, losses = map(int, cells[5].split(", "))
    assert wins + ties + losses == len(set(chosen))
    assert f"{trained}: trained on " in text_of(page, "section[aria-labelledby='h-pairs']")
    assert len(page.find_elements("css selector", "#pairs tbody tr")) == 3

    # explain the losers
    one(page, "#comparison .pk-open").click()
    until(lambda: page.find_elements("css selector", ".pk-pair details"))
    assert "strongest contributions" in text_of(page, ".pk-pair details")

    # export the better ranker
    visit(page, server.url("/scoreboard", ranker=trained))
    until(lambda: is_ranked(page))
    link = one(page, "#totals a[download]").get_attribute("href")
    with urllib.request.urlopen(link) as answer:
        Path(server.folder / "model.plackett").write_bytes(answer.read())
    assert pk.load(server.folder / "model.plackett").n_features_in_ == len(server.collection.feature_names)
