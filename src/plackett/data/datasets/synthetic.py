"""Synthetic data: web-like graded lists."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from plackett.data.queries import Queries
from plackett.validation import check_choice, check_positive_int

RandomState = int | np.random.Generator | None

LABEL_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)  # MSLR-WEB30K, rounded
MEAN_DOCS, MAX_DOCS = 120, 1250  # MSLR-WEB30K: 119.6 documents per query on average, 1,251 at most
SPREAD_OF_LENGTHS = 0.55  # standard deviation of the logarithm of a list's length in MSLR
QUERY_SHARE = 0.15  # share of the variance of the labels between queries in MSLR
EMPTY_SHARE = 0.03  # queries without a relevant document
ROWS_PER_CHUNK = 1 << 14  # bounds the memory besides X

# kinds of every 17 columns, and every 45th is constant
KIND_PATTERN = (
    *("count", "ratio", "tfidf", "model", "count", "ratio", "tfidf", "copy", "count"),
    *("query", "noise", "ratio", "tfidf", "model", "count", "copy", "noise"),
)
CONSTANT_EVERY = 45


def make_web_like(
    n_queries: int = 1000,
    docs_per_query: int | None = None,
    n_features: int = 136,
    *,
    noise: float = 1.0,
    graded: bool = True,
    random_state: RandomState = 0,
    dtype: type = np.float32,
) -> Queries:
    """Return lists that resemble a web search data set: labels 0..4, mixed columns, skewed list lengths.

    Each document has a latent relevance, standard normal and partly shared by the documents of its query; about 3 % of
    the queries have no relevant document. Labels cut it at the label shares of MSLR-WEB30K (52, 32, 13, 2 and 1 %). The
    columns reflect it more or less clearly, some inversely: heavy-tailed ``count``, ``ratio`` in [0, 1] with steps,
    ``tfidf`` sums with many zeros, ``model`` scores, ``copy`` columns that nearly repeat another one, ``query`` columns
    constant within a query, ``noise``, and every 45th ``constant``. The name begins with the kind (``count_0``,
    ``ratio_1``, ...).

    Parameters
    ----------
    n_queries : int, default=1000
    docs_per_query : int, default=None
        Length of every list; None draws skewed lengths between 1 and 1,250 with a mean of about 120.
    n_features : int, default=136
    noise : float, default=1
        Noise of the columns as a multiple of the default; with 0 each column depends only on the latent relevance.
    graded : bool, default=True
        False uses the latent relevance itself as the label: the same documents in a strict order.
    random_state : int, Generator or None, default=0
    dtype : float32 or float64, default=float32

    Returns
    -------
    Queries
        Query ids are 1, 2, ...; the columns have names.

    Examples
    --------
    >>> from plackett import datasets
    >>> data = datasets.make_web_like(50, 20, 30, random_state=0)
    >>> data
    Queries(50 queries, 1,000 documents, 30 features, labels 0..4)
    >>> data.feature_names[:3]
    ['count_0', 'ratio_1', 'tfidf_2']
    """
    check_positive_int(n_queries, "n_queries")
    check_positive_int(n_features, "n_features")
    check_choice(np.dtype(dtype).name, "dtype", ["float32", "float64"])
    if not noise >= 0:
        raise ValueError(f"noise={noise!r}; it must be at least 0.")
    rng = np.random.default_rng(random_state)
    indptr = _bounds(n_queries, docs_per_query, rng)
    columns = _Columns(n_features, noise, rng)
    X: np.ndarray = np.empty((int(indptr[-1]), n_features), dtype=dtype)
    labels = np.empty(X.shape[0])
    for first, last in _chunks(indptr):
        rows = slice(int(indptr[first]), int(indptr[last]))
        query = np.repeat(np.arange(last - first), np.diff(indptr[first : last + 1]))
        latent = _latent_relevance(query, last - first, rng)
        labels[rows] = _grades(latent) if graded else latent
        columns.fill(X[rows], latent, query, rng)
    return Queries.from_groups(X, labels, np.arange(1, n_queries + 1), indptr, feature_names=columns.names)


def _bounds(n_queries: int, docs_per_query: int | None, rng: np.random.Generator) -> np.ndarray:
    if docs_per_query is not None:
        return np.arange(n_queries + 1, dtype=np.int64) * check_positive_int(docs_per_query, "docs_per_query")
    centre = np.log(MEAN_DOCS) - SPREAD_OF_LENGTHS**2 / 2  # the mean of a log-normal length is then MEAN_DOCS
    lengths = np.rint(rng.lognormal(centre, SPREAD_OF_LENGTHS, n_queries)).clip(1, MAX_DOCS)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _chunks(indptr: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, last) of whole queries with about ROWS_PER_CHUNK rows."""
    first = 0
    while first < indptr.size - 1:
        last = int(np.searchsorted(indptr, indptr[first] + ROWS_PER_CHUNK, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _thresholds() -> np.ndarray:
    """Return the cuts of the latent relevance that give the label shares although some queries have only zeros."""
    above = 1.0 - np.cumsum(LABEL_SHARES[:-1])
    return np.array([NormalDist().inv_cdf(1.0 - share / (1.0 - EMPTY_SHARE)) for share in above])


def _latent_relevance(query: np.ndarray, n_queries: int, rng: np.random.Generator) -> np.ndarray:
    of_query, is_barren = rng.standard_normal(n_queries), rng.random(n_queries) < EMPTY_SHARE
    of_document = rng.standard_normal(query.size)
    latent = np.sqrt(QUERY_SHARE) * of_query[query] + np.sqrt(1 - QUERY_SHARE) * of_document
    lowest_cut = _thresholds()[0]
    folded = lowest_cut - np.abs(latent - lowest_cut)  # mirrored below the cut: no document is relevant
    return np.where(is_barren[query], folded, latent)


def _grades(latent: np.ndarray) -> np.ndarray:
    return np.searchsorted(_thresholds(), latent).astype(np.float64)


class _Columns:
    """The columns of a web-like set: drawn once, then filled chunk by chunk."""

    def __init__(self, n_features: int, noise: float, rng: np.random.Generator):
        self.kinds = [
            "constant" if column % CONSTANT_EVERY == CONSTANT_EVERY - 1 else KIND_PATTERN[column % len(KIND_PATTERN)]
            for column in range(n_features)
        ]
        self.names = [f"{kind}_{column}" for column, kind in enumerate(self.kinds)]
        self.noise = noise
        # loadings between 0.05 and 0.6, most of them small, a few negative: |correlation| with the label as in MSLR
        self.loading = (0.05 + 0.55 * rng.random(n_features) ** 2) * np.where(rng.random(n_features) < 0.15, -1, 1)
        self.loading[[kind in ("query", "noise", "constant") for kind in self.kinds]] = 0.0
        self.place, self.scale = rng.normal(0.0, 1.0, n_features), rng.lognormal(0.0, 1.0, n_features)
        self.original = [int(rng.integers(0, max(column, 1))) for column in range(n_features)]

    def fill(self, X: np.ndarray, latent: np.ndarray, query: np.ndarray, rng: np.random.Generator) -> None:
        n_queries, n_features = int(query[-1]) + 1, len(self.kinds)
        # an error shared by all columns, so that many columns do not reveal the latent relevance
        seen = (latent + self.noise * rng.standard_normal(latent.size)).astype(np.float32)
        n_terms = rng.integers(1, 7, n_queries).astype(np.float32)[query]
        of_query = rng.standard_normal((n_features, n_queries), dtype=np.float32)
        shown = rng.standard_normal((n_features, latent.size), dtype=np.float32)  # noise; each row becomes a column
        for column, kind in enumerate(self.kinds):
            loading, row = self.loading[column], shown[column]
            own = self.noise * np.sqrt(1.0 - loading**2) if loading else 1.0
            spread = np.sqrt(own**2 + loading**2 * (1.0 + self.noise**2))  # keeps the distribution of the column
            row *= np.float32(own / spread)
            row += np.float32(loading / spread) * seen
            row[:] = self._show(kind, column, row, of_query[column][query], n_terms, shown)
        X[:] = shown.T

    def _show(self, kind: str, column: int, signal, shade, n_terms, shown) -> np.ndarray | float:
        place, scale = np.float32(self.place[column]), np.float32(self.scale[column])
        if kind == "count":
            return np.floor(np.exp(np.clip(place + 2 + np.float32(1.5) * signal, -10, 20)))
        if kind == "ratio":
            return np.rint(n_terms / (1 + np.exp(-2 * signal - place))) / n_terms
        if kind == "tfidf":
            return np.maximum(signal + place / 2, 0) * (scale * (2 + np.tanh(shade) / 2))
        if kind == "model":
            return scale * (signal + 2 * shade - 10)
        if kind == "copy":
            original = shown[self.original[column]]
            return scale * (original + np.float32(0.02) * original.std() * signal)
        if kind == "query":
            return scale * np.exp(shade / 2)
        if kind == "noise":
            return scale * np.exp(signal)
        return round(float(place))
