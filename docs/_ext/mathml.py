"""Formulas as MathML, which browsers set themselves: pages need no script and no network."""

from __future__ import annotations

from html import unescape
from xml.etree.ElementTree import Element, tostring

from docutils import nodes
from latex2mathml.converter import convert_to_element

SCRIPTS = ("msub", "msup", "msubsup", "munder", "mover")
OPERANDS = ("mi", "mn", "mfrac", "msqrt", "mrow")


def convert(latex, display="inline"):
    """Return the MathML of a formula, in which words such as log and softmax are set apart from their neighbours."""
    math = convert_to_element(latex, display=display)
    for element in list(math.iter()):
        _join_letters(element)
    for element in list(math.iter()):
        if element.tag == "mo" and unescape(element.text or "") in ("max", "min"):
            element.tag = "mi"  # an operator would be set with a space before its parenthesis
        elif element.tag == "mi" and unescape(element.text or "") == "~":
            element.tag, element.text = "mo", "∼"
    for element in list(math.iter()):
        if element.tag in ("math", "mrow"):
            _mark_signs(element)
            _set_words_apart(element)
    return tostring(math, encoding="unicode").replace("&amp;", "&")  # signs are character references already


def _join_letters(row):
    r"""Replace the letters of \mathrm{word}, an element each, by one element."""
    if len(row) > 1 and all(letter.tag == "mi" and letter.get("mathvariant") == "normal" for letter in row):
        word = Element("mi")
        word.text = "".join(unescape(letter.text or "") for letter in row)
        row[:] = [word]


def _base(element):
    """Return the element that carries subscripts, without the rows around it."""
    while (element.tag in SCRIPTS and len(element)) or (element.tag == "mrow" and len(element) == 1):
        element = element[0]
    return element


def _mark_signs(row):
    """Mark each minus after a bracket or an operator as a sign, which has no space after it: exp(−x)."""
    for before, element in zip([None, *row][:-1], row, strict=True):
        is_minus = element.tag == "mo" and unescape(element.text or "") == "−"
        if is_minus and (before is None or (before.tag == "mo" and unescape(before.text or "") not in (")", "]"))):
            element.set("form", "prefix")


def _set_words_apart(row):
    """Insert a thin space between a word and a neighbour that is neither an operator nor a bracket."""
    for at in range(len(row) - 1, 0, -1):
        before, after = _base(row[at - 1]), _base(row[at])
        texts = [unescape(element.text or "") for element in (before, after)]
        has_word = any(
            element.tag == "mi" and len(text) > 1 for element, text in zip((before, after), texts, strict=True)
        )
        is_closed = before.tag in OPERANDS or texts[0] in (")", "]")
        if has_word and is_closed and after.tag in OPERANDS and not {*texts} & {"|", "‖"} and texts[0][-1:] != "@":
            row.insert(at, Element("mspace", width="0.167em"))


def inline(self, node):
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def display(self, node):
    self.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True}
