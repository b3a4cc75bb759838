"""Reading logs of feedback: JSON lines and CSV."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Iterator
from typing import IO, Any

from plackett.data import judgements
from plackett.data.documents.read import json_lines, read_text
from plackett.data.feedback.clicks import CLICKED_ABOVE_SKIPPED, STRATEGIES, check_list
from plackett.data.feedback.feedback import Feedback
from plackett.data.text_table import quote
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of
from plackett.storage.remote import local_files
from plackett.validation import check_choice

JUDGEMENT, PREFERENCE, CLICKS = ("qid", "docid", "label"), ("qid", "better", "worse"), ("qid", "shown", "clicked")
KINDS = (JUDGEMENT, PREFERENCE, CLICKS)
ROW_OF_CLICKS = ("session", "qid", "docid", "clicked")
OPTIONAL = {JUDGEMENT: (), PREFERENCE: ("times",), ROW_OF_CLICKS: ("position",)}
NUMBERS = {  # columns of CSV: the smallest number, and what is expected
    "label": (-math.inf, "a finite number"),
    "times": (1, "a whole number of at least 1"),
    "clicked": (0, "0, 1 or the time of the click"),
    "position": (-math.inf, "a finite number"),
}
FOREIGN_KEYS = ('"grade"', '"judgements"', '"preferences"')
MOST_TIMES = 2**31


@local_files
def read_feedback(
    source: str | os.PathLike | IO, *, strategy: str = CLICKED_ABOVE_SKIPPED, eta: float | None = None
) -> Feedback:
    r"""Read feedback from a log, as JSON lines or as CSV with a header, or from a file of judgements.

    Files of judgements (LETOR rows, qrels, CSV and JSON of other tools) are those of ``plackett.data.judgements.read``.
    A line of JSON is one of these, and a file may mix them; ids are text or whole numbers, other keys are ignored:

    - ``{"qid": "7", "docid": "a", "label": 2}``
    - ``{"qid": "7", "better": "a", "worse": "b"}``
    - ``{"qid": "7", "shown": ["b", "a", "c"], "clicked": ["a"]}``

    CSV has one kind of line, determined by the names in its header; other columns are ignored:

    - ``qid,docid,label``
    - ``qid,better,worse``, and optionally ``times``
    - ``session,qid,docid,clicked``, and optionally ``position``: a line for each document shown. ``clicked`` is 0, 1 or
      a time; documents without ``position`` are in the order of the lines.

    ``query`` is accepted for ``qid``. Blank lines are skipped; an empty log gives empty feedback.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard), UTF-8.
    strategy : str, default="clicked-above-skipped"
        How clicks are interpreted; see ``Feedback.from_clicks``.
    eta : float in [0, 1], default=None
        Noise of the log; None means that of each source.

    Examples
    --------
    >>> from plackett import read_feedback
    >>> import io
    >>> log = io.StringIO('{"qid": 7, "shown": ["b", "a"], "clicked": ["a"]}\n{"qid": 7, "docid": "c", "label": 1}\n')
    >>> read_feedback(log)
    Feedback(1 judgement, 1 preference, 0 duplicates, 0 contradictory, eta=0.4)
    """
    check_choice(strategy, "strategy", STRATEGIES)
    name, text = name_of(source), read_text(source)
    first = next((line for line in text.split("\n") if line.strip()), None)
    if first is None:
        return Feedback.empty()
    if _holds_judgements(first):
        judged = judgements.parse(text, name)
        return Feedback.from_judgements(judged.qid, judged.docid, judged.labels, eta=eta)
    is_json = first.lstrip().startswith("{")
    records = json_lines(name, text.split("\n")) if is_json else _csv_records(text, name)
    columns: dict[tuple[str, ...], list[list]] = {kind: [[], [], []] for kind in KINDS}
    times: list[float] = []
    for number, record in records:
        try:
            kind, values = _statement(record)
        except ValueError as error:
            raise DataFormatError(name, number, str(error)) from None
        for column, value in zip(columns[kind], values, strict=True):
            column.append(value)
        if kind == PREFERENCE:
            times.append(record.get("times", 1))
    judged_rows, pairs, clicks = columns.values()
    return (
        Feedback.from_judgements(*judged_rows, eta=eta)
        + Feedback.from_pairs(*pairs, times=times, eta=eta)
        + Feedback.from_clicks(*clicks, strategy=strategy, eta=eta)
    )


def _holds_judgements(first: str) -> bool:
    """Whether a file with this first line has judgements in a format that is not one of this module."""
    words = first.split("#", 1)[0].split()
    if first.lstrip().startswith(("{", "[")):
        return words[0] in ("{", "[") or first.lstrip()[0] == "[" or any(key in first for key in FOREIGN_KEYS)
    header = [word.strip().strip('"').lower() for word in first.split(",")]
    if "," not in first:
        is_table = judgements.columns_of(re.split("[;\t]", first)) is not None
        return is_table or len(words) in (3, 4) or (len(words) > 1 and words[1].startswith("qid:"))
    is_ours = {"qid", "query"} & set(header) and {"docid", "worse"} & set(header)
    return not (is_ours and {"label", "better", "clicked"} & set(header)) and judgements.columns_of(header) is not None


def _statement(record: dict[str, Any]) -> tuple[tuple[str, ...], list]:
    """Return the kind of a statement, and its checked values."""
    found = {"qid": record.get("query"), **record}
    kinds = [kind for kind in KINDS if all(found.get(key) is not None for key in kind)]
    if len(kinds) != 1:
        expected = " or ".join(", ".join(kind) for kind in KINDS)
        raise ValueError(f"expected the keys {expected}, found {_shown(record)}.")
    values = [_checked(found[key], key) for key in kinds[0]]
    if kinds[0] == PREFERENCE and values[1] == values[2]:
        raise ValueError(f"document {values[1]!r} is preferred to itself.")
    if kinds[0] == CLICKS:
        check_list(*values[1:])
    return kinds[0], values


def _checked(value: Any, key: str) -> Any:
    if key == "label":
        if type(value) not in (int, float) or not abs(value) < 1e300:
            raise ValueError(f"expected a finite number as label, found {_shown(value)}.")
        return float(value)
    if key in CLICKS[1:]:
        if not isinstance(value, list) or not all(map(_is_id, value)):
            raise ValueError(f"expected a list of document ids as {key}, found {_shown(value)}.")
        return [str(part) for part in value]
    if not _is_id(value):
        raise ValueError(f"expected text or a whole number as {key}, found {_shown(value)}.")
    return str(value)


def _is_id(value: Any) -> bool:
    return type(value) is int or (type(value) is str and value != "" and "\0" not in value)  # numpy drops a NUL


def _shown(value: Any) -> str:
    return quote((value if isinstance(value, str) else json.dumps(value))[:200].encode("utf-8", "replace"))


def _csv_records(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the values of each row; rows of one list of results as one record, with its first line."""
    headers = " or ".join(",".join(kind) for kind in (*KINDS[:2], ROW_OF_CLICKS))
    expected = f"the header {headers}, or LETOR rows, or qrels"
    (number, header), *rows = judgements.csv_rows(text, name, expected)
    names = [word.strip().lower() for word in header]
    names = ["qid" if word == "query" and "qid" not in names else word for word in names]
    kinds = [kind for kind in (*KINDS[:2], ROW_OF_CLICKS) if all(names.count(word) == 1 for word in kind)]
    if len(kinds) != 1:
        raise DataFormatError(name, number, f"expected {expected}, found {quote(','.join(header).encode())}.")
    used = [*kinds[0], *(more for more in OPTIONAL[kinds[0]] if names.count(more) == 1)]
    lists: dict[tuple[str, str], list[tuple[int, dict[str, Any]]]] = {}
    for number, row in rows:
        if len(row) != len(names):
            raise DataFormatError(name, number, f"expected {len(names)} columns, found {len(row)}.")
        words = dict(zip(names, map(str.strip, row), strict=True))
        record = {key: _number(words[key], key, name, number) if key in NUMBERS else words[key] for key in used}
        if kinds[0] == ROW_OF_CLICKS:
            lists.setdefault((words["session"], words["qid"]), []).append((number, record))
        else:
            yield number, record
    for shown in lists.values():
        yield shown[0][0], _record_of_list([record for _, record in shown], name, shown[0][0])


def _number(word: str, key: str, name: str, number: int) -> float:
    low, expected = NUMBERS[key]
    with contextlib.suppress(ValueError):
        value = float(word if word.lower() not in ("true", "false") else word.lower() == "true")
        if math.isfinite(value) and value >= low and (key != "times" or (value.is_integer() and value <= MOST_TIMES)):
            return value
    raise DataFormatError(name, number, f"expected {expected} as {key}, found {quote(word.encode())}.")


def _record_of_list(rows: list[dict[str, Any]], name: str, number: int) -> dict[str, Any]:
    """Return one record of the rows of a list: its documents by position, and the clicked ones by time."""
    places = [row.get("position", place) for place, row in enumerate(rows)]
    if len(set(places)) < len(places):
        message = f"two documents of query {rows[0]['qid']!r} are at one position."
        raise DataFormatError(name, number, message)
    shown = [row for _, row in sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])]
    clicked = sorted((row for row in shown if row["clicked"] > 0), key=lambda row: row["clicked"])
    return {
        "qid": rows[0]["qid"],
        "shown": [row["docid"] for row in shown],
        "clicked": [row["docid"] for row in clicked],
    }
