"""Records of judging with others: notes, assignments and settled grades. Every time is timezone-aware, in UTC."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple


class QueryNotes(NamedTuple):
    """The information need of a query, and a user's note on it; "" for none."""

    need: str
    note: str


class Settlement(NamedTuple):
    """The grade that settles a disagreement, and the user who settled it."""

    query: str
    docid: str
    grade: float
    user: str
    time: datetime
