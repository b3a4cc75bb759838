"""Describing a click log: click rate by rank, sessions per query, and what can be learned from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._tables import Column, Table, aligned, notebook_html
from plackett._threads import query_blocks
from plackett.validation import count_of

if TYPE_CHECKING:
    from plackett.clicks.log import ClickLog

RANKS = 64  # ranks whose pairs are compared: one bit each
FEW_SHOWN = 10  # fewer impressions say little about a pair
MUCH_DAMAGE = 0.05  # share of lines
FEW_PAIRS = 10  # fewer pairs in common connect two ranks only weakly
ROWS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class ClickDescription:
    """The result of ``ClickLog.describe()``.

    Ranks begin at 1; entry ``i`` of a list is that of rank ``i + 1``. Two ranks are connected if pairs of a query and a
    document were shown at both, directly or through other ranks. Without that, the effect of the position cannot
    be separated from that of the documents.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["q", "q"], ["a", "b", "b", "a"], [1, 0, 0, 1], indptr=[0, 2, 4])
    >>> found = log.describe()
    >>> found.n_sessions, found.n_pairs, found.rank_groups
    (2, 2, [[1, 2]])
    """

    n_sessions: int
    n_queries: int
    n_docs: int
    n_pairs: int
    n_shown: int
    n_clicks: int
    list_length_min: int
    list_length_median: float
    list_length_max: int
    sessions_per_query_min: int
    sessions_per_query_median: float
    sessions_per_query_max: int
    share_without_click: float
    share_with_several_clicks: float
    shown_by_rank: list[int]
    click_rate_by_rank: list[float]
    pairs_by_rank: list[int]
    pairs_shared_with_rank_above: list[int]
    rank_groups: list[list[int]]
    n_pairs_at_one_rank: int
    n_pairs_with_few_shown: int
    n_pairs_without_click: int
    rankers: dict[str, int] | None
    share_random: float | None
    cleaning: dict[str, Any] | None = None
    findings: list[str] = field(default_factory=list)

    @property
    def is_connected(self) -> bool:
        """Whether all ranks are connected by shared pairs."""
        return len(self.rank_groups) <= 1

    def to_dict(self) -> dict:
        """Return plain values for JSON."""
        return asdict(self)

    def headline(self) -> str:
        """Return in a sentence whether the effect of the position can be separated from that of the documents."""
        clicks = f"{count_of(self.n_clicks, 'click')} in {count_of(self.n_sessions, 'session')}"
        if not self.n_clicks:
            return f"{clicks}: there is nothing to learn from."
        if not self.is_connected:
            lost = ranks_share(sorted(rank for group in self.rank_groups[1:] for rank in group))
            first = named_ranks(self.rank_groups[0])
            return f"{clicks}. {lost} no pair with {first}, so the effect of the rank cannot be estimated."
        return f"{clicks}; pairs shown at several ranks connect all ranks, so the effect of the rank can be estimated."

    def rows(self) -> list[tuple[str, str]]:
        """Return pairs of a heading and a value, as ``plackett clicks info`` shows them."""
        rate = self.n_clicks / max(1, self.n_shown)
        rows = [
            ("sessions", f"{self.n_sessions:,}"),
            ("queries", f"{self.n_queries:,}"),
            ("documents", f"{self.n_docs:,}"),
            ("pairs of query and document", f"{self.n_pairs:,}"),
            ("shown", f"{self.n_shown:,}"),
            ("clicks", f"{self.n_clicks:,} ({rate:.1%} of shown documents)"),
            (
                "documents per list",
                f"{self.list_length_min} to {self.list_length_max:,}, median {self.list_length_median:g}",
            ),
            (
                "sessions per query",
                f"{self.sessions_per_query_min:,} to {self.sessions_per_query_max:,}, "
                f"median {self.sessions_per_query_median:g}",
            ),
            ("sessions without a click", f"{self.share_without_click:.1%}"),
            ("sessions with several clicks", f"{self.share_with_several_clicks:.1%}"),
            ("pairs shown at one rank only", _of(self.n_pairs_at_one_rank, self.n_pairs)),
            (f"pairs shown fewer than {FEW_SHOWN} times", _of(self.n_pairs_with_few_shown, self.n_pairs)),
            ("pairs without a click", _of(self.n_pairs_without_click, self.n_pairs)),
            ("ranks connected by shared pairs", _groups(self.rank_groups)),
        ]
        if self.rankers is not None:
            rows.append(("rankers", ", ".join(f"{name}: {count:,}" for name, count in self.rankers.items())))
        if self.share_random is not None:
            rows.append(("shuffled sessions", f"{self.share_random:.1%}"))
        return rows

    def by_rank(self) -> Table:
        """Return a table with a row for each rank: shown, click rate, pairs, and pairs shared with the rank above."""
        columns = [Column("rank", digits=0), Column("shown", digits=0), Column("click rate")]
        columns += [Column("pairs", digits=0), Column("shared with the rank above", digits=0)]
        shared = [None, *self.pairs_shared_with_rank_above][: len(self.shown_by_rank)]
        values = zip(self.shown_by_rank, self.click_rate_by_rank, self.pairs_by_rank, shared, strict=True)
        return Table(columns, [[rank, *row] for rank, row in enumerate(values, start=1)])

    def __str__(self) -> str:
        found = "\n".join(["look at", *(f"- {one}" for one in self.findings)]) if self.findings else ""
        return "\n\n".join(filter(None, [self.headline(), aligned(self.rows(), "ll"), self.by_rank().to_text(), found]))

    def _repr_html_(self) -> str:
        return notebook_html([self.by_rank(), Table.of_pairs(self.rows())], self.findings)


def _of(count: int, total: int) -> str:
    return f"{count:,} ({count / max(1, total):.1%})"


def _groups(groups: list[list[int]]) -> str:
    if len(groups) <= 1:
        return "all"
    return "; ".join(_span(group) for group in groups)


def _span(ranks: list[int]) -> str:
    """Return ranks in words: "1 to 3 and 5"."""
    breaks = [0, *(i for i, (one, other) in enumerate(pairwise(ranks), start=1) if other != one + 1), len(ranks)]
    runs = [ranks[start:end] for start, end in pairwise(breaks)]
    return " and ".join(f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def named_ranks(ranks: list[int]) -> str:
    """Return "rank 4", or "ranks 1 to 3 and 5"."""
    return f"rank{'s' if len(ranks) > 1 else ''} {_span(ranks)}"


def ranks_share(ranks: list[int]) -> str:
    """Return "Rank 4 shares", or "Ranks 1 to 3 and 5 share"."""
    return f"{named_ranks(ranks).capitalize()} share{'' if len(ranks) > 1 else 's'}"


def unconnected(groups: list[list[int]]) -> str:
    """Return in words which ranks share no pair with the group of the first rank."""
    lost = sorted(rank for group in groups[1:] for rank in group)
    return (
        f"{ranks_share(lost)} no pair with {named_ranks(groups[0])}: this log cannot tell how much less users look "
        "there. Serve some lists in another order, or use features (regression EM)."
    )


def describe(log: ClickLog) -> ClickDescription:
    """Describe a log in one pass over its rows, block by block."""
    lengths = np.diff(log.indptr)
    n_ranks = min(log.longest, RANKS)
    shown, clicks = np.zeros(n_ranks + 1, dtype=np.int64), np.zeros(n_ranks + 1, dtype=np.int64)
    ranks_of_pair = np.zeros(log.n_pairs, dtype=np.uint64)
    shown_of_pair, clicks_of_pair = np.zeros(log.n_pairs, dtype=np.int64), np.zeros(log.n_pairs, dtype=np.int64)
    clicks_of_session = np.zeros(len(log), dtype=np.int64)
    for first, last in query_blocks(log.indptr, ROWS_AT_ONCE):
        rows = slice(log.indptr[first], log.indptr[last])
        rank = log[first:last].rank.astype(np.int64)
        pair, click = log.pair[rows], log.click[rows]
        place = np.minimum(rank, n_ranks + 1) - 1
        shown += np.bincount(place, minlength=n_ranks + 1)
        clicks += np.bincount(place[click], minlength=n_ranks + 1)
        is_near = rank <= n_ranks
        np.bitwise_or.at(ranks_of_pair, pair[is_near], np.uint64(1) << place[is_near].astype(np.uint64))
        shown_of_pair += np.bincount(pair, minlength=log.n_pairs)
        clicks_of_pair += np.bincount(pair[click], minlength=log.n_pairs)
        clicks_of_session[first:last] = np.add.reduceat(click, log.indptr[first:last] - rows.start, dtype=np.int64)
    shared = shared_pairs(ranks_of_pair, n_ranks)
    is_shown = shown_of_pair > 0
    per_query = np.bincount(log.session_query)
    per_query = per_query[per_query > 0]
    n_bits = np.bitwise_count(ranks_of_pair)
    values: dict[str, Any] = {
        "n_sessions": len(log),
        "n_queries": int(per_query.size),
        "n_docs": int(np.unique(log.pair_doc[is_shown]).size),
        "n_pairs": int(np.count_nonzero(is_shown)),
        "n_shown": log.n_shown,
        "n_clicks": int(clicks.sum()),
        "list_length_min": int(lengths.min()) if lengths.size else 0,
        "list_length_median": float(np.median(lengths)) if lengths.size else 0.0,
        "list_length_max": log.longest,
        "sessions_per_query_min": int(per_query.min()) if per_query.size else 0,
        "sessions_per_query_median": float(np.median(per_query)) if per_query.size else 0.0,
        "sessions_per_query_max": int(per_query.max(initial=0)),
        "share_without_click": _share(clicks_of_session == 0),
        "share_with_several_clicks": _share(clicks_of_session > 1),
        "shown_by_rank": shown[:n_ranks].tolist(),
        "click_rate_by_rank": (clicks / np.maximum(1, shown))[:n_ranks].tolist(),
        "pairs_by_rank": shared.diagonal().tolist(),
        "pairs_shared_with_rank_above": shared.diagonal(1).tolist(),
        "rank_groups": connected_ranks(shared),
        "n_pairs_at_one_rank": int(np.count_nonzero(n_bits == 1)),
        "n_pairs_with_few_shown": int(np.count_nonzero(is_shown & (shown_of_pair < FEW_SHOWN))),
        "n_pairs_without_click": int(np.count_nonzero(is_shown & (clicks_of_pair == 0))),
        "rankers": _ranker_counts(log),
        "share_random": None if log.is_random is None else _share(log.is_random),
        "cleaning": None if log.cleaning is None else log.cleaning.to_dict(),
    }
    description = ClickDescription(**values)
    return ClickDescription(**values, findings=_findings(description, shared))


def _share(flags: np.ndarray) -> float:
    return float(np.count_nonzero(flags) / max(1, flags.size))


def shared_pairs(ranks_of_pair: np.ndarray, n_ranks: int) -> np.ndarray:
    """Return how many pairs were shown at both of two ranks; on the diagonal, at one."""
    patterns, counts = np.unique(ranks_of_pair, return_counts=True)
    bits = ((patterns[:, None] >> np.arange(n_ranks, dtype=np.uint64)) & np.uint64(1)).astype(np.int64)
    return (bits * counts[:, None]).T @ bits


def connected_ranks(shared: np.ndarray) -> list[list[int]]:
    """Return the groups of ranks that are connected by shared pairs."""
    left, groups = set(range(len(shared))), []
    while left:
        group, new = set(), {min(left)}
        while new:
            group |= new
            new = {int(other) for one in new for other in np.flatnonzero(shared[one])} - group
        left -= group
        groups.append([rank + 1 for rank in sorted(group)])
    return groups


def _ranker_counts(log: ClickLog) -> dict[str, int] | None:
    if log.ranker is None or log.rankers is None:
        return None
    return dict(zip(log.rankers, np.bincount(log.ranker, minlength=len(log.rankers)).tolist(), strict=True))


def _findings(found: ClickDescription, shared: np.ndarray) -> list[str]:
    """Return what limits the use of the log."""
    findings = []
    if not found.n_sessions:
        return ["The log has no sessions."]
    if not found.n_clicks:
        findings.append("Nothing was clicked: no model can be fitted.")
    if not found.is_connected:
        findings.append(unconnected(found.rank_groups))
    if found.is_connected and len(shared) > 1:
        weak = [rank + 1 for rank in range(1, len(shared)) if shared[rank, :rank].max() < FEW_PAIRS]
        if weak:
            few = f"fewer than {FEW_PAIRS} pairs"
            findings.append(f"{ranks_share(weak)} {few} with any rank above: the propensity there is uncertain.")
    if found.n_pairs_with_few_shown > 0.5 * found.n_pairs:
        findings.append(
            f"{found.n_pairs_with_few_shown / found.n_pairs:.0%} of the pairs were shown fewer than {FEW_SHOWN} times: "
            "their attractiveness is mostly the prior. Use intervals, features, or fewer and more frequent queries."
        )
    if found.n_clicks and found.share_with_several_clicks == 0:
        findings.append(
            "No session has two clicks: satisfaction and continuation after a click (DCM, CCM, DBN) cannot be learned, "
            "and the cascade model fits as well."
        )
    if found.cleaning is not None:
        share = found.cleaning["counts"].get("damaged line", 0) / max(1, found.cleaning["n_lines"])
        if share > MUCH_DAMAGE:
            findings.append(f"{share:.0%} of the lines were damaged. Lost clicks look like skips.")
    rates = found.click_rate_by_rank
    if len(rates) > 1 and found.n_clicks and rates[0] < max(rates):
        best = int(np.argmax(rates)) + 1
        findings.append(
            f"Rank {best} has a higher click rate than rank 1 ({rates[best - 1]:.3f}, {rates[0]:.3f}). "
            f"Check the positions, and what is shown above the list."
        )
    if found.list_length_max > RANKS:
        longest = count_of(found.list_length_max, "document")
        findings.append(f"Lists have up to {longest}; ranks after {RANKS} are not described.")
    return findings
