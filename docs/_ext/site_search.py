"""The search of the site: the texts of all sections as one script, which the browser ranks by BM25, also from disk."""

from __future__ import annotations

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

LARGEST = 500_000  # bytes of the script
LEFT_OUT = {"headerlink", "crumbs", "viewcode-link"}  # classes
SKIPPED = {"script", "style", "math", "svg", "nav", "button"}
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Sections(HTMLParser):
    """The sections of a page, each with its anchor, its heading and its own text."""

    def __init__(self, text: str, *, with_code: bool) -> None:
        super().__init__()
        self.found: list[dict[str, str]] = []
        self._skipped = SKIPPED if with_code else SKIPPED | {"pre"}
        self._open: list[dict[str, str]] = []
        self._left_out = ""  # the element whose text is left out, and how many of its name are open
        self._depth = 0
        self._is_heading = self._is_article = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "article":
            self._is_article = True
        if not self._is_article:
            return
        if self._depth:
            self._depth += tag == self._left_out
        elif tag in self._skipped or LEFT_OUT & set((given.get("class") or "").split()):
            self._left_out, self._depth = tag, 1
        elif tag == "section":
            self._open.append({"anchor": given.get("id") or "", "heading": "", "text": ""})
            self.found.append(self._open[-1])
        elif tag in ("h1", "h2", "h3", "h4"):
            self._is_heading = True

    def handle_endtag(self, tag: str) -> None:
        if not self._is_article:
            return
        if self._depth:
            self._depth -= tag == self._left_out
        elif tag == "article":
            self._is_article = False
        elif tag == "section" and self._open:
            self._open.pop()
        elif tag in ("h1", "h2", "h3", "h4"):
            self._is_heading = False
        elif tag in ("p", "li", "td", "th", "dt", "dd", "pre") and self._open:
            self._open[-1]["text"] += " "

    def handle_data(self, data: str) -> None:
        if self._open and not self._depth:
            self._open[-1]["heading" if self._is_heading else "text"] += data


def records_of(folder: Path) -> list[list[str]]:
    """Return the address, the title of the page, the heading and the text of every section of a site."""
    records = []
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        if name.startswith(("_modules/", "reproductions/")) or name in ("search.html", "genindex.html"):
            continue
        is_reference = name.startswith("reference/")
        sections = Sections(path.read_text(encoding="utf-8"), with_code=not is_reference).found
        title = " ".join(sections[0]["heading"].split()) if sections else ""
        for place, one in enumerate(sections):
            heading, text = (" ".join(one[part].split()) for part in ("heading", "text"))
            words = CAMEL.sub(" ", heading) if is_reference and CAMEL.search(heading) else ""
            records.append([f"{name}#{one['anchor']}" if place else name, title, heading, f"{words} {text}".strip()])
    return records


def write_index(app, error):
    if error is not None or app.builder.format != "html":
        return
    packed = zlib.compress(json.dumps(records_of(Path(app.outdir)), ensure_ascii=False).encode(), 9)
    script = f'window.siteTexts = "{base64.b64encode(packed).decode()}";\n'
    if len(script) > LARGEST:
        raise ValueError(f"the index of the search has {len(script):,} bytes, above {LARGEST:,}")
    Path(app.outdir, "_static", "search-texts.js").write_text(script, encoding="ascii")


def leave_out_the_search_of_sphinx(app):
    app.builder.search = False  # whose index is several times as large, and needs a server for its excerpts


def setup(app):
    app.connect("builder-inited", leave_out_the_search_of_sphinx)
    app.connect("build-finished", write_index)
    return {"parallel_read_safe": True}
