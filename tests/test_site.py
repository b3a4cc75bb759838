"""The built site, which ``make docs-check`` names in PLACKETT_SITE: links, sizes, and pages in a browser."""

import base64
import json
import os
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from plackett.text import Analyser, build_index
from tests.axe import violations_everywhere
from tests.browser import media, screen, start_browser

SITE = Path(os.environ.get("PLACKETT_SITE", "no-site")).resolve()
needs_site = pytest.mark.skipif(not SITE.is_dir(), reason="make docs-check builds the site and runs this")
LARGEST_PAGE = 300_000
LARGEST_LANDING = 600_000  # with style sheets, scripts and the film
# "tag attribute" pairs whose address the browser loads by itself
LOADED = {"img src", "script src", "iframe src", "source srcset", "video src", "link href"}


class Page(HTMLParser):
    """The ids of a page, the addresses it links to, and those it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("id", "name"):
                self.ids.add(value)
            if f"{tag} {name}" in LOADED:
                self.loads.append(value)
            elif name == "href":
                self.links.append(value)


def is_outside(address: str) -> bool:
    return bool(re.match(r"[a-z][a-z+.-]*:|//", address)) and not address.startswith("data:")


def broken(folder: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Yield the links and loads inside of a site that lead to no file, or to no element of a page."""
    for path, page in pages.items():
        for address in (*page.links, *page.loads):
            if is_outside(address) or address.startswith("data:"):
                continue
            name, anchor = urldefrag(address.partition("?")[0])
            target = (path.parent / unquote(name)).resolve() if name else path
            if not target.is_file():
                yield f"{path.relative_to(folder)}: {address} is not there"
            elif anchor and target in pages and unquote(anchor) not in pages[target].ids:
                yield f"{path.relative_to(folder)}: {address} has no such place"


def pages_of(folder: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}


def test_the_checker_finds_missing_files_and_places(tmp_path):
    (tmp_path / "a.html").write_text('<p id="here"><a href="b.html#there">b</a><a href="#here">a</a><img src="c.png">')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#here">a</a><a href="https://example.org/x">x</a><a href="d.html">'
    )
    found = list(broken(tmp_path, pages_of(tmp_path)))
    assert found == [
        "a.html: b.html#there has no such place",
        "a.html: c.png is not there",
        "b.html: d.html is not there",
    ]


@pytest.fixture(scope="module")
def pages():
    return pages_of(SITE)


@needs_site
def test_every_link_inside_the_site_leads_somewhere(pages):
    assert list(broken(SITE, pages)) == []


@needs_site
def test_no_page_loads_anything_from_elsewhere(pages):
    found = {path.name: list(filter(is_outside, page.loads)) for path, page in pages.items()}
    assert {name: loads for name, loads in found.items() if loads} == {}
    for path in (SITE / "_static").rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(?:https?:)?//", path.read_text(encoding="utf-8")), path.name


class Words(HTMLParser):
    """The visible text of a page, without code and formulas."""

    HIDDEN = ("script", "style", "pre", "math", "template")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.depth = 0
        self.parts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.depth += tag in self.HIDDEN

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in self.HIDDEN

    def handle_data(self, data: str) -> None:
        if not self.depth:
            self.parts.append(data)


RAW_FORMULA = re.compile(r":math:|\\(?:mathrm|sum|frac|log|cdot|left|lvert)\b")


def raw_formulas(text: str) -> list[str]:
    """Return what a page shows of formulas that were not set."""
    return RAW_FORMULA.findall(" ".join(Words(text).parts))


def test_the_check_of_formulas_finds_those_that_were_not_set():
    assert raw_formulas(r"<p>a <code>:math:`x`</code> and \mathrm{of}</p>") == [":math:", r"\mathrm"]
    assert raw_formulas(r"<pre>\sum</pre><math><mo>\sum</mo></math><p>sum</p>") == []


@needs_site
def test_no_page_shows_the_source_of_a_formula(pages):
    found = {path.relative_to(SITE).as_posix(): raw_formulas(path.read_text(encoding="utf-8")) for path in pages}
    assert {name: raw for name, raw in found.items() if raw} == {}


@needs_site
def test_no_page_is_large(pages):
    sizes = {path.relative_to(SITE).as_posix(): path.stat().st_size for path in pages}
    large = {name for name, size in sizes.items() if size > LARGEST_PAGE}
    assert {
        name for name in large if not name.startswith("reproductions/")
    } == set()  # pages with all results of a paper
    landing = SITE / "index.html"
    loads = {(SITE / urldefrag(load.partition("?")[0])[0]).resolve() for load in pages[landing].loads}
    files = [path for path in loads if path.is_file() and path.suffix != ".html"]  # not the next page
    weight = landing.stat().st_size + sum(path.stat().st_size for path in files)
    assert weight < LARGEST_LANDING, f"the landing page loads {weight:,} bytes"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = start_browser(tmp_path_factory.mktemp("browser"))
    yield driver
    driver.quit()


CUT_OFF = """
return [...document.querySelectorAll("article pre, article .formula, article .definition")]
    .filter((block) => block.scrollWidth > block.clientWidth + 1)
    .map((block) => block.textContent.trim().split("\\n").sort((a, b) => b.length - a.length)[0]);
"""


@needs_site
def test_no_code_is_cut_off_at_1280_pixels(browser, pages):
    screen(browser, 1280, 900)
    media(browser, "screen", "light", "reduce")
    cut = []
    for path in pages:
        if path.parent.name == "_modules" or "_modules" in path.parts or path.name.startswith("genindex"):
            continue
        browser.get(path.as_uri())
        cut += [f"{path.relative_to(SITE)}: {line}" for line in browser.execute_script(CUT_OFF)]
    assert cut == []


@needs_site
@pytest.mark.parametrize(
    "page", ["index.html", "search.html?q=clicks", "tutorials/first-hour.html", "reference/plackett.LinearRanker.html"]
)
def test_pages_are_accessible_and_fit_any_window(browser, page):
    browser.get(f"{SITE.as_uri()}/{page}")
    assert violations_everywhere(browser) == []
    for width in (1280, 1100, 900, 390):
        screen(browser, width, 800)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@needs_site
def test_the_search_ranks_sections_by_bm25_without_a_server(browser):
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(browser, 20)
    script = (SITE / "_static" / "search-texts.js").read_text(encoding="ascii")
    assert len(script) <= 500_000
    records = json.loads(zlib.decompress(base64.b64decode(script.partition('"')[2].partition('"')[0])))
    headings = [one[1] if one[1] == one[2] else f"{one[1]} {one[2]}" for one in records]
    texts = [f"{heading} " * 4 + text for heading, (*_, text) in zip(headings, records, strict=True)]
    analyser = Analyser()

    def words(text):
        return [term[:-1] if len(term) > 3 and term[-1] == "s" != term[-2] else term for term in analyser(text)]

    index = build_index([" ".join(words(text)) for text in texts], analyser=Analyser(stop_words=None))
    browser.get(f"{(SITE / 'search.html').as_uri()}?q=click+models")
    wait.until(lambda page: page.find_elements("css selector", "#search-results mark"))
    for query in ("click models", "LinearRanker l2", "how do I deploy a model?", "interleaved test verdict"):
        found = browser.execute_async_script("window.searchSite(arguments[0]).then(arguments[1])", query)
        expected = index.search(" ".join(words(query)), k=10)
        assert [score for _, score in found[:10]] == pytest.approx(expected.scores.tolist(), rel=1e-6)
    first = browser.execute_async_script("window.searchSite('click models').then(arguments[0])")[0][0]
    assert first.startswith(("clicks.html", "reference/plackett.clicks"))
    assert re.search("click|model", browser.find_element("css selector", "#search-results mark").text.lower())


@needs_site
def test_the_copy_button_leaves_out_prompts_and_outputs(browser):
    browser.get((SITE / "index.html").as_uri())
    copied = browser.execute_script(
        "return [...document.querySelectorAll('article pre')].map((one) => codeOf(one.textContent))"
    )
    (python,) = [text for text in copied if "make_web_like" in text]
    compile(python, "copied", "exec")
    assert ">>>" not in python
    assert "random order" not in python
    console = "$ plackett info a.txt \\\\\n> --json\nqueries 3\n$ ls\n"
    shown = browser.execute_script(f"return codeOf({json.dumps(console)})")
    assert shown == "plackett info a.txt \\\\\n--json\nls"


@needs_site
def test_every_command_that_installs_says_that_there_is_no_release_yet():
    for path in SITE.rglob("*.html"):
        if "_modules" in path.parts:
            continue
        text = path.read_text(encoding="utf-8")
        shown = re.sub("<[^>]+>", "", "".join(re.findall(r"<article.*</article>", text, re.DOTALL)))
        assert not re.search(r"pip install\b[^\n]*\bplackett\b", shown) or "not on PyPI yet" in shown, path


@needs_site
def test_readers_who_prefer_reduced_motion_get_a_still_picture(browser):
    for motion, name in (("reduce", "workbench-still.webp"), ("no-preference", "workbench-loop.webp")):
        media(browser, "screen", "light", motion)
        browser.get((SITE / "index.html").as_uri())
        shown = browser.execute_script("return document.querySelector('.film img').currentSrc")
        assert shown.endswith(name)
