"""The printed numbers of dai2019, Tables 1 to 6: means over 50 replications, standard errors, and seconds."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from plackett.reproductions.base import printed

PRINTED = printed("qsvm")
METHODS = ("rank-SVM", "indv-SVM", "kNN-SVM", "q-SVM")
MEASURES = ("MRE", "1 - ERR", "1 - NDCG")


class Printed(NamedTuple):
    """Means and standard errors of a cell, measures × methods."""

    means: np.ndarray
    errors: np.ndarray

    def is_clear(self, measure: int, first: int, second: int) -> bool:
        """Return whether two methods differ by more than two standard errors of their difference."""
        gap = self.means[measure, second] - self.means[measure, first]
        return bool(abs(gap) > 2 * np.hypot(self.errors[measure, first], self.errors[measure, second]))


def _cells(table: str, *kinds: Callable[[str], Any]) -> dict[Any, Printed]:
    """Return the cells of a table by the words of their names, each converted by one of ``kinds``."""
    cells: dict[Any, Printed] = {}
    for name, line in PRINTED[table].items():
        pairs = [re.findall(r"(\.\d+)\((\d+)\)", measure) for measure in line.split("|")]
        numbers = np.array(pairs, dtype=float)
        key = tuple(kind(word) for kind, word in zip(kinds, name.split(), strict=True))
        cells[key if len(key) > 1 else key[0]] = Printed(numbers[..., 0], numbers[..., 1] / 1000)
    return cells


TABLE_1, TABLE_2 = (_cells(name, str, float) for name in ("table_1", "table_2"))
TABLE_3, TABLE_5, TABLE_6 = _cells("table_3", float), _cells("table_5", int, str), _cells("table_6", str)
TABLE_4 = {(n_queries, n_docs): seconds for n_queries, n_docs, *seconds in PRINTED["table_4"]["rows"]}
