"""Citations: keys of references.md, in docstrings and pages, become links to their entries."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = "references"
ENTRY = re.compile(r"^`(\w+)`\n: (.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def references():
    """Return the titles of the cited papers by their keys."""
    text = (Path(__file__).resolve().parents[1] / f"{PAGE}.md").read_text(encoding="utf-8")
    found = {}
    for key, entry in ENTRY.findall(text):
        title = re.search(r"\*([^*]+)\*", entry)
        found[key] = " ".join(title[1].split()) if title else key
    return found


def split_at_keys(text, keys):
    """Yield the parts of a text, each with whether it is a key."""
    pattern = rf"(?<![\w./-])({'|'.join(sorted(keys, key=len, reverse=True))})(?![\w/-]|\.\w)"
    for at, part in enumerate(re.split(pattern, text)):
        if part:
            yield part, at % 2 == 1


def link_keys(app, doctree, docname):
    """Link the keys of a page, and give those of the list of references their anchors."""
    from docutils import nodes

    titles = references()
    if docname == PAGE:
        for term in doctree.findall(nodes.term):
            if term.astext() in titles:
                term["ids"].append(term.astext())
        return
    if app.builder.format != "html":
        return
    address = app.builder.get_relative_uri(docname, PAGE)

    def link(key, *children):
        return nodes.reference("", "", *children, internal=True, refuri=f"{address}#{key}", reftitle=titles[key])

    unlinked = (nodes.reference, nodes.literal_block, nodes.doctest_block, nodes.title, nodes.math, nodes.raw)
    for text in list(doctree.findall(nodes.Text)):
        parent, is_inside = text.parent, text.parent
        while is_inside is not None and not isinstance(is_inside, unlinked):
            is_inside = is_inside.parent
        if is_inside is not None:
            continue
        if isinstance(parent, nodes.literal):
            if text.astext() in titles:
                parent.parent.replace(parent, link(text.astext(), parent.deepcopy()))
            continue
        parts = list(split_at_keys(text.astext(), titles))
        if any(is_key for _, is_key in parts):
            parent.replace(
                text, [link(part, nodes.Text(part)) if is_key else nodes.Text(part) for part, is_key in parts]
            )


def setup(app):
    app.connect("doctree-resolved", link_keys)
    return {"parallel_read_safe": True}
