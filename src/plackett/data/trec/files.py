"""Reading and writing qrels and runs in the formats of TREC and BEIR."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from typing import IO

import numpy as np

from plackett.data.grouping import group_rows
from plackett.data.text_table import UTF8_MARK, as_numbers, as_text, read_words
from plackett.data.trec.ids import find_repeat
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import DEFAULT_TAG, Run
from plackett.exceptions import DataFormatError, DataWarning, warn
from plackett.storage.opening import name_of, open_bytes, write_bytes
from plackett.storage.remote import local_files

QRELS_LINE = "qid iteration docid label"
RUN_LINE = "qid Q0 docid rank score tag"
BEIR_LINE = "query-id corpus-id score"
ROWS_PER_WRITE = 1 << 16
LARGEST_LABEL = 2**31 - 1  # that other tools read as the same number
_BLANK = re.compile(r"[ \t\r\n\v\f\0]")


@local_files
def read_qrels(source: str | os.PathLike | IO, *, subtopics: bool = False) -> Qrels:
    r"""Read judgements from a TREC qrels file: ``qid iteration docid label``, separated by spaces or tabs.

    Blank lines and lines that begin with ``#`` are skipped. A file that begins with the header
    ``query-id corpus-id score`` is read as BEIR's three columns. A document that is judged twice for a query is an
    error, even with equal labels, as in trec_eval.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).
    subtopics : bool, default=False
        Whether the second column is a subtopic, as in the files of TREC's diversity tasks, in which a document may be
        judged once for each subtopic. Measures of diversity need it. The label of a document as a whole is its
        largest one.

    Returns
    -------
    Qrels
        Rows in the order of the file; with subtopics, documents in the order in which they first occur.

    Examples
    --------
    >>> from plackett import read_qrels
    >>> import io
    >>> read_qrels(io.StringIO("301 0 FT941-7 1\n301 0 FT943-2 0\n")).labels
    array([1., 0.])
    >>> read_qrels(io.StringIO("301 1 FT941-7 1\n301 2 FT941-7 0\n"), subtopics=True)
    Qrels(1 query, 1 judgement, labels 1..1, 2 subtopics)
    """
    name = name_of(source)
    with open_bytes(source) as file:
        first = file.readline()
        is_beir = first.removeprefix(UTF8_MARK).split() == BEIR_LINE.encode().split()
        if is_beir:
            lines, words = read_words(file, (0, 1, 2), 3, name=name, expected=BEIR_LINE, n_lines_before=1)
        else:
            lines, words = read_words(file, (0, 2, 3, 1), 4, name=name, expected=QRELS_LINE, head=first)
    qid, docid, *numbers = words
    labels = as_numbers(numbers[0], np.float64, lines, name=name, what="label")
    _refuse(~np.isfinite(labels), numbers[0], lines, name, "a finite number as label")
    if subtopics:
        if is_beir:
            raise ValueError(f"{name} is a BEIR file, which has no column of subtopics.")
        ids = as_text(numbers[1])
        if labels.size and (ids == "0").all():
            warn(
                f"{name}: the second column is 0 in all rows, as in files without subtopics. All judgements count as "
                "one subtopic.",
                DataWarning,
            )
        try:
            return Qrels.from_subtopics(as_text(qid), ids, as_text(docid), labels)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    hint = "" if is_beir else " If the second column is a subtopic, read the file with subtopics=True."
    _check_repeats_in_file(qid, docid, lines, name, "judged", hint)
    iteration = np.full(labels.size, "0") if is_beir else as_text(numbers[1])
    return Qrels._of_checked(as_text(qid), as_text(docid), labels, iteration, None)


@local_files
def read_trec_run(source: str | os.PathLike | IO) -> Run:
    r"""Read a run from a TREC run file: ``qid Q0 docid rank score tag``, separated by spaces or tabs.

    As in trec_eval, blank lines and lines that begin with ``#`` are skipped, text after the tag is ignored, the tag of
    the last line is that of the run, and a document that is retrieved twice for a query is an error.

    Parameters
    ----------
    source : path, ``"-"`` for standard input, or file object
        Plain or compressed (gzip, xz, bzip2, Zstandard).

    Examples
    --------
    >>> from plackett import read_trec_run
    >>> import io
    >>> read_trec_run(io.StringIO("301 Q0 FT941-7 1 2.5 bm25\n301 Q0 FT943-2 2 1.75 bm25\n"))
    Run('bm25', 1 query, 2 documents)
    """
    name = name_of(source)
    with open_bytes(source) as file:
        lines, (qid, docid, rank_words, score_words, tags) = read_words(
            file, (0, 2, 3, 4, 5), 6, name=name, expected=RUN_LINE, more=True
        )
    rank = as_numbers(rank_words, np.int64, lines, name=name, what="rank")
    scores = as_numbers(score_words, np.float64, lines, name=name, what="score")
    _refuse(np.isnan(scores), score_words, lines, name, "a number as score")
    _check_repeats_in_file(qid, docid, lines, name, "retrieved")
    return Run._of_checked(
        as_text(qid), as_text(docid), scores, rank, str(as_text(tags[-1:])[0]) if tags.size else DEFAULT_TAG
    )


def write_qrels(qrels: Qrels, target: str | os.PathLike | IO) -> None:
    """Write judgements as ``qid iteration docid label``, rows in their order; subtopics as the second column.

    A path is replaced only after everything has been written; names that end in .gz, .xz, .bz2 or .zst are compressed.

    Parameters
    ----------
    qrels : Qrels
    target : path, ``"-"`` for standard output, or file object

    Raises
    ------
    ValueError
        If a label is not a whole number: trec_eval and other tools reject or truncate it. Use ``qrels.rounded()``.

    Examples
    --------
    >>> from plackett import Qrels, write_qrels
    >>> import sys
    >>> write_qrels(Qrels(["301", "301"], ["d7", "d2"], [1, 0]), sys.stdout)
    301 0 d7 1
    301 0 d2 0
    """
    if qrels.subtopics is not None:  # one row for each of them
        subtopics = qrels.subtopics
        rows = np.repeat(np.arange(len(qrels)), np.diff(subtopics.indptr))
        names = subtopics.names[subtopics.codes]
        qrels = Qrels._of_checked(qrels.qid[rows], qrels.docid[rows], subtopics.labels, names, None)
    _check_writable(qrels.qid, qrels.docid, iteration=qrels.iteration)
    for row in np.flatnonzero((qrels.labels != np.floor(qrels.labels)) | (np.abs(qrels.labels) > LARGEST_LABEL))[:1]:
        raise ValueError(
            f"document {str(qrels.docid[row])!r} of query {str(qrels.qid[row])!r} has the label {qrels.labels[row]:g}; "
            f"qrels hold whole numbers up to {LARGEST_LABEL:,}. Write qrels.rounded(), or change the labels."
        )
    labels = qrels.labels.astype(np.int64).tolist()
    lines = zip(qrels.qid.tolist(), qrels.iteration.tolist(), qrels.docid.tolist(), labels, strict=True)
    _write_lines((f"{qid} {iteration} {docid} {label}\n" for qid, iteration, docid, label in lines), target)


def write_trec_run(run: Run, target: str | os.PathLike | IO, *, tag: str | None = None) -> None:
    """Write a run as ``qid Q0 docid rank score tag``, rows in their order; scores read back as the same float64.

    A path is replaced only after everything has been written; names that end in .gz, .xz, .bz2 or .zst are compressed.

    Parameters
    ----------
    run : Run
        ``Run.from_scores(queries, scores)`` makes one from the scores of a ranker.
    target : path, ``"-"`` for standard output, or file object
    tag : str, default=None
        Name of the system; None means ``run.tag``.

    Examples
    --------
    >>> from plackett import Run, write_trec_run
    >>> import sys
    >>> write_trec_run(Run(["301", "301"], ["d7", "d2"], [0.9, 0.25]), sys.stdout, tag="bm25")
    301 Q0 d7 1 0.9 bm25
    301 Q0 d2 2 0.25 bm25
    """
    if not isinstance(run, Run):
        raise TypeError(f"write_trec_run needs a Run, not {type(run).__name__}. Use Run.from_scores(queries, scores).")
    tag = run.tag if tag is None else str(tag)
    _check_writable(run.qid, run.docid, tag=np.array([tag]))
    rows = zip(run.qid.tolist(), run.docid.tolist(), run.rank.tolist(), run.scores.tolist(), strict=True)
    _write_lines((f"{qid} Q0 {docid} {rank} {score!r} {tag}\n" for qid, docid, rank, score in rows), target)


def _check_repeats_in_file(
    qid: np.ndarray, docid: np.ndarray, lines: np.ndarray, name: str, verb: str, hint: str = ""
) -> None:
    repeat = find_repeat(group_rows(qid, qid.size), docid)
    if repeat is not None:
        earlier, later = repeat
        query, doc = (values[later].decode("utf-8", "replace") for values in (qid, docid))
        message = (
            f"document {doc!r} of query {query!r} was already {verb} in line {lines[earlier]}. Keep one of the two."
        )
        raise DataFormatError(name, int(lines[later]), message + hint)


def _refuse(bad: np.ndarray, words: np.ndarray, lines: np.ndarray, name: str, needed: str) -> None:
    if bad.any():
        row = int(np.argmax(bad))
        raise DataFormatError(name, int(lines[row]), f'expected {needed}, found "{words[row].decode()}".')


def _check_writable(qid: np.ndarray, docid: np.ndarray, **others: np.ndarray) -> None:
    for what, column in {"query id": qid, "document id": docid, **others}.items():
        words = column.tolist()
        if all(words) and not _BLANK.search("".join(words)):  # one search for all is much faster than one for each
            continue
        row, word = next((row, word) for row, word in enumerate(words) if not word or _BLANK.search(word))
        where = f" of query {str(qid[row])!r}" if column is docid else ""
        raise ValueError(
            f"the {what} {word!r}{where} is empty or contains whitespace, which TREC files do not allow. Rename it."
        )
    for query in dict.fromkeys(qid.tolist()):
        if query.startswith("#"):
            raise ValueError(f"the query id {query!r} begins with '#', which makes its line a comment in TREC files.")


def _write_lines(lines: Iterator[str], target: str | os.PathLike | IO) -> None:
    with write_bytes(target) as file:
        while rows := "".join(itertools.islice(lines, ROWS_PER_WRITE)):
            file.write(rows.encode("utf-8", "surrogateescape"))
