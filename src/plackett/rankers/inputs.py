"""Checks of the inputs of rankers: rows, qid, labels, weights, argument names."""

from __future__ import annotations

import contextlib
import functools
import os
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from plackett._lazy import importing
from plackett._warnings import without
from plackett.data.list_warnings import ONE_LIST, naming_columns, warn_of_lists, warn_of_one_list
from plackett.data.queries import Queries
from plackett.data.tables.coding import features_of
from plackett.data.tables.column_roles import warn_of_frame
from plackett.losses import get_loss
from plackett.losses.base import NOT_LINEAR
from plackett.rankers.columns import ROLES, columns_of_fit, is_local_frame, judged_by_names, values_of
from plackett.rankers.preparation import (
    align_categories,
    apply_preparation,
    fit_preparation,
    n_prepared,
    prepared_labels,
)
from plackett.validation import (
    as_csr,
    check_finite,
    check_index,
    check_labels,
    check_not_masked,
    check_numbers,
    count_of,
    is_sparse,
)

NAMES_DIFFER = "X (does not have valid|has) feature names"  # as scikit-learn warns
CHECKED = ("fit", "predict", "rank", "score", "explain")
_OTHER_NAMES = ("group", "groups", "group_id", "query_id")  # of LightGBM, XGBoost, CatBoost and scikit-learn


class QueryInputs(BaseEstimator):
    """An estimator whose rows belong to queries, and which checks them against the columns of ``fit``."""

    takes_loss_objects: ClassVar[bool] = False  # whether ``loss`` may be an object with its own parameters

    takes_missing: ClassVar[bool] = False  # whether NaN in X is learned as such
    takes_categories: ClassVar[bool] = False  # whether columns of ``Queries.categories`` are learned as such

    loss: Any
    feature_names_: list[str] | None
    n_features_in_: int
    first_index_: int | None = None  # models of earlier versions have none
    categories_: Any = None
    encoder_: Any = None
    imputer_: Any = None
    _id_for_one_list: ClassVar[str] = repr(ONE_LIST)  # as an error suggests it

    @property
    def depends_on_list(self) -> bool:
        """Whether the score of a document depends on the other documents of its list, so ``predict`` needs qid."""
        return self.imputer_ is not None and self.imputer_.depends_on_list

    def check(self, X: Any, y: Any = None, *, qid: Any = None, needs_labels: bool = False) -> Queries:
        """Return rows as this ranker takes them: checked against those of ``fit`` and grouped by query.

        Parameters
        ----------
        X, y, qid : as in ``score``
        needs_labels : bool, default=False
            Whether missing labels are an error; if False, labels are ignored.

        Returns
        -------
        Queries
            Its ``in_row_order`` puts values back into the order of the rows given. Categories have the codes of
            ``fit``; values that may be missing are NaN.
        """
        check_is_fitted(self)
        return self._check_queries(X, y, qid, needs_labels=needs_labels, is_prepared=False)

    def _check_queries(
        self,
        X: Any,
        y: Any,
        qid: Any,
        *,
        needs_labels: bool = True,
        reset: bool = False,
        is_prepared: bool = True,
    ) -> Queries:
        """Check outside arrays, group them by query and prepare them; ``reset`` in ``fit``, which learns the columns.

        Preparing rows encodes categories and fills missing values. ``row_order`` of the result restores the order in
        which the rows were given.
        """
        X = X if reset else columns_of_fit(self, X)
        given = X if isinstance(X, Queries) else None
        if given is not None:
            new_names, categories = given.feature_names, given.categories
            if y is not None or qid is not None:
                raise ValueError("X is a Queries, which has its labels and qid; pass neither y nor qid.")
            X, y = given.grouped.X, given.grouped.y
            if needs_labels and y is None:
                raise ValueError(
                    f"X is a Queries without labels, which {type(self).__name__} needs: Queries(X, y, qid)."
                )
        else:
            check_is_loaded(X, type(self).__name__)
            check_not_masked(X, "X")
            for name, values in (("y", y), ("qid", qid)):
                check_index(values, name, X)
            if qid is None and not reset:
                self._refuse_missing_qid()
            features, new_names, categories = features_of(X)
        if needs_labels and y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        is_frame = given is None and new_names is not None
        if reset and is_frame:
            warn_of_frame(X)
        is_compared = new_names is not None and getattr(self, "feature_names_", None) is not None  # below
        naming = naming_columns(X) if given is None else contextlib.nullcontext()
        with without(NAMES_DIFFER) if is_compared else contextlib.nullcontext(), naming:
            how: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "order": "C"}
            how["ensure_all_finite"] = False  # checked below, with the position in the message
            if is_frame:
                validate_data(self, X, reset=reset, skip_check_array=True)  # learns or compares the names
                rows = check_array(features, estimator=self, input_name="X", **how)
            else:
                rows = validate_data(self, as_csr(X) if is_sparse(X) else X, reset=reset, **how)
        names, first_index = self._names_of(given), None if given is None else given.first_index
        if reset:
            self.feature_names_, self.first_index_ = names, first_index
        numbers = None if given is None or given.is_grouped else given.row_order
        has_missing = check_finite(rows, names, first_index=first_index, row_numbers=numbers, allow_missing=True)
        if not reset:
            rows = align_categories(self, rows, categories, is_array=given is None and not is_frame)
            categories = self.categories_
        labels = check_labels(y, rows.shape[0], row_numbers=numbers) if needs_labels else None
        if given is not None:
            # measures may break ties by document, and those of diversity need the subtopics
            has_estimated_labels = needs_labels and given.has_estimated_labels
            queries = given.grouped.replace(
                X=rows, y=labels, has_estimated_labels=has_estimated_labels, feature_names=names, row_order=numbers,
                categories=categories,
            )  # fmt: skip
        else:
            queries = Queries(rows, labels, qid, feature_names=names).grouped
            if categories:
                queries = queries.replace(categories=categories)
        if reset and queries.has_estimated_labels and not self.takes_loss_objects:
            raise ValueError(f"{type(self).__name__} {NOT_LINEAR}")  # losses check it themselves
        if reset and needs_labels:
            warn_of_lists(queries.lists, has_qid=given is not None or qid is not None, is_pointwise=self._is_pointwise)
        if not is_prepared:
            return queries
        prepare = fit_preparation if reset else apply_preparation
        return prepare(self, queries, has_missing=has_missing)

    @property
    def _is_pointwise(self) -> bool:
        """Whether documents are learned one by one, so labels may be equal within queries."""
        return self.takes_loss_objects and get_loss(self.loss).is_pointwise

    def _refuse_missing_qid(self) -> None:
        """Raise an error for rows without qid if scores depend on the list."""
        n_queries = getattr(self, "n_queries_", 1)
        if n_queries > 1 and self.depends_on_list:
            raise ValueError(
                f"qid is missing. This {type(self).__name__} was fitted on {n_queries:,} queries and scores a document "
                f"by its list. Pass one id per row to predict, score and explain: predict(X, qid=qid). If all rows are "
                f"one list: predict(X, qid={self._id_for_one_list}). Pipelines pass qid on: "
                "pipeline.predict(X, qid=qid); so do searches: search.best_estimator_.predict(X, qid=qid)."
            )

    @property
    def feature_labels(self) -> list[str] | None:
        """Names of the columns that the model has: those of ``fit``, or their numbers in the file; None for arrays.

        A column of a category is called "brand=acme", and that of an indicator "price is missing".
        """
        return prepared_labels(self)

    @property
    def n_prepared(self) -> int:
        """Columns of X after categories were encoded and missing values filled, before ``normalize``."""
        return n_prepared(self)

    def _names_of(self, given: Queries | None) -> list[str] | None:
        if given is not None and given.feature_names is not None:
            return given.feature_names
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _check_eval_set(self, eval_set: Any) -> Queries | None:
        """Return checked validation queries; None without an ``eval_set``."""
        if eval_set is None:
            return None
        if isinstance(eval_set, Queries):
            return self._check_queries(eval_set, None, None)
        if not isinstance(eval_set, (tuple, list)) or len(eval_set) != 3:
            raise ValueError("eval_set must be a Queries or a tuple (X, y, qid).")
        X, y, qid = eval_set
        queries = self._check_queries(X, y, ONE_LIST if qid is None else qid)
        if qid is None:
            warn_of_one_list(queries.n_docs, "eval_set")
        return queries


def check_query_weights(sample_weight: Any, queries: Queries) -> np.ndarray | None:
    """Return one weight per query, from one per query or one per row; None if all are equal."""
    if sample_weight is None:
        return None
    weights = check_numbers(sample_weight, "sample_weight")
    if weights.size == queries.n_docs:
        rows = weights if queries.row_order is None else weights[queries.row_order]
        weights = rows[queries.indptr[:-1]]
        if (rows != np.repeat(weights, np.diff(queries.indptr))).any():
            raise ValueError("sample_weight differs within a query; a query is weighted as a whole.")
    elif weights.size != queries.n_queries:
        raise ValueError(
            f"sample_weight has {count_of(weights.size, 'value')}; one per query ({queries.n_queries:,}) or one "
            f"per row ({queries.n_docs:,}) is needed."
        )
    if weights.min() < 0 or weights.max() <= 0:
        raise ValueError("sample_weight must not be negative, and not all weights may be zero.")
    return weights / weights.max()  # their sum must not overflow


def check_argument_names(cls: type) -> None:
    """Wrap the methods of ``cls`` that take qid, to raise an error with advice for qid by position or other names."""
    for name in CHECKED:
        method = cls.__dict__.get(name)
        if isinstance(method, FunctionType):
            setattr(cls, name, _with_advice(method))


def _with_advice(method: FunctionType) -> Any:
    code, name = method.__code__, method.__name__
    by_place = code.co_varnames[1 : code.co_argcount]
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    call = f"{name}({', '.join(by_place)}, qid="

    def by_names(X: Any, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments where columns of a frame are given by name."""
        columns = {role: given.pop(role) for role in ROLES if role in given and role not in known}
        if name != "fit":
            if "label" in columns and "y" in known:
                given["y"] = columns.pop("label")
            named = {role: values_of(X, given[role]) for role in ("y", "qid", "docid") if role in given}
            return given | named | columns
        rest = given.get("y"), given.get("qid"), given.get("eval_set")
        given |= zip(("X", "y", "qid", "eval_set"), judged_by_names(X, *rest, columns), strict=True)
        return {role: value for role, value in given.items() if value is not None or role == "X"}

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        if len(args) > len(by_place) and "qid" in known:
            raise TypeError(f"{name} takes all but {' and '.join(by_place)} by name; for query ids: {call}qid).")
        for other in _OTHER_NAMES:
            if other in given and other not in known:
                raise TypeError(
                    f"{name} has no argument {other!r}. It takes one query id per row: {call}{other}). For sizes of "
                    f"queries: {call}np.repeat(np.arange(len(sizes)), sizes))."
                )
        X = args[0] if args else given.get("X")
        if name == "predict" and hasattr(X, "__dask_graph__") and hasattr(type(X), "to_delayed"):
            with importing:
                from plackett.distributed.scoring import dask_scores

            check_is_fitted(self)
            given.pop("X", None)
            return dask_scores(self, X, **given)
        if len(args) <= len(by_place) and (is_local_frame(X) or not known.issuperset(given)):
            return method(self, **by_names(X, given | dict(zip(by_place, args, strict=False))))
        return method(self, *args, **given)

    return checked


def check_is_loaded(X: Any, ranker: str) -> None:
    """Reject paths, lists of ``Queries`` and Dask collections as X; Dask is not imported."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    is_distributed = hasattr(first, "__dask_graph__") or type(first).__module__.partition(".")[0] == "distributed"
    if is_distributed or isinstance(first, (str, os.PathLike, Queries)):
        raise ValueError(
            f"X is a {type(X).__name__}{'' if first is X else f' of {type(first).__name__}'}, but {ranker} needs all "
            "rows in one place: read_parquet, read_table or read_letor for files, Queries.concat for parts, compute() "
            "for Dask. LinearRanker and TreeRanker fit data in parts."
        )
