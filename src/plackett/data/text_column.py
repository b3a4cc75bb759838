"""Many short texts in one buffer: the comments of a large file without a Python object per row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from plackett.storage.mapped import stack_rows, take_bytes

_SMALL = 1 << 20  # bytes that may be wasted
_AT_ONCE = 1 << 13  # texts
WASTE = 100  # bytes of a str array for a byte of text


class TextColumn:
    """A column of texts as consecutive UTF-8 bytes: text ``i`` is ``buffer[bounds[i]:bounds[i + 1]]``.

    Indexing with an integer returns a ``str``, with a slice or an array another column; ``numpy.asarray`` returns an
    array of strings. Bytes that are not UTF-8 are kept as surrogate escapes, so that they can be written again.
    """

    may_hold_mapped_arrays = True

    def __init__(self, buffer: np.ndarray, bounds: np.ndarray):
        self.buffer, self.bounds = buffer, bounds

    @classmethod
    def from_strings(cls, texts: Iterable[str]) -> TextColumn:
        encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
        bounds = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=bounds[1:])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), bounds)

    @classmethod
    def concat(cls, parts: Sequence[TextColumn]) -> TextColumn:
        shifts = np.cumsum([0] + [int(part.bounds[-1] - part.bounds[0]) for part in parts])
        buffer = stack_rows([part.buffer[part.bounds[0] : part.bounds[-1]] for part in parts])
        starts = [part.bounds[:-1] - part.bounds[0] + shift for part, shift in zip(parts, shifts, strict=False)]
        return cls(buffer, np.append(np.concatenate(starts), shifts[-1]))

    def __len__(self) -> int:
        return self.bounds.size - 1

    def __getitem__(self, which):
        if isinstance(which, (int, np.integer)):
            place = range(len(self))[which]
            return self.bytes_of(place).decode("utf-8", "surrogateescape")
        if isinstance(which, slice):
            start, stop, step = which.indices(len(self))
            if step == 1:
                return TextColumn(self.buffer, self.bounds[start : max(start, stop) + 1])
            which = np.arange(start, stop, step)
        places = np.asarray(which)
        if places.dtype == bool:
            places = np.flatnonzero(places)
        elif places.size == 0:
            places = np.zeros(0, dtype=np.int64)
        places = np.arange(len(self))[places]  # resolves negative positions and checks bounds
        lengths = np.diff(self.bounds)[places]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return TextColumn(take_bytes(self.buffer, self.places_of(places, lengths), int(bounds[-1])), bounds)

    def places_of(self, texts: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the positions of the bytes of these texts, in blocks: a position takes 8 times the memory of a byte."""
        for start in range(0, texts.size, _AT_ONCE):
            part = lengths[start : start + _AT_ONCE]
            ends = np.cumsum(part)
            yield np.arange(int(ends[-1])) + np.repeat(self.bounds[texts[start : start + _AT_ONCE]] - ends + part, part)

    def bytes_of(self, place: int) -> bytes:
        """Return the bytes of one text."""
        return self.buffer[self.bounds[place] : self.bounds[place + 1]].tobytes()

    def tolist(self) -> list[str]:
        bounds = self.bounds.tolist()
        return [self.buffer[a:b].tobytes().decode("utf-8", "surrogateescape") for a, b in pairwise(bounds)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tolist())

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        texts = np.array(self.tolist(), dtype=str) if len(self) else np.zeros(0, dtype="U1")
        return texts if dtype is None else texts.astype(dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextColumn):
            return NotImplemented
        if not np.array_equal(np.diff(self.bounds), np.diff(other.bounds)):
            return False
        ours, theirs = (column.buffer[column.bounds[0] : column.bounds[-1]] for column in (self, other))
        return np.array_equal(ours, theirs)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TextColumn({len(self):,} texts)"


def as_str_array(names: list[str]) -> np.ndarray:
    """Return texts as a str array, or as Python strings if a long text would make the array too wide."""
    width = max(map(len, names), default=1)
    if 4 * width * len(names) > _SMALL and 4 * width * len(names) > WASTE * (sum(map(len, names)) + len(names)):
        array = np.empty(len(names), dtype=object)
        array[:] = names
        return array
    return np.array(names, dtype=str) if names else np.zeros(0, dtype="U1")
