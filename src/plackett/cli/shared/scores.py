"""Writing scores, one per row of the data, or a TREC run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries


def write(queries: Queries, scores: np.ndarray, target: str, tag: str | None) -> None:
    """Write scores, one per row of the data, or a run if ``tag`` is given."""
    if tag is None:
        from plackett.storage.opening import write_bytes

        with write_bytes(target) as file:
            file.write("".join(f"{score!r}\n" for score in scores.tolist()).encode("ascii"))
    else:
        from plackett.data.trec.files import write_trec_run
        from plackett.data.trec.run import Run

        write_trec_run(Run.from_scores(_all_named(queries), scores), target, tag=tag)


def write_csv(queries: Queries, scores: np.ndarray, target: str, names: tuple[str, str]) -> None:
    """Write query, document and score in columns, ``names`` for the first two: each query's best document first."""
    import csv
    import io

    from plackett.data.grouping import ranked_rows
    from plackett.storage.opening import write_bytes

    order = ranked_rows(queries.query_of_row, scores, queries.docid)
    columns = [[values[row] for row in order.tolist()] for values in (*_names_of_rows(queries), scores.tolist())]
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*names, "score"])
    rows.writerows(zip(*columns, strict=True))
    with write_bytes(target) as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


def read(source: str, queries: Queries) -> np.ndarray:
    """Return scores, one per row of the data: of a score file, or by the ids in a CSV file of ``plackett rank``."""
    import csv
    import io

    import numpy as np

    from plackett.data.text_table import read_scores
    from plackett.exceptions import DataFormatError
    from plackett.storage.opening import name_of, open_bytes

    with open_bytes(source) as file:
        has_ids = file.readline().strip().endswith(b",score")
    if not has_ids:
        return read_scores(source)
    name = name_of(source)
    if queries.docid is None:
        raise ValueError(f"{name} has ids of documents, but the data have none. Name their column: --docid COLUMN.")
    with open_bytes(source) as file:
        lines = csv.reader(io.StringIO(file.read().decode("utf-8", "surrogateescape"), newline=""))
    next(lines)
    found: dict[tuple[str, str], float] = {}
    for line, row in enumerate(lines, 2):
        try:
            query, document, score = row
            found[query, document] = float(score)
        except ValueError:
            raise DataFormatError(name, line, "expected query, document and score, as the header has.") from None
    ids = list(zip(*_names_of_rows(queries), strict=True))
    for query, document in ids:
        if (query, document) not in found:
            raise ValueError(f"{name} has no score for document {document!r} of query {query!r}.")
    return np.array([found[one] for one in ids])


def _names_of_rows(queries: Queries) -> tuple[list[str], list[str]]:
    from plackett.data.trec.ids import as_text_ids

    return as_text_ids(queries.ids, "qid")[queries.query_of_row].tolist(), as_text_ids(queries.docid, "docid").tolist()


def next_step(target: str, *, is_run: bool) -> None:
    """Say what to do with scores or a run that were written to a file."""
    from plackett.cli.shared import output

    if target != "-":
        words = "it: plackett evaluate QRELS" if is_run else "them: plackett evaluate DATA"
        output.next_step(f"Evaluate {words} {shlex.quote(target)}")


def _all_named(queries: Queries) -> Queries:
    """Name documents without a name by their row in the data."""
    import numpy as np

    from plackett.cli.shared import output

    names: np.ndarray = np.full(queries.n_docs, "") if queries.docid is None else queries.docid
    is_unnamed = names == ""
    n_unnamed = int(is_unnamed.sum())
    if n_unnamed == 0:
        return queries
    if n_unnamed == queries.n_docs:
        output.note("the data have no document names; the run uses row numbers, from 0")
    elif n_unnamed == 1:
        output.note("1 document has no name; the run uses its row number, from 0")
    else:
        output.note(f"{n_unnamed:,} documents have no name; the run uses their row numbers, from 0")
    return queries.replace(docid=np.where(is_unnamed, np.arange(queries.n_docs).astype(str), names), comments=None)
