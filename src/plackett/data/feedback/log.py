"""Reading logs of feedback: JSON lines and CSV."""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Iterator
from typing import IO, Any, BinaryIO

from plackett.data import judgements
from plackett.data.feedback.clicks import CLICKED_ABOVE_SKIPPED, STRATEGIES, check_list
from plackett.data.feedback.feedback import Feedback
from plackett.data.text_table import UTF8_MARK, quote
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of, open_bytes
from plackett.storage.remote import local_files
from plackett.validation import check_choice

JSON_KINDS = (("qid", "docid", "label"), ("qid", "better", "worse"), ("qid", "shown", "clicked"))
CSV_KINDS = (("qid", "docid", "label"), ("qid", "better", "worse"), ("session", "qid", "docid", "clicked"))
FOREIGN_KEYS = ('"grade"', '"judgements"', '"preferences"')
MOST_TIMES = 2**31
LONGEST_CELL = 1 << 17


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
    - ``session,qid,docid,clicked``, and optionally ``position``: a line for each document shown, as in
      ``Feedback.from_click_rows``

    ``query`` is accepted for ``qid``. Blank lines are skipped.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard), UTF-8.
    strategy : str, default="clicked-above-skipped"
        How clicks are interpreted; see ``Feedback.from_clicks``.
    eta : float in [0, 1], default=None
        Noise of the log; None means that of each source.

    Returns
    -------
    Feedback
        Empty for an empty log.

    Examples
    --------
    >>> from plackett import read_feedback
    >>> import io
    >>> log = io.StringIO('{"qid": 7, "shown": ["b", "a"], "clicked": ["a"]}\n{"qid": 7, "docid": "c", "label": 1}\n')
    >>> read_feedback(log)
    Feedback(1 judgement, 1 preference, 0 duplicates, 0 contradictory, eta=0.4)
    """
    check_choice(strategy, "strategy", STRATEGIES)
    name = name_of(source)
    with open_bytes(source) as file:
        lines = _text_lines(file, name)
        first = next(((number, line) for number, line in lines if line.strip()), None)
        if first is None:
            return Feedback.empty()
        if _holds_judgements(first[1]):
            text = "\n" * (first[0] - 1) + "".join(line for _, line in _with_first(first, lines))
            judged = judgements.parse(text, name)
            return Feedback.from_judgements(judged.qid, judged.docid, judged.labels, eta=eta)
        reader = _read_json if first[1].lstrip().startswith("{") else _read_csv
        return reader(_with_first(first, lines), name, strategy, eta)


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


def _text_lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(file, 1):
        if number == 1:
            line = line.removeprefix(UTF8_MARK)
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataFormatError(name, number, f"expected UTF-8 text, found {quote(line.strip())}.") from error


def _with_first(first: tuple[int, str], lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    yield first
    yield from lines


def _read_json(lines: Iterator[tuple[int, str]], name: str, strategy: str, eta: float | None) -> Feedback:
    columns: dict[tuple[str, ...], list[list]] = {kind: [[], [], []] for kind in JSON_KINDS}
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(name, number, f"this is not valid JSON ({error}).") from error
        if not isinstance(found, dict):
            raise DataFormatError(name, number, f"expected an object, found {quote(line.strip().encode())}.")
        found.setdefault("qid", found.get("query"))
        kinds = [kind for kind in JSON_KINDS if all(found.get(key) is not None for key in kind)]
        if len(kinds) != 1:
            expected = " or ".join(", ".join(kind) for kind in JSON_KINDS)
            raise DataFormatError(name, number, f"expected the keys {expected}, found {quote(line.strip().encode())}.")
        for column, key in zip(columns[kinds[0]], kinds[0], strict=True):
            column.append(_json_value(found[key], key, name, number))
        if kinds[0][-1] == "clicked":
            _at_line(name, number, check_list, *(column[-1] for column in columns[kinds[0]][1:]))
        elif kinds[0][-1] == "worse":
            _check_two(found["better"], found["worse"], name, number)
    judged, pairs, clicks = (columns[kind] for kind in JSON_KINDS)
    return (
        Feedback.from_judgements(*judged, eta=eta)
        + Feedback.from_pairs(*pairs, eta=eta)
        + Feedback.from_clicks(*clicks, strategy=strategy, eta=eta)
    )


def _json_value(value: Any, key: str, name: str, number: int) -> Any:
    if key == "label":
        is_number = type(value) in (int, float) and abs(value) < 1e300
        if not is_number:
            raise DataFormatError(name, number, f"expected a finite number as label, found {_shown(value)}.")
        return float(value)
    if key in ("shown", "clicked"):
        if not isinstance(value, list) or not all(map(_is_id, value)):
            raise DataFormatError(name, number, f"expected a list of document ids as {key}, found {_shown(value)}.")
        return [str(part) for part in value]
    if not _is_id(value):
        raise DataFormatError(name, number, f"expected text or a whole number as {key}, found {_shown(value)}.")
    return str(value)


def _is_id(value: Any) -> bool:
    return type(value) is int or (type(value) is str and value != "" and "\0" not in value)  # numpy drops a NUL


def _shown(value: Any) -> str:
    return quote(json.dumps(value)[:200].encode())


def _read_csv(lines: Iterator[tuple[int, str]], name: str, strategy: str, eta: float | None) -> Feedback:
    rows = _csv_rows(lines, name)
    number, header = next(rows, (1, [""]))  # only empty quotation marks
    names = [word.strip().lower() for word in header]
    names = ["qid" if word == "query" and "qid" not in names else word for word in names]
    kinds = [kind for kind in CSV_KINDS if all(names.count(word) == 1 for word in kind)]
    if len(kinds) != 1:
        expected = " or ".join(",".join(kind) for kind in CSV_KINDS)
        raise DataFormatError(
            name,
            number,
            f"expected the header {expected}, or LETOR rows, or qrels, found {quote(','.join(header).encode())}.",
        )
    more = [word for word in ("times", "position") if names.count(word) == 1]
    wanted = [
        *kinds[0],
        *(word for word in more if (word == "times") == ("worse" in kinds[0]) and "label" not in names),
    ]
    columns: dict[str, list] = {word: [] for word in wanted}
    seen: dict[tuple, int] = {}
    for number, row in rows:
        if len(row) != len(names):
            raise DataFormatError(name, number, f"expected {len(names)} columns, found {len(row)}.")
        for word in wanted:
            columns[word].append(_csv_value(row[names.index(word)], word, name, number))
        if "worse" in wanted:
            _check_two(columns["better"][-1], columns["worse"][-1], name, number)
        elif "session" in wanted:
            _check_shown_once(columns, seen, name, number)
    if "label" in wanted:
        return Feedback.from_judgements(*columns.values(), eta=eta)
    if "worse" in wanted:
        times = columns.pop("times", None)
        return Feedback.from_pairs(*columns.values(), times=times, eta=eta)
    position = columns.pop("position", None)
    return Feedback.from_click_rows(*columns.values(), position=position, strategy=strategy, eta=eta)


def _csv_rows(lines: Iterator[tuple[int, str]], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows with the number of their last line; blank lines are skipped."""
    at = 0

    def texts() -> Iterator[str]:
        nonlocal at
        for at, line in lines:  # noqa: B007  the current line, for messages
            yield line

    reader = csv.reader(texts(), strict=True)
    try:
        for row in reader:
            if max(map(len, row), default=0) > LONGEST_CELL:  # the limit of `csv` applies to the whole process
                raise csv.Error(f"a cell has more than {LONGEST_CELL:,} characters")
            if row and (len(row) > 1 or row[0].strip()):
                yield at, row
    except csv.Error as error:
        raise DataFormatError(name, at, f"this is not valid CSV ({error}).") from error


def _csv_value(word: str, column: str, name: str, number: int) -> Any:
    word = word.strip()
    if column not in ("label", "times", "clicked", "position"):
        if not _is_id(word):
            raise DataFormatError(name, number, f"expected text as {column}, found {quote(word.encode())}.")
        return word
    if column == "clicked" and word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    is_good = math.isfinite(value)
    if column == "times":
        is_good = is_good and value == math.floor(value) and 1 <= value <= MOST_TIMES
    if column == "clicked":
        is_good = is_good and value >= 0
    if not is_good:
        kinds = {"times": "a whole number of at least 1", "clicked": "0, 1 or the time of the click"}
        found = quote(word.encode())
        raise DataFormatError(
            name, number, f"expected {kinds.get(column, 'a finite number')} as {column}, found {found}."
        )
    return value


def _check_two(better: Any, worse: Any, name: str, number: int) -> None:
    if str(better) == str(worse):
        raise DataFormatError(name, number, f"document {str(better)!r} is preferred to itself.")


def _check_shown_once(columns: dict[str, list], seen: dict[tuple, int], name: str, number: int) -> None:
    session, qid, docid = (columns[word][-1] for word in ("session", "qid", "docid"))
    keys = [("document", session, qid, docid)]
    if "position" in columns:
        keys.append(("position", session, qid, columns["position"][-1]))
    for key in keys:
        earlier = seen.setdefault(key, number)
        if earlier != number:
            what = f"document {docid!r}" if key[0] == "document" else f"position {key[-1]:g}"
            raise DataFormatError(
                name, number, f"{what} was already shown in this session and query, in line {earlier}."
            )


def _at_line(name: str, number: int, check: Any, *arguments: Any) -> None:
    try:
        check(*arguments)
    except ValueError as error:
        raise DataFormatError(name, number, str(error)) from error
