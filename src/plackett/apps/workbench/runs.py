"""One measuring of rankers for training, scoreboard, comparisons and snapshots.

A ranker is measured on what it would show: complete lists, in which documents without a judgement count as not
relevant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from plackett.apps.workbench.board_records import Ranking
from plackett.apps.workbench.errors import client_errors

if TYPE_CHECKING:
    from plackett.evaluation.compare.comparison import Comparison
    from plackett.metrics.measure import Measure

UNJUDGED = "Documents that are not judged count as not relevant."
FIRST = 10  # places whose judged documents are counted


def compare_rankings(
    labels: Mapping[str, Mapping[str, float]],
    rankings: Mapping[str, Mapping[str, Ranking]],
    measures: Sequence[str | Measure],
    convention: str = "standard",
) -> Comparison:
    """Return the comparison of rankers on the queries that have a label, in the order of their texts.

    Parameters
    ----------
    labels : mapping of query to (mapping of document to label)
        At least one query has a label.
    rankings : mapping of ranker to (mapping of query to Ranking)
        Every ranker has a ranking of every query with a label; an empty one counts with the worst value.
    measures : sequence of str or Measure
    convention : str, default="standard"
    """
    from plackett.evaluation.compare.runs import compare_runs

    judged = sorted(query for query, of in labels.items() if of)  # resampled alike wherever they come from
    # numbers: arrays of ids have the width of the longest. They sort as the ids do, which rules for ties compare
    ids = {docid for of in rankings.values() for query in judged for docid in of[query].docid}
    ids |= {docid for query in judged for docid in labels[query]}
    number = {docid: f"{place:08d}" for place, docid in enumerate(sorted(ids))}
    qrels = {
        f"{place:06d}": {number[docid]: label for docid, label in labels[query].items()}
        for place, query in enumerate(judged)
    }
    runs = {}
    for name, of in rankings.items():
        shown = {f"{place:06d}": of[query] for place, query in enumerate(judged) if of[query].docid}
        runs[name] = {
            query: {number[docid]: score for docid, score in zip(*ranking, strict=True)}
            for query, ranking in shown.items()
        }
        runs[name] = runs[name] or {"000000": {"nothing": 0.0}}  # a run cannot be empty
    with client_errors():
        return compare_runs(qrels, runs, metrics=list(measures), convention=convention)
