"""Preparation of the columns for the model: encoding, filling and scaling, as in ``fit``.

Every step is called with rows and the bounds of their lists, and returns other rows; it never changes those given.
float32 stays float32, and results are those of the transformers bit by bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from plackett import _native
from plackett._lazy import importing
from plackett.scorers.models import frozen
from plackett.storage.models.array_checks import check_vector
from plackett.storage.models.registry import Part


class ColumnStep:
    """A step; by default it keeps the number of columns and treats each row independently."""

    depends_on_list = False

    def n_columns(self, n: int) -> int:
        """Return the number of columns after the step, from that before."""
        return n


@dataclass(frozen=True)
class OneHot(ColumnStep):
    """Codes of categories become columns of 0 and 1, as by ``OneHotCategories``."""

    columns: tuple[int, ...]
    n_names: tuple[int, ...]

    def n_columns(self, n: int) -> int:
        return n + sum(max(0, size - 1) for size in self.n_names)

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        n = X.shape[1]
        rows = np.zeros((X.shape[0], self.n_columns(n)), dtype=X.dtype)
        rows[:, :n] = X
        start = n
        for column, size in zip(self.columns, self.n_names, strict=True):
            codes = X[:, column]
            rows[:, column] = (codes == 0) if size else 0
            for code in range(1, size):
                rows[:, start + code - 1] = codes == code
            start += max(0, size - 1)
        return rows


@dataclass(frozen=True)
class TargetMeans(ColumnStep):
    """Codes of categories become means of labels, as by ``TargetCategories``; the last mean is that of other codes."""

    columns: tuple[int, ...]
    means: tuple[np.ndarray, ...]

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        rows = np.array(X)
        for column, means in zip(self.columns, self.means, strict=True):
            codes, n = X[:, column], means.size - 1
            is_known = (codes >= 0) & (codes < n) & (codes == np.floor(codes))
            rows[:, column] = means[np.where(is_known, codes, n).astype(np.int64)]
        return rows


@dataclass(frozen=True)
class Fill(ColumnStep):
    """Missing values become numbers, and indicators are appended, as by ``MissingValues``."""

    fill: np.ndarray
    indicated: np.ndarray
    depends_on_list: bool

    def n_columns(self, n: int) -> int:
        return n + self.indicated.size

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        is_missing = np.isnan(X)
        if self.depends_on_list:
            filled = np.array(X, order="C")
            _native.data.fill_query_medians(filled, indptr, 0, indptr.size - 1, self.fill)
        else:
            filled = np.where(is_missing, self.fill.astype(X.dtype), X)
        if not self.indicated.size:
            return filled
        return np.hstack([filled, is_missing[:, self.indicated].astype(X.dtype)])


@dataclass(frozen=True)
class ScaleLists(ColumnStep):
    """Columns are scaled within each list, as by a ``QueryNormalizer``, whose kernel is named."""

    kernel: str

    depends_on_list = True

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        scaled = np.zeros_like(X)
        getattr(_native.data, self.kernel)(X, np.arange(X.shape[0]), indptr, 0, indptr.size - 1, scaled)
        return scaled


@dataclass(frozen=True)
class Scale(ColumnStep):
    """Columns are changed by functions of NumPy with learned numbers, one after the other.

    A ``StandardScaler`` rounds its numbers to the precision of the rows (``is_rounded``).
    """

    functions: tuple[tuple[Any, ...], ...]
    is_rounded: bool = False

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        rows = np.array(X)
        for function, *numbers in self.functions:
            if self.is_rounded:
                numbers = [number.astype(rows.dtype) for number in numbers]
            function(rows, *numbers, out=rows)
        return rows


@dataclass(frozen=True)
class ScaleByScikitLearn(ColumnStep):
    """Columns are scaled by a scaler of scikit-learn that is not written again here."""

    scaler: Any

    def __call__(self, X: np.ndarray, indptr: np.ndarray) -> np.ndarray:
        return self.scaler.transform(X)


class NotScored(ValueError):
    """A ranker, or a part of it, that has no scorer."""


LIST_KERNELS = {
    "QueryMinMax": "min_max",
    "QueryZScore": "z_score",
    "QueryUnitLength": "unit_length",
    "QueryRank": "rank",
}


def encoder_step(part: Part, n: int) -> OneHot | TargetMeans:
    """Return the step of an encoder of categories over ``n`` columns."""
    state = SimpleNamespace(**part.state)
    check_vector(state, "columns_", np.int64)
    columns = tuple(state.columns_.tolist())
    sizes = tuple(len(names) for names in state.names_)
    _require(len(sizes) == len(columns) and all(0 <= column < n for column in columns), "columns_ and names_ differ.")
    if part.class_name == "plackett.data.OneHotCategories":
        return OneHot(columns, sizes)
    if part.class_name != "plackett.data.TargetCategories":
        raise NotScored(f"its categories are encoded by {part.kind}, which is not one of this library")
    _require(tuple(len(means) for means in state.means_) == sizes, "means_ and names_ differ.")
    tables = tuple(
        frozen(np.append(np.asarray(means, dtype=np.float64), float(state.prior_))) for means in state.means_
    )
    _require(all(np.isfinite(table).all() for table in tables), "means_ must be finite.")
    return TargetMeans(columns, tables)


def imputer_step(part: Part, n: int) -> Fill:
    """Return the step that fills missing values of ``n`` columns."""
    if part.state.get("transformer_") is not None:
        raise NotScored("its missing values are filled by a transformer of another package")
    state = SimpleNamespace(**part.state)
    check_vector(state, "fill_", size=n)
    check_vector(state, "indicated_", np.int64)
    _require(bool(((state.indicated_ >= 0) & (state.indicated_ < n)).all()), "indicated_ must be columns.")
    return Fill(frozen(state.fill_), frozen(state.indicated_), part.params["rule"] == "query-median")


def normalizer_step(part: Part, n: int) -> Any:
    """Return the step of a normalizer over ``n`` columns."""
    room, _, kind = part.class_name.rpartition(".")
    if room == "plackett.data" and kind in LIST_KERNELS:
        return ScaleLists(LIST_KERNELS[kind])
    state, params = part.state, part.params

    def numbers(name: str) -> np.ndarray:
        check_vector(SimpleNamespace(**state), name, state[name].dtype, n)
        return frozen(state[name])

    if part.class_name == "sklearn.StandardScaler":
        moved = ((np.subtract, numbers("mean_")),) if params["with_mean"] else ()
        return Scale(moved + (((np.divide, numbers("scale_")),) if params["with_std"] else ()), is_rounded=True)
    if part.class_name == "sklearn.MaxAbsScaler":
        return Scale(((np.divide, numbers("scale_")), *([(np.clip, -1.0, 1.0)] if params.get("clip") else [])))
    if part.class_name == "sklearn.MinMaxScaler":
        limits = [(np.clip, *params["feature_range"])] if params["clip"] else []
        return Scale(((np.multiply, numbers("scale_")), (np.add, numbers("min_")), *limits))
    if part.class_name in ("sklearn.RobustScaler", "sklearn.QuantileTransformer"):
        with importing:
            from plackett.storage.models.sklearn_estimators import remade

        scaler = remade(kind, params, state)
        _require(scaler.n_features_in_ == n, f"normalizer_ must be fitted to {n} columns.")
        return ScaleByScikitLearn(scaler)
    raise NotScored(f"its columns are scaled by {kind}, which needs {room.partition('.')[0] or 'another package'}")


def _require(is_good: bool, message: str) -> None:
    if not is_good:
        raise ValueError(message)
