"""Writing scores, one per row of the data, or a TREC run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import numpy as np

    from plackett.data.queries import Queries


def check_target(target: str, tag: str | None) -> None:
    """Raise for an unusable path or run name before the work."""
    from plackett.cli.shared import output

    if tag is not None and tag.split() != [tag]:
        raise click.BadParameter(f"--run {tag!r}: the name of a run must not contain spaces.")
    if target != "-":
        output.check_target(target, "scores" if tag is None else "run")


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
