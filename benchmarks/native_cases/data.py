"""Reading and writing LETOR text, scaling within queries, document names, the check of CSR matrices."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache

import numpy as np

import plackett as pk
from plackett.data.docids import docids_of_comments
from plackett.data.preprocessing.scaling import get_normalizer
from plackett.validation import check_csr

N_DOCS, N_FEATURES = 20_000, 136


@cache
def _queries() -> pk.Queries:
    """Return counts, lengths, ratios and scores as in MSLR-WEB, many of them 0, and a comment on each row."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, 12.0, size=(N_DOCS, N_FEATURES))
    kind = rng.integers(0, 4, size=N_FEATURES)
    X[:, kind == 0] = (X[:, kind == 0] / 6).round()
    X[:, kind == 1] = (X[:, kind == 1] * 5).round()
    X[:, kind == 2] = (X[:, kind == 2] / 40).round(6) * (rng.random((N_DOCS, (kind == 2).sum())) < 0.6)
    X[:, kind == 3] = (X[:, kind == 3] - 12).round(6)
    names = [f"docid = GX{k % 273:03d}-{k * 7919 % 100:02d} inc = 1 prob = 0.25" for k in range(N_DOCS)]
    return pk.Queries(X, rng.integers(0, 5, N_DOCS), np.arange(N_DOCS) // 100, comments=names)


def _text(*, times: int = 1, zeros: bool = True, noise: float = 0.0) -> bytes:
    queries, target = _queries(), io.BytesIO()
    X = queries.X + noise * np.random.default_rng(1).normal(size=queries.X.shape)
    for k in range(times):
        qid = queries.qid + k * queries.n_queries
        pk.write_letor(pk.Queries(X, queries.y, qid, comments=queries.comments), target, zeros=zeros)
    return target.getvalue()


def _reading(text: Callable[[], bytes], **options: object) -> Callable[[], Callable[[], object]]:
    def set_up() -> Callable[[], object]:
        rows = text()
        return lambda: pk.read_letor(io.BytesIO(rows), **options)  # type: ignore[arg-type]

    return set_up


def _writing(dtype: type) -> Callable[[], Callable[[], object]]:
    def set_up() -> Callable[[], object]:
        given = _queries()
        queries = pk.Queries(given.X.astype(dtype), given.y, given.qid, comments=given.comments)
        return lambda: pk.write_letor(queries, io.BytesIO())

    return set_up


def _scaling(name: str, dtype: type, *, sparse: bool = False) -> Callable[[], Callable[[], object]]:
    def set_up() -> Callable[[], object]:
        from scipy.sparse import csr_matrix

        queries = _queries()
        X = queries.X.astype(dtype)
        rows = csr_matrix(X) if sparse else X
        return lambda: get_normalizer(name).fit_transform(rows, qid=queries.qid)

    return set_up


def _checking() -> Callable[[], object]:
    from scipy.sparse import csr_matrix

    X = csr_matrix(np.tile(_queries().X, (5, 1)))
    return lambda: check_csr(X)


def _naming() -> Callable[[], object]:
    comments = _queries().comments
    return lambda: docids_of_comments(comments)


CASES: dict[str, Callable[[], Callable[[], object]]] = {
    # several times as long as a chunk: a shorter text would measure the memory allocator
    "read LETOR, float32": _reading(lambda: _text(times=4)),
    "read LETOR, float64": _reading(lambda: _text(times=4), dtype=np.float64),
    "read LETOR, float64, 16 digits": _reading(lambda: _text(noise=1.0), dtype=np.float64),
    "read LETOR, without zeros": _reading(lambda: _text(times=4, zeros=False)),
    "read LETOR, CSR": _reading(lambda: _text(zeros=False), sparse=True),
    "write LETOR, float32": _writing(np.float32),
    "write LETOR, float64": _writing(np.float64),
    **{
        f"{name}, {dtype.__name__}": _scaling(name, dtype)
        for name in ("query-minmax", "query-zscore", "query-unit", "query-rank")
        for dtype in (np.float32, np.float64)
    },
    "query-unit, CSR": _scaling("query-unit", np.float64, sparse=True),
    "document names": _naming,
    "check of a CSR matrix": _checking,
}
