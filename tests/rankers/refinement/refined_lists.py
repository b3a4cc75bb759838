"""Lists with base scores and a few judgements, and the refiners that they are given to."""

import numpy as np

import plackett as pk
from plackett.rankers.refinement.boosted import LinearRefiner, MultiplicativeRefiner
from plackett.rankers.refinement.rocchio import RocchioRefiner

REFINERS = [MultiplicativeRefiner(n_rounds=12), LinearRefiner(gamma=0.7, n_rounds=12), RocchioRefiner()]

BOOSTED = REFINERS[:2]

of_class = {"ids": lambda refiner: type(refiner).__name__}


def make_list(seed, n=17, n_features=4, n_judged=6, n_levels=3):
    """Features (whole numbers, so that there are ties), base scores, labels of the first by base score."""
    draws = np.random.default_rng(seed)
    X = np.column_stack([draws.integers(0, 6, size=(n, n_features - 1)), draws.normal(size=n)]).astype(float)
    base = X[:, 0] + draws.normal(size=n)
    y = np.full(n, np.nan)
    judged = np.argsort(-base)[:n_judged]
    y[judged] = draws.integers(0, n_levels, size=judged.size)
    return X, base, y


def make_queries(n_queries=5, seed=0):
    """Several lists, their rows mixed."""
    draws = np.random.default_rng(seed)
    lists = [make_list(seed + 10 * q, n=int(draws.integers(3, 25))) for q in range(n_queries)]
    qid = np.concatenate([[f"q{q}"] * len(one[1]) for q, one in enumerate(lists)])
    X, base, y = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    mixed = draws.permutation(qid.size)
    return X[mixed], base[mixed], y[mixed], qid[mixed]


def make_named_queries():
    """Six lists with names of documents and features."""
    made = pk.datasets.make_web_like(6, n_features=5, random_state=0)
    names = [f"d{place}" for place in range(made.n_docs)]
    return pk.Queries(made.X, made.y, made.qid, docid=names, feature_names=["bm25", "title", "url", "age", "rank"])


def judge_first_three(queries):
    """The labels of each query's first three documents, NaN for the others."""
    places = np.arange(queries.n_docs) - np.repeat(queries.indptr[:-1], np.diff(queries.indptr))
    return np.where(places < 3, queries.y, np.nan)
