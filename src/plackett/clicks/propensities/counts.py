"""Clicks and skips by pair and rank, and random groups of sessions that do not depend on their order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plackett.clicks.log import ClickLog
from plackett.clicks.models.collapse import count_cells, session_blocks

PAIRS_AT_ONCE = 1 << 15  # whose counts are a dense matrix


class Counts(NamedTuple):
    """Clicks and skips of every pair at every rank (from 0) where it was shown, by pair and rank."""

    pair: np.ndarray
    rank: np.ndarray
    clicks: np.ndarray
    skips: np.ndarray
    n_pairs: int
    n_ranks: int

    @property
    def shown(self) -> np.ndarray:
        """How often each pair was shown at each rank."""
        return self.clicks + self.skips

    def less(self, other: Counts) -> Counts:
        """Return the counts without those of a part of the log."""
        place = np.searchsorted(self.pair * self.n_ranks + self.rank, other.pair * self.n_ranks + other.rank)
        clicks, skips = self.clicks.copy(), self.skips.copy()
        clicks[place] -= other.clicks
        skips[place] -= other.skips
        return self._replace(clicks=clicks, skips=skips)

    def where(self, is_kept: np.ndarray) -> Counts:
        """Return the counts of some cells; those of the others are 0."""
        return self._replace(clicks=self.clicks * is_kept, skips=self.skips * is_kept)

    def of_pairs(self, kept: np.ndarray) -> Counts:
        """Return the counts of some pairs, which have new codes."""
        place = np.full(self.n_pairs, -1, dtype=np.int64)
        place[kept] = np.arange(kept.size)
        cells = place[self.pair] >= 0
        pair, rank, clicks, skips = (values[cells] for values in self[:4])
        return Counts(place[pair], rank, clicks, skips, kept.size, self.n_ranks)

    def by_rank(self, values: np.ndarray) -> np.ndarray:
        """Return sums over the pairs."""
        return np.bincount(self.rank, values, self.n_ranks)

    def by_pair(self, values: np.ndarray) -> np.ndarray:
        """Return sums over the ranks."""
        return np.bincount(self.pair, values, self.n_pairs)


def count_pairs(log: ClickLog, n_ranks: int) -> Counts:
    """Return the counts of a log."""
    blocks = count_cells(log, by_last_click=False)
    pair = [block.pairs.start + np.repeat(np.arange(block.indptr.size - 1), np.diff(block.indptr)) for block in blocks]
    parts = [np.concatenate([block[i] for block in blocks]) for i in (2, 3, 4)]
    rank, clicks, skips = parts[0].astype(np.int64), parts[1].astype(np.float64), parts[2].astype(np.float64)
    return Counts(np.concatenate(pair), rank, clicks, skips, log.n_pairs, n_ranks)


def count_lengths(log: ClickLog, n_ranks: int) -> Counts:
    """Return counts by length of the list (in the place of the pair) and rank."""
    sums = np.zeros((2, (n_ranks + 1) * n_ranks))
    for first, last, rows in session_blocks(log):
        lengths = np.diff(log.indptr[first : last + 1])
        cell = np.repeat(lengths, lengths) * n_ranks + log[first:last].rank - 1
        clicks = np.bincount(cell, log.click[rows], sums.shape[1])
        sums += [clicks, np.bincount(cell, minlength=sums.shape[1]) - clicks]
    cell = np.flatnonzero(sums.sum(axis=0))
    return Counts(cell // n_ranks, cell % n_ranks, sums[0][cell], sums[1][cell], n_ranks + 1, n_ranks)


def session_keys(log: ClickLog) -> np.ndarray:
    """Return a hash of what each session shows and of its clicks; sessions with the same hash show the same."""
    keys = np.empty(len(log), dtype=np.uint64)
    for first, last, rows in session_blocks(log):
        part = log[first:last]
        value = log.pair[rows].astype(np.uint64) << np.uint64(1) | log.click[rows].astype(np.uint64)
        keys[first:last] = np.add.reduceat(_mixed(value ^ _mixed(part.rank.astype(np.uint64))), part.indptr[:-1])
    return keys


def session_groups(log: ClickLog, n_groups: int, seed: int) -> Iterator[np.ndarray]:
    """Yield the sessions of random groups of equal size.

    What a group holds does not depend on the order of the sessions: they are sorted by a hash of what they show before
    groups are drawn.
    """
    order = np.argsort(session_keys(log))
    group = np.empty(len(log), dtype=np.int32)
    group[order] = np.random.default_rng(seed).permutation(len(log)) % n_groups
    for i in range(n_groups):
        yield np.flatnonzero(group == i)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return hashes (splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def shared_evidence(counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Return the clicks and skips at rank k (row) of the pairs that were shown at k and at k' (column).

    A pair counts as min(N_k, N_k') impressions at both ranks, clicked with its click rate at k.
    """
    clicks, skips = np.zeros((2, counts.n_ranks, counts.n_ranks))
    n_cells = np.bincount(counts.pair[counts.shown > 0], minlength=counts.n_pairs)
    cells = np.flatnonzero((n_cells[counts.pair] > 1) & (counts.shown > 0))
    pairs, place = np.unique(counts.pair[cells], return_inverse=True)
    bounds = np.searchsorted(place, np.arange(0, pairs.size + PAIRS_AT_ONCE, PAIRS_AT_ONCE))
    for first, last in pairwise(bounds.tolist()):
        own = cells[first:last]
        where = place[first:last] - place[first], counts.rank[own]
        shown, clicked = np.zeros((2, where[0][-1] + 1, counts.n_ranks))
        shown[where], clicked[where] = counts.shown[own], counts.clicks[own]
        rate = clicked / np.maximum(shown, 1)
        for k in range(counts.n_ranks):
            weight = np.minimum(shown[:, k, None], shown)
            clicks[k] += (weight * rate[:, k, None]).sum(axis=0)
            skips[k] += (weight * (1 - rate[:, k, None])).sum(axis=0)
    for values in (clicks, skips):
        np.fill_diagonal(values, 0.0)
    return clicks, np.maximum(skips, 0.0)
