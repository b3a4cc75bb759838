"""Extracting the text of Markdown and HTML. Scripts are not run and links are not followed.

Every pattern stops at the next mark of its kind, so the time is linear in the length of any text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:[ \t]+|$)")
_BEFORE_LINE = re.compile(r"\s*(?:>[ \t]?)*(?:[-*+][ \t]+)?(?:\[[ xX]\][ \t]+)?")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+)\s*$")
_RULE = re.compile(r"\s{0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_DEFINITION = re.compile(r"\s{0,3}\[[^\[\]]{1,200}\]:\s")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\[\]]*(?:\([^()\[\]]*\)[^()\[\]]*)?\)|\[[^\[\]]*\])")
_ADDRESS = re.compile(r"<((?:https?|mailto):[^<>\s]*)>")
_EMPHASIS = re.compile(r"(?<!\\)(?:\*{1,3}|~~|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w))")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_BLANKS = re.compile(r"[ \t\r\f\v]+")

_TAG = re.compile(r"<!--|<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>|<[!?][^<>]*>")
_END_OF_COMMENT = re.compile("--!?>")
_LEFT_OUT = ("script", "style", "template", "noscript", "iframe", "object", "svg")
_END_OF = {name: re.compile(f"</{name}[^<>]*>", re.IGNORECASE) for name in _LEFT_OUT}
_INLINE = frozenset(
    ("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd", "mark", "q",
     "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)  # fmt: skip


def text_of_markdown(text: str) -> tuple[str, str]:
    r"""Return the title and text of a Markdown document; the title is its first heading, or ``""``.

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
    """Return a line without inline markup; text in backticks is kept."""
    parts, end = [], 0
    for code in _CODE.finditer(line):
        parts += [_plain(line[end : code.start()]), code[2]]
        end = code.end()
    return "".join([*parts, _plain(line[end:])]).strip()


def _plain(text: str) -> str:
    text = _LINK.sub(r"\1", _LINK.sub(r"\1", text))  # an image within a link, too
    return html.unescape(_ESCAPE.sub(r"\1", _EMPHASIS.sub("", _ADDRESS.sub(r"\1", text))))


def text_of_html(text: str) -> tuple[str, str]:
    """Return the title and text of a web page; the title is ``<title>`` or the first heading, or ``""``.

    Scripts, styles, comments and the like are left out; text that is not a tag is kept. A tag ends at the first ``>``,
    even within quotes. (``html.parser`` takes hours for some pages of a megabyte.)

    Examples
    --------
    >>> text_of_html("<title>On wings</title><p>They <b>lift</b> &amp; carry.<script>alert(1)</script>")
    ('On wings', 'They lift & carry.')
    """
    parts: list[str] = []
    named: dict[str, list[str]] = {"title": [], "h1": []}  # of the first of each
    inside = ""
    for name, is_end, piece in _pieces(text):
        if is_end and name == inside:
            inside = ""
        elif not is_end and name in named and not named[name]:
            inside = name
        if inside:
            named[inside].append(piece)
        if name and name not in _INLINE:
            parts.append("\n")
        if inside != "title":
            parts.append(piece)
    lines = (_BLANKS.sub(" ", line).strip() for line in html.unescape("".join(parts)).split("\n"))
    titles = [" ".join(html.unescape("".join(found)).split()) for found in named.values()]
    return titles[0] or titles[1], "\n".join(line for line in lines if line)


def _pieces(text: str) -> Iterator[tuple[str, bool, str]]:
    """Yield ``(tag name, whether it is an end tag, text up to the next tag)``; the name is empty without a tag."""
    name, is_end, start, end = "", False, 0, 0
    while True:
        end = text.find("<", end)
        if end < 0:
            yield name, is_end, text[start:]
            return
        found = _TAG.match(text, end)
        if found is None:  # no tag: text like any other
            end += 1
            continue
        yield name, is_end, text[start:end]
        name, is_end = (found[2] or "").lower(), bool(found[1])
        start = end = found.end()
        closing = None
        if found[0].startswith("<!--"):
            name, closing = "", _END_OF_COMMENT
            end = found.start() + 2  # <!--> is one already
        elif name in _LEFT_OUT and not is_end:
            closing = _END_OF[name]
        if closing is not None:
            last = closing.search(text, end)
            start = end = len(text) if last is None else last.end()
