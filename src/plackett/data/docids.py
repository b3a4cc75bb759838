"""Document names and titles in the comments of LETOR files: ``# docid = NAME``, or ``# NAME<TAB>TITLE``."""

from __future__ import annotations

import re

import numpy as np

from plackett import _native
from plackett.data.text_column import WASTE, TextColumn, as_str_array

_DOCID = re.compile(r"\s*docid\s*=\s*(\S+)")


def docids_of_comments(comments: TextColumn) -> np.ndarray:
    """Return the document name in each comment: the word after ``docid =``, else the text before the first tab.

    The array has a fixed-width dtype, or holds Python strings if a long name would make it too wide.
    """
    bounds = np.ascontiguousarray(comments.bounds)
    spans = np.empty((len(comments), 2), dtype=np.int64)
    longest = int(_native.data.docid_spans(comments.buffer, bounds, spans))
    others = {int(row): _docid_of(comments[row]) for row in np.flatnonzero(spans[:, 0] < 0)}
    longest = max([longest, 1, *map(len, others.values())])
    if 4 * longest * len(comments) > WASTE * (int(bounds[-1] - bounds[0]) + len(comments)):
        return as_str_array([_docid_of(comment) for comment in comments])
    names = np.zeros(len(comments), dtype=f"U{longest}")
    _native.data.copy_spans(comments.buffer, spans, names.view(np.uint32).reshape(len(comments), longest))
    for row, name in others.items():
        names[row] = name
    return names


def _docid_of(comment: str) -> str:
    match = _DOCID.match(comment)
    return match.group(1) if match else comment.strip().partition("\t")[0].strip()


def titles_of_comments(comments: TextColumn) -> list[str] | None:
    """Return the title in each comment, the text after the name and a tab; None if no comment has one."""
    if not (comments.buffer == ord("\t")).any():
        return None
    titles = []
    for comment in comments:
        match = _DOCID.match(comment)
        rest = comment[match.end() :].lstrip(" ") if match else comment.strip()
        titles.append(rest.partition("\t")[2].strip() if not match or rest.startswith("\t") else "")
    return titles if any(titles) else None
