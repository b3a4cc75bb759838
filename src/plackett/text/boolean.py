"""Boolean queries: AND, OR, NOT, brackets and phrases.

A query is parsed into a tree of nodes; a node matches a set of documents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett import _native
from plackett.text.search import Hits
from plackett.text.weighting import Ranker

if TYPE_CHECKING:
    from plackett.text.index import TextIndex

DEEPEST = 100  # brackets within brackets

_TOKEN = re.compile(r"""\s+|(?P<open>\()|(?P<close>\))|"(?P<phrase>[^"]*)"|(?P<quote>")|(?P<word>[^\s()"]+)""")
_SHOWN = 60  # characters of a query before and after an error
_OPERATORS = ("AND", "OR", "NOT")
_OPERAND = 'a word, a phrase in quotes, NOT or "("'


class BooleanSyntaxError(ValueError):
    """A Boolean query that cannot be parsed.

    Attributes
    ----------
    query : str
        The query that was parsed.
    position : int
        Where the error is in the query, in characters from 0.
    message : str
        The problem, without the excerpt of the query that the text of the error shows.

    Examples
    --------
    >>> from plackett.text import BooleanSyntaxError, parse_boolean
    >>> try:
    ...     parse_boolean("wings AND")
    ... except BooleanSyntaxError as error:
    ...     print(error.position, error.message)
    9 at character 10: expected a word, a phrase in quotes, NOT or "(", found the end of the query
    """

    def __init__(self, query: str, position: int, message: str):
        self.query, self.position, self.message = query, position, message
        shown, place = _around(_in_one_line(query), position)
        super().__init__(f"{message}\n  {shown}\n  {' ' * place}^")

    def __reduce__(self):
        return type(self), (self.query, self.position, self.message)


def _in_one_line(query: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in query)


def _around(query: str, position: int) -> tuple[str, int]:
    """Return the part of a long query that is shown, and where ``position`` is in it."""
    first, last = max(position - _SHOWN, 0), min(position + _SHOWN, len(query))
    before, after = "…" if first > 0 else "", "…" if last < len(query) else ""
    return f"{before}{query[first:last]}{after}", position - first + len(before)


@dataclass(frozen=True)
class Word:
    """Documents with a word; if the analyser splits it into several terms, these are a phrase."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Phrase:
    """Documents with these words side by side, in this order."""

    text: str

    def __str__(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True)
class And:
    """Documents that every part matches."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return f"({' AND '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Or:
    """Documents that at least one part matches."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return f"({' OR '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Not:
    """Documents that the part does not match."""

    part: Node

    def __str__(self) -> str:
        return f"NOT {self.part}"


Node = Word | Phrase | And | Or | Not


def parse_boolean(query: str) -> Node:
    """Return the tree of a Boolean query.

    ``NOT`` binds most tightly, then ``AND``, then ``OR``. Operators are in capitals; "and" is a word like any other.
    Adjacent words are joined by ``AND``.

    Parameters
    ----------
    query : str

    Raises
    ------
    BooleanSyntaxError
        With the position of the error and what was expected there.

    Examples
    --------
    >>> from plackett.text import parse_boolean
    >>> print(parse_boolean('wings AND (lift OR drag) AND NOT "heat transfer"'))
    (wings AND (lift OR drag) AND NOT "heat transfer")
    >>> parse_boolean("wings AND OR")
    Traceback (most recent call last):
    ...
    plackett.text.boolean.BooleanSyntaxError: at character 11: expected a word, a phrase in quotes, NOT or "(", found OR
      wings AND OR
                ^
    """
    if not isinstance(query, str):
        raise TypeError(f"a Boolean query is text, not {type(query).__name__}.")
    return _Parser(query).parse()


class _Token(NamedTuple):
    kind: str  # open, close, word, phrase, end, or an operator
    text: str
    position: int

    def named(self) -> str:
        if self.kind == "end":
            return "the end of the query"
        if self.kind in _OPERATORS:
            return self.text
        return f'"{_in_one_line(self.text[:_SHOWN])}"'


class _Parser:
    """``or := and (OR and)*``, ``and := not (AND? not)*``, ``not := NOT not | (or) | word | phrase``."""

    def __init__(self, query: str):
        self.query = query
        self._tokens: list[_Token] = []
        self._place = 0
        for match in _TOKEN.finditer(query):
            kind, start = match.lastgroup, match.start()
            if kind == "quote":
                raise BooleanSyntaxError(query, start, f"at character {start + 1}: this quote is not closed")
            if kind is not None:
                text = match[kind]
                self._tokens.append(_Token(text if kind == "word" and text in _OPERATORS else kind, text, start))
        self._tokens.append(_Token("end", "", len(query.rstrip())))

    @property
    def next(self) -> _Token:
        return self._tokens[self._place]

    def take(self) -> _Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def error(self, problem: str) -> BooleanSyntaxError:
        place = self.next.position
        return BooleanSyntaxError(self.query, place, f"at character {place + 1}: {problem}")

    def fail(self, expected: str) -> BooleanSyntaxError:
        return self.error(f"expected {expected}, found {self.next.named()}")

    def parse(self) -> Node:
        node = self._either(0)
        if self.next.kind != "end":  # any other token would have continued the query
            raise self.fail("the end of the query or an operator")
        return node

    def _either(self, depth: int) -> Node:
        parts = [self._all(depth)]
        while self.next.kind == "OR":
            self.take()
            parts.append(self._all(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all(self, depth: int) -> Node:
        parts = [self._one(depth)]
        while self.next.kind not in ("OR", "close", "end"):
            if self.next.kind == "AND":
                self.take()
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _one(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.error(f"more than {DEEPEST} nested brackets or NOTs")
        kind = self.next.kind
        if kind == "NOT":
            self.take()
            return Not(self._one(depth + 1))
        if kind == "open":
            opened = self.take()
            node = self._either(depth + 1)
            if self.next.kind != "close":
                raise self.fail(f'")" for the bracket at character {opened.position + 1}')
            self.take()
            return node
        if kind in ("word", "phrase"):
            return (Word if kind == "word" else Phrase)(self.take().text)
        raise self.fail(_OPERAND)


def matches(node: Node, index: TextIndex, field: str) -> np.ndarray:
    """Return whether each document matches a query.

    A word that the analyser drops is left out of the query together with its operator. A query of such words alone
    matches nothing.
    """
    found = _mask(node, index, field)
    return np.zeros(index.n_docs, dtype=bool) if found is None else found


def _mask(node: Node, index: TextIndex, field: str) -> np.ndarray | None:
    if isinstance(node, (Word, Phrase)):
        return _mask_of_words(node, index, field)
    if isinstance(node, Not):
        inner = _mask(node.part, index, field)
        return None if inner is None else ~inner
    if not isinstance(node, (And, Or)):
        raise TypeError(f"a Boolean query is text or a result of parse_boolean, not {type(node).__name__}.")
    combine = np.logical_and if isinstance(node, And) else np.logical_or
    answer = None
    for part in node.parts:  # one at a time: a query of many words does not need a mask for each
        mask = _mask(part, index, field)
        if answer is None:
            answer = mask
        elif mask is not None:
            combine(answer, mask, out=answer)
    return answer


def _mask_of_words(node: Word | Phrase, index: TextIndex, field: str) -> np.ndarray | None:
    sequence = index.analyser.sequence(node.text)
    while sequence and sequence[0] is None:
        sequence.pop(0)
    while sequence and sequence[-1] is None:
        sequence.pop()
    if not sequence:
        return None
    terms = [term for term in sequence if term is not None]
    mask = _mask_of_term(terms[0], index, field)
    for term in terms[1:]:
        mask &= _mask_of_term(term, index, field)
    needs_order = len(sequence) > 1 and (isinstance(node, Phrase) or index.has_positions)
    return _in_order(sequence, mask, index, field) if needs_order else mask


def _mask_of_term(term: str, index: TextIndex, field: str) -> np.ndarray:
    mask = np.zeros(index.n_docs, dtype=bool)
    number = index.vocabulary.get(term)
    if number is not None:
        mask[index.postings(field).docs_of(number)] = True
    return mask


def _in_order(sequence: list[str | None], mask: np.ndarray, index: TextIndex, field: str) -> np.ndarray:
    """Return the documents of ``mask`` that hold the terms in sequence; None in a phrase matches any one word."""
    parts = index.sequences(field)
    wanted = np.array([-1 if term is None else index.vocabulary.get(term, -2) for term in sequence], dtype=np.int32)
    docs = np.flatnonzero(mask)
    found = np.zeros(docs.size, dtype=bool)
    for numbers, bounds in parts:
        is_here = np.empty(docs.size, dtype=bool)
        _native.text.hold_phrase(numbers, bounds, docs, wanted, is_here)
        found |= is_here
    answer = np.zeros_like(mask)
    answer[docs[found]] = True
    return answer


class BooleanHits(NamedTuple):
    """The best of the matching documents, the number of all that match, and the terms that ranked them."""

    hits: Hits
    n_matching: int
    terms: list[str]


def search_boolean(
    index: TextIndex, query: str | Node, k: int = 10, ranker: str | Ranker = "bm25", field: str | None = None
) -> BooleanHits:
    """Return the ``k`` best of the documents that a Boolean query matches.

    Matching documents are ordered by the score of ``ranker`` for the words and phrases that are not negated. With equal
    scores, or without such words, they keep the order of the index.

    Parameters
    ----------
    index : TextIndex
    query : str or Node
        As for ``TextIndex.match``.
    k, ranker, field : as for ``TextIndex.search``

    Examples
    --------
    >>> from plackett.text import build_index
    >>> from plackett.text.boolean import search_boolean
    >>> index = build_index({"body": ["wings lift", "boats float", "wings and boats"]}, positions=True)
    >>> search_boolean(index, "wings AND NOT boats").hits.docid.tolist()
    ['0']
    """
    node = parse_boolean(query) if isinstance(query, str) else query
    places = index.match(node, field)
    terms = positive_terms(index, node)
    scores: np.ndarray = index.scores(terms, places, ranker, field) if terms else np.zeros(places.size)
    best = np.argsort(-scores, kind="stable")[:k]
    return BooleanHits(Hits(index.docid[places[best]], scores[best], places[best]), places.size, terms)


def positive_terms(index: TextIndex, node: Node) -> list[str]:
    """Return the terms of a Boolean query that are not negated."""
    return [term for text in _positive(node) for term in index.analyser(text)]


def _positive(node: Node) -> list[str]:
    if isinstance(node, Not):
        return []
    if isinstance(node, (And, Or)):
        return [text for part in node.parts for text in _positive(part)]
    return [node.text]
