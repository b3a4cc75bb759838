"""Slices of the test queries of a comparison: where one contestant is better than another, and where it is not."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.compare.comparison import Comparison
from plackett.evaluation.significance import TIE, Interval, bootstrap_interval
from plackett.metrics.judged_lists import mean_of_counted
from plackett.validation import plain

MOST_BINS = 4  # of a quantity with many values, with about the same number of queries each
MOST_GROUPS = 30  # the largest ones
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[-+][0-9]+)?")
OTHERS, UNKNOWN = "others", "no group"


class Slice(NamedTuple):
    """Some of the test queries: what they have in common, and the means of two contestants.

    ``difference`` is B minus A; its bootstrap interval (level 0.95) is not corrected for the number of slices.
    ``best`` are the contestants with the best mean in the slice: several if their means are equal.

    Examples
    --------
    >>> from plackett.evaluation import slices
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10")
    >>> part = slices(result, "regression", "listmle", groups={7: "long", 8: "long"})[-1]
    >>> part.by, part.name, part.n_queries
    ('group', 'no group', 38)
    """

    by: str
    name: str
    n_queries: int
    mean_a: float
    mean_b: float
    difference: float
    interval: Interval
    best: tuple[str, ...]


def slices(comparison: Comparison, a: str, b: str, *, groups: Mapping[Hashable, Any] | None = None) -> list[Slice]:
    """Return the means of two contestants, and their difference, by properties of the queries.

    Queries are divided by the length of their list, the number of relevant documents, the share of relevant documents,
    the highest label, and by the given groups. Documents with a label above 0 are relevant. The means are those of the
    first measure; divisions that leave all queries in one slice are omitted.

    Parameters
    ----------
    comparison : Comparison
    a, b : str
        Two contestants or reference scores.
    groups : mapping of query id to group, default=None
        Ids may be given as text. Queries without a group form a separate slice.

    Examples
    --------
    >>> from plackett.evaluation import slices
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(40, n_features=6, random_state=0)
    >>> result = pk.compare("regression,listmle", data, cv=4, metrics="ndcg@10")
    >>> found = slices(result, "regression", "listmle", groups={7: "long", 8: "long"})
    >>> [(one.name, one.n_queries) for one in found if one.by == "group"]
    [('long', 2), ('no group', 38)]
    """
    for name in (a, b):
        if name not in comparison.all_tables:
            raise ValueError(f"{name!r} is not in this comparison of {', '.join(comparison.all_tables)}.")
    queries, n_docs = comparison.queries, np.diff(comparison.queries.indptr)
    relevant = n_relevant(queries)
    highest = np.maximum.reduceat(np.nan_to_num(queries.labels), queries.indptr[:-1])  # 0 if none is judged
    divisions = {
        "list length": _bins(n_docs),
        "relevant documents": _bins(relevant),
        "share of relevant": _bins(np.round(relevant / np.maximum(1, n_docs), 2), as_share=True),
        "highest label": _bins(highest),
    }
    if groups:
        divisions["group"] = _largest(group_of(comparison.queries.ids.tolist(), groups))
    return [
        _slice(comparison, a, b, by, name, np.array(names) == name)
        for by, names in divisions.items()
        if len(set(names)) > 1
        for name in _in_order(names)
    ]


def group_of(queries: Iterable[Hashable], groups: Mapping[Any, Any]) -> list[str]:
    """Return the group of each test query as text, given their ids; raise if no query has one."""
    known = {str(plain(key)): str(plain(group)) for key, group in groups.items()}
    ids = [str(plain(key)) for key in queries]
    if not any(key in known for key in ids):
        raise ValueError(
            f"none of the {len(known):,} queries with a group is a test query; an id of the groups is "
            f"{next(iter(known))!r}, one of the test queries {ids[0]!r}."
        )
    return [known.get(key, UNKNOWN) for key in ids]


def n_relevant(queries: Queries) -> np.ndarray:
    """Return the number of documents with a label above 0, query by query."""
    return np.add.reduceat(np.nan_to_num(queries.labels) > 0, queries.indptr[:-1], dtype=np.int64)


def _slice(comparison: Comparison, a: str, b: str, by: str, name: str, is_in: np.ndarray) -> Slice:
    metric = comparison.metrics[0]
    means = {one: mean_of_counted(table[metric][is_in]) for one, table in comparison.tables.items()}
    of_a, of_b = (comparison.all_tables[one][metric][is_in] for one in (a, b))
    gap = of_b - of_a
    gap = gap[~np.isnan(gap)]
    seed = int(comparison.settings.get("random_state") or 0)
    interval = bootstrap_interval(gap, random_state=seed) if gap.size > 1 else Interval(np.nan, np.nan)
    sign = comparison.sign(metric)
    highest = max((sign * mean for mean in means.values() if not np.isnan(mean)), default=np.nan)
    best = tuple(one for one, mean in means.items() if sign * mean >= highest - TIE)
    mean_a, mean_b, difference = map(mean_of_counted, (of_a, of_b, gap))
    return Slice(by, name, int(is_in.sum()), mean_a, mean_b, difference, interval, best)


def _bins(values: np.ndarray, *, as_share: bool = False) -> list[str]:
    """Return the bin of each value as text; equal values share a bin, and bins have similar numbers of queries."""
    levels, counts = np.unique(values, return_counts=True)
    # the bin of a level is that of the middle of its queries
    middles = (np.cumsum(counts) - counts / 2) / values.size
    bins = np.arange(levels.size) if levels.size <= MOST_BINS else np.minimum(middles * MOST_BINS, MOST_BINS - 1)
    ends = {number: levels[bins.astype(np.int64) == number] for number in np.unique(bins.astype(np.int64))}
    write = (lambda value: f"{value:.0%}") if as_share else (lambda value: f"{value:g}")
    names = {
        level: write(level) if part.size == 1 else f"{write(part[0])} to {write(part[-1])}"
        for part in ends.values()
        for level in part.tolist()
    }
    return [names[value] for value in values.tolist()]


def _largest(names: list[str]) -> list[str]:
    """Return groups, with the small ones merged if there are many."""
    found, counts = np.unique(names, return_counts=True)
    if found.size <= MOST_GROUPS:
        return names
    kept = set(found[np.argsort(-counts, kind="stable")[: MOST_GROUPS - 1]].tolist())
    return [name if name in kept else OTHERS for name in names]


def _in_order(names: list[str]) -> list[str]:
    """Return the different names: numbers by size, then text, and queries without a group at the end."""

    def key(name: str) -> tuple:
        first = name.split(" to ")[0].rstrip("%")
        is_number = NUMBER.fullmatch(first) is not None
        return name in (UNKNOWN, OTHERS), not is_number, float(first) if is_number else 0.0, name

    return sorted(set(names), key=key)
