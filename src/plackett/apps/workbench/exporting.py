"""Export of judgements as files, written query by query while they are sent.

Ids in TREC and LETOR files have no spaces. ``escape_id`` writes a space as ``%20`` and the like; ``unescape_id``
restores the text, and leaves ids of other tools unchanged.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import quote, unquote

import numpy as np

from plackett.apps.workbench.api import ExportedFile
from plackett.apps.workbench.collections.base import Collection
from plackett.apps.workbench.refining import refined_scores
from plackett.apps.workbench.store import Judged, JudgedList, ListState
from plackett.data.letor.write import write_letor
from plackett.data.queries import Queries
from plackett.data.trec.files import write_qrels, write_trec_run
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run

EXTENSIONS = {"json": "json", "qrels": "qrels", "letor": "letor.txt", "run": "run"}
JSON_NAME, JSON_VERSION = "plackett judgements", 1
_NOT_IN_ID = re.compile(r"[\s%#\x00-\x1f\x7f]")


def export_judgements(
    format: str,
    collection: Collection,
    by_query: Mapping[str, Judged],
    *,
    base: str = "",
    method: str = "multiplicative",
    k: int = 100,
) -> ExportedFile:
    """Return judgements by query as a file, written part by part.

    "qrels" has the mean grade of every judged document, rounded by
    ``Qrels.rounded`` (to the nearest, halves down). "letor" has the mean grade, the features, and the document's id as
    a comment. "run" has the refined order of every judged query. A ValueError says that there is nothing to export.
    """
    if not by_query or (format != "run" and not any(judged.labels for judged in by_query.values())):
        raise ValueError(f"nothing is {'judged' if format == 'run' else 'graded'} yet; there is nothing to export.")
    lines = partial(_lines, format, collection, base, method, k)
    parts = filter(None, map(lines, by_query, by_query.values()))
    first = next(parts, b"")  # an error is raised before the response begins
    if format == "letor" and not first:
        raise ValueError("none of the judged documents is in this collection any more.")
    return ExportedFile(_file_name(collection, format), "text/plain; charset=utf-8", chain([first], parts))


def export_json(collection: Collection, lists: Sequence[JudgedList]) -> ExportedFile:
    """Return every judgement with its user and time as a JSON file."""
    return ExportedFile(_file_name(collection, "json"), "application/json", _json(collection, lists))


def _json(collection: Collection, lists: Sequence[JudgedList]) -> Iterator[bytes]:
    """Yield a JSON object with one line per judgement."""
    head = {"format": JSON_NAME, "version": JSON_VERSION, "collection": collection.name}
    yield _text(json.dumps(head, ensure_ascii=False)[:-1])
    for section, rows_of in (("judgements", _graded), ("preferences", _preferred)):
        between = f', "{section}": [\n'
        for one in lists:
            if rows := [{"user": one.user.name, "query": one.query.text, **row} for row in rows_of(one.state)]:
                yield _text(between + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows))
                between = ",\n"
        yield b"]" if between == ",\n" else _text(f', "{section}": []')
    yield b"}\n"


def _graded(state: ListState) -> list[dict[str, Any]]:
    grades = state.grades.items()
    return [{"docid": docid, "grade": grade, "time": time.isoformat()} for docid, (grade, time) in grades]


def _preferred(state: ListState) -> list[dict[str, Any]]:
    pairs = state.pairs.values()
    return [{"docid": docid, "other": other, "time": time.isoformat()} for docid, other, time in pairs]


def _file_name(collection: Collection, format: str) -> str:
    name = re.sub(r"[^\w.-]+", "-", collection.name, flags=re.ASCII).strip("-.") or "collection"
    return f"{name}.{EXTENSIONS[format]}"


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _lines(format: str, collection: Collection, base: str, method: str, k: int, query: str, judged: Judged) -> bytes:
    """Return the lines of a query; none if the base ranker cannot parse it, or there is nothing to write."""
    buffer, hits = io.BytesIO(), None
    if format != "qrels":
        try:
            if format == "run":
                hits = collection.search(query, base, k)
            else:
                hits = collection.score(query, list(judged.labels), base)
        except ValueError:
            return b""
    docid = list(judged.labels) if hits is None else hits.docid
    qid, ids = [escape_id(query)] * len(docid), [escape_id(one) for one in docid]
    if not docid:
        return b""
    if hits is None:
        write_qrels(Qrels(qid, ids, list(judged.labels.values())).rounded(), buffer)
    elif format == "letor":
        write_letor(Queries(hits.X, [judged.labels[one] for one in docid], qid, docid=ids), buffer)
    else:
        scores = refined_scores(hits, judged, method)
        order = np.argsort(-scores, kind="stable")
        ranked = [ids[row] for row in order.tolist()]
        write_trec_run(Run(qid, ranked, scores[order], tag=f"plackett-{method}"), buffer)
    return buffer.getvalue()


def escape_id(text: str) -> str:
    """Return an id without spaces, ``#`` and control characters, which ``unescape_id`` turns back into the text."""
    return _NOT_IN_ID.sub(lambda found: quote(found[0], safe=""), text) or "%"


def unescape_id(text: str) -> str:
    """Return the text of an id of ``escape_id``; other ids are returned unchanged."""
    plain = "" if text == "%" else unquote(text, errors="replace")
    return plain if escape_id(plain) == text else text
