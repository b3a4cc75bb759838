"""Simulated data of dai2019, in which each query, or group of queries, has its own scoring function."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plackett.data.datasets.synthetic import RandomState
from plackett.data.queries import Queries
from plackett.validation import check_choice

SCENARIOS = {"I": 1, "II": 2, "III": 4, "IV": 0}  # number of groups of queries; 0: one per query
EXAMPLES = {1: (50, 40), 2: (30, 4)}  # documents per query, features
VARIANCE = 0.1  # of the features, and of the coefficients around their pattern
TRAIN_SHARE = VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class QueryDependentData:
    """Simulated data in which each query, or group of queries, has its own scoring function."""

    queries: Queries  # labels are ranks 1..N within the query, N the best
    query_features: np.ndarray  # queries × features: their true coefficients, with noise
    coef: np.ndarray  # queries × features: the true coefficients
    scores: np.ndarray  # the true scores of the documents; the labels are their ranks
    group: np.ndarray  # queries with equal numbers share their coefficients
    held_out: np.ndarray  # whether all documents of a query are in the test set
    train: np.ndarray  # whether a document is in this part of the split; each is in one
    validation: np.ndarray
    test: np.ndarray


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

    Example 1 has 50 documents per query and 40 features, of which Scenarios II and III need a multiple of 2 and 4;
    Example 2 has 30 documents and 4 features. ``gamma`` is the share of the queries whose documents are all in the test
    set; those of the others are split into training, validation and test, 20 : 20 : 60, at random within each query.
    ``noise`` is the standard deviation of the query features around the coefficients. Documents of a query that are
    ``dependent`` are ``x_ij = e_i + e_ij``, both ``N(0, 0.1 I)``.

    Examples
    --------
    >>> from plackett.reproductions.qsvm.draws import make_query_dependent
    >>> data = make_query_dependent(1, "II", gamma=0.1)
    >>> data.queries
    Queries(40 queries, 2,000 documents, 40 features, labels 1..50)
    >>> data.query_features.shape, int(data.held_out.sum()), int(data.train.sum())
    ((40, 40), 4, 360)
    """
    check_choice(example, "example", list(EXAMPLES))
    check_choice(scenario, "scenario", list(SCENARIOS))
    n_docs = EXAMPLES[example][0] if docs_per_query is None else docs_per_query
    n_columns = EXAMPLES[example][1] if n_features is None else n_features
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
