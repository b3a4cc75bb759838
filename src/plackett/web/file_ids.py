"""Ids in files of lines: TREC and LETOR files hold ids without blanks.

A query's text and a document's id are written with ``%20`` for a blank and the like, and come back as they were; ids
of other tools stay as they are.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

_NOT_IN_ID = re.compile(r"[\s%#\x00-\x1f\x7f]")


def escape_id(text: str) -> str:
    """An id without blanks, ``#`` and control characters, from which ``unescape_id`` gives back the text."""
    return _NOT_IN_ID.sub(lambda found: quote(found[0], safe=""), text) or "%"


def unescape_id(text: str) -> str:
    """The text that ``escape_id`` made an id of; any other id as it is."""
    plain = "" if text == "%" else unquote(text, errors="replace")
    return plain if escape_id(plain) == text else text
