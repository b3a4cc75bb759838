"""Synthetic data: web-like graded lists, simulations of query-dependent ranking, and example rankings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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


@dataclass(frozen=True)
class QueryDependentData:
    """Simulated data in which each query, or group of queries, has its own scoring function.

    Attributes
    ----------
    queries : Queries
        All documents; labels are ranks 1..N within the query, N the best.
    query_features : ndarray of shape (n_queries, b)
        Features of the queries: their true coefficients, with noise.
    coef : ndarray of shape (n_queries, b)
        The true coefficients of each query.
    scores : ndarray of shape (n_docs,)
        The true scores; the labels are their ranks.
    group : ndarray of shape (n_queries,)
        Queries with equal numbers share their coefficients.
    held_out : ndarray of bool, shape (n_queries,)
        Queries whose documents are all in the test set.
    train, validation, test : ndarray of bool, shape (n_docs,)
        The split; each document is in one of them.

    Examples
    --------
    >>> import plackett as pk
    >>> data = pk.datasets.make_query_dependent(2, "II")
    >>> data.queries.n_queries, data.coef.shape, data.group[:4]
    (40, (40, 4), array([0, 0, 0, 0]))
    """

    queries: Queries
    query_features: np.ndarray
    coef: np.ndarray
    scores: np.ndarray
    group: np.ndarray
    held_out: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


SCENARIOS = {"I": 1, "II": 2, "III": 4, "IV": 0}  # number of groups of queries; 0: one per query
EXAMPLES = {1: (50, 40), 2: (30, 4)}  # documents per query, features
VARIANCE = 0.1  # of the features, and of the coefficients around their pattern
TRAIN_SHARE = VALIDATION_SHARE = 0.2


def make_query_dependent(
    example: int = 1,
    scenario: str = "I",
    *,
    gamma: float = 0.0,
    noise: float = 0.1,
    dependent: bool = False,
    n_queries: int = 40,
    docs_per_query: int | None = None,
    n_features: int | None = None,
    random_state: RandomState = 0,
) -> QueryDependentData:
    """Return simulated data for query-dependent ranking: queries with their own scoring functions and features.

    Features are ``x ~ N(0, 0.1 I)``, the true score is ``x · beta`` in Example 1 and ``Σ_c beta_c s_c(x_c)`` in
    Example 2, labels are ranks of the true score, and query features are ``beta + noise * N(0, I)``. One draw
    ``beta = pattern + N(0, 0.1 I)`` serves a whole group of queries. Patterns: all ones (Scenario I); ones in the first
    or second half (II: two groups); ones in one of the four quarters (III: four groups). In Scenario IV every query has
    its own ``beta ~ N(0, I)``. (The paper prints ``N(1, 0.1 I)``, but its results require mean 0.)

    Parameters
    ----------
    example : {1, 2}, default=1
        1: linear, 50 documents per query, 40 features. 2: nonlinear, 30 documents per query, 4 features.
    scenario : {"I", "II", "III", "IV"}, default="I"
    gamma : float, default=0
        Share of the queries that are held out: all their documents are in the test set. Documents of the others are
        split into training, validation and test, 20 : 20 : 60, at random within each query.
    noise : float, default=0.1
        Standard deviation of the query features around the coefficients.
    dependent : bool, default=False
        Whether the documents of a query depend on each other: ``x_ij = e_i + e_ij``, both ``N(0, 0.1 I)``.
    n_queries : int, default=40
    docs_per_query, n_features : int, default=None
        None means the values of the example. Example 2 has four features; Scenarios II and III need a multiple of 2
        and 4.
    random_state : int, Generator or None, default=0

    Examples
    --------
    >>> from plackett import datasets
    >>> data = datasets.make_query_dependent(1, "II", gamma=0.1)
    >>> data.queries
    Queries(40 queries, 2,000 documents, 40 features, labels 1..50)
    >>> data.query_features.shape, int(data.held_out.sum()), int(data.train.sum())
    ((40, 40), 4, 360)
    """
    check_choice(example, "example", list(EXAMPLES))
    check_choice(scenario, "scenario", list(SCENARIOS))
    check_positive_int(n_queries, "n_queries")
    n_docs = check_positive_int(EXAMPLES[example][0] if docs_per_query is None else docs_per_query, "docs_per_query")
    n_columns = _check_columns(example, scenario, EXAMPLES[example][1] if n_features is None else n_features)
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma={gamma!r}; it must be a share of the queries, from 0 to 1.")
    if not noise >= 0:
        raise ValueError(f"noise={noise!r}; it must be at least 0.")
    rng = np.random.default_rng(random_state)
    group = np.arange(n_queries) * (SCENARIOS[scenario] or n_queries) // n_queries
    coef = _coefficients(scenario, n_columns, group, rng)
    X = rng.normal(0.0, np.sqrt(VARIANCE), (n_queries, n_docs, n_columns))
    if dependent:
        X += rng.normal(0.0, np.sqrt(VARIANCE), (n_queries, 1, n_columns))
    shown = X if example == 1 else _curves(X)
    scores = (shown * coef[:, None, :]).sum(axis=2)
    labels = scores.argsort(axis=1).argsort(axis=1) + 1.0
    query_features = coef + noise * rng.standard_normal((n_queries, n_columns))
    held_out = np.zeros(n_queries, dtype=bool)
    held_out[rng.permutation(n_queries)[: round(gamma * n_queries)]] = True
    train, validation, test = _split(held_out, n_docs, rng)
    indptr = np.arange(n_queries + 1, dtype=np.int64) * n_docs
    queries = Queries.from_groups(X.reshape(-1, n_columns), labels.reshape(-1), np.arange(1, n_queries + 1), indptr)
    return QueryDependentData(
        queries, query_features, coef, scores.reshape(-1), group, held_out, train, validation, test
    )


def _check_columns(example: int, scenario: str, n_features: int) -> int:
    check_positive_int(n_features, "n_features")
    if example == 2 and n_features != 4:
        raise ValueError(f"n_features={n_features}; Example 2 needs four features, one per scoring curve.")
    n_groups = SCENARIOS[scenario] or 1
    if n_features % n_groups:
        raise ValueError(f"n_features={n_features}; Scenario {scenario} needs a multiple of {n_groups}.")
    return n_features


def _coefficients(scenario: str, n_columns: int, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n_groups = int(group[-1]) + 1
    if scenario == "IV":
        return rng.standard_normal((n_groups, n_columns))[group]
    pattern = np.repeat(np.eye(SCENARIOS[scenario]), n_columns // SCENARIOS[scenario], axis=1)
    drawn = pattern + rng.normal(0.0, np.sqrt(VARIANCE), pattern.shape)
    return drawn[group]


def _curves(X: np.ndarray) -> np.ndarray:
    """Return the scoring curves s1..s4 of Example 2, each of its own column."""
    u1, u2, u3, u4 = np.moveaxis(X, -1, 0)
    sine, cosine = np.sin(np.pi * u4), np.cos(np.pi * u4)
    s2 = (2.0 * u2 - 1.0) ** 2
    s3 = np.sin(np.pi * u3) / (2.0 - np.sin(np.pi * u3))
    s4 = 0.1 * sine + 0.2 * cosine + 0.3 * sine**2 + 0.4 * cosine**3 + 0.5 * sine**3
    return np.stack([u1, s2, s3, s4], axis=-1)


def _split(held_out: np.ndarray, n_docs: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    place = rng.random((held_out.size, n_docs)).argsort(axis=1).argsort(axis=1)  # a random order within each query
    n_train, n_validation = round(TRAIN_SHARE * n_docs), round(VALIDATION_SHARE * n_docs)
    seen = ~held_out[:, None]
    train = seen & (place < n_train)
    validation = seen & (place >= n_train) & (place < n_train + n_validation)
    return train.reshape(-1), validation.reshape(-1), ~(train | validation).reshape(-1)


def make_rankings(queries: Queries, *, noise: float = 1.0, random_state: RandomState = 0) -> dict[str, np.ndarray]:
    """Return the scores of three untrained rankers: random, noisy and perfect.

    Parameters
    ----------
    queries : Queries
    noise : float, default=1
        Standard deviation of the noise added to the labels for ``"noisy"``.
    random_state : int, Generator or None, default=0

    Returns
    -------
    dict of str to ndarray of shape (n_docs,)
        ``"random"`` scores are uniform, ``"perfect"`` ones are the labels, ``"noisy"`` ones the labels plus noise.

    Examples
    --------
    >>> from plackett import Queries
    >>> from plackett import datasets
    >>> rankings = datasets.make_rankings(Queries([[0.1], [0.2]], y=[0, 1], qid=[7, 7]))
    >>> list(rankings), rankings["perfect"]
    (['random', 'noisy', 'perfect'], array([0., 1.]))
    """
    rng = np.random.default_rng(random_state)
    labels = queries.labels
    return {
        "random": rng.random(labels.size),
        "noisy": labels + noise * rng.standard_normal(labels.size),
        "perfect": labels.copy(),
    }
