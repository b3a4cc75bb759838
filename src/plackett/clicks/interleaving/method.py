"""What all methods of interleaving have in common, and random choices that are a function of a seed and a request."""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

DIGEST = 16  # bytes
Lists = Sequence[Sequence[str]]  # ranked documents of each ranker, without duplicates, not all empty
Basis = list[list[float]]  # by shown document: the numbers that credit needs; plain, to be kept as JSON


class Draws:
    """All the randomness of a method, from a seed; tests replace it to enumerate every outcome."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def pick(self, n: int) -> int:
        """Return a number below ``n``, all equally likely."""
        return int(self._random() * n)

    def weighted(self, weights: Sequence[float]) -> int:
        """Return a place with probability proportional to its weight."""
        left = self._random() * sum(weights)
        last = 0
        for place, weight in enumerate(weights):
            if weight > 0:
                last = place
                left -= weight
                if left < 0:
                    return place
        return last  # rounding


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


def digest(seed: int, parts: Iterable[str]) -> str:
    """Return a name for a seed and some texts, which cannot be guessed without the seed."""
    key = seed.to_bytes(max(1, (seed.bit_length() + 7) // 8), "big")
    found = hashlib.blake2b(key=key[-64:], digest_size=DIGEST)
    found.update("".join([f"{len(part)}:{part}" for part in parts]).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
