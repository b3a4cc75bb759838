"""Reader of UBJSON, the binary form of JSON in which XGBoost writes models.

The input is untrusted: lengths are compared with what is left of the input, and nesting is limited.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DEEPEST = 64
_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}


def loads(content: bytes) -> Any:
    r"""Return the value of a UBJSON document; arrays of one number type become numpy arrays.

    Raises
    ------
    ValueError
        If the input is not UBJSON.

    Examples
    --------
    >>> loads(b"{U\x01aSU\x02hi}")
    {'a': 'hi'}
    """
    reader = _Reader(content)
    value = reader.value(reader.marker(), 0)
    if reader.at != len(content):
        raise ValueError(f"{len(content) - reader.at:,} bytes follow the end of the document.")
    return value


class _Reader:
    def __init__(self, content: bytes):
        self.content, self.at = content, 0

    def take(self, n: int) -> bytes:
        if n < 0 or n > len(self.content) - self.at:
            raise ValueError("it ends too early, or a length in it is wrong.")
        self.at += n
        return self.content[self.at - n : self.at]

    def marker(self) -> bytes:
        while (found := self.take(1)) == b"N":  # no operation
            pass
        return found

    def number(self, kind: bytes) -> int | float:
        dtype = np.dtype(_NUMBERS[kind])
        return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()

    def length(self) -> int:
        kind = self.marker()
        if kind not in _NUMBERS or kind in (b"d", b"D"):
            raise ValueError(f"a length has the type {kind!r}.")
        return int(self.number(kind))

    def text(self) -> str:
        return self.take(self.length()).decode("utf-8")

    def value(self, kind: bytes, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError(f"values are nested more than {DEEPEST} deep.")
        if kind in _NUMBERS:
            return self.number(kind)
        if kind in _CONSTANTS:
            return _CONSTANTS[kind]
        if kind == b"S":
            return self.text()
        if kind == b"C":
            return self.take(1).decode("ascii")
        if kind == b"[":
            return self.array(depth)
        if kind == b"{":
            return self.mapping(depth)
        raise ValueError(f"a value has the unknown type {kind!r}.")

    def head(self) -> tuple[bytes | None, int | None]:
        """Return the type and the length of a container, each if it is given."""
        kind = n = None
        if self.content[self.at : self.at + 1] == b"$":
            self.at += 1
            kind = self.take(1)
        if self.content[self.at : self.at + 1] == b"#":
            self.at += 1
            n = self.length()
            if n < 0:
                raise ValueError("a length is negative.")
        if kind is not None and n is None:
            raise ValueError("a container has a type but no length.")
        return kind, n

    def array(self, depth: int) -> Any:
        kind, n = self.head()
        if kind is not None and n is not None and kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            return np.frombuffer(self.take(n * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        items: list[Any] = []
        while n is None or len(items) < n:
            self._check_left(kind)
            marker = self.marker() if kind is None else kind
            if n is None and marker == b"]":
                break
            items.append(self.value(marker, depth + 1))
        return items

    def mapping(self, depth: int) -> dict[str, Any]:
        kind, n = self.head()
        items: dict[str, Any] = {}
        while n is None or len(items) < n:
            if n is None and self.content[self.at : self.at + 1] == b"}":
                self.at += 1
                break
            key = self.text()
            if key in items:
                raise ValueError(f"the key {key[:60]!r} occurs twice.")
            items[key] = self.value(self.marker() if kind is None else kind, depth + 1)
        return items

    def _check_left(self, kind: bytes | None) -> None:
        """Raise for an array of constants, which take no bytes: any number of them fits into the input."""
        if kind is not None and kind in _CONSTANTS:
            raise ValueError("an array repeats a constant.")
