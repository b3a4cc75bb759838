"""Docstrings for the reference: attributes under their own names, properties without a false type."""

from __future__ import annotations

import inspect
import re
import sys

import plackett

AS_IN = re.compile(r"as in ``(\w+)``")


def attributes(lines):
    """Split a docstring at its section "Attributes": lines before, entries (names, kind, description) and lines after.

    A line of the section that is not indented begins an entry: "coef_ : ndarray", or several names with commas.
    """
    marks = [
        at for at in range(len(lines) - 1) if lines[at].strip() == "Attributes" and set(lines[at + 1].strip()) == {"-"}
    ]
    if not marks:
        return list(lines), [], []
    start = marks[0]
    end = next(
        (at for at in range(start + 2, len(lines) - 1) if lines[at].strip() and set(lines[at + 1].strip()) == {"-"}),
        len(lines),
    )
    entries = []
    for line in lines[start + 2 : end]:
        if line and not line[0].isspace():
            names, _, kind = line.partition(" : ")
            entries.append(([name.strip() for name in names.split(",")], kind.strip(), []))
        elif entries:
            entries[-1][2].append(line)
    return list(lines[:start]), entries, list(lines[end:])


def described(cls, entries=None):
    """Return the entries of a class; those of ``Other`` replace an entry "a_, b_ : as in ``Other``"."""
    if entries is None:
        entries = attributes((inspect.getdoc(cls) or "").splitlines())[1]
    found = []
    for names, kind, text in entries:
        other = AS_IN.fullmatch(kind)
        if other is None:
            found.append((names, kind, text))
            continue
        meant = [one for one in described(_class_named(other[1], cls)) if set(one[0]) & set(names)]
        if sorted(name for one in meant for name in one[0]) != sorted(names):
            raise ValueError(f"{cls.__name__}: {', '.join(names)} are not whole entries of {other[1]}.")
        found += meant
    return found


def _class_named(name, cls):
    """Return the class that the docstring of ``cls`` calls by its short name."""
    bases = {base.__name__: base for base in cls.__mro__}
    found = bases.get(name) or getattr(sys.modules[cls.__module__], name, None)
    return found or getattr(plackett, name, None) or getattr(plackett.clicks, name)


def list_attributes(app, what, name, obj, options, lines):
    """Write the attributes of a class as a list of literals, before Napoleon reads the docstring.

    Napoleon turns them into fields, in which "coef_" becomes a reference to "coef", and "a_, b_" the name "b_" with the
    type "a_,".
    """
    before, entries, after = attributes(lines)
    if what not in ("class", "exception") or not entries:
        return
    listed = []
    for names, kind, text in described(obj, entries):
        literals = ", ".join(f"``{one}``" for one in names)
        kind = re.sub(r"_(?!\w)", r"\_", kind)
        listed.append(f"* {literals}" + (f" ({kind})" if kind else ""))
        listed += ["", *(line and f"  {line.removeprefix('    ')}" for line in text)] if any(text) else []
    lines[:] = [*before, "Attributes", "----------", *listed, "", *after]


def keep_colons(app, what, name, obj, options, lines):
    """Replace colons in the docstring of a property: Napoleon reads the text before a colon as its type."""
    if what in ("attribute", "property") and lines:
        lines[0] = lines[0].replace(": ", " – ")


def setup(app):
    app.connect("autodoc-process-docstring", list_attributes, priority=100)
    app.connect("autodoc-process-docstring", keep_colons, priority=100)
    return {"parallel_read_safe": True}
