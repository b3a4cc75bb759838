"""The page in a real browser: headless Chromium, through selenium. Skipped where either is missing."""

import base64

import pytest

from plackett.report.html import write_report
from tests.browser import COLOURS, contrast, media, screen
from tests.report.made_up import HOSTILE, made_up

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")


COMMAND = "plackett compare 'my data.txt' -r " + ",".join(f"module:ranker_{number}" for number in range(12))


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with every section, names that would do harm, and values that are missing."""
    comparison = made_up(
        names=["listmle", "ranksvm", *HOSTILE],
        failures={"broken": ["fold 1: ValueError: <b>no</b>"]},
        baseline="ranksvm",
    )
    comparison.settings["command"] = COMMAND
    return write_report(comparison, tmp_path_factory.mktemp("report") / "report.html").as_uri()


@pytest.fixture
def page(browser, report):
    """The report as a reader with a wide, light screen opens it; every test leaves the console empty."""
    screen(browser, 1200)
    media(browser, "screen", "light")
    browser.get(report)
    yield browser
    assert browser.get_log("browser") == []


def column(page, table, heading):
    """The texts of a column, in the order of the rows that can be sorted."""
    return page.execute_script(
        """
        const table = document.getElementById(arguments[0]);
        const place = [...table.tHead.rows[0].cells].findIndex((cell) => cell.innerText.trim() === arguments[1]);
        return [...table.querySelector("tbody.rows").rows].map((row) => row.cells[place].textContent.trim());
        """,
        table,
        heading,
    )


def press(page, table, heading):
    """Click on the sort button of a column, and say what its ``aria-sort`` is afterwards."""
    for button in page.find_elements("css selector", f"#{table} thead button"):
        if button.text.strip() == heading:
            page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
            button.click()
            return button.find_element("xpath", "..").get_attribute("aria-sort")
    raise AssertionError(f"{table} has no button {heading!r}")


def numbers(texts):
    return [float(text.rstrip("▲▼").replace(",", "")) for text in texts if text != "–"]


def test_it_renders(page):
    assert page.title == "Comparison of 8 rankers"
    assert page.find_element("css selector", "h1").is_displayed()
    plots = page.find_elements("css selector", "svg.plot")
    assert len(plots) > 10
    assert all(plot.size["width"] > 200 and plot.size["height"] > 100 for plot in plots)
    assert page.execute_script("return document.querySelectorAll('script[type=module]').length") == 1
    assert page.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")


def test_numbers_are_sorted_as_numbers_in_both_directions(page):
    before = column(page, "table-summary", "seconds")
    assert press(page, "table-summary", "seconds") == "ascending"
    rising = numbers(column(page, "table-summary", "seconds"))
    assert rising == sorted(numbers(before))
    assert rising != sorted(rising, key=str), "as text the order would be another: this test could not fail"
    assert press(page, "table-summary", "seconds") == "descending"
    assert numbers(column(page, "table-summary", "seconds")) == rising[::-1]


def test_the_best_come_first_where_more_is_better(page):
    assert press(page, "table-summary", "map") == "descending"
    means = numbers(column(page, "table-summary", "map"))
    assert means == sorted(means, reverse=True)
    references = page.find_elements("css selector", "#table-summary tbody.foot th")
    assert [reference.text for reference in references] == ["random order", "best feature", "broken (failed)"]


def test_only_the_column_that_was_pressed_is_marked_as_sorted(page):
    press(page, "table-summary", "map")
    press(page, "table-summary", "ranker")
    marks = [
        heading.get_attribute("aria-sort")
        for heading in page.find_elements("css selector", "#table-summary thead th")
        if heading.get_attribute("aria-sort") != "none"
    ]
    assert marks == ["ascending"]
    names = column(page, "table-summary", "ranker")
    assert names.index("listmle") < names.index("ranksvm")


def test_what_is_missing_stays_at_the_end(page):
    for _ in range(2):
        press(page, "table-fits", "validation")
        texts = column(page, "table-fits", "validation")
        missing = texts.count("–")
        assert missing == 8
        assert texts[-missing:] == ["–"] * missing


def test_a_hard_query_opens_its_lists(page, report):
    page.get(report)
    buttons = page.find_elements("css selector", "#table-hardest button.opens")
    assert len(buttons) == 10
    name = buttons[3].text
    page.execute_script("arguments[0].click()", buttons[3])
    assert page.find_element("css selector", "#queries-view .pk-lists h3").text == f"Query {name}"
    assert "left out" not in page.find_element("css selector", "#queries-view .pk-lists").text


def test_the_keyboard_sorts_too(page):
    button = page.find_element("css selector", "#table-summary thead th[data-kind=number] button")
    button.send_keys("\ue007")
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"


def test_light_and_dark_differ_and_both_can_be_read(page):
    ratios = {}
    for scheme in ("light", "dark"):
        media(page, "screen", scheme)
        ratios[scheme] = [contrast(*page.execute_script(COLOURS, selector)) for selector in READ]
        assert min(ratios[scheme]) >= 4.5, dict(zip(READ, ratios[scheme], strict=True))
    paper = "return getComputedStyle(document.body).backgroundColor"
    dark = page.execute_script(paper)
    media(page, "screen", "light")
    assert page.execute_script(paper) != dark


READ = [
    *("h1", ".quiet", "nav a", "tbody.rows td", "tbody.foot th", "thead th", ".bounds", ".below", ".notice li"),
    *(
        ".cards dt",
        ".cards dd",
        ".pk-open",
        ".pk-verdict",
        ".pk-hint",
        "svg.plot text",
        *(f"svg.plot text[style*='--s{place}']" for place in range(1, 9)),
    ),
]


def test_on_a_phone_only_tables_scroll_sideways(page):
    screen(page, 360, 740)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    assert page.execute_script("const b = document.querySelector('.scroll'); return b.scrollWidth > b.clientWidth")
    sizes = page.execute_script("return [...document.querySelectorAll('figure')].map((f) => f.clientWidth)")
    assert max(sizes) <= 360


def test_on_paper_nothing_is_folded_away_and_colours_are_those_of_paper(page):
    media(page, "print", "dark")
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.find_element("css selector", "nav").is_displayed()
    assert page.execute_script("return document.querySelectorAll('details:not([open])').length") > 0
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert page.execute_script("return document.querySelectorAll('details:not([open])').length") == 0
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.execute_script("return document.querySelectorAll('details:not([open])').length") > 0
    screen(page, 690)  # what A4 leaves between its margins
    assert page.execute_script("return document.documentElement.scrollWidth") <= 690
    pdf = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF")


@pytest.mark.parametrize("width", [1200, 360])
@pytest.mark.parametrize("before", ["", "delete Navigator.prototype.clipboard"])
def test_the_command_is_shown_in_full_and_can_be_copied(page, before, width):
    screen(page, width)
    page.execute_script(before)
    box = page.find_element("css selector", ".command")
    code = box.find_element("css selector", "code")
    for length in ("Width", "Height"):
        assert page.execute_script(f"return arguments[0].scroll{length} <= arguments[0].client{length}", code)
    assert code.text == COMMAND
    button = box.find_element("css selector", "button")
    assert button.text == "Copy command"
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
    wait(page, 60).until(lambda _: button.text == "Copied")
    page.execute_script("document.body.innerHTML = '<textarea></textarea>'")
    field = page.find_element("css selector", "textarea")
    field.send_keys("\ue009v")
    assert field.get_property("value") == COMMAND


def test_files_in_the_page_hold_the_table(page):
    address = page.find_element("css selector", "a[download='summary.csv']").get_attribute("href")
    text = base64.b64decode(address.partition("base64,")[2]).decode()
    assert text.startswith("#,ranker,ndcg@10,ndcg@10 mark,map,map mark,Δ ndcg@10,")
