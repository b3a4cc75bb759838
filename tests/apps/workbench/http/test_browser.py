"""The workbench in a real browser, behind its real server: what a user does, and what the page shows for it."""

import json

import pytest

from tests.apps.workbench.browsing import (
    ENTER,
    ESCAPE,
    TAB,
    TOPICS,
    follow,
    is_loaded,
    is_narrow,
    judge,
    keys,
    one,
    order,
    reload,
    row,
    saved,
    seen,
    text_of,
    until,
    visit,
)
from tests.apps.workbench.serving import store_query_set, store_ranker
from tests.browser import COLOURS, contrast, media, screen

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")
pytest.importorskip("uvicorn")


def test_three_judgements_change_the_order_and_say_why(page, server):
    visit(page, server.url())
    one(page, "#q").send_keys("river water", ENTER)
    before = until(lambda: is_loaded(page) and order(page))
    assert len(before) == 20
    assert page.find_elements("css selector", "#results mark")
    assert not one(page, "#undo").is_enabled()
    for docid, thumb in ((before[4], ".yes"), (before[0], ".no"), (before[7], ".yes")):
        judge(page, docid, thumb)
    after = order(page)
    assert after != before
    assert after.index(before[4]) < 4
    moved = row(page, before[4])
    assert moved.find_element("css selector", ".move [aria-hidden]").text == f"▲ {4 - after.index(before[4])}"
    assert moved.find_element("css selector", ".yes").get_attribute("aria-pressed") == "true"
    assert "place 5" in moved.find_element("css selector", "[data-part=before]").text
    moved.find_element("css selector", "summary").click()
    reasons = moved.find_elements("css selector", ".why li")
    assert reasons
    assert all(" > " in reason.text or " <= " in reason.text or " ≤ " in reason.text for reason in reasons), [
        reason.text for reason in reasons
    ]
    measures = until(lambda: page.find_elements("css selector", "#measures tbody tr"))
    assert measures[0].text.startswith("P@1 0.00 1.00")

    reload(page)
    assert order(page) == after, "a reload keeps everything"
    assert row(page, before[0]).find_element("css selector", ".no").get_attribute("aria-pressed") == "true"
    for _ in range(3):
        saved(page, one(page, "#undo").click)
    assert order(page) == before
    assert not one(page, "#undo").is_enabled()
    reload(page)
    assert order(page) == before


def test_reset_is_one_step_that_can_be_undone(page, server):
    visit(page, server.url(q="river"))
    before = order(page)
    judge(page, before[3], ".yes")
    judge(page, before[1], ".no")
    after = order(page)
    saved(page, one(page, "#reset").click)
    assert order(page) == before
    saved(page, one(page, "#undo").click)
    assert order(page) == after
    judge(page, before[1], ".no")  # once more takes it back
    assert row(page, before[1]).find_element("css selector", ".no").get_attribute("aria-pressed") == "false"


def test_grades_and_this_above_that(page, server):
    visit(page, server.url(q="bread"))
    before = order(page)
    one(page, "input[name=judging][value=grades]").click()
    judge(page, before[5], "[data-grade='4'].grade")
    assert (
        row(page, before[5]).find_element("css selector", "[data-grade='4'].grade").get_attribute("aria-pressed")
        == "true"
    )
    saved(page, one(page, "#undo").click)
    one(page, "input[name=judging][value=pairs]").click()
    row(page, before[6]).find_element("css selector", ".above").click()
    assert row(page, before[1]).find_element("css selector", ".above").text == "…above this"
    judge(page, before[1], ".above")
    assert seen(page, "#pair-list") == f"{before[6]} above {before[1]}"
    after = order(page)
    assert after.index(before[6]) < before.index(before[6])
    reload(page)
    assert one(page, "input[name=judging][value=pairs]").is_selected()
    assert order(page) == after


def test_before_and_after_stand_side_by_side(page, server):
    visit(page, server.url(q="music"))
    before = order(page)
    judge(page, before[6], ".yes")
    after = order(page)
    one(page, "input[name=order][value=side]").click()
    until(lambda: order(page, "before") == before)
    assert order(page) == after
    reload(page)  # the address knows it
    until(lambda: order(page, "before") == before)
    one(page, "input[name=order][value=before]").click()
    until(lambda: order(page) == before)
    assert not one(page, "#left").is_displayed()
    one(page, "input[name=order][value=side]").click()
    judge(page, order(page)[-1], ".no")
    one(page, "#against option[value=last]").click()
    until(lambda: order(page, "before") == after)


HOLD_ONE_LIST = """
const fetched = window.fetch;
window.fetch = async (...request) => {
  const answer = await fetched(...request);
  if (!request[0].startsWith("/?q=")) return answer;
  window.fetch = fetched;
  await new Promise((done) => { window.letGo = done; });
  return answer;
};
"""


def test_a_list_that_comes_late_does_not_hide_a_judgement_or_a_newer_choice(page, server):
    visit(page, server.url(q="granite"))
    before = order(page)
    page.execute_script(HOLD_ONE_LIST)
    one(page, "input[name=order][value=side]").click()
    until(lambda: page.execute_script("return 'letGo' in window"))
    judge(page, before[5], ".yes")
    after = order(page)
    assert after != before
    page.execute_script("window.letGo()")
    until(lambda: order(page, "before") == before)
    assert order(page) == after
    first = text_of(page, "#results .meta")
    page.execute_script("delete window.letGo; " + HOLD_ONE_LIST)
    one(page, "input[name=method][value=rocchio]").click()
    until(lambda: page.execute_script("return 'letGo' in window"))
    one(page, "input[name=method][value=multiplicative]").click()
    until(lambda: "method=multiplicative" in page.current_url)
    page.execute_async_script("window.letGo(); setTimeout(arguments[0], 200)")
    assert text_of(page, "#results .meta") == first, "by the method that was chosen last"


def test_another_method_and_another_base_ranker(page, server):
    visit(page, server.url(q="stone"))
    judge(page, order(page)[5], ".yes")
    first = text_of(page, "#results .meta")
    one(page, "input[name=method][value=rocchio]").click()
    until(lambda: text_of(page, "#results .meta") != first)
    assert "method=rocchio" in page.current_url
    follow(page, one(page, "#base option[value=dirichlet]"))
    assert "base=dirichlet" in page.current_url
    assert "Dirichlet" in text_of(page, "#counts")
    visit(page, server.url())
    assert one(page, "#base").get_attribute("value") == "dirichlet", "the choice holds for the next query"


def test_everything_works_from_the_keyboard(page, server):
    visit(page, server.url())
    keys(page, "?")
    assert not one(page, "#help-dialog").is_displayed(), "a question mark can be typed into the box"
    keys(page, ESCAPE, "?")
    assert one(page, "#help-dialog").is_displayed()
    keys(page, ESCAPE)
    one(page, "body").send_keys("/")
    page.switch_to.active_element.clear()
    keys(page, "river bank", ENTER)
    before = until(lambda: is_loaded(page) and order(page))
    one(page, "body").send_keys("j")
    keys(page, "j", "j", "k", "j")
    focused = "return document.activeElement.dataset.docid"
    assert page.execute_script(focused) == before[2]
    saved(page, lambda: keys(page, "y"))
    assert page.execute_script(focused) == before[2], "the focus goes with the document"
    assert row(page, before[2]).find_element("css selector", ".yes").get_attribute("aria-pressed") == "true"
    assert order(page).index(before[2]) < 2
    keys(page, "w")
    assert row(page, before[2]).find_element("css selector", ".why li").is_displayed()
    saved(page, lambda: keys(page, "n"))
    saved(page, lambda: keys(page, "u"))
    saved(page, lambda: keys(page, "u"))
    assert order(page) == before
    # without keys of one letter: Tab goes through link, reasons and thumbs, and Enter presses
    one(page, "body").send_keys("j")
    keys(page, TAB, TAB)
    assert page.switch_to.active_element.get_attribute("aria-label") == "Relevant"
    assert page.execute_script("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    saved(page, lambda: keys(page, ENTER))
    assert page.switch_to.active_element.get_attribute("aria-pressed") == "true"
    one(page, "body").send_keys("j")
    keys(page, ENTER)
    until(lambda: "/document" in page.current_url)


def test_what_was_judged_while_the_server_was_away_is_not_lost(page, server):
    visit(page, server.url(q="river stone"))
    before = order(page)
    judge(page, before[2], ".yes")
    server.stop()
    row(page, before[5]).find_element("css selector", ".yes").click()
    until(lambda: "nothing is lost" in text_of(page, "#messages"))
    assert "waiting" in row(page, before[5]).get_attribute("class"), "not on disk yet, and it does not look so"
    server.start()
    until(lambda: text_of(page, "#spoken").startswith("Saved") and not text_of(page, "#messages"))
    page.get_log("browser")  # the browser itself complains about the server
    reload(page)
    for docid in (before[2], before[5]):
        assert row(page, docid).find_element("css selector", ".yes").get_attribute("aria-pressed") == "true"


LOSE_ONE_ANSWER = """
const fetched = window.fetch;
window.fetch = async (...request) => {
  const answer = await fetched(...request);
  if (request[1]?.method !== "POST") return answer;
  window.fetch = fetched;
  throw new TypeError("the answer was lost on its way");
};
"""


def test_what_was_written_is_not_written_again_when_its_answer_was_lost(page, server):
    visit(page, server.url(q="bread crust"))
    before = order(page)
    judge(page, before[4], ".yes")
    after = order(page)
    page.execute_script(LOSE_ONE_ANSWER)
    judge(page, before[1], ".no")
    assert row(page, before[1]).find_element("css selector", ".no").get_attribute("aria-pressed") == "true"
    saved(page, one(page, "#undo").click)
    assert order(page) == after, "one step back is enough"
    page.execute_script(LOSE_ONE_ANSWER)
    judge(page, before[2], ".no")
    page.execute_script(LOSE_ONE_ANSWER)
    saved(page, one(page, "#undo").click)
    assert order(page) == after, "and an undo whose answer was lost is one step"


def test_users_judge_apart(page, server):
    visit(page, server.url(q="choir"))
    before = order(page)
    judge(page, before[3], ".yes")
    one(page, "#who").click()
    one(page, "#name").clear()
    one(page, "#name").send_keys("Ann <b>", ENTER)
    until(lambda: is_loaded(page) and text_of(page, "#user") == "Ann <b>")
    assert order(page) == before
    judge(page, before[3], ".no")
    visit(page, server.url("/collection"))
    assert "100 %" not in text_of(page, "#judgements")
    disputed = page.find_elements("css selector", "#judgements table")[0].text
    assert before[3] in disputed
    assert "Ann <b>" in disputed


def test_import_train_make_it_the_base_ranker_and_export(page, server, tmp_path):
    lines = [f"{topic} 0 {topic}-{n} {int(n > 6)}" for topic in TOPICS for n in (1, 2, 3, 7, 8, 9)]
    (tmp_path / "qrels.txt").write_text("\n".join(lines))
    visit(page, server.url("/train"))
    one(page, "a[href$='format=qrels&mine=true']").click()
    until(lambda: "nothing" in text_of(page, "#messages"))  # to export
    page.get_log("browser")  # of the status of that answer
    one(page, "#train [name=mine]").click()
    one(page, "#train button").click()
    until(lambda: "training needs 3" in text_of(page, "#messages"))
    one(page, "#train [name=mine]").click()
    before = text_of(page, "#judgements")
    one(page, "#file").send_keys(str(tmp_path / "qrels.txt"))
    one(page, "#import button").click()
    until(lambda: "24 judgements imported" in text_of(page, "#imported"))
    until(lambda: text_of(page, "#judgements") != before)
    one(page, "#train button").click()
    until(lambda: page.find_elements("css selector", ".trained tbody tr"), 60)
    assert one(page, "#progress").is_displayed()
    assert one(page, "#progress-bar").get_attribute("value") == "1"
    assert "NDCG@10" in seen(page, ".trained")
    one(page, ".trained button[data-post]:not([data-base=''])").click()
    until(lambda: page.find_elements("css selector", ".trained button[data-base='']"))
    name = until(lambda: one(page, ".trained").get_attribute("data-name"))
    visit(page, server.url(q="bread"))
    assert one(page, "#base").get_attribute("value") == name
    assert order(page)
    downloads = tmp_path / "downloads"
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    visit(page, server.url("/train"))
    one(page, "a[href$='format=qrels&mine=true']").click()
    files = until(lambda: [path for path in downloads.glob("*") if path.suffix == ".qrels"])
    assert "bread 0 bread-9 1" in files[0].read_text(encoding="utf-8")
    exported = {
        format: fetched(page, f"/api/v1/export?format={format}&mine=true") for format in ("json", "letor", "run")
    }
    assert "\nbread Q0 bread-" in exported["run"]
    assert json.loads(exported["json"])
    assert exported["letor"].count("qid:") == 24
    visit(page, server.url("/train"))
    one(page, ".trained button[data-delete]").click()
    until(lambda: not page.find_elements("css selector", ".trained"))


def test_forms_and_buttons_rename_and_delete(page, server):
    store_ranker(server.store, "first", server.collection.key)
    store_query_set(server.store, server.collection.key, "doomed", ["river"])
    visit(page, server.url("/train"))
    one(page, ".trained[data-name=first] [name=new_name]").send_keys("second")
    one(page, ".trained[data-name=first] form button").click()
    until(lambda: page.find_elements("css selector", ".trained[data-name=second]"))
    one(page, ".trained[data-name=second] button[data-delete]").click()
    until(lambda: not page.find_elements("css selector", ".trained[data-name=second]"))
    visit(page, server.url("/scoreboard"))
    doomed = "#sets button[aria-label='Delete doomed']"
    one(page, doomed).click()
    page.switch_to.alert.accept()
    until(lambda: is_loaded(page) and not page.find_elements("css selector", doomed))


def fetched(page, path):
    return page.execute_async_script(
        "const done = arguments[1]; fetch(arguments[0]).then((a) => a.text()).then(done)", path
    )


def test_hostile_documents_are_shown_as_text(page, server):
    visit(page, server.url(q="hostile"))
    assert len(order(page)) == 3
    for docid in order(page):
        judge(page, docid, ".yes")
        assert page.title.startswith("hostile")
        assert page.find_elements("css selector", "#results script, #results img, #results b:not([data-part])") == []
        saved(page, one(page, "#undo").click)
    for docid in order(page):
        visit(page, server.url("/document", docid=docid, q="hostile"))
        assert "owned" not in page.title
        assert page.find_elements("css selector", "main script, main img, main b") == []
        text = text_of(page, "main pre") + text_of(page, "h1")
        assert "\x00" not in text
        assert "\x1b" not in text
        assert len(text) < 300_000
        assert is_narrow(page, 1200)
    screen(page, 360, 740)
    visit(page, server.url(q="hostile"))
    assert is_narrow(page)


def test_dark_and_light_can_both_be_read_and_chosen(page, server):
    visit(page, server.url(q="river"))
    judge(page, order(page)[3], ".yes")
    judge(page, order(page)[2], ".no")
    until(lambda: page.find_elements("css selector", "#measures td"))
    papers = []
    for scheme in ("light", "dark"):
        media(page, "screen", scheme, "reduce")
        ratios = {selector: contrast(*page.execute_script(COLOURS, selector)) for selector in READ}
        assert min(ratios.values()) >= 4.5, ratios
        papers.append(page.execute_script("return getComputedStyle(document.body).backgroundColor"))
    assert papers[0] != papers[1]
    media(page, "screen", "light", "reduce")
    one(page, "#theme").click()
    reload(page)
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == papers[1]
    assert one(page, "#theme").get_attribute("aria-pressed") == "true"
    one(page, "#theme").click()
    assert page.execute_script("return getComputedStyle(document.body).backgroundColor") == papers[0]


READ = [
    *(
        "#q",
        ".ask button",
        "nav a",
        "nav a[aria-current]",
        ".segments input:checked + span",
        ".option label",
        ".counts",
    ),
    *(".result h3 a", ".snippet", ".meta", ".why summary", ".why code", ".amount", ".move.up", ".move.down", "mark"),
    *(".yes[aria-pressed=true]", ".no[aria-pressed=true]", ".judge button", "#undo", "#measures td.up", "#measures p"),
    *("kbd", "footer"),
]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?q=river",
        "/?q=river&view=side",
        "/collection",
        "/train",
        "/document?docid=river-1&q=river",
    ],
)
def test_on_a_phone_nothing_scrolls_sideways(page, server, path):
    screen(page, 360, 740)
    visit(page, server.url() + path[1:])
    assert is_narrow(page)
    for button in page.find_elements("css selector", "#results .judge button"):
        assert not button.is_displayed() or min(button.size.values()) >= 40, "big enough for a finger"


def test_without_a_script_the_search_shows_its_results(page, server):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        visit(page, server.url(q="river", base="tf-idf"))
        rows = page.find_elements("css selector", "#results .result")
        assert len(rows) == 11
        assert "river" in rows[0].text
        assert not page.find_elements("css selector", ".judge")[0].is_displayed()
        assert "Judging needs it" in seen(page, "noscript")
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_what_is_wrong_is_said_in_words(page, server):
    visit(page, server.url(q="river and (bank", base="boolean"))
    assert "river and (bank" in seen(page, "#problem")
    visit(page, server.url("/document", docid="nobody"))
    assert "nobody" in seen(page, "[role=alert] pre")
    visit(page, server.url("/lists"))
    assert seen(page, "h1") == "Not found"
    page.get_log("browser")  # of the status of these pages
    visit(page, server.url(q="zzzzz"))
    assert order(page) == []
    assert "Nothing was found" in seen(page, "main")


def test_judged_lists_are_browsed(page, letor):
    visit(page, letor.url("/lists"))
    follow(page, one(page, "tbody th a"))
    labels = [text.text for text in page.find_elements("css selector", "#results [data-part=label]")]
    assert len(labels) == 8
    assert all(text.startswith("label ") for text in labels)
    judge(page, order(page)[4], ".yes")
    follow(page, one(page, "#base option:last-child"))
    assert "base=length" in page.current_url
    visit(page, letor.url("/features", q="8", base="length"))
    assert page.find_elements("css selector", ".features tbody b") == []
    assert "<b>age</b>" in seen(page, ".features thead")
    scores = [float(cell.text) for cell in page.find_elements("css selector", ".features tbody td:nth-child(4)")]
    assert scores == sorted(scores, reverse=True)
    screen(page, 360, 740)
    assert is_narrow(page)
    follow(page, one(page, ".features tbody a"))
    assert "label" in seen(page, "main")


def test_a_document_is_judged_on_its_page(page, server):
    visit(page, server.url("/document", docid="bread-3", q="bread yeast"))
    for act, word in [
        (lambda: keys(page, "y"), server.app.state.workbench.settings.grades[1]),
        (lambda: one(page, ".grade[data-grade='3']").click(), server.app.state.workbench.settings.grades[3]),
        (lambda: keys(page, "u"), server.app.state.workbench.settings.grades[1]),
        (lambda: one(page, ".yes").click(), "not judged"),
    ]:
        act()
        until(lambda word=word: seen(page, ".word") == word)
    assert one(page, ".yes").get_attribute("aria-pressed") == "false"
    keys(page, "b")
    until(lambda: "q=bread" in page.current_url and "/document" not in page.current_url)
