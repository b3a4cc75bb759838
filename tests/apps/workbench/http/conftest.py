"""Fixtures of browser tests: a browser, servers of texts and of judged lists, and the page of a new user."""

import numpy as np
import pytest

from tests.apps.workbench.browsing import Server, write_texts
from tests.browser import media, screen, start_browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def server(tmp_path_factory, browser):
    from plackett.apps.workbench.collections.text import open_collection

    folder = tmp_path_factory.mktemp("texts")
    write_texts(folder)
    server = Server(open_collection(folder), tmp_path_factory.mktemp("store"))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def letor(tmp_path_factory, browser):
    from plackett.apps.workbench.collections.letor import LetorCollection
    from plackett.data.queries import Queries

    rng = np.random.default_rng(0)
    names = ["bm25", "<b>age</b>", "length"]
    lists = Queries(rng.normal(size=(24, 3)), rng.integers(0, 3, 24), qid=np.repeat([7, 8, 9], 8), feature_names=names)
    server = Server(LetorCollection(lists, name="three lists"), tmp_path_factory.mktemp("lists"))
    yield server
    server.stop()


@pytest.fixture
def page(browser, server, request):
    """The page as a new user sees it on a wide, light screen; every test leaves the console empty."""
    screen(browser, 1200)
    media(browser, "screen", "light", "reduce")  # rows that glide cannot be clicked
    browser.get("about:blank")
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", {"origin": server.url()[:-1], "storageTypes": "all"})
    name = "".join(letter for letter in request.node.name if letter.isalnum())
    browser.execute_cdp_cmd("Network.setCookie", {"url": server.url(), "name": "plackett_user", "value": name})
    browser.get_log("browser")
    source = "try { localStorage['plackett.freeze'] ??= 'off' } catch {}"  # most tests look at the new order at once
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": source})
    yield browser
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    assert browser.get_log("browser") == []
