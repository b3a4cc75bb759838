"""What all methods of interleaving have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from plackett.clicks.interleaving.draws import Draws

Lists = Sequence[Sequence[str]]  # ranked documents of each ranker, without duplicates, not all empty
Basis = list[list[float]]  # by shown document: the numbers that credit needs; plain, to be kept as JSON


class Method(ABC):
    """A rule that mixes lists, and a rule that divides the clicks on them between the rankers.

    Credits are such that the difference of two rankers lies between -1 and 1. The preference of a list for the
    first ranker over the second is the difference of their credits.
    """

    name: ClassVar[str]
    takes_two: ClassVar[bool] = False  # two rankers exactly
    n_more: ClassVar[int] = 0  # numbers of a shown document besides one for each ranker

    @abstractmethod
    def draw(self, lists: Lists, k: int, draws: Draws) -> tuple[list[str], Basis]:
        """Return the shown documents, and for each the numbers from which credits follow."""

    @abstractmethod
    def credit(self, basis: Basis, clicked: Sequence[int], n_rankers: int) -> list[float]:
        """Return the credit of each ranker for clicks at these places (from 0, rising, at least one)."""


class AdditiveMethod(Method):
    """A method whose basis is the credit of each ranker for a click: the credit of a list is the mean over its clicks.

    The mean, not the sign of the sum, is exactly neutral even if lists run out of documents.
    """

    def credit(self, basis: Basis, clicked: Sequence[int], n_rankers: int) -> list[float]:
        return [sum([basis[place][ranker] for place in clicked]) / len(clicked) for ranker in range(n_rankers)]


def fill(shown: list[str], documents: Sequence[str], k: int) -> None:
    """Append documents that are not shown yet, up to ``k``."""
    taken = set(shown)
    for document in documents:
        if len(shown) >= k:
            return
        if document not in taken:
            shown.append(document)
