"""Features of (query, document) pairs, as in the LETOR collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from plackett import _native
from plackett.data.queries import Queries
from plackett.data.runs import as_qrels
from plackett.data.trec.qrels import Qrels
from plackett.data.trec.run import Run
from plackett.text.index import WHOLE, TextIndex, check_fields
from plackett.text.links import link_degrees
from plackett.text.search import PairTerms, QueryTerms, known_terms, pair_counts, pair_sums, terms_of
from plackett.text.vectors import query_vectors
from plackett.text.weighting import Ranker, VectorSpace, get_ranker
from plackett.validation import check_choice, check_number

_MOMENTS = ("sum", "min", "max", "mean", "variance")
_SCORES = {
    "vector_space": "vector-space",
    "bm25": "bm25",
    "lmir_abs": "lm-absolute",
    "lmir_dir": "lm-dirichlet",
    "lmir_jm": "lm-jm",
}
FIELD_FEATURES = (
    *("covered_terms", "covered_terms_ratio", "length", "idf"),
    *(f"{kind}_{moment}" for kind in ("tf", "normalized_tf", "tfidf") for moment in _MOMENTS),
    "boolean",
    *_SCORES,
)
QUERY_FEATURES = ("query_terms", "query_idf")


def letor_features(
    index: TextIndex,
    queries: Mapping[str, str | Sequence[str]],
    candidates: Run | Qrels | Mapping[str, Sequence[str]],
    *,
    qrels: Any = None,
    unjudged: float = 0.0,
    fields: Sequence[str] | None = None,
    rankers: Mapping[str, str | Ranker] | None = None,
) -> Queries:
    """Return features of pairs of queries and documents, with the names of LETOR and MSLR.

    For each field, and for the whole if there are several: ``covered_terms`` (terms of the query in the document) and
    their ``ratio`` to the terms of the query, ``length``, ``idf`` (sum over the covered terms); the sum, min, max, mean
    and variance of ``tf``, of ``normalized_tf`` (by the length) and of ``tfidf`` over the terms of the query that occur
    in the field of any document; ``boolean`` (1 if the document has all terms of the query); the scores
    ``vector_space``, ``bm25``, ``lmir_abs``, ``lmir_dir`` and ``lmir_jm``. A term that occurs in the query twice counts
    twice. The idf is that of the vector space model. The length of a document is that of its whole.

    For the query: ``query_terms``, their number, and ``query_idf``, the sum over those in the vocabulary. For the
    document: ``pagerank``, ``inlinks`` and ``outlinks`` if the index has links, ``url_slashes`` and ``url_length`` if
    it has URLs. For both: ``cosine`` of their vectors, if the index has them and the function that made them.

    Parameters
    ----------
    index : TextIndex
    queries : mapping from query id to text
    candidates : Run, Qrels, or mapping from query id to document ids
        The pairs, query by query, such as a run of ``index.run(queries)``, or ``{qid: {docid: score}}``.
    qrels : Qrels, frame, path, or dict of dicts, default=None
        Source of the labels, such as ``{qid: {docid: label}}``; None means ``candidates`` if these are Qrels, otherwise
        no labels.
    unjudged : float, default=0
        Label of a pair that ``qrels`` does not list; NaN means "not judged".
    fields : sequence of str, default=None
        The fields to use, which may include "whole"; None means all.
    rankers : mapping from column to ranker, default=None
        Other rankers for the columns of scores, such as ``{"bm25": BM25(k1=0.9)}``.

    Returns
    -------
    Queries
        With ``feature_names`` such as "bm25_title", and ``docid``; queries in the order of ``candidates``.

    Examples
    --------
    >>> from plackett.text import letor_features
    >>> from plackett.text import build_index
    >>> index = build_index({"title": ["On wings", "Boats"], "body": ["Wings lift.", "Boats float, wings do not."]})
    >>> data = letor_features(index, {"q": "wings"}, {"q": ["0", "1"]})
    >>> data
    Queries(1 query, 2 documents, 77 features, no labels)
    >>> data.X[:, data.feature_names.index("tf_sum_whole")]
    array([2., 1.])
    """
    known_fields = [*index.fields, WHOLE] if len(index.fields) > 1 else list(index.fields)
    chosen = known_fields if fields is None else check_fields(fields, (*index.fields, WHOLE))
    if isinstance(candidates, Qrels) and qrels is None:
        qrels = candidates
    qrels = None if qrels is None else as_qrels(qrels)
    ids, docid, bounds = _pairs(queries, candidates)
    docs = np.array([index.place(name) for name in docid], dtype=np.int32)
    by_name = {str(qid): query for qid, query in queries.items()}
    words = [terms_of(index, by_name[qid]) for qid in ids]
    known, lengths = known_terms(index, *words), np.array([len(terms) for terms in words])
    columns: dict[str, np.ndarray] = {}
    chosen_rankers = dict(rankers or {})
    for column in chosen_rankers:
        check_choice(column, "rankers", tuple(_SCORES))
    scorers = {column: get_ranker(chosen_rankers.get(column, name)) for column, name in _SCORES.items()}
    for field in chosen:
        table = _field_table(index, field, known, lengths, docs, bounds, scorers)
        columns |= {f"{name}_{field}": table[name] for name in FIELD_FEATURES}
    weights = known.times * _vector_space(scorers).term_weights(index.postings())[known.numbers]
    idf = np.bincount(known.query_of, weights=weights, minlength=lengths.size)
    for name, values in zip(QUERY_FEATURES, (lengths, idf), strict=True):
        columns[name] = np.repeat(values.astype(np.float64), np.diff(bounds))
    columns |= _document_columns(index, docs)
    if index.vectors is not None and index.embed is not None:
        vectors = query_vectors(index, [by_name[qid] for qid in ids])
        bounds_of = zip(vectors, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        parts = [index.vectors[docs[first:last]] @ vector for vector, first, last in bounds_of]
        columns["cosine"] = np.concatenate(parts).astype(np.float64)
    labels = None if qrels is None else _labels(ids, docid, bounds, qrels, unjudged)
    X = np.column_stack(list(columns.values())) if columns else np.zeros((docs.size, 0))
    return Queries(X, labels, np.repeat(np.array(ids, dtype=str), np.diff(bounds)), docid=docid,
                   feature_names=list(columns))  # fmt: skip


def _pairs(queries: Mapping[str, Any], candidates: Any) -> tuple[list[str], list[str], np.ndarray]:
    """Return query ids, document ids, and the bounds of each query among them."""
    if isinstance(candidates, (Run, Qrels)):
        table: Mapping[str, Any] = candidates.to_dict()
    else:
        table = {str(qid): _names_of(qid, names) for qid, names in candidates.items()}
    known = {str(qid) for qid in queries}
    for qid in table:
        if qid not in known:
            raise ValueError(f"candidates has the query {qid!r}, but queries has no text for it.")
    table = {qid: names for qid, names in table.items() if len(names)}
    if not table:
        raise ValueError("candidates has no pair of query and document.")
    bounds = np.concatenate([[0], np.cumsum([len(names) for names in table.values()])])
    return list(table), [name for names in table.values() for name in names], bounds


def _names_of(qid: object, names: Any) -> list[str]:
    if isinstance(names, (str, bytes)):
        raise ValueError(f"candidates of the query {qid!r} are the string {names!r}; a list of document ids is needed.")
    return [str(name) for name in names]


def _labels(ids: list[str], docid: list[str], bounds: np.ndarray, qrels: Qrels, unjudged: float) -> np.ndarray:
    if not (isinstance(unjudged, float) and np.isnan(unjudged)):
        check_number(unjudged, "unjudged")
    judged = qrels.to_dict()
    labels = np.empty(len(docid))
    for place, qid in enumerate(ids):
        of_query = judged.get(qid, {})
        for row in range(bounds[place], bounds[place + 1]):
            labels[row] = of_query.get(docid[row], unjudged)
    return labels


def _field_table(
    index: TextIndex,
    field: str,
    known: QueryTerms,
    n_query_terms: np.ndarray,
    docs: np.ndarray,
    bounds: np.ndarray,
    scorers: Mapping[str, Ranker],
) -> dict[str, np.ndarray]:
    """Return the columns of one field, by name."""
    postings, n_queries = index.postings(field), n_query_terms.size
    terms, times, query_of = known.found_in(postings)
    term_bounds = np.searchsorted(query_of, np.arange(n_queries + 1))
    pairs = PairTerms(terms, times, term_bounds, docs, bounds)
    counts = pair_counts(postings, pairs)
    idf = _vector_space(scorers).term_weights(postings)
    statistics = np.zeros((docs.size, _native.text.N_STATISTICS))
    _native.text.term_statistics(
        idf, postings.lengths, pairs.terms, pairs.times, term_bounds, docs, bounds, pairs.count_bounds(), counts,
        statistics,
    )  # fmt: skip
    n_terms = np.repeat(n_query_terms, np.diff(bounds))
    table = {
        "covered_terms": statistics[:, 0],
        "covered_terms_ratio": statistics[:, 0] / np.maximum(n_terms, 1),
        "length": postings.lengths[docs].astype(np.float64),
        "idf": statistics[:, 1],
        "boolean": ((statistics[:, 0] == n_terms) & (n_terms > 0)).astype(np.float64),
    }
    moments = [name for name in FIELD_FEATURES if name.rpartition("_")[2] in _MOMENTS]
    table |= {name: statistics[:, 2 + place] for place, name in enumerate(moments)}
    for column, ranker in scorers.items():
        factors = index.factors(field, ranker)
        constants = factors.constants(terms, times, query_of, n_queries)
        scale, base, weight_of_prior = (np.repeat(part, np.diff(bounds)) for part in constants)
        scores = base + scale * pair_sums(factors, pairs, counts)
        table[column] = scores if factors.prior is None else scores + weight_of_prior * factors.prior[docs]
    return table


def _vector_space(scorers: Mapping[str, Ranker]) -> VectorSpace:
    ranker = scorers["vector_space"]
    return ranker if isinstance(ranker, VectorSpace) else VectorSpace()


def _document_columns(index: TextIndex, docs: np.ndarray) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    if index.links is not None:
        incoming, outgoing = link_degrees(index.links, index.n_docs)
        columns |= {"pagerank": index.pagerank[docs], "inlinks": incoming[docs], "outlinks": outgoing[docs]}
    if index.urls is not None:
        urls = [index.urls[place] for place in docs.tolist()]
        columns["url_slashes"] = np.array([url.count("/") for url in urls], dtype=np.float64)
        columns["url_length"] = np.array([len(url) for url in urls], dtype=np.float64)
    return columns
