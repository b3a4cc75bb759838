"""Reading feedback files (judgements, pairs, clicks) and matching them to the rows of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plackett.cli.shared import inputs, output
from plackett.data.text_table import UTF8_MARK
from plackett.exceptions import DataFormatError
from plackett.storage.opening import Stream, name_of, open_to_examine, rereadable

if TYPE_CHECKING:
    from plackett.data.feedback.feedback import Feedback, FeedbackRows
    from plackett.data.queries import Queries

LETOR, QRELS, LOG = "letor", "qrels", "log"


def read(paths: list[str], strategy: str | None) -> Feedback:
    """Read and combine the files."""
    from plackett.data.feedback.feedback import Feedback

    feedback = Feedback.empty()
    for path in paths:
        feedback += _read_one(path, strategy)
    return feedback


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


def _read_one(path: str, strategy: str | None) -> Feedback:
    from plackett.data.feedback.feedback import Feedback

    source = rereadable(path)
    kind = _kind_of(source)
    if kind == LOG:
        from plackett.data.feedback.log import read_feedback

        return read_feedback(source) if strategy is None else read_feedback(source, strategy=strategy)
    if kind == LETOR:
        judged = inputs.load_queries([source], zero_based=True, cache=False)  # columns do not matter here
        if judged.docid is None:
            raise ValueError(f"{path} has no document names (# docid = NAME) to match its labels with.")
        return Feedback.from_judgements(judged.qid, judged.docid, judged.labels)
    from plackett.data.trec.files import read_qrels

    qrels = read_qrels(source)
    return Feedback.from_judgements(qrels.qid, qrels.docid, qrels.labels)


def _kind_of(source: str | Stream) -> str:
    """Detect LETOR rows, qrels or a log from the first line that is not blank."""
    with open_to_examine(source) as file:
        kind = next((kind for kind in (_kind_of_line(line) for line in file) if kind is not None), "")
    if not kind:
        expected = (
            'qrels ("qid 0 docid label"), LETOR rows ("label qid:ID 1:value …"), JSON lines, or CSV with a header'
        )
        raise DataFormatError(name_of(source), None, f"expected {expected} such as qid,docid,label.")
    return kind


def _kind_of_line(line: bytes) -> str | None:
    """Return the kind of file of a line; empty if unknown, None if the line is blank."""
    line = line.removeprefix(UTF8_MARK).strip()
    names = {word.strip().strip(b'"').lower() for word in line.split(b",")}
    if line.startswith(b"{") or names & {b"qid", b"query"}:
        return LOG
    words = line.split(b"#", 1)[0].split()
    if not words:
        return None
    if len(words) > 1 and words[1].startswith(b"qid:"):
        return LETOR
    return QRELS if len(words) in (3, 4) else ""


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
