"""Building scorers from the parts of a ranker, in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from plackett.rankers.boosting.discovery import Discovery, are_centres
from plackett.rankers.boosting.replay import BEFORE, FEATURE, Step
from plackett.rankers.scoring.models import LinearModel, NetModel, RankModel, TreeModel
from plackett.rankers.scoring.scorer import Scorer
from plackett.rankers.scoring.steps import NotScored, encoder_step, frozen, imputer_step, normalizer_step
from plackett.scorers.net_shape import NetShape
from plackett.scorers.trees import FlatTrees
from plackett.storage.models import Part, part_of
from plackett.storage.models.array_checks import check_records, check_vector

HOME = "plackett.rankers."
STEP = [("feature", np.int64), ("weight", np.float64)]
STUMP = [*STEP, ("threshold", np.float64), ("default", np.int64)]
BALANCED_STEP = [*STEP, ("enters", np.int64), ("beta", np.float64)]

REFUSED = {
    "KernelRanker": "its scores are sums of kernel values, which scikit-learn computes",
    "QueryDependentRanker": "it has a model for each query, and a new query needs its query features",
    "MultiplicativeRefiner": "it only refines the lists that it was fitted to",
    "LinearRefiner": "it only refines the lists that it was fitted to",
    "RocchioRefiner": "it only refines the lists that it was fitted to",
    "PersonalityDiagnosis": "it scores the items of a user by the ratings of others, not by features",
}


def build_scorer(part: Part) -> Scorer:
    """Return the scorer of a ranker that is given as a record.

    Raises
    ------
    NotScored
        If the ranker has no scorer; the message says why.
    ValueError
        If the record holds something that no fit produces.
    """
    name = part.kind
    if part.class_name not in _MODELS:
        reason = REFUSED.get(name, "its scores are not known to be those of a ranker of this library")
        raise NotScored(f"{name} has no scorer: {reason}. Call its predict.")
    try:
        return _built(part)
    except NotScored as error:
        raise NotScored(f"this {name} has no scorer: {error}. Call its predict.") from None


def _built(part: Part) -> Scorer:
    state = SimpleNamespace(**part.state)
    n = n_columns = state.n_features_in_
    if type(n) is not int or n < 0:
        raise ValueError("n_features_in_ must be the number of features.")
    steps: list[Any] = []
    for name, make in (("encoder_", encoder_step), ("imputer_", imputer_step), ("normalizer_", normalizer_step)):
        value = getattr(state, name, None)
        if value is not None:
            steps.append(make(value if isinstance(value, Part) else part_of(value), n_columns))
            n_columns = steps[-1].n_columns(n_columns)
    has_imputer = getattr(state, "imputer_", None) is not None
    has_normalizer = getattr(state, "normalizer_", None) is not None  # which takes no NaN
    names, model = getattr(state, "feature_names_", None), _MODELS[part.class_name](state, n_columns)
    return Scorer(
        part.kind,
        n,
        None if names is None else tuple(map(str, names)),
        getattr(state, "first_index_", None),
        tuple(steps),
        model,
        depends_on_list=any(one.depends_on_list for one in (*steps, model)),
        takes_missing=has_imputer or (part.kind in TAKING_MISSING and not has_normalizer),
        category_columns=steps[0].columns if getattr(state, "encoder_", None) is not None else (),
        needs_check=bool(steps) or not isinstance(model, LinearModel),
        needs_bounds=bool(steps) or isinstance(model, NetModel | RankModel),
        ignores_further_columns=bool(getattr(state, "ignores_further_columns_", False)),
    )


def _linear(state: Any, n: int) -> LinearModel:
    check_vector(state, "coef_", size=n)
    return LinearModel(frozen(np.append(state.coef_, float(state.intercept_))))


def _flat_trees(value: Any, n: int) -> FlatTrees:
    if isinstance(value, Part):
        if value.class_name != "plackett.scorers.FlatTrees":
            raise ValueError("trees_ must be trees.")
        trees = FlatTrees()
        trees.__dict__.update(value.state)
        trees.check_loaded()
    else:
        trees = value
    if trees.n_features_ != n:
        raise ValueError(f"trees_ must be trees over {n} features.")
    trees.bitmaps()  # before the first list comes
    return trees


def _lightgbm(state: Any, n: int) -> TreeModel:
    if state.has_base_ and state.base_column_ is None:
        raise NotScored("it was fitted with a base_score that is not a column of X, to which its trees only add")
    column = state.base_column_
    if column is not None and (type(column) is not int or not 0 <= column < n):
        raise ValueError("base_column_ must be the number of a column.")
    return TreeModel(_flat_trees(state.trees_, n), float(state.intercept_), base_column=state.base_column_)


def _xgboost(state: Any, n: int) -> TreeModel:
    return TreeModel(_flat_trees(state.trees_, n), float(state.intercept_), is_single=True)


def _imported_trees(state: Any, n: int) -> TreeModel:
    numbers = float(state.start_), bool(state.is_single_), float(state.scale_), float(state.bias_)
    return TreeModel(_flat_trees(state.trees_, n), *numbers)


def _rankboost(state: Any, n: int) -> TreeModel:
    check_records(state, "steps_", STUMP)
    _check_features(state, n)
    return TreeModel(FlatTrees.of_stumps(state.steps_, n), 0.0)


def _ranks(state: Any, n: int, fields: list[Any], *, is_sum: bool) -> RankModel:
    check_records(state, "steps_", fields)
    _check_features(state, n)
    if state.signs_ is not None:
        check_vector(state, "signs_", np.int64, n)
        discovery = Discovery.linear(state.signs_)
    else:
        centres = state.centres_
        if centres.dtype != np.float64 or centres.ndim != 2 or centres.shape[0] != n or not are_centres(centres):
            raise ValueError(f"centres_ must have finite centres for each of {n} features.")
        discovery = Discovery(centres)
    steps = tuple(Step(*record) for record in state.steps_.tolist())
    if not all(FEATURE <= step.enters <= BEFORE for step in steps):
        raise ValueError("the field enters of steps_ must be 0, 1 or 2.")
    return RankModel(discovery, steps, is_sum)


def _check_features(state: Any, n: int) -> None:
    features = state.steps_["feature"]
    if ((features < 0) | (features >= n)).any():
        raise ValueError(f"the features of steps_ must be columns 0 to {n - 1}.")


def _net(state: Any, n: int) -> NetModel:
    weights = {name: frozen(array) for name, array in state.weights_.items()}
    shape = NetShape.of(state.layers_, n, has_output_bias="output.bias" in weights)
    if shape.attention > len(weights) or {name: array.shape for name, array in weights.items()} != shape.weights:
        raise ValueError("weights_ must have the shapes of layers_.")
    if {array.dtype.name for array in weights.values()} not in ({"float32"}, {"float64"}):
        raise ValueError("weights_ must hold arrays of float32, or of float64.")
    return NetModel(shape, weights)


_MODELS: dict[str, Callable[[Any, int], Any]] = {
    **dict.fromkeys(
        (HOME + name for name in ("LinearRanker", "AdaRank", "PRank", "SVMMap", "ImportedLinear")), _linear
    ),
    HOME + "TreeRanker": _lightgbm,
    HOME + "XGBoostRanker": _xgboost,
    HOME + "ImportedTrees": _imported_trees,
    HOME + "RankBoost": _rankboost,
    HOME + "DiffRank": lambda state, n: _ranks(state, n, STEP, is_sum=True),
    HOME + "FeatureRank": lambda state, n: _ranks(state, n, STEP, is_sum=False),
    HOME + "BLFeatureRank": lambda state, n: _ranks(state, n, BALANCED_STEP, is_sum=False),
    HOME + "NeuralRanker": _net,
}
TAKING_MISSING = ("TreeRanker", "XGBoostRanker", "ImportedTrees", "RankBoost")
