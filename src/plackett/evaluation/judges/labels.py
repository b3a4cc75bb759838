"""Labels by people and by models, and what does not fit between them: counted and named, never dropped in silence."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plackett._tables import listed
from plackett.data import judgements
from plackett.data.runs import TEXTS, as_qrels
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.exceptions import DataWarning, warn
from plackett.storage.file_names import table_ending
from plackett.validation import count_of

LEAST_QUERIES = 10  # judged by people, for any interval
NAMED = 3  # examples in a note
TOP = 10  # documents of each list that should be judged, for measures without a cut-off


def few_queries(n: int) -> str:
    """Return why there are no intervals if people judged only ``n`` queries; empty if these are enough."""
    words = f"no intervals: people judged {count_of(n, 'query', 'queries')}, {LEAST_QUERIES} are needed"
    return words if n < LEAST_QUERIES else ""


class Labels(NamedTuple):
    """Labels by one judge, in the order of the file; a pair may have several. ``n_empty`` counts rows without one."""

    name: str
    pairs: list[tuple[str, str]]
    values: np.ndarray
    n_empty: int = 0

    def first(self) -> dict[tuple[str, str], float]:
        """Return the first label of every pair."""
        answer: dict[tuple[str, str], float] = {}
        for pair, value in zip(self.pairs, self.values.tolist(), strict=True):
            answer.setdefault(pair, value)
        return answer

    def to_qrels(self) -> Qrels:
        """Return the first label of every pair as qrels."""
        found = self.first()
        return Qrels([qid for qid, _ in found], [docid for _, docid in found], list(found.values()))


def read_labels(source: Any, name: str | None = None) -> Labels:
    """Return the labels of a file, or of anything that ``evaluate`` takes as judgements of single documents.

    In a file of CSV or JSON a document may have several labels for a query, one per answer of the judge.
    """
    if isinstance(source, Labels):
        return source if name is None else source._replace(name=name)
    is_path = isinstance(source, (str, os.PathLike))
    name = name or (Path(source).name if is_path else "the model")
    if is_path and table_ending(source) in (*TEXTS, "", ".txt", ".qrels", ".qrel"):
        file = judgements.read(source)
        return Labels(name, list(zip(file.qid, file.docid, strict=True)), np.array(file.labels), file.n_unjudged)
    qrels = as_qrels(source)
    return Labels(name, list(zip(qrels.qid.tolist(), qrels.docid.tolist(), strict=True)), qrels.labels)


def named_labels(models: Any) -> list[Labels]:
    """Return the labels of one judge, of several, or of a mapping of names to judges."""
    if isinstance(models, Mapping) and not _is_one(models):
        return [read_labels(source, str(name)) for name, source in models.items()]
    several = list(models) if isinstance(models, (list, tuple)) and not isinstance(models, Labels) else [models]
    found = [read_labels(one) for one in several]
    if len({one.name for one in found}) < len(found):
        paths = {str(one) for one in several if isinstance(one, (str, os.PathLike))}
        if len(paths) < len(found):
            raise ValueError("several judges have the same name; pass a mapping with a name for each.")
        found = [one._replace(name=str(source)) for one, source in zip(found, several, strict=True)]
    return found


def _is_one(models: Mapping) -> bool:
    """Whether a mapping is ``{qid: {docid: label}}`` rather than judges by name."""
    inner = next(iter(models.values()), None)
    return isinstance(inner, Mapping) and not isinstance(next(iter(inner.values()), None), Mapping)


def scale_of(labels: Labels, scale: Any = None) -> np.ndarray:
    """Return the grades in ascending order: ``scale``, or those of people, without gaps between whole numbers."""
    values = np.asarray(sorted(set(scale)) if scale is not None else np.unique(labels.values), dtype=np.float64)
    if values.size < 2:
        raise ValueError(
            f"{labels.name} has the only grade {values[0]:g}, which no judge can agree with by more than chance."
            if values.size
            else f"{labels.name} has no labels."
        )
    is_whole = bool((values == np.floor(values)).all()) and np.ptp(values) <= 100
    return np.arange(values[0], values[-1] + 1) if scale is None and is_whole else values


def values_of(
    evaluate: Callable[..., Any], labels: Qrels, runs: Mapping[str, Run], queries: Sequence[str], **settings: Any
) -> np.ndarray:
    """Return the values of measures by run, query and measure; the module of ``evaluate`` needs those of this room."""
    own = labels.of_queries(queries)
    place = {qid: number for number, qid in enumerate(own.groups.ids.tolist())}
    order = [place[qid] for qid in queries]
    return np.stack([evaluate(own, run, complete=True, **settings).values[order] for run in runs.values()])


def top_documents(run: Run, k: float) -> Iterator[tuple[int, str, str]]:
    """Yield rank, query and document of the first ``k`` documents of each query."""
    for qid, scores in run.to_dict().items():
        for rank, docid in enumerate(sorted(scores, key=lambda one: (-scores[one], one)), 1):
            if rank > k:
                break
            yield rank, qid, docid


def unjudged_at_top(
    who: str, labels: Qrels, runs: Mapping[str, Run], queries: Iterable[str], k: int
) -> tuple[float, list[str]]:
    """Return the largest share of unjudged documents at the top of a run, and a note if there are any."""
    judged, ids, shares = set(zip(labels.qid.tolist(), labels.docid.tolist(), strict=True)), set(queries), {}
    for name, run in runs.items():
        shown = [(qid, docid) for _, qid, docid in top_documents(run, k) if qid in ids]
        shares[name] = sum(pair not in judged for pair in shown) / max(1, len(shown))
    words = listed([f"{name} {100 * share:.1f} %" for name, share in shares.items() if share])
    notes = [f"unjudged by {who} in the top {k}, which count as not relevant: {words}"] if words else []
    return max(shares.values()), notes


class Matched(NamedTuple):
    """Pairs with a grade of the scale by people and by a model; ``notes`` count and name what does not fit."""

    pairs: list[tuple[str, str]]
    people: np.ndarray  # places in the scale
    model: np.ndarray
    notes: list[str]

    @property
    def queries(self) -> np.ndarray:
        """The query of each pair."""
        return np.array([qid for qid, _ in self.pairs])


def match(people: Labels, model: Labels, scale: np.ndarray) -> Matched:
    """Return the pairs that both judged with a grade of the scale, and notes on all others."""
    first, second = people.first(), model.first()
    place = {float(grade): number for number, grade in enumerate(scale)}
    shared = [pair for pair in first if pair in second]
    kept = [pair for pair in shared if first[pair] in place and second[pair] in place]
    notes = []
    for labels, found in ((people, first), (model, second)):
        outside = [pair for pair, value in found.items() if value not in place]
        if outside:
            values = listed([f"{value:g}" for value in dict.fromkeys(found[pair] for pair in outside)])
            grades = [f"{grade:g}" for grade in scale]
            words = f"{grades[0]} to {grades[-1]}" if len(grades) > 5 else ", ".join(grades)
            what = f"labels outside the scale {words}: {count_of(len(outside), 'pair')} ({values}), "
            notes.append(f"{labels.name}: {what}left out, such as {_named(outside)}")
        if labels.n_empty:
            notes.append(f"{labels.name}: {count_of(labels.n_empty, 'row has', 'rows have')} no label")
    missing = [pair for pair in first if pair not in second]
    if missing:
        share = f"{len(missing):,} of {len(first):,} pairs that people judged"
        notes.append(f"{model.name} lacks {share}, such as {_named(missing)}")
    extra = [pair for pair in second if pair not in first]
    if extra:
        n_queries = len({qid for qid, _ in extra})
        where = f"of {count_of(n_queries, 'query', 'queries')} beyond those that people judged"
        notes.append(f"{model.name} has {count_of(len(extra), 'pair')} {where}")
    notes += spelling_notes(model.name, missing, extra)
    if not kept:
        example = f"people have {_named(list(first)[:1])}, {model.name} has {_named(list(second)[:1])}"
        hint = " ".join(spelling_notes(model.name, missing, extra))
        raise ValueError(f"{model.name} shares no judged pair with people; {example}. {hint}".strip())
    codes = [np.array([place[found[pair]] for pair in kept], dtype=np.int64) for found in (first, second)]
    return Matched(kept, codes[0], codes[1], notes)


def spelling_notes(name: str, missing: Iterable[tuple[str, str]], extra: Iterable[tuple[str, str]]) -> list[str]:
    """Return a note if pairs that seem to be missing are there with another spelling of their ids."""
    spelled = {tuple(map(_plain_spelling, pair)): pair for pair in extra}
    same = [(pair, spelled[key]) for pair in missing if (key := tuple(map(_plain_spelling, pair))) in spelled]
    if not same:
        return []
    (qid, docid), (other_qid, other_docid) = same[0]
    number = count_of(len(same), "pair that seems missing is", "pairs that seem missing are")
    example = f"people have {qid!r}, {docid!r}, the file {other_qid!r}, {other_docid!r}"
    text = f"{name}: {number} there with another spelling of ids: {example}. Ids are compared as text; unify them."
    warn(text, DataWarning)
    return [text]


def _plain_spelling(key: str) -> str:
    """Return an id without case, blanks, leading zeros, a decimal ".0" and a prefix such as "q"."""
    key = re.sub(r"\.0+$", "", key.strip().casefold())
    return re.sub(r"^[a-z]{0,5}[\s_:.-]*0*(?=\d)", "", key)


def _named(pairs: list[tuple[str, str]]) -> str:
    return ", ".join(f"{qid} {docid}" for qid, docid in pairs[:NAMED])
