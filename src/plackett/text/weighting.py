"""Rankers that need no training: BM25, the vector space model and three language models.

Logarithms are natural. Sums are over the terms of the query; a term that occurs twice counts twice. ``tf`` is the count
of a term in the document, ``dl`` the number of terms of the document, ``u`` that of its distinct terms, ``df`` the
number of documents with the term, ``N`` that of all documents, ``p`` the share of the term in all text. All of them
refer to the field that is searched. Terms that do not occur in the field are skipped.

Every score has three parts: what a posting adds, in one of three forms (``_native/text/weighting.hpp``); what a term
adds to every document; and what each term of the query adds to a document whether or not it has the term.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from plackett import _native
from plackett.text.postings import Postings
from plackett.validation import check_choice, check_number


@dataclass(frozen=True, eq=False)
class Factors:
    """The numbers of a ranker for one field; ``score = Σ impacts / query norm + Σ base + |query| · prior``.

    An impact has a form, a discount and factors of the term and the document. A term adds ``base`` to the score of
    every document, and each term of the query ``prior`` to that of a document; the norm of ``query_weight`` divides the
    sum. None is nothing.
    """

    form: int
    of_term: np.ndarray
    of_doc: np.ndarray
    discount: float = 0.0
    base: np.ndarray | None = None
    prior: np.ndarray | None = None
    query_weight: np.ndarray | None = None

    def constants(
        self, terms: np.ndarray, times: np.ndarray, query_of: np.ndarray, n_queries: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return ``(scale, base, weight of the prior)`` of each query; ``query_of`` is the query of each term."""
        scale: np.ndarray = np.ones(n_queries)
        base: np.ndarray = np.zeros(n_queries)
        weight_of_prior: np.ndarray = np.zeros(n_queries)
        if self.query_weight is not None:
            squares = (times * self.query_weight[terms]) ** 2
            norms = np.sqrt(np.bincount(query_of, weights=squares, minlength=n_queries))
            scale = np.divide(1.0, norms, out=np.zeros(n_queries), where=norms > 0)
        if self.base is not None:
            base = np.bincount(query_of, weights=times * self.base[terms], minlength=n_queries)
        if self.prior is not None:
            weight_of_prior = np.bincount(query_of, weights=times, minlength=n_queries)
        return scale, base, weight_of_prior

    @cached_property
    def prior_range(self) -> tuple[float, float]:
        """The lowest and the highest prior."""
        return (0.0, 0.0) if self.prior is None else (float(self.prior.min()), float(self.prior.max()))


@dataclass(frozen=True)
class BM25:
    """BM25: ``Σ idf · tf (k1 + 1) / (tf + k1 (1 − b + b dl / mean dl))``.

    Lucene and ``bm25s`` leave out the factor ``k1 + 1``, which does not change the order.

    Parameters
    ----------
    k1 : float, default=1.2
        Saturation of the term frequency: the higher, the more further occurrences add; 0 counts presence only.
    b : float, default=0.75
        Length normalisation, from 0 to 1.
    idf : {"lucene", "robertson"}, default="lucene"
        ``ln(1 + (N − df + ½) / (df + ½))``, or without the 1, which is negative for terms in more than half of the
        documents.

    Examples
    --------
    >>> from plackett.text import BM25
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples and pears"])
    >>> index.search("pears apples", ranker=BM25(k1=0.9)).scores.round(3)
    array([0.817, 0.196])
    """

    k1: float = 1.2
    b: float = 0.75
    idf: str = "lucene"
    name: ClassVar[str] = "bm25"

    def __post_init__(self) -> None:
        check_number(self.k1, "k1", least=0.0)
        _check_share(self.b, "b")
        check_choice(self.idf, "idf", ("lucene", "robertson"))

    def factors(self, postings: Postings) -> Factors:
        odds = (postings.n_docs - postings.df + 0.5) / (postings.df + 0.5)
        idf = np.log1p(odds) if self.idf == "lucene" else np.log(odds)
        relative_length = postings.lengths / (postings.mean_length or 1.0)
        of_doc = self.k1 * (1.0 - self.b + self.b * relative_length)
        return Factors(_native.text.SATURATED, idf * (self.k1 + 1.0), of_doc)


@dataclass(frozen=True)
class VectorSpace:
    """Cosine of the vectors of document and query with the weights ``tf · idf``; 0 when a vector is 0.

    Parameters
    ----------
    idf : {"smooth", "plain"}, default="smooth"
        ``ln((1 + N) / (1 + df)) + 1``, or ``ln(N / (1 + df))``, which is 0 or negative for a term in all documents.

    Examples
    --------
    >>> from plackett.text import VectorSpace
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples and pears"])
    >>> index.search("pears apples", ranker=VectorSpace()).scores.round(3)
    array([0.775, 0.336])
    """

    idf: str = "smooth"
    name: ClassVar[str] = "vector-space"

    def __post_init__(self) -> None:
        check_choice(self.idf, "idf", ("smooth", "plain"))

    def term_weights(self, postings: Postings) -> np.ndarray:
        """Return the idf of each term."""
        if self.idf == "smooth":
            return np.log((1.0 + postings.n_docs) / (1.0 + postings.df)) + 1.0
        return np.log(max(postings.n_docs, 1) / (1.0 + postings.df))

    def factors(self, postings: Postings) -> Factors:
        idf = self.term_weights(postings)
        weights = postings.tf * np.repeat(idf, postings.df)
        norms = np.sqrt(np.bincount(postings.docs, weights=weights**2, minlength=postings.n_docs))
        of_doc = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        return Factors(_native.text.PRODUCT, idf**2, of_doc, query_weight=idf)


@dataclass(frozen=True)
class JelinekMercer:
    """Language model with Jelinek-Mercer smoothing: ``Σ log((1 − λ) tf / dl + λ p)``.

    An empty document scores ``Σ log p``.

    Parameters
    ----------
    lam : float, default=0.1
        λ, above 0 and at most 1.

    Examples
    --------
    >>> from plackett.text import JelinekMercer
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples and pears"])
    >>> index.search("pears apples", ranker=JelinekMercer(lam=0.5)).scores.round(3)
    array([-2.325, -3.101])
    """

    lam: float = 0.1
    name: ClassVar[str] = "lm-jm"

    def __post_init__(self) -> None:
        _check_share(self.lam, "lam", above_zero=True)

    def factors(self, postings: Postings) -> Factors:
        share = _known_share(postings)
        return Factors(
            _native.text.LOGARITHM,
            (1.0 - self.lam) / (self.lam * share),
            1.0 / np.maximum(postings.lengths, 1),
            base=np.log(self.lam * share),
            prior=np.where(postings.lengths > 0, 0.0, -np.log(self.lam)),
        )


@dataclass(frozen=True)
class Dirichlet:
    """Language model with Dirichlet smoothing: ``Σ log((tf + μ p) / (dl + μ))``.

    Parameters
    ----------
    mu : float, default=2000
        μ, above 0.

    Examples
    --------
    >>> from plackett.text import Dirichlet
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples and pears"])
    >>> index.search("pears apples", ranker=Dirichlet(mu=10)).scores.round(3)
    array([-2.422, -2.667])
    """

    mu: float = 2000.0
    name: ClassVar[str] = "lm-dirichlet"

    def __post_init__(self) -> None:
        check_number(self.mu, "mu", above=0.0)

    def factors(self, postings: Postings) -> Factors:
        share = _known_share(postings)
        return Factors(
            _native.text.LOGARITHM,
            1.0 / (self.mu * share),
            np.ones(postings.n_docs),
            base=np.log(self.mu * share),
            prior=-np.log(postings.lengths + self.mu),
        )


@dataclass(frozen=True)
class AbsoluteDiscounting:
    """Language model with absolute discounting: ``Σ log(max(tf − δ, 0) / dl + δ u p / dl)``.

    An empty document scores ``Σ log p``.

    Parameters
    ----------
    delta : float, default=0.7
        δ, above 0 and at most 1.

    Examples
    --------
    >>> from plackett.text import AbsoluteDiscounting
    >>> import plackett as pk
    >>> index = pk.text.build_index(["red apples", "green apples and pears"])
    >>> index.search("pears apples", ranker=AbsoluteDiscounting()).scores.round(3)
    array([-2.395, -2.81 ])
    """

    delta: float = 0.7
    name: ClassVar[str] = "lm-absolute"

    def __post_init__(self) -> None:
        _check_share(self.delta, "delta", above_zero=True)

    def factors(self, postings: Postings) -> Factors:
        share = _known_share(postings)
        lengths, distinct = np.maximum(postings.lengths, 1), np.maximum(postings.distinct, 1)
        return Factors(
            _native.text.LOGARITHM,
            1.0 / (self.delta * share),
            1.0 / distinct,
            discount=self.delta,
            base=np.log(self.delta * share),
            prior=np.where(postings.lengths > 0, np.log(distinct / lengths), -np.log(self.delta)),
        )


Ranker = BM25 | VectorSpace | JelinekMercer | Dirichlet | AbsoluteDiscounting

RANKERS: Mapping[str, type[Ranker]] = {
    kind.name: kind for kind in (BM25, VectorSpace, JelinekMercer, Dirichlet, AbsoluteDiscounting)
}


def get_ranker(ranker: str | Ranker) -> Ranker:
    """Return a ranker by name with its defaults, or the ranker itself.

    Parameters
    ----------
    ranker : str or ranker
        "bm25", "vector-space", "lm-jm", "lm-dirichlet", "lm-absolute", or an object such as ``BM25(k1=0.9)``.

    Examples
    --------
    >>> from plackett.text import get_ranker
    >>> get_ranker("bm25")
    BM25(k1=1.2, b=0.75, idf='lucene')
    """
    if isinstance(ranker, tuple(RANKERS.values())):
        return ranker  # type: ignore[return-value]
    check_choice(ranker, "ranker", tuple(RANKERS))
    return RANKERS[str(ranker)]()


def _check_share(value: object, name: str, *, above_zero: bool = False) -> None:
    number = check_number(value, name, **({"above": 0.0} if above_zero else {"least": 0.0}))
    if number > 1.0:
        raise ValueError(f"{name}={number:g}; it must be at most 1.")


def _known_share(postings: Postings) -> np.ndarray:
    """Return the share of each term; 1 for a term that does not occur in the field, which is never used."""
    return np.where(postings.cf > 0, postings.share, 1.0)
