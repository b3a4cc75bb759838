"""Judgements go out as files that other tools read, and come in from them.

TREC and LETOR files hold ids without blanks. A query's text and a document's id are written with ``%20`` for a blank
and the like, and come back as they were; ids of other tools stay as they are.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, unquote

import numpy as np

from plackett.data.documents import as_text
from plackett.data.letor import write_letor
from plackett.data.queries import Queries
from plackett.data.text_column import TextColumn, docids_of_comments
from plackett.data.trec import Qrels, Run, read_qrels, write_qrels, write_trec_run
from plackett.exceptions import DataFormatError
from plackett.validation import check_choice, count_of
from plackett.web.collection import Collection
from plackett.web.limits import MAX_GRADE
from plackett.web.refining import Judged, refined_scores

if TYPE_CHECKING:
    from plackett.web.store.records import Judgement, Preference

FORMATS = ("json", "qrels", "letor", "run")
IMPORTED = ("json", "qrels", "letor")
JSON_NAME, JSON_VERSION = "plackett judgements", 1
_NOT_IN_ID = re.compile(r"[\s%#\x00-\x1f\x7f]")
_LETOR_LINE = re.compile(r"\s*(\S+)\s+qid:(\S+)([^#]*)(?:#(.*))?$")


class Exported(NamedTuple):
    """A file to download."""

    name: str
    media_type: str
    data: bytes


class _Named(io.BytesIO):
    """A file as errors call it."""

    name = "qrels"


class Imported(NamedTuple):
    """What a file says, as ``Store.import_judgements`` takes it, and what a user should know about it.

    Attributes
    ----------
    rows : list of (query, docid, grade)
    preferences : list of (query, docid, other)
    notes : list of str
    """

    rows: list[tuple[str, str, float]]
    preferences: list[tuple[str, str, str]]
    notes: list[str]


def merged(judgements: Iterable[Judgement], preferences: Iterable[Preference] = ()) -> dict[str, Judged]:
    """By query what all users together say: the mean grade of each document, and every preference once."""
    grades: dict[str, dict[str, list[float]]] = {}
    pairs: dict[str, dict[tuple[str, str], None]] = {}
    for one in judgements:
        grades.setdefault(one.query, {}).setdefault(one.docid, []).append(one.grade)
    for pair in preferences:
        pairs.setdefault(pair.query, {})[pair.docid, pair.other] = None
    return {
        query: Judged(
            {docid: math.fsum(given) / len(given) for docid, given in grades.get(query, {}).items()},
            list(pairs.get(query, ())),
        )
        for query in dict.fromkeys([*grades, *pairs])
    }


def export_judgements(
    format: str,
    collection: Collection,
    judgements: Iterable[Judgement],
    preferences: Iterable[Preference] = (),
    *,
    base: str = "",
    method: str = "multiplicative",
    k: int = 100,
) -> Exported:
    """All that users said of a collection, as a file.

    Parameters
    ----------
    format : {"json", "qrels", "letor", "run"}
        ``"json"`` says who said what and when. ``"qrels"`` has the mean grade of every judged document. ``"letor"`` has
        its features too, and its id as comment. ``"run"`` is the refined order of every judged query.
    judgements, preferences : iterables, as the store gives them
    base, method, k : as in ``Collection.search`` and ``refine``, for ``"letor"`` and ``"run"``

    Raises
    ------
    ValueError
        Where there is nothing to write: no file in these formats is empty.
    """
    check_choice(format, "format", FORMATS)
    graded, preferred = list(judgements), list(preferences)
    name = re.sub(r"[^\w.-]+", "-", collection.name, flags=re.ASCII).strip("-.") or "collection"
    if format == "json":
        text = json.dumps(_as_json(collection, graded, preferred), ensure_ascii=False, indent=1)
        return Exported(f"{name}.json", "application/json", text.encode("utf-8", "replace"))
    by_query = merged(graded, preferred)
    buffer = io.BytesIO()
    writers: dict[str, Callable[[], object]] = {
        "qrels": lambda: write_qrels(_qrels(by_query), buffer),
        "letor": lambda: write_letor(judged_lists(collection, by_query, base, escape=True)[0], buffer),
        "run": lambda: write_trec_run(_run(collection, by_query, base, method, k), buffer),
    }
    if not by_query or (format != "run" and not any(judged.labels for judged in by_query.values())):
        raise ValueError(f"nothing was {'judged' if format == 'run' else 'graded'} yet; there is nothing to export.")
    writers[format]()
    ending = {"qrels": "qrels", "letor": "letor.txt", "run": "run"}[format]
    return Exported(f"{name}.{ending}", "text/plain; charset=utf-8", buffer.getvalue())


def _as_json(collection: Collection, graded: list[Judgement], preferred: list[Preference]) -> dict[str, Any]:
    return {
        "format": JSON_NAME,
        "version": JSON_VERSION,
        "collection": collection.name,
        "judgements": [
            {"user": one.user, "query": one.query, "docid": one.docid, "grade": one.grade,
             "time": one.time.isoformat()}
            for one in graded
        ],
        "preferences": [
            {"user": one.user, "query": one.query, "docid": one.docid, "other": one.other,
             "time": one.time.isoformat()}
            for one in preferred
        ],
    }  # fmt: skip


def _qrels(by_query: dict[str, Judged]) -> Qrels:
    rows = [(query, docid, grade) for query, judged in by_query.items() for docid, grade in judged.labels.items()]
    qid, docid, labels = zip(*rows, strict=True)
    return Qrels([escape_id(one) for one in qid], [escape_id(one) for one in docid], list(labels))


def _run(collection: Collection, by_query: dict[str, Judged], base: str, method: str, k: int) -> Run:
    qid: list[str] = []
    docid: list[str] = []
    scores: list[float] = []
    for query, judged in by_query.items():
        try:
            hits = collection.search(query, base, k)
        except ValueError:  # a query that this base ranker cannot read finds nothing
            continue
        if not hits.docid:
            continue
        refined = refined_scores(hits, judged, method)
        order = np.argsort(-refined, kind="stable").tolist()
        qid += [escape_id(query)] * len(order)
        docid += [escape_id(hits.docid[row]) for row in order]
        scores += refined[order].tolist()
    return Run(qid, docid, scores, tag=f"plackett-{method}")


def judged_lists(
    collection: Collection, by_query: dict[str, Judged], base: str = "", *, escape: bool = False
) -> tuple[Queries, np.ndarray]:
    """The graded documents of every query as judged lists with features, and their base scores.

    Parameters
    ----------
    escape : bool, default=False
        Whether ids are written as files need them.
    """
    X, labels, qid, names, scores = [], [], [], [], []
    for query, judged in by_query.items():
        try:
            hits = collection.score(query, list(judged.labels), base)
        except ValueError:  # a query that this base ranker cannot read
            continue
        X.append(hits.X)
        scores.append(hits.scores)
        labels += [judged.labels[docid] for docid in hits.docid]
        qid += [query] * len(hits.docid)
        names += hits.docid
    if not names:
        raise ValueError("none of the judged documents is in this collection any more.")
    if escape:
        qid, names = [escape_id(one) for one in qid], [escape_id(one) for one in names]
    queries = Queries(np.concatenate(X), labels, qid, docid=names, feature_names=collection.feature_names)
    return queries, np.concatenate(scores)


def escape_id(text: str) -> str:
    """An id without blanks, ``#`` and control characters, from which ``unescape_id`` gives back the text."""
    return _NOT_IN_ID.sub(lambda found: quote(found[0], safe=""), text) or "%"


def unescape_id(text: str) -> str:
    """The text that ``escape_id`` made an id of; any other id as it is."""
    plain = "" if text == "%" else unquote(text, errors="replace")
    return plain if escape_id(plain) == text else text


def read_judgements(data: bytes, format: str | None = None, collection: Collection | None = None) -> Imported:
    """Judgements from a file's bytes; a `DataFormatError` or ValueError says what is wrong with them.

    Parameters
    ----------
    data : bytes
        UTF-8 text; compressed files are refused, as a small one may hold more than memory does.
    format : {"json", "qrels", "letor"}, default=None
        None looks at the first line.
    collection : Collection, default=None
        Documents that it does not have are left out, and counted in the notes.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the file is not UTF-8 text (byte {error.start}); compressed files are not read.") from None
    if text.startswith("BZh"):
        raise ValueError("compressed files are not read; send the text.")
    format = format or _guess(text)
    check_choice(format, "format", IMPORTED)
    notes: list[str] = []
    preferences: list[tuple[str, str, str]] = []
    if format == "json":
        rows, preferences = _read_json(text)
    elif format == "letor":
        rows = _read_letor(text)
    else:
        qrels = read_qrels(_Named(text.encode()))
        words = zip(qrels.qid.tolist(), qrels.docid.tolist(), qrels.labels.tolist(), strict=True)
        rows = [(unescape_id(qid), unescape_id(docid), grade) for qid, docid, grade in words]
    # a query is searched for without the blanks around it
    rows = [(as_text(query).strip(), as_text(docid), _grade(grade, notes)) for query, docid, grade in rows]
    preferences = [(as_text(query).strip(), as_text(docid), as_text(other)) for query, docid, other in preferences]
    if collection is not None:
        n_before = len(rows) + len(preferences)
        rows = [row for row in rows if row[1] in collection]
        preferences = [pair for pair in preferences if pair[1] in collection and pair[2] in collection]
        n_lost = n_before - len(rows) - len(preferences)
        if n_lost:
            notes.append(f"{count_of(n_lost, 'row names a document', 'rows name documents')} not in {collection.name}.")
    return Imported(rows, preferences, list(dict.fromkeys(notes)))


def _guess(text: str) -> str:
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "").strip()
    if first.startswith(("{", "[")):
        return "json"
    return "letor" if re.match(r"\S+\s+qid:", first) else "qrels"


def _grade(grade: float, notes: list[str]) -> float:
    if not math.isfinite(grade) or grade > MAX_GRADE:
        raise ValueError(f"a grade is {grade:g}; grades are numbers from 0 to {MAX_GRADE:g}.")
    if grade < 0:
        notes.append("Grades below 0, as TREC gives them to spam, count as 0.")
    return max(float(grade), 0.0)


def _read_letor(text: str) -> list[tuple[str, str, float]]:
    """Label, query and document of each row; features are the collection's affair."""
    found = []
    comments = []
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        row = _LETOR_LINE.match(line)
        label = _number(row[1]) if row else None
        if row is None or label is None:
            raise DataFormatError(
                "LETOR", number, f'expected "label qid:ID index:value ... #docid", found {line[:60]!r}.'
            )
        if not (row[4] or "").strip():
            raise DataFormatError("LETOR", number, "a comment such as # docid = d7 must name the document.")
        found.append((unescape_id(row[2]), label))
        comments.append(row[4])
    docid = docids_of_comments(TextColumn.from_strings(comments)).tolist() if comments else []
    return [(query, unescape_id(one), label) for (query, label), one in zip(found, docid, strict=True)]


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _read_json(text: str) -> tuple[list[tuple[str, str, float]], list[tuple[str, str, str]]]:
    """Our own export, a list of judgements, or one judgement per line."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply.") from None
    except ValueError as error:
        content = _json_lines(text, error)
    if isinstance(content, dict):
        content = content if "judgements" in content or "preferences" in content else [content]
    sections = content if isinstance(content, dict) else {"judgements": content}
    rows = [_fields(entry, n, ("query", "docid", "grade")) for n, entry in _entries(sections, "judgements")]
    pairs = [_fields(entry, n, ("query", "docid", "other")) for n, entry in _entries(sections, "preferences")]
    return rows, pairs


def _json_lines(text: str, error: ValueError) -> list[Any]:
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        raise ValueError(f"this is not JSON: {error}.") from None


def _entries(sections: dict[str, Any], name: str) -> Iterable[tuple[int, Any]]:
    entries = sections.get(name, [])
    if not isinstance(entries, list):
        raise ValueError(f'"{name}" must be a list.')
    return enumerate(entries, 1)


def _fields(entry: Any, number: int, names: tuple[str, str, str]) -> Any:
    if not isinstance(entry, dict):
        raise ValueError(f"entry {number} is {str(entry)[:60]!r}, not an object with {', '.join(names)}.")
    values: list[Any] = []
    for name in names:
        value = entry.get(name)
        if name == "grade":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
            needed, is_right = "a number", is_number
        else:
            needed, is_right = "text", isinstance(value, str) and bool(value.strip())
        if not is_right:
            raise ValueError(f"entry {number}: {name} is {str(value)[:60]!r}; {needed} is needed.")
        values.append(value)
    return tuple(values)
