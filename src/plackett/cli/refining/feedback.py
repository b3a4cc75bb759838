"""Reading feedback files (judgements, pairs, clicks) and matching them to the rows of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plackett.cli.shared import output

if TYPE_CHECKING:
    from plackett.data.feedback.feedback import Feedback, FeedbackRows
    from plackett.data.queries import Queries


def read(paths: list[str], strategy: str | None) -> Feedback:
    """Read and combine the files."""
    from plackett.data.feedback.feedback import Feedback
    from plackett.data.feedback.log import read_feedback

    options: dict[str, Any] = {} if strategy is None else {"strategy": strategy}
    return sum((read_feedback(path, **options) for path in paths), Feedback.empty())


def on_rows(feedback: Feedback, queries: Queries, name: str) -> FeedbackRows:
    """Match the feedback to the documents of the data; print notes on merged, contradictory and ignored feedback."""
    if queries.docid is None:
        raise ValueError("the data have no document names (# docid = NAME) to match feedback with.")
    rows = feedback.for_queries(queries)
    if not rows.pairs.size and (rows.y != rows.y).all():
        raise ValueError(f"{name} has no feedback on the data; the ids of queries and documents must be the same.")
    for text in _notes(feedback, rows):
        output.note(text)
    return rows


def _notes(feedback: Feedback, rows: FeedbackRows) -> list[str]:
    from plackett.validation import count_of

    notes = []
    if feedback.n_duplicates:
        merged = count_of(feedback.n_duplicates, "duplicate statement was", "duplicate statements were")
        notes.append(f"{merged} merged")
    if feedback.n_disputed:
        judged = count_of(feedback.n_disputed, "document was", "documents were")
        notes.append(f"{judged} judged with different labels; the mean of these labels is used")
    if feedback.n_contradictory:
        pairs = count_of(feedback.n_contradictory, "pair of documents is", "pairs of documents are")
        notes.append(f"{pairs} contradictory: each document is preferred in some statements; both preferences count")
    if rows.n_unmatched:
        what = "judged document" if not feedback.preferences.qid.size else "judgement or preference"
        many = what + "s" if what.endswith("document") else "judgements or preferences"
        notes.append(f"{count_of(rows.n_unmatched, what, many)} ignored: not in the data")
    return notes
