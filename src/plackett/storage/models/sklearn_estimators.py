"""Transformers and classifiers of scikit-learn in model files: which are supported, and the checks of each.

A file names the class, its parameters and what it learned, as arrays. Compiled code of scikit-learn trusts the private
state of a fitted object, so no private state is read from a file: shapes and ranges of what was learned are checked
here, and scikit-learn derives everything else from it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

import numpy as np

from plackett._lazy import importing
from plackett._warnings import recorded
from plackett.validation import check_number

ADVICE = "Transform the data with it before fit and predict, and leave it out of the model."


@dataclass(frozen=True)
class Numbers:
    """An array of finite numbers; a letter in ``shape`` is a length that all arrays of an object share, n the columns.

    ``kinds`` are those of ``dtype.kind``, ``above`` and ``most`` bounds of the values; with ``is_rising`` they must not
    decrease along the first axis. Without the parameter ``needed_by`` it may be None.
    """

    shape: tuple[str | int, ...] = ("n",)
    kinds: str = "f"
    above: float = -np.inf
    most: float = np.inf
    is_rising: bool = False
    may_be_nan: bool = False
    needed_by: str | None = None

    def check(self, value: Any, name: str, lengths: dict[str, int], params: Mapping[str, Any]) -> None:
        if value is None and self.needed_by is not None and not params.get(self.needed_by, True):
            return
        is_array = type(value) is np.ndarray and value.dtype.kind in self.kinds and value.dtype.isnative
        if not is_array or value.dtype.itemsize not in (4, 8) or value.ndim != len(self.shape):
            raise ValueError(f"{name} must be an array of numbers with {len(self.shape)} dimensions")
        for length, wanted in zip(value.shape, self.shape, strict=True):
            known = wanted if isinstance(wanted, int) else lengths.setdefault(wanted, length)
            if length != known:
                raise ValueError(f"{name} has shape {value.shape}, which does not match the others")
        if not (np.isfinite(value) | (np.isnan(value) & self.may_be_nan)).all():
            raise ValueError(f"{name} must be finite")
        if (value <= self.above).any() or (value > self.most).any():
            raise ValueError(f"{name} must be above {self.above:g} and at most {self.most:g}")
        if self.is_rising and (value[1:] < value[:-1]).any():
            raise ValueError(f"{name} must not decrease")


@dataclass(frozen=True)
class Categories:
    """One array of strictly increasing numbers for each column."""

    def check(self, value: Any, name: str, lengths: dict[str, int], params: Mapping[str, Any]) -> None:
        if type(value) is not list or len(value) != lengths["n"]:
            raise ValueError(f"{name} must be a list with one array for each column")
        for place, column in enumerate(value):
            Numbers(("one",)).check(column, f"{name}[{place}]", {}, params)
            if not column.size or (column[1:] <= column[:-1]).any():
                raise ValueError(f"{name}[{place}] must be strictly increasing")


@dataclass(frozen=True)
class Count:
    """A whole number, or one for each column: how many rows were seen."""

    is_length_of: str = ""

    def check(self, value: Any, name: str, lengths: dict[str, int], params: Mapping[str, Any]) -> None:
        if self.is_length_of:
            if type(value) is not int or value != lengths[self.is_length_of]:
                raise ValueError(f"{name} must be the number of values")
        elif isinstance(value, np.ndarray):
            Numbers(kinds="iuf", above=-1).check(value, name, lengths, params)
        elif isinstance(value, bool) or not isinstance(value, (int, np.integer, np.floating)) or not value >= 0:
            raise ValueError(f"{name} must be a number of rows")


@dataclass(frozen=True)
class Part:
    """Another object of this table, fitted; None without the parameter ``needed_by``."""

    class_name: str
    needed_by: str

    def check(self, value: Any, name: str, lengths: dict[str, int], params: Mapping[str, Any]) -> None:
        if value is None and not params.get(self.needed_by, True):
            return
        if type(value) is not _class(self.class_name) or getattr(value, "n_features_in_", None) != lengths["n"]:
            raise ValueError(f"{name} must be a {self.class_name} with as many columns")


@dataclass(frozen=True)
class Kept:
    """How objects of a class are stored: its module, and a check of each thing that was learned.

    Parameters in ``only`` must have this value; ``range_of`` must be two rising numbers, which scikit-learn checks only
    in ``fit``. ``remake`` takes the object with its parameters and the state, and fits it; by default attributes are
    set. ``changes_columns`` is whether it may return another number of columns than it takes.
    """

    module: str
    state: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, Any] = field(default_factory=dict)
    range_of: str | None = None
    remake: Callable[[Any, dict[str, Any]], None] | None = None
    changes_columns: bool = False


def _remake_encoder(encoder: Any, state: dict[str, Any]) -> None:
    """Fit an encoder to the categories of the file; the row is one that it accepts."""
    wanted, encoder.categories = encoder.categories, state["categories_"]
    encoder.fit(np.array([[column[0] for column in state["categories_"]]]))
    encoder.categories = wanted


def _remake_imputer(imputer: Any, state: dict[str, Any]) -> None:
    statistics = state["statistics_"]
    present = 2.0 if imputer.missing_values == 1 else 1.0
    imputer.fit(np.full((1, statistics.size), present, dtype=statistics.dtype))
    imputer.statistics_ = statistics


_VECTOR, _SCALE = Numbers(), Numbers(above=0.0)
_CLASSES = Numbers((2,), "i", is_rising=True)
_LINEAR = {"classes_": _CLASSES, "coef_": Numbers((1, "n")), "intercept_": Numbers((1,))}
_OF_CLASSES = Numbers((2, "n"))
_ALL_CATEGORIES = {"min_frequency": None, "max_categories": None}

KEPT: dict[str, Kept] = {
    "StandardScaler": Kept(
        "sklearn.preprocessing",
        {
            "mean_": Numbers(needed_by="with_mean"),
            "var_": Numbers(needed_by="with_std"),
            "scale_": Numbers(above=0.0, needed_by="with_std"),
            "n_samples_seen_": Count(),
        },
    ),
    "MinMaxScaler": Kept(
        "sklearn.preprocessing",
        {
            **dict.fromkeys(("min_", "data_min_", "data_max_", "data_range_"), _VECTOR),
            "scale_": _SCALE,
            "n_samples_seen_": Count(),
        },
        range_of="feature_range",
    ),
    "MaxAbsScaler": Kept("sklearn.preprocessing", {"max_abs_": _VECTOR, "scale_": _SCALE, "n_samples_seen_": Count()}),
    "RobustScaler": Kept(
        "sklearn.preprocessing",
        {"center_": Numbers(needed_by="with_centering"), "scale_": Numbers(above=0.0, needed_by="with_scaling")},
        range_of="quantile_range",
    ),
    "QuantileTransformer": Kept(
        "sklearn.preprocessing",
        {
            "quantiles_": Numbers(("q", "n"), is_rising=True),
            "references_": Numbers(("q",), above=-1e-300, most=1.0, is_rising=True),
            "n_quantiles_": Count(is_length_of="q"),
        },
    ),
    "PowerTransformer": Kept(
        "sklearn.preprocessing", {"lambdas_": _VECTOR, "_scaler": Part("StandardScaler", "standardize")}
    ),
    "OneHotEncoder": Kept(
        "sklearn.preprocessing",
        {"categories_": Categories()},
        only=_ALL_CATEGORIES,
        remake=_remake_encoder,
        changes_columns=True,
    ),
    "OrdinalEncoder": Kept(
        "sklearn.preprocessing", {"categories_": Categories()}, only=_ALL_CATEGORIES, remake=_remake_encoder
    ),
    "SimpleImputer": Kept(
        "sklearn.impute",
        {"statistics_": Numbers(may_be_nan=True)},
        only={"add_indicator": False},
        remake=_remake_imputer,
        changes_columns=True,
    ),
    "Pipeline": Kept("sklearn.pipeline", only={"memory": None}, changes_columns=True),
    "LogisticRegression": Kept("sklearn.linear_model", _LINEAR),
    "Perceptron": Kept("sklearn.linear_model", _LINEAR),
    "SGDClassifier": Kept("sklearn.linear_model", _LINEAR),
    "LinearSVC": Kept("sklearn.svm", _LINEAR),
    "GaussianNB": Kept(
        "sklearn.naive_bayes",
        {
            "classes_": _CLASSES,
            "theta_": _OF_CLASSES,
            "var_": Numbers((2, "n"), above=0.0),
            "class_prior_": Numbers((2,), above=0.0, most=1.0),
        },
    ),
    "BernoulliNB": Kept(
        "sklearn.naive_bayes",
        {"classes_": _CLASSES, "feature_log_prob_": _OF_CLASSES, "class_log_prior_": Numbers((2,))},
    ),
}


def is_sklearn(value: Any) -> bool:
    """Return whether a value is an estimator of scikit-learn."""
    return type(value).__module__.split(".")[0] == "sklearn" and hasattr(value, "get_params")


def state_of(value: Any) -> dict[str, Any]:
    """Return what an estimator of scikit-learn has learned, checked; empty if it is not fitted.

    Raises a ValueError with the reason if it cannot be stored.
    """
    name = type(value).__name__
    kept = KEPT.get(name)
    if kept is None or type(value) is not _class(name):
        raise ValueError(f"plackett cannot check a loaded {name}")
    params = value.get_params(deep=False)
    _check_params(name, kept, params)
    if name == "Pipeline" or "n_features_in_" not in vars(value):
        return {}
    state = {key: vars(value).get(key) for key in kept.state}
    state["n_features_in_"] = value.n_features_in_
    if "feature_names_in_" in vars(value):
        state["feature_names_in_"] = value.feature_names_in_
    if name == "SimpleImputer" and np.asarray(state["statistics_"]).dtype.kind == "O":
        state["statistics_"] = state["statistics_"].astype(np.float64)  # strategy="constant" leaves objects
    _check_state(kept, state, params)
    return state


def remade(name: str, params: dict[str, Any], state: dict[str, Any]) -> Any:
    """Return the estimator that a file describes; an error if it is not the result of a fit of scikit-learn."""
    kept, cls = KEPT.get(name), _class(name) if name in KEPT else None
    if kept is None or cls is None:
        raise ValueError(f"{name!r} is not an estimator of scikit-learn that models can hold")
    unknown = set(params) - set(signature(cls).parameters)
    if unknown:
        raise ValueError(f"{name} has no parameter {sorted(unknown)[0]!r}")
    _check_params(name, kept, params)
    answer = cls(**params)
    answer._validate_params()
    if not state:
        return answer
    wanted = {*kept.state, "n_features_in_"}
    if not wanted <= set(state) <= {*wanted, "feature_names_in_"}:
        raise ValueError(f"a {name} must hold {', '.join(sorted(wanted))}")
    _check_state(kept, state, answer.get_params(deep=False))
    if kept.remake is None:
        for key in kept.state:
            if state[key] is not None or not key.startswith("_"):
                setattr(answer, key, state[key])
    else:
        with recorded():
            kept.remake(answer, state)
    answer.n_features_in_ = state["n_features_in_"]
    if "feature_names_in_" in state:
        answer.feature_names_in_ = state["feature_names_in_"]
    return answer


def n_columns_of(transformer: Any) -> int:
    """Return how many columns a fitted transformer of this table returns."""
    kept = KEPT.get(type(transformer).__name__)
    if kept is not None and kept.changes_columns:
        return len(transformer.get_feature_names_out())
    return transformer.n_features_in_


def _check_params(name: str, kept: Kept, params: dict[str, Any]) -> None:
    for key, value in kept.only.items():
        if params.get(key, value) != value:
            raise ValueError(f"a {name} can be saved only with {key}={value!r}")
    if kept.range_of in params:
        low, high = (check_number(bound, kept.range_of) for bound in params[kept.range_of])
        if low >= high:
            raise ValueError(f"{kept.range_of} must be increasing")
    if "dtype" in params and np.dtype(params["dtype"]).kind not in "iufb":
        raise ValueError(f"a {name} can be saved only with a numeric dtype")
    if name != "Pipeline":
        return
    steps = params.get("steps")
    if type(steps) is not list or not steps or not all(type(step) is tuple and len(step) == 2 for step in steps):
        raise ValueError("the steps of a Pipeline must be pairs of a name and an estimator")
    names = [step[0] for step in steps]
    if not all(type(one) is str and "__" not in one for one in names) or len({*names}) < len(names):
        raise ValueError("the steps of a Pipeline must have different names")
    for key, step in steps:
        if step is not None and step != "passthrough" and not is_sklearn(step):
            raise ValueError(f"step {key!r} of the Pipeline is not an estimator of scikit-learn")


def _check_state(kept: Kept, state: dict[str, Any], params: Mapping[str, Any]) -> None:
    n_features, names = state["n_features_in_"], state.get("feature_names_in_")
    if type(n_features) is not int or n_features < 0:
        raise ValueError("n_features_in_ must be the number of columns")
    lengths = {"n": n_features}
    for key, check in kept.state.items():
        check.check(state[key], key, lengths, params)
    if names is not None:
        is_names = isinstance(names, np.ndarray) and names.dtype == object and names.shape == (n_features,)
        if not is_names or not all(type(one) is str for one in names):
            raise ValueError("feature_names_in_ must hold one text for each column")


def _class(name: str) -> Any:
    with importing:
        module = importlib.import_module(KEPT[name].module)
    return getattr(module, name)
