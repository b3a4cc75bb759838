"""Formulas of docstrings, which are plain text for terminals, set as mathematics: ``Σ_i exp f_i`` becomes a sum."""

from __future__ import annotations

import re

FUNCTIONS = {
    "exp": r"\exp ",
    "log": r"\log ",
    "log2": r"\log_2 ",
    "ln": r"\ln ",
    "max": r"\max ",
    "min": r"\min ",
    "cos": r"\cos ",
}
# names of parameters such as sigma, set as the letters of the papers
GREEK = ("alpha", "beta", "gamma", "delta", "epsilon", "eta", "theta", "lambda", "mu", "nu", "rho", "sigma", "tau")
SIGNS = {
    "Σ": r"\sum ",
    "Π": r"\prod ",
    "‖": r"\Vert ",
    "½": r"\frac{1}{2} ",
    "√": r"\sqrt",
    "²": "^2",
    "ᵀ": r"^{\top}",
    "·": r"\cdot ",
    "*": r"\cdot ",
    "−": "-",
    "≥": r"\ge ",
    "≤": r"\le ",
    "≠": r"\ne ",
    "∝": r"\propto ",
    "~": r"\sim ",
    "<": r"\lt ",
    ">": r"\gt ",
    "|": r"\vert ",
    "…": r"\dots ",
    "#": r"\#",
    "{": "{",
    "}": "}",
}
HAT = "\u0302"  # the combining character of R̂
LETTER = "[^\\W\\d_ΣΠ½²ᵀ]"
SYMBOL = r"[A-Za-zα-ωℓ]_(?:[a-z]{1,2}|max|\d)(?!\w)"  # s_q, α_jt, a_1, y_max; not n_docs
TOKEN = re.compile(
    rf"(?:\*\*|\^)(?P<power>-?\w+)|_(?P<below>(?:{LETTER}|\d)+'?)|(?P<hat>{LETTER}){HAT}"
    rf"|(?P<word>[A-Za-z][A-Za-z\d]+(?:_[A-Za-z\d]{{2,}})*|{LETTER})"  # loss, learning_rate, x
    r"|(?P<space>\s+)|(?P<sign>.)"
)
SURE = re.compile("[ΣΠ‖½²ᵀ√∝≠]")
CODE = re.compile(r"""["@%$]|\w=|\.\.\.|\w\[|\.[a-z]\w*\(|[A-Za-z\d]_(?![\w{])""")
SIGN_OF_FORMULA = re.compile(
    rf"[Α-ωℓ−≥≤·{HAT}]|(?<![\w.]){SYMBOL}|[\w)]\^|\w\*\*[\w(]|\b(?:log2?|ln|exp|sqrt|cos|softmax|min|max|N|p|P)\("
    r"|(?:^|[\s(])\|[^|\s][^|]*\||\b[a-z]'(?!\w)"  # |r|, x'
)
ARITHMETIC = re.compile(r"(?=.*[\w)] [-+*/] [\w(])[\w\s.()+*/,=~-]+", re.DOTALL)  # (r - 1) / (n - 1)
EQUATION = re.compile(rf"(?:[A-Za-z]|{'|'.join(GREEK)}) = (?:(?:[A-Za-z]|\d+|{'|'.join(GREEK)})(?: |$))+")
# Literals and roles are taken as wholes, so that the end of one is never paired with the start of the next.
INLINE = re.compile(
    r"``(?P<literal>(?:[^`]|`(?!`))+)``|:[\w:]+:`[^`]*`|`[^`]*`_{0,2}"
    rf"|(?<![^\s(\[\"'/])(?P<bare>{SYMBOL}|[α-ω]|[A-Z]{HAT})(?=[\s.,;:!?)\]'\"/]|$)"
)


def is_formula(literal):
    """Return whether a literal is a formula rather than code."""
    if SURE.search(literal):
        return True
    found = SIGN_OF_FORMULA.search(literal) or ARITHMETIC.fullmatch(literal) or EQUATION.fullmatch(literal)
    return bool(found) and not CODE.search(literal)


def as_latex(text):
    """Translate the notation of docstrings to LaTeX."""
    text = _braced(text)
    parts = []
    for token in TOKEN.finditer(text):
        if token["power"]:
            parts.append(f"^{{{as_latex(token['power'])}}}")
        elif below := token["below"]:
            is_word = len(below) > 2 and below.isalpha()
            parts.append(f"_{{\\mathrm{{{below}}}}}" if is_word else f"_{{{below}}}")
        elif token["hat"]:
            parts.append(f"\\hat{{{token['hat']}}}")
        elif word := token["word"]:
            parts.append(_word(word))
        elif token["space"]:
            parts.append(_space(text[: token.start()], text[token.end() :]))
        else:
            parts.append(SIGNS.get(token["sign"], token["sign"]))
    return "".join(parts).strip()


def _braced(text):
    """Replace the parentheses of a power or a root by braces: e^(a + b) becomes e^{a + b}."""
    text = text.replace("sqrt(", "√(")
    while found := re.search(r"(\*\*|\^|√)\(", text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        sign = "√" if found[1] == "√" else "^"
        text = f"{text[: found.start()]}{sign}{{{text[found.end() : end - 1]}}}{text[end:]}"
    return text


def _word(word):
    if word in FUNCTIONS or len(word) == 1:
        return FUNCTIONS.get(word, word)
    return f"\\{word} " if word in GREEK else "\\mathrm{" + word.replace("_", "\\_") + "}"


def _space(before, after):
    word = re.search(rf"\b{LETTER}{{2,}}$", before)
    if word and word[0] in GREEK:
        return " "
    is_product = word and after.startswith("(") and word[0] not in FUNCTIONS  # tf (k1 + 1), not a call
    if is_product or (word and re.match(LETTER, after)):
        return r"\ "
    return r"\," if before.endswith("|") and after.startswith("|") else " "


def with_formulas(lines):
    """Return the lines of a docstring with its formulas as roles, those of a display in paragraphs of their own.

    A formula is a literal that looks like one, or a symbol in the text, such as s_q or α. Examples and tables are kept.
    """
    result, block, is_literal = [], [], False
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
            continue
        if block:
            is_literal = block[0].startswith(" ") and is_literal
            result += block if is_literal or any(re.fullmatch(r"\s*=+( +=+)*", one) for one in block) else _set(block)
            is_literal = is_literal or block[-1].endswith("::")
        result.append(line)
        block = []
    return result[:-1]


def _set(block):
    """Return the lines of a paragraph with its formulas as roles."""
    end = next((at for at, line in enumerate(block) if line.lstrip().startswith(">>>")), len(block))
    starts = [re.match(r"\s+``([^`]+)``", line) for line in block[:end]]
    is_display = bool(starts) and all(start and is_formula(start[1]) for start in starts)
    text = INLINE.sub(_as_role, ("\n\n" if is_display else "\n").join(block[:end]))
    return [*text.split("\n"), *block[end:]] if end else block


def _as_role(found):
    formula = found["literal"] or found["bare"]
    is_set = found["bare"] or (found["literal"] and is_formula(found["literal"]))
    return f":math:`{as_latex(formula)}`" if is_set else found[0]


def set_formulas(app, what, name, obj, options, lines):
    """Set the formulas of a docstring."""
    lines[:] = with_formulas(lines)


def setup(app):
    app.connect("autodoc-process-docstring", set_formulas)
    return {"parallel_read_safe": True}
