"""Random choices that are a function of a seed and of a request."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import Protocol

DIGEST = 16  # bytes


class Draws(Protocol):
    """All the randomness of a method; tests replace it to enumerate every outcome."""

    def pick(self, n: int) -> int:
        """Return a number below ``n``, all equally likely."""
        ...

    def weighted(self, weights: Sequence[float]) -> int:
        """Return a place with probability proportional to its weight."""
        ...


class SeededDraws:
    """Choices that follow from a seed."""

    def __init__(self, seed: int):
        self._random = random.Random(seed).random

    def pick(self, n: int) -> int:
        return int(self._random() * n)

    def weighted(self, weights: Sequence[float]) -> int:
        left = self._random() * sum(weights)
        last = 0
        for place, weight in enumerate(weights):
            if weight > 0:
                last = place
                left -= weight
                if left < 0:
                    return place
        return last  # rounding


def digest(seed: int, parts: Iterable[str]) -> str:
    """Return a name for a seed and some texts, which cannot be guessed without the seed."""
    key = seed.to_bytes(max(1, (seed.bit_length() + 7) // 8), "big")
    found = hashlib.blake2b(key=key[-64:], digest_size=DIGEST)
    found.update("".join([f"{len(part)}:{part}" for part in parts]).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
