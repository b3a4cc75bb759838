"""Many short texts in one buffer: the comments of a large file without a Python object per row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

_DOCID = re.compile(r"\s*docid\s*=\s*(\S+)")


class TextColumn:
    """A column of texts as UTF-8 bytes side by side, text ``i`` being ``buffer[bounds[i]:bounds[i + 1]]``.

    Indexing with a number gives a ``str``, with a slice or an array of numbers another column; ``numpy.asarray`` gives
    an array of strings. Bytes that are not UTF-8 survive as surrogate escapes, so that writing them gives them back.
    """

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
        buffer = np.concatenate([part.buffer[part.bounds[0] : part.bounds[-1]] for part in parts])
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
        lengths = np.diff(self.bounds)[places]
        bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        source = np.arange(bounds[-1]) + np.repeat(self.bounds[places] - bounds[:-1], lengths)
        return TextColumn(self.buffer[source], bounds)

    def bytes_of(self, place: int) -> bytes:
        """The bytes of one text."""
        return self.buffer[self.bounds[place] : self.bounds[place + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        texts = np.array(list(self), dtype=str) if len(self) else np.zeros(0, dtype="U1")
        return texts if dtype is None else texts.astype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextColumn) and len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TextColumn({len(self):,} texts)"


def docids_of_comments(comments: TextColumn) -> np.ndarray:
    """The document name in each comment: what follows ``docid =``, else the whole comment without blanks around it."""
    names = []
    for comment in comments:
        match = _DOCID.match(comment)
        names.append(match.group(1) if match else comment.strip())
    return np.array(names, dtype=str) if names else np.zeros(0, dtype="U1")
