"""The text of Markdown and HTML, without marks and tags. Never anything but text comes out: nothing is run or followed.

Every pattern here stops at the next mark of its kind, so that the time is that of the text's length, whatever it holds.
"""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:[ \t]+|$)")
_BEFORE_LINE = re.compile(r"\s*(?:>[ \t]?)*(?:[-*+][ \t]+)?(?:\[[ xX]\][ \t]+)?")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+)\s*$")
_RULE = re.compile(r"\s{0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_DEFINITION = re.compile(r"\s{0,3}\[[^\[\]]{1,200}\]:\s")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\[\]]*(?:\([^()\[\]]*\)[^()\[\]]*)?\)|\[[^\[\]]*\])")
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]*)>")
_EMPHASIS = re.compile(r"\*{1,3}|~~|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLANKS = re.compile(r"[ \t\r\f\v]+")

_LEFT_OUT = frozenset(("script", "style", "template", "noscript", "iframe", "object", "svg"))
_INLINE = frozenset(
    ("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q",
     "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)  # fmt: skip


def text_of_markdown(text: str) -> tuple[str, str]:
    r"""Title and text of a Markdown document; the title is its first heading, ``""`` where it has none.

    Examples
    --------
    >>> text_of_markdown("# On *wings*\n\nThey [lift](wings.html), see `do_lift`.")
    ('On wings', 'On wings\n\nThey lift, see do_lift.')
    """
    title, lines, in_code = "", [], False
    for line in text.split("\n"):
        line = line.rstrip("\r")
        if _FENCE.match(line):
            in_code = not in_code
            continue
        if in_code:
            lines.append(line)
            continue
        heading = _HEADING.match(line)
        if heading is not None:
            line = _without_marks(line[heading.end() :].rstrip().rstrip("#").rstrip())
            title = title or line
            lines.append(line)
        elif _UNDERLINE.match(line):
            if lines and lines[-1].strip():
                title = title or lines[-1].strip()
        elif not (_RULE.match(line) or _is_table_rule(line) or _DEFINITION.match(line)):
            line = line[_BEFORE_LINE.match(line).end() :]  # type: ignore[union-attr]
            lines.append(_without_marks(line.replace("|", " ") if line.startswith("|") else line))
    return title, "\n".join(lines).strip()


def _is_table_rule(line: str) -> bool:
    return "|" in line and "-" in line and not line.strip(" \t|:-")


def _without_marks(line: str) -> str:
    """A line without the marks inside it; what stands in backticks stays as it is."""
    parts, end = [], 0
    for code in _CODE.finditer(line):
        parts += [_plain(line[end : code.start()]), code[2]]
        end = code.end()
    return "".join([*parts, _plain(line[end:])]).strip()


def _plain(text: str) -> str:
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # an image within a link, too
    return html.unescape(_ESCAPE.sub(r"\1", _EMPHASIS.sub("", _ADDRESS.sub(r"\1", text))))


def text_of_html(text: str) -> tuple[str, str]:
    """Title and text of a web page; the title is that of ``<title>`` or the first heading, ``""`` where it has neither.

    Scripts, styles and the like are left out. What no parser can read comes back as it is.

    Examples
    --------
    >>> text_of_html("<title>On wings</title><p>They <b>lift</b> &amp; carry.<script>alert(1)</script>")
    ('On wings', 'They lift & carry.')
    """
    reader = _Reader()
    try:
        reader.feed(text)
        reader.close()
    except (AssertionError, ValueError, RecursionError):  # html.parser's ways to give up on broken declarations
        return "", text
    lines = (_BLANKS.sub(" ", line).strip() for line in "".join(reader.parts).split("\n"))
    title = " ".join("".join(reader.title).split()) or " ".join("".join(reader.heading).split())
    return title, "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    """Collects text, title and first heading."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self.heading: list[str] = []
        self._left_out: str | None = None
        self._in_title = self._in_heading = self._had_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._left_out is not None:
            return
        if tag in _LEFT_OUT:
            self._left_out = tag
        elif tag == "title":
            self._in_title = not self.title
        elif tag == "h1" and not self._had_heading:
            self._in_heading = self._had_heading = True
        if tag not in _INLINE:
            self.parts.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._left_out is None and tag not in _INLINE:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if self._left_out is not None:
            self._left_out = None if tag == self._left_out else self._left_out
            return
        if tag == "title":
            self._in_title = False
        elif tag == "h1":
            self._in_heading = False
        if tag not in _INLINE:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._left_out is not None:
            return
        if self._in_title:
            self.title.append(data)
            return
        if self._in_heading:
            self.heading.append(data)
        self.parts.append(data)
