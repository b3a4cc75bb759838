"""Measures of rankings, query by query, cached by ranker and judgements.

``plackett.evaluation`` is imported where it is used, because loading it takes longest.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from cachetools import LRUCache

from plackett.apps.workbench.board_records import Ranking
from plackett.apps.workbench.errors import RequestError, client_errors
from plackett.metrics.conventions import CONVENTIONS, get_convention
from plackett.metrics.measure import Measure

Unjudged = Literal["not-relevant", "left-out"]
UNJUDGED: tuple[Unjudged, ...] = get_args(Unjudged)
FIRST = 10  # places whose judged documents are counted
MAX_SCORES = 100_000


class Score(NamedTuple):
    """The value of a query, None if it does not count, and how many of its first ten documents are judged."""

    value: float | None
    n_judged: int
    n_shown: int


class Total(NamedTuple):
    """The mean over the queries that count, with its 95 % interval, and the judged share of the first ten places."""

    mean: float | None
    low: float | None
    high: float | None
    n_counted: int
    judged: float | None


@dataclass(frozen=True)
class Rules:
    """The rules by which rankings are measured.

    Attributes
    ----------
    measure : Measure
    convention : str
    unjudged : "not-relevant" or "left-out"
        Unjudged documents count as not relevant, or are removed from the lists before measuring.
    """

    measure: Measure
    convention: str
    unjudged: Unjudged

    @classmethod
    def parse(cls, measure: str, convention: str = "standard", unjudged: Unjudged = "not-relevant") -> Rules:
        """Return the rules of a request; raise a ``RequestError`` about what is wrong."""
        with client_errors():
            get_convention(convention)
            parsed = Measure.parse(measure)
        if parsed.kind.needs_subtopics:
            message = f"{parsed.name} needs labels by subtopic, which the workbench does not have."
            raise RequestError(422, "invalid", message, "Choose another measure, such as ndcg@10.")
        return cls(parsed, convention, unjudged)

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of the rules in caches."""
        return str(self.measure), self.convention, self.unjudged

    @property
    def is_overall(self) -> bool:
        """Whether the measure has one value for all queries, not one for each."""
        return self.measure.kind.is_overall

    def with_largest_label(self, largest: float) -> Rules:
        """Return the rules with the largest label of all queries, which ERR needs, as a parameter.

        The value of a query then depends on that query only, and can be cached.
        """
        rules = get_convention(self.convention).rules_for(self.measure)
        if "max_label" not in self.measure.kind.defaults or rules.get("max_label") is not None:
            return self
        own = {**self.measure.parameters, "max_label": largest}
        return Rules(
            Measure(self.measure.kind, self.measure.k, convention=self.measure.convention, **own),
            self.convention,
            self.unjudged,
        )


class Scoring:
    """Scores of rankings. Thread-safe."""

    def __init__(self) -> None:
        self._scores: LRUCache[Hashable, Score] = LRUCache(MAX_SCORES)
        self._lock = threading.Lock()

    def scores(
        self,
        rules: Rules,
        rankers: Mapping[str, Hashable],
        rankings: Mapping[str, Ranking],
        labels: Mapping[str, tuple[Hashable, dict[str, float]]],
    ) -> dict[str, Score]:
        """Return the score of each query with a ranking.

        Parameters
        ----------
        rules : Rules
        rankers : mapping of query to hashable
            The key of each ranking, together with the query: a live engine may rank a query differently later.
        rankings : mapping of query to Ranking
        labels : mapping of query to (key, labels)
            For all queries of the set; the key identifies the labels, with the query.
        """
        largest = max((max(of.values(), default=0.0) for _, of in labels.values()), default=0.0)
        rules = rules.with_largest_label(largest)
        keys = {query: (rankers[query], query, labels[query][0], rules.key) for query in rankings}
        with self._lock:
            answer = {query: found for query, key in keys.items() if (found := self._scores.get(key)) is not None}
        missing = {query: rankings[query] for query in keys if query not in answer}
        if missing:
            made = score_rankings(rules, missing, {query: labels[query][1] for query in missing})
            with self._lock:
                self._scores.update({keys[query]: score for query, score in made.items()})
            answer |= made
        return answer


def score_rankings(
    rules: Rules, rankings: Mapping[str, Ranking], labels: Mapping[str, dict[str, float]]
) -> dict[str, Score]:
    """Return the score of each ranking; a query without judgements has no value."""
    from plackett.evaluation.evaluate import evaluate

    judged = [query for query in rankings if labels[query]]
    values: dict[str, float] = {}
    if judged and not rules.is_overall:
        qrels, run = _as_trec(rules, judged, rankings, labels)
        with client_errors():
            table = evaluate(qrels, run, metrics=[rules.measure], convention=rules.convention)
        of_row = table.values[:, 0].tolist()
        values = {judged[int(number)]: value for number, value in zip(table.queries.tolist(), of_row, strict=True)}
    answer = {}
    for query, ranking in rankings.items():
        value, first = values.get(query), ranking.docid[:FIRST]
        is_counted = value is not None and not math.isnan(value)
        answer[query] = Score(value if is_counted else None, sum(one in labels[query] for one in first), len(first))
    return answer


def overall_value(
    rules: Rules, rankings: Mapping[str, Ranking], labels: Mapping[str, dict[str, float]]
) -> float | None:
    """Return the value of a measure of all queries together, such as coverage."""
    from plackett.evaluation.evaluate import evaluate

    judged = [query for query in rankings if labels[query]]
    if not judged:
        return None
    qrels, run = _as_trec(rules, judged, rankings, labels)
    with client_errors():
        table = evaluate(qrels, run, metrics=[rules.measure], convention=rules.convention)
    value = next(iter(table.overall.values()))
    return None if math.isnan(value) else value


def mean_of(scores: Iterable[Score]) -> float | None:
    """Return the mean over the queries that count; None if none does."""
    values = [one.value for one in scores if one.value is not None]
    return math.fsum(values) / len(values) if values else None


def total_of(scores: Sequence[Score]) -> Total:
    """Return the mean of the scores with its interval."""
    values = [one.value for one in scores if one.value is not None]
    n_shown = sum(one.n_shown for one in scores)
    judged = sum(one.n_judged for one in scores) / n_shown if n_shown else None
    if not values:
        return Total(None, None, None, 0, judged)
    low, high = _interval(tuple(values)) if len(values) > 1 else (None, None)
    return Total(mean_of(scores), low, high, len(values), judged)


@lru_cache(maxsize=256)
def _interval(values: tuple[float, ...]) -> tuple[float, float]:
    from plackett.evaluation.significance import bootstrap_interval

    return bootstrap_interval(values)


def _as_trec(
    rules: Rules, queries: Sequence[str], rankings: Mapping[str, Ranking], labels: Mapping[str, dict[str, float]]
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Return qrels and a run, with queries and documents replaced by numbers in the order of their ids.

    Arrays of ids have the width of the longest, and ids may have a thousand characters. Rules for ties compare ids.
    """
    qrels, run = {}, {}
    ids = {docid for query in queries for some in (rankings[query].docid, labels[query]) for docid in some}
    name = {docid: f"{place:08d}" for place, docid in enumerate(sorted(ids))}
    for number, query in enumerate(queries):
        ranking, own = rankings[query], labels[query]
        pairs = zip(ranking.docid, ranking.scores, strict=True)
        qrels[str(number)] = {name[docid]: label for docid, label in own.items()}
        run[str(number)] = {
            name[docid]: score for docid, score in pairs if docid in own or rules.unjudged == "not-relevant"
        }
    return qrels, run


def conventions() -> dict[str, str]:
    """Return the conventions by name, with their rules in words."""
    return {name: one.summary for name, one in CONVENTIONS.items()}
