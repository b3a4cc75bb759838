"""The workbench behind its real server, and what a user does with it in a browser."""

import json
import threading
import time
from urllib.parse import urlencode

import numpy as np

TOPICS = {
    "river": "water bank stream bridge boat",
    "bread": "flour oven yeast crust baker",
    "music": "violin chord rhythm song choir",
    "stone": "quarry granite wall marble mason",
}
HOSTILE = '<script>document.title = "owned"</script><img src=x onerror="document.title=\'owned\'"> hostile river'
ENTER, ESCAPE, TAB = "\ue007", "\ue00c", "\ue004"


def write_texts(folder):
    """Documents in which each topic's word occurs more or less often, and some that mean harm."""
    rng = np.random.default_rng(5)
    words = " ".join(TOPICS.values()).split()
    with (folder / "texts.jsonl").open("w") as file:
        for topic, own in TOPICS.items():
            for number in range(1, 11):
                body = [
                    *rng.choice(words, 60),
                    *rng.choice(own.split(), 2 * number),
                    *[topic] * int(rng.integers(1, 7)),
                ]
                rng.shuffle(body)
                name = f"{topic}-{number}"
                file.write(json.dumps({"id": name, "title": f"On {topic} {number}", "body": " ".join(body)}) + "\n")
    (folder / "script.txt").write_text(HOSTILE)
    (folder / "long.txt").write_text("x" * 10_000_000 + " hostile\n")
    (folder / "bytes.txt").write_bytes(b"hostile \x00 null \xff\xfe broken \x1b[31m <b>bold</b>")


class Server:
    """The workbench on a port of its own, in a thread; it can be stopped and started again."""

    def __init__(self, collection, folder, url=None):
        self.collection, self.path, self.port = collection, url or folder / "store.db", 0
        self.start()

    def start(self):
        import uvicorn

        from plackett.apps.access.server import open_port, server_config
        from plackett.apps.workbench.app import create_app
        from plackett.apps.workbench.settings import Settings
        from plackett.apps.workbench.store import Store

        self.store = Store(self.path)
        self.app = create_app(self.collection, self.store, Settings())
        listener = open_port("127.0.0.1", self.port)
        self.port = listener.getsockname()[1]
        self.server = uvicorn.Server(server_config(self.app))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]})
        self.thread.start()
        until(lambda: self.app.state.workbench.is_warm, seconds=60)  # pages show the progress until then

    def stop(self):
        self.server.should_exit = True
        self.thread.join()
        self.store.close()

    def url(self, path="/", **query):
        return f"http://127.0.0.1:{self.port}{path}" + (f"?{urlencode(query)}" if query else "")


def until(true, seconds=60.0):
    """Wait for what comes soon."""
    end = time.monotonic() + seconds
    while True:
        try:
            if answer := true():
                return answer
        except Exception as error:
            if type(error).__name__ != "StaleElementReferenceException":  # the page replaced an element: look again
                raise
        assert time.monotonic() < end, "this did not become true in time"
        time.sleep(0.02)


def is_loaded(page):
    return page.execute_script("return document.readyState") == "complete"  # scripts have run then


def visit(page, address):
    page.get(address)
    until(lambda: is_loaded(page))


def follow(page, link):
    """Click what leads to another page, and wait for that page: a click may return while the old one still stands."""
    page.execute_script("document.documentElement.dataset.left = ''")
    link.click()
    until(lambda: is_loaded(page) and not page.find_elements("css selector", "html[data-left]"))


def reload(page):
    page.refresh()
    until(lambda: is_loaded(page))


def one(page, selector):
    return page.find_element("css selector", selector)


def seen(page, selector):
    """Return the visible text, in one step: an element that was found may be replaced before its text is read."""
    text = page.execute_script("return document.querySelector(arguments[0]).innerText", selector)
    return " ".join(text.split())


def text_of(page, selector):
    return page.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def order(page, where="results"):
    return page.execute_script(
        f"return [...document.querySelectorAll('#{where} .result')].map((row) => row.dataset.docid)"
    )


def row(page, docid):
    return one(page, f'#results .result[data-docid="{docid}"]')


def saved(page, act):
    """Do something that is written, and wait until the page says that it was."""
    page.execute_script("document.querySelector('#spoken').textContent = ''")
    act()
    return until(lambda: text_of(page, "#spoken").startswith("Saved") and text_of(page, "#spoken"))


def judge(page, docid, selector):
    return saved(page, row(page, docid).find_element("css selector", selector).click)


def keys(page, *pressed):
    """Keys go to what has the focus."""
    for key in pressed:
        page.switch_to.active_element.send_keys(key)


def is_narrow(page, width=360):
    return page.execute_script("return document.documentElement.scrollWidth") <= width
