"""Film the workbench while three judgements reorder a search: python tools/workbench_loop.py.

Writes docs/_static/workbench-loop.webp; workbench-still.webp, its end, for readers who prefer reduced motion; and
docs/images/workbench.png, the same list on a wider screen.
Needs Chromium and chromedriver.
"""

import base64
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image, ImageChops

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "_static"
sys.path.insert(0, str(ROOT))

from tests.browser import media, screen, start_browser  # noqa: E402

QUERY = "wait for a thread to finish"
WINDOW, SIZE = (900, 960), (720, 768)
JUDGED = [
    ("asyncio.ThreadedChildWatcher", "no"),
    ("socketserver.BaseServer.finish_request", "no"),
    ("threading.Thread.join", "yes"),
]
# an arrow that glides to where the user clicks: screenshots do not show the real one
POINTER = """
const arrow = document.createElement("div");
const shape = '<path d="M5 2l14 11-7 1 4 7-3 1-4-7-4 4z" fill="#111" stroke="#fff" stroke-width="1.5"/>';
arrow.innerHTML = `<svg width="26" height="26" viewBox="0 0 24 24">${shape}</svg>`;
arrow.style.cssText = "position:absolute; left:0; top:0; z-index:99; pointer-events:none; transition:transform .5s";
document.body.append(arrow);
window.pointAt = (x, y) => { arrow.style.transform = `translate(${x}px, ${y}px)`; };
pointAt(620, 420);
"""


class Film:
    """Screenshots of a page, each with the time for which it is shown."""

    def __init__(self, browser):
        self.browser, self.frames, self.durations = browser, [], []

    def picture(self):
        shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB").resize(SIZE, Image.LANCZOS)

    def roll(self, seconds):
        """Film for a while; a picture like the one before lengthens that one."""
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            picture = self.picture()
            length = int(1000 * (time.perf_counter() - start))
            if self.frames and ImageChops.difference(picture, self.frames[-1]).getbbox() is None:
                self.durations[-1] += length
            else:
                self.frames.append(picture)
                self.durations.append(length)

    def save(self, path):
        first, *others = self.frames
        first.save(
            path,
            save_all=True,
            append_images=others,
            duration=self.durations,
            loop=3,
            quality=50,
            method=6,
            minimize_size=True,
        )


def main():
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "plackett", "workbench", "--port", "0", "--no-browser"]
        server = subprocess.Popen(
            [*command, "--store", os.path.join(folder, "store.db")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        browser = start_browser(Path(folder, "profile"))
        try:
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
            film_search(browser, address)
        finally:
            browser.quit()
            server.terminate()
            server.wait()


def film_search(browser, address):
    screen(browser, *WINDOW)
    media(browser, "screen", "light")
    browser.get(f"{address}/?{urlencode({'q': QUERY})}")
    while not browser.find_elements("css selector", "#results .result"):  # until the index is read
        time.sleep(0.2)
    browser.execute_script("for (const part of document.querySelectorAll('form details')) part.open = false")
    browser.execute_script("document.querySelector('#freeze').click()")  # the list is reordered at once
    browser.execute_script(POINTER)
    film = Film(browser)
    film.roll(1.8)
    for docid, thumb in JUDGED:
        found = browser.find_elements("css selector", f'#results .result[data-docid="{docid}"] .{thumb}')
        if not found:
            raise SystemExit(f"{docid} is not among the results: choose another in JUDGED")
        place = found[0].rect
        browser.execute_script("pointAt(arguments[0], arguments[1])", *(place["x"] + 12, place["y"] + 10))
        film.roll(0.7)
        browser.execute_script("arguments[0].click()", found[0])
        film.roll(1.8)
    film.roll(0.5)
    film.durations[-1] += 2000
    save_picture(browser)
    film.save(IMAGES / "workbench-loop.webp")
    film.frames[-1].save(IMAGES / "workbench-still.webp", quality=80, method=6)
    for path in sorted(IMAGES.glob("workbench-*.webp")):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB")
    print(f"{len(film.frames)} frames, {sum(film.durations) / 1000:.1f} s")


def save_picture(browser):
    """Write the end of the search on a wide screen, with the measures beside it."""
    screen(browser, 1200, 900)
    browser.execute_script("pointAt(-99, -99)")
    time.sleep(1)
    shot = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})["data"])
    picture = Image.open(io.BytesIO(shot)).convert("P", palette=Image.ADAPTIVE, colors=128)
    picture.save(ROOT / "docs" / "images" / "workbench.png", optimize=True)


if __name__ == "__main__":
    main()
