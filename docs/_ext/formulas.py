"""Formulas of docstrings, which are plain text for terminals, set as mathematics: ``Σ_i exp f_i`` becomes a sum."""

from __future__ import annotations

import re

IS_FORMULA = re.compile(r"``([^`]*[ΣΠ‖½][^`]*)``")
FUNCTIONS = {"exp": r"\exp ", "log": r"\log ", "log2": r"\log_2 ", "ln": r"\ln ", "max": r"\max ", "min": r"\min "}
SIGNS = {
    "Σ": r"\sum ",
    "Π": r"\prod ",
    "‖": r"\Vert ",
    "½": r"\frac{1}{2} ",
    "²": "^2",
    "ᵀ": r"^{\top}",
    "·": r"\cdot ",
    "*": r"\cdot ",
    "−": "-",
    "≥": r"\ge ",
    "≤": r"\le ",
    "≠": r"\ne ",
    "∝": r"\propto ",
    "<": r"\lt ",
    ">": r"\gt ",
    "|": r"\vert ",
    "{": "{",
    "}": "}",
}
LETTER = "[^\\W\\d_ΣΠ½²ᵀ]"
TOKEN = re.compile(
    rf"\*\*(?P<power>\w+)|_(?P<below>(?:{LETTER}|\d)+)"
    rf"|(?P<word>{LETTER}(?:(?:{LETTER}|\d)+(?:_(?:{LETTER}|\d){{2,}})*)?)"  # x, loss, learning_rate
    r"|(?P<space> +)|(?P<sign>.)"
)


def as_latex(text):
    """Translate the notation of docstrings to LaTeX."""
    parts = []
    for token in TOKEN.finditer(text):
        if token["power"]:
            parts.append(f"^{{{as_latex(token['power'])}}}")
        elif token["below"]:
            parts.append(f"_{{{token['below']}}}")
        elif word := token["word"]:
            parts.append(_word(word))
        elif token["space"]:
            parts.append(r"\ " if _is_between_words(text, token) else " ")
        else:
            parts.append(SIGNS.get(token["sign"], token["sign"]))
    return "".join(parts).strip()


def _word(word):
    if word in FUNCTIONS or len(word) == 1:
        return FUNCTIONS.get(word, word)
    return "\\mathrm{" + word.replace("_", "\\_") + "}"


def _is_between_words(text, token):
    return bool(re.search(rf"\b{LETTER}{{2,}}$", text[: token.start()]) and re.match(LETTER, text[token.end() :]))


def set_formulas(app, what, name, obj, options, lines):
    """Set the literals of a docstring that are formulas."""
    for at, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[at] = IS_FORMULA.sub(lambda found: f":math:`{as_latex(found[1])}`", line)


def setup(app):
    app.connect("autodoc-process-docstring", set_formulas)
    return {"parallel_read_safe": True}
