"""Judgements go out as files that other tools read, made query by query while they are sent."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett.data.letor.write import write_letor
from plackett.data.queries import Queries
from plackett.data.trec import Qrels, Run, write_qrels, write_trec_run
from plackett.validation import check_choice
from plackett.web.collections.base import Collection
from plackett.web.file_ids import escape_id
from plackett.web.workbench.pool import NONE_LEFT, graded_hits, merged
from plackett.web.workbench.refining import Judged, refined_scores

if TYPE_CHECKING:
    from plackett.web.store.records import Judgement, Preference

FORMATS = ("json", "qrels", "letor", "run")
ENDINGS = {"json": "json", "qrels": "qrels", "letor": "letor.txt", "run": "run"}
JSON_NAME, JSON_VERSION = "plackett judgements", 1
ENTRIES = 500  # of a JSON file at a time


class Exported(NamedTuple):
    """A file to download; each part can be made only once."""

    name: str
    media_type: str
    parts: Iterator[bytes]


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
    """All that users said of a collection, as a file, of which a part at a time is made.

    Parameters
    ----------
    format : {"json", "qrels", "letor", "run"}
        ``"json"`` says who said what and when. ``"qrels"`` has the mean grade of every judged document as a whole
        number (``Qrels.rounded``: the nearest, halves down). ``"letor"`` has the mean grade as it is, the features, and
        the document's id as comment. ``"run"`` is the refined order of every judged query.
    judgements, preferences : iterables, as the store gives them
    base, method, k : as in ``Collection.search`` and ``refine``, for ``"letor"`` and ``"run"``

    Raises
    ------
    ValueError
        Where there is nothing to write: no file in these formats is empty.
    """
    check_choice(format, "format", FORMATS)
    name = re.sub(r"[^\w.-]+", "-", collection.name, flags=re.ASCII).strip("-.") or "collection"
    file = f"{name}.{ENDINGS[format]}"
    if format == "json":
        return Exported(file, "application/json", _json(collection, judgements, preferences))
    by_query = merged(judgements, preferences)
    if not by_query or (format != "run" and not any(judged.labels for judged in by_query.values())):
        raise ValueError(f"nothing was {'judged' if format == 'run' else 'graded'} yet; there is nothing to export.")
    writers: dict[str, Callable[[str, Judged], bytes]] = {
        "qrels": _qrels,
        "letor": lambda query, judged: _letor(collection, query, judged, base),
        "run": lambda query, judged: _run(collection, query, judged, base, method, k),
    }
    parts = filter(None, (writers[format](query, judged) for query, judged in by_query.items()))
    first = next(parts, b"")  # what is wrong with the wish is known before anything was sent
    if format == "letor" and not first:
        raise ValueError(NONE_LEFT)
    return Exported(file, "text/plain; charset=utf-8", chain([first], parts))


def _json(collection: Collection, graded: Iterable[Judgement], preferred: Iterable[Preference]) -> Iterator[bytes]:
    """An object with a line for each thing that was said."""
    judgements = (
        {"user": one.user, "query": one.query, "docid": one.docid, "grade": one.grade, "time": one.time.isoformat()}
        for one in graded
    )
    preferences = (
        {"user": one.user, "query": one.query, "docid": one.docid, "other": one.other, "time": one.time.isoformat()}
        for one in preferred
    )
    head = {"format": JSON_NAME, "version": JSON_VERSION, "collection": collection.name}
    yield _text(json.dumps(head, ensure_ascii=False)[:-1])
    for section, entries in (("judgements", judgements), ("preferences", preferences)):
        yield _text(f', "{section}": [')
        between = "\n"
        while block := list(islice(entries, ENTRIES)):
            yield _text(between + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in block))
            between = ",\n"
        yield b"]"
    yield b"}\n"


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _qrels(query: str, judged: Judged) -> bytes:
    if not judged.labels:
        return b""
    docid = [escape_id(one) for one in judged.labels]
    buffer = io.BytesIO()
    write_qrels(Qrels([escape_id(query)] * len(docid), docid, list(judged.labels.values())).rounded(), buffer)
    return buffer.getvalue()


def _letor(collection: Collection, query: str, judged: Judged, base: str) -> bytes:
    hits = graded_hits(collection, query, judged, base)
    if hits is None or not hits.docid:
        return b""
    qid, docid = [escape_id(query)] * len(hits.docid), [escape_id(one) for one in hits.docid]
    buffer = io.BytesIO()
    write_letor(Queries(hits.X, [judged.labels[one] for one in hits.docid], qid, docid=docid), buffer)
    return buffer.getvalue()


def _run(collection: Collection, query: str, judged: Judged, base: str, method: str, k: int) -> bytes:
    try:
        hits = collection.search(query, base, k)
    except ValueError:  # a query that this base ranker cannot read finds nothing
        return b""
    if not hits.docid:
        return b""
    scores = refined_scores(hits, judged, method)
    order = np.argsort(-scores, kind="stable")
    docid = [escape_id(hits.docid[row]) for row in order.tolist()]
    buffer = io.BytesIO()
    write_trec_run(Run([escape_id(query)] * len(docid), docid, scores[order], tag=f"plackett-{method}"), buffer)
    return buffer.getvalue()
