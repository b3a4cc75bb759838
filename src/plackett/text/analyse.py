"""Text analysis: words in lower case, without stop words, optionally stemmed."""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from plackett._optional import import_optional
from plackett.validation import check_positive_int

# the stop words of Lucene's English analyser
ENGLISH_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for if in into is it no not of on or such that the their then there these they "
        "this to was will with",
    )
)

_ASCII_WORD = re.compile(r"[a-zA-Z0-9]+")
# soft hyphen, zero width joiner, word joiner, byte order mark, variation selectors: not typed in queries
_INVISIBLE = "\u00ad\u200d\u2060\ufe00-\ufe0f\ufeff"
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")


@dataclass(unsafe_hash=True, repr=False)
class Analyser:
    """Splits a text into terms; documents and queries need the same one.

    A word is a run of letters, digits and the marks that belong to them, of any script; ``_`` and ``-`` separate words.
    Text beyond ASCII is normalised to NFKC first, so that equal letters have equal codes, and invisible characters such
    as soft hyphens are removed. Scripts without spaces between words give long terms: segment such texts first.

    Calling it returns the list of terms. It can be the ``analyzer=`` of scikit-learn's vectorizers.

    Parameters
    ----------
    stop_words : "english", None or iterable of str, default="english"
        Words that are dropped, in upper or lower case, before stemming. "english" means the 33 words of Lucene's
        English analyser.
    stemmer : str, default=None
        Language of a Snowball stemmer such as "english" or "german", which needs the extra ``text``; None does not
        stem.
    lowercase : bool, default=True
    min_length : int, default=1
        Words with fewer characters are dropped.

    Examples
    --------
    >>> from plackett.text import Analyser
    >>> Analyser()("The wings of a café: re-entry at Mach 7")
    ['wings', 'café', 're', 'entry', 'mach', '7']
    >>> Analyser(stop_words=["wings"], min_length=2)("The Wings of a bird")
    ['the', 'of', 'bird']
    """

    stop_words: str | Iterable[str] | None = "english"
    stemmer: str | None = None
    lowercase: bool = True
    min_length: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.stop_words, str):
            if self.stop_words != "english":
                raise ValueError(
                    f"stop_words={self.stop_words!r} is not known; pass 'english', None or a list of words."
                )
            self._dropped = ENGLISH_STOP_WORDS
        else:
            self.stop_words = None if self.stop_words is None else _check_words(self.stop_words)
            self._dropped = frozenset(_normal(word).lower() for word in self.stop_words or ())
        self.lowercase = bool(self.lowercase)
        self.min_length = check_positive_int(self.min_length, "min_length")
        self._stem = None if self.stemmer is None else _snowball(self.stemmer)

    def __call__(self, text: str) -> list[str]:
        dropped, min_length = self._dropped, self.min_length
        words = self._words(text)
        if min_length > 1:
            words = [word for word in words if len(word) >= min_length]
        if dropped and self.lowercase:
            words = [word for word in words if word not in dropped]
        elif dropped:
            words = [word for word in words if word.lower() not in dropped]
        return words if self._stem is None else self._stem(words)

    def sequence(self, text: str) -> list[str | None]:
        """Return the terms in order, with None for each dropped word, as phrases need them."""
        words = self._words(text)
        terms = words if self._stem is None else self._stem(words)
        return [
            None if len(word) < self.min_length or word.lower() in self._dropped else term
            for word, term in zip(words, terms, strict=True)
        ]

    def spans(self, text: str) -> list[tuple[str | None, int, int]]:
        """Return ``(term, start, stop)`` of every word in ``text``, the term being None for dropped words."""
        found = []
        for match in _word_pattern(text).finditer(text):
            terms = self.sequence(match[0])
            found.append((terms[0] if len(terms) == 1 else None, match.start(), match.end()))
        return found

    def _words(self, text: str) -> list[str]:
        text = _normal(text)
        if self.lowercase:
            text = text.lower()
        return _word_pattern(text).findall(text)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as plain values; ``Analyser(**params)`` is the same analyser."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def __reduce__(self):
        return functools.partial(Analyser, **self.parameters()), ()

    def __repr__(self) -> str:
        return f"Analyser({', '.join(f'{name}={value!r}' for name, value in self.parameters().items())})"


def _check_words(stop_words: Any) -> tuple[str, ...]:
    try:
        words = list(stop_words)
    except TypeError:
        raise ValueError(f"stop_words={stop_words!r} is not known; pass 'english', None or a list of words.") from None
    for word in words:
        if not isinstance(word, str):
            raise ValueError(f"stop_words holds {word!r}; words must be strings.")
    return tuple(sorted(set(words)))


def _normal(text: str) -> str:
    return text if text.isascii() else _INVISIBLE_RUN.sub("", unicodedata.normalize("NFKC", text))


def _word_pattern(text: str) -> re.Pattern[str]:
    return _ASCII_WORD if text.isascii() else _unicode_word()


@functools.cache
def _unicode_word() -> re.Pattern[str]:
    r"""Letters and digits, with the marks after them: ``\w`` alone splits Indic words at their vowel signs."""
    ranges: list[list[int]] = []
    for code in range(0x20000):  # beyond are ideographs and variation selectors
        if unicodedata.category(chr(code)) in ("Mn", "Mc"):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    marks = "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in ranges)
    return re.compile(rf"[^\W_]+(?:[{marks}{_INVISIBLE}]+[^\W_]*)*")


def _snowball(language: str):
    """Return a function from a list of words to the list of their stems."""
    package = import_optional("Stemmer", extra="text", needed_for=f"Analyser(stemmer={language!r})")
    if language not in package.algorithms():
        known = ", ".join(package.algorithms())
        raise ValueError(f"stemmer={language!r} is not known; choose one of {known}.")
    stemmer = package.Stemmer(language)
    # texts share words: cache their stems, as shared objects
    stems: dict[str, str] = {}

    def stem(words: list[str]) -> list[str]:
        for word in words:
            if word not in stems:
                stems[word] = sys.intern(stemmer.stemWord(word) or word)  # the Porter stem of "s" is empty
        return [stems[word] for word in words]

    return stem
