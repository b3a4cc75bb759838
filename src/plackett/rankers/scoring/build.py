"""Building scorers from the parts of a ranker, in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from plackett.rankers.scoring.scorer import Scorer
from plackett.rankers.scoring.steps import NotScored, encoder_step, imputer_step, normalizer_step
from plackett.scorers.models import Linear, Net, Steps, Trees
from plackett.storage.models.registry import Part, part_of

HOME = "plackett.rankers."
MODELS: dict[str, Callable[[Any, int], Any]] = {  # by the class of the ranker
    **dict.fromkeys(("LinearRanker", "AdaRank", "PRank", "SVMMap", "ImportedLinear"), Linear.of),
    "TreeRanker": Trees.of_lightgbm,
    "XGBoostRanker": Trees.of_xgboost,
    "ImportedTrees": Trees.of_import,
    "RankBoost": Trees.of_stumps,
    "DiffRank": Steps.of_sums,
    "FeatureRank": Steps.of,
    "BLFeatureRank": Steps.of_balanced,
    "NeuralRanker": Net.of,
}

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

    Raise a ``NotScored`` that says why a ranker has none, or a ``ValueError`` for a record that no fit produces.
    """
    name = part.kind
    if part.class_name.removeprefix(HOME) not in MODELS:
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
    if getattr(state, "has_base_", False) and state.base_column_ is None:
        raise NotScored("it was fitted with a base_score that is not a column of X, to which its trees only add")
    names, model = getattr(state, "feature_names_", None), MODELS[part.kind](state, n_columns)
    if isinstance(model, Trees):
        model.trees.bitmaps()  # before the first list comes
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
        needs_check=bool(steps) or not isinstance(model, Linear),
        needs_bounds=bool(steps) or isinstance(model, Net | Steps),
        ignores_further_columns=bool(getattr(state, "ignores_further_columns_", False)),
        categories=getattr(state, "categories_", None),
    )


TAKING_MISSING = ("TreeRanker", "XGBoostRanker", "ImportedTrees", "RankBoost")
