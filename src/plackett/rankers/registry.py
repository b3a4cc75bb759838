"""Rankers by the names that the literature uses, and the classes that a model file may name.

A name is a class with fixed parameters. ``plackett train --help`` also reads the table, so this module imports nothing
heavy until a ranker is built.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from plackett._lazy import importing
from plackett._names import did_you_mean, similar_names
from plackett._optional import import_optional
from plackett._plugins import load_plugin, plugins
from plackett.exceptions import UnknownNameError
from plackett.storage.remote import local_files

HEAD = 32  # first bytes of a file, by which formats are distinguished

_HOMES = {  # of the rankers, and of other classes in model files besides losses, solvers and normalizers
    name: f"plackett.{module}"
    for module, names in {
        "rankers.linear.ranker": "LinearRanker",
        "rankers.linear.prank": "PRank",
        "rankers.linear.svm_map": "SVMMap",
        "rankers.kernel.ranker": "KernelRanker",
        "rankers.boosting.feature_rank": "FeatureRank BLFeatureRank",
        "rankers.boosting.diff_rank": "DiffRank",
        "rankers.boosting.adarank": "AdaRank",
        "rankers.boosting.rankboost": "RankBoost",
        "rankers.query_dependent.ranker": "QueryDependentRanker",
        "rankers.query_dependent.function_space": "FunctionSpace",
        "rankers.query_dependent.features": "QueryFeatureSource",
        "rankers.query_dependent.weights": "QueryWeights",
        "rankers.query_dependent.kernels": "Overlap Kendall Mallows",
        "rankers.neural.ranker": "NeuralRanker",
        "rankers.trees.ranker": "TreeRanker",
        "rankers.trees.xgboost": "XGBoostRanker",
        "rankers.imported": "ImportedTrees ImportedLinear",
        "rankers.refinement.boosted": "MultiplicativeRefiner LinearRefiner",
        "rankers.refinement.rocchio": "RocchioRefiner",
        "rankers.recommendation.personality": "PersonalityDiagnosis",
        "data.preprocessing.missing": "MissingValues",
        "data.preprocessing.categories": "OneHotCategories TargetCategories",
        "metrics.measure": "Measure",
    }.items()
    for name in names.split()
}


@dataclass(frozen=True)
class Entry:
    """A ranker by name: its class, fixed parameters and a description."""

    class_name: str
    description: str
    fixed: Mapping[str, Any] = field(default_factory=dict)


ENTRIES: dict[str, Entry] = {
    "listmle": Entry("LinearRanker", "likelihood of the ideal order (Plackett-Luce)", {"loss": "listmle"}),
    "p-listmle": Entry("LinearRanker", "ListMLE with weights that fall with the position", {"loss": "p-listmle"}),
    "listnet": Entry("LinearRanker", "cross entropy of the top-one probabilities", {"loss": "listnet"}),
    "rankcosine": Entry("LinearRanker", "cosine between the scores and the labels of a list", {"loss": "rankcosine"}),
    "cs-listmle": Entry("LinearRanker", "ListMLE of the top k, weighted by the drop in NDCG", {"loss": "cs-listmle"}),
    "ranksvm": Entry("LinearRanker", "hinge over pairs, as in SVMrank", {"loss": "hinge"}),
    "ranknet": Entry("LinearRanker", "logistic loss over pairs, with linear scores", {"loss": "logistic"}),
    "lambdarank": Entry("LinearRanker", "pairs weighted by NDCG, with linear scores", {"loss": "lambdarank"}),
    "regression": Entry("LinearRanker", "least squares on the labels", {"loss": "squared"}),
    "kernel-cs-listmle": Entry("KernelRanker", "cs-listmle with a kernel", {"loss": "cs-listmle"}),
    "featurerank": Entry("FeatureRank", "boosting over lists: adds up ranks by single features"),
    "bl-featurerank": Entry("BLFeatureRank", "FeatureRank that may keep or mix in the ranking so far"),
    "diffrank": Entry("DiffRank", "boosting over pairs, with the ranks by single features"),
    "adarank": Entry("AdaRank", "boosts single features towards a measure, such as MAP"),
    "rankboost": Entry("RankBoost", "boosts thresholds of features over pairs"),
    "prank": Entry("PRank", "perceptron with ordered thresholds between the labels"),
    "svm-map": Entry("SVMMap", "widest margin for average precision"),
    "qsvm": Entry("QueryDependentRanker", "RankSVM by query, learned from similar queries", {"weights": "gaussian"}),
    "knn-svm": Entry("QueryDependentRanker", "RankSVM by query, learned from the nearest ones", {"weights": "knn"}),
    "indv-svm": Entry("QueryDependentRanker", "RankSVM by query, each learned alone", {"weights": "individual"}),
    "lightgbm": Entry("TreeRanker", "LightGBM's boosted trees by its own objective", {"loss": "lightgbm"}),
    "xgboost": Entry("XGBoostRanker", "XGBoost's boosted trees by its own objective"),
    "trees": Entry("TreeRanker", "LightGBM's boosted trees with any loss"),
    "neural": Entry("NeuralRanker", "small neural net with any loss; attention is optional"),
    "linear": Entry("LinearRanker", "linear scores with any loss"),
    "kernel": Entry("KernelRanker", "kernel scores with any loss"),
    "query-dependent": Entry("QueryDependentRanker", "a pairwise model for each query, with any weights"),
}

CATBOOST = "catboost"  # the name of the ranker of that package, which is used as it is
WITH_ANY_LOSS = ("linear", "kernel", "trees", "neural")


def ranker_names() -> list[str]:
    """Return the names that :func:`ranker` takes, besides ``"catboost"``.

    Installed packages add names through the entry points ``plackett.rankers``.

    Examples
    --------
    >>> from plackett import ranker_names
    >>> ranker_names()[:3]
    ['listmle', 'p-listmle', 'listnet']
    """
    return [*ENTRIES, *(name for name in plugins("rankers") if name not in (*ENTRIES, CATBOOST))]


def scorer_of(name: str) -> str:
    """Return ``"trees"`` for ``"trees:lambdarank"``, a ranker with any loss and the loss; other names are unchanged."""
    scorer = name.partition(":")[0]
    return scorer if scorer in WITH_ANY_LOSS else name


def ranker(name: str, **params: Any) -> Any:
    """Return the unfitted ranker with this name in the literature.

    Parameters
    ----------
    name : str
        One of ``ranker_names()``; case is ignored. ``"linear:"``, ``"kernel:"``, ``"trees:"`` or ``"neural:"`` with the
        name of a loss is that ranker with that loss: ``"trees:lambdarank"`` is our LambdaRank with trees,
        ``"lambdarank"`` with linear scores, and ``"lightgbm"`` that of LightGBM. ``"ranksvm"`` is the hinge, as in
        SVMrank: with ``loss__normalize="none"``, which sums over pairs, the C of the literature is ``1 / (l2 *
        n_queries)``. For the squared hinge use ``ranker("linear", loss="squared-hinge")``. ``"catboost"`` is
        ``catboost.CatBoostRanker``, with one thread and a fixed seed.
    **params
        Parameters of the ranker, and of its loss if it has one. If both have a parameter (``normalize``), it is that of
        the ranker, and ``loss__normalize`` that of the loss. Fixed parameters of the name cannot be changed.

    Returns
    -------
    Ranker
        A ``LinearRanker`` for most names; for others the class of the method, such as ``AdaRank``.

    Examples
    --------
    >>> from plackett import ranker
    >>> ranker("ranksvm", l2=0.01)
    LinearRanker(l2=0.01, loss='hinge')
    >>> ranker("cs-listmle", k=5)
    LinearRanker(loss=CSListMLE(k=5))
    >>> ranker("trees:logistic", num_leaves=15)
    TreeRanker(loss='logistic', num_leaves=15)
    >>> ranker("adarank", metric="ndcg@5")
    AdaRank(metric='ndcg@5')
    """
    key = known_name(name)
    if key == CATBOOST:
        fixed = {"iterations": 300, "thread_count": 1, "random_seed": 0, "silent": True, "allow_writing_files": False}
        return _catboost()(**{**fixed, **params})
    if _is_plugin(key):
        return load_plugin("rankers", key)(**params)
    entry = _entry(key)
    cls = _class(entry.class_name)
    own = {*cls._get_param_names(), *getattr(cls, "known_params", ())}
    given = {param: value for param, value in params.items() if param in own}
    for param, value in entry.fixed.items():
        if param in given and not _is_same(given.pop(param), value):
            raise ValueError(
                f"the ranker {key!r} has {param}={value!r}, not {params[param]!r}; "
                f"the ranker {_free(entry)!r} takes any {param}."
            )
        given[param] = params.get(param, value)
    others = {param: value for param, value in params.items() if param not in own}
    if others and getattr(cls(**given), "takes_loss_objects", False):
        given["loss"] = _loss_with(others, key, cls, given.get("loss"))
    elif others:
        raise _unknown(next(iter(others)), key, cls)
    return cls(**given)


def parameters(name: str) -> dict[str, Any]:
    """Return the parameters of the class of ``name`` with their defaults, in the order of its signature."""
    signature = inspect.signature(class_of(name))
    return {param.name: param.default for param in signature.parameters.values() if param.kind != param.VAR_KEYWORD}


def class_of(name: str) -> Any:
    """Return the class of the ranker with this name."""
    key = known_name(name)
    if key == CATBOOST:
        return _catboost()
    return load_plugin("rankers", key) if _is_plugin(key) else _class(_entry(key).class_name)


def entry_of(name: str) -> Entry | None:
    """Return the class name and the fixed parameters of a ranker; None for rankers of other packages."""
    key = known_name(name)
    return None if key == CATBOOST or _is_plugin(key) else _entry(key)


def home_of(class_name: str) -> str:
    """Return the module of a class."""
    return _HOMES[class_name]


@local_files
def load(path: str | os.PathLike | IO[bytes]) -> Any:
    """Return the ranker that ``ranker.save(path)`` wrote, or a model of another tool as a ranker.

    Loading never runs code from the file. Models of other tools are read without those tools: text files of LightGBM,
    JSON of XGBoost and CatBoost (numeric features), and RankLib's ensembles of trees, linear models and RankBoost. They
    predict the raw scores of the tool, and can be explained, exported, saved and compared, not fitted.

    Parameters
    ----------
    path : str, path or binary file object

    Returns
    -------
    Ranker
        For a model of another tool, an ``ImportedTrees`` or ``ImportedLinear``.

    Raises
    ------
    ModelFormatError
        If the file is not a model, is damaged, or needs a class or parameter that this version does not have.

    Examples
    --------
    >>> from plackett import load
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(10, 5, 3, random_state=0)
    >>> pk.LinearRanker(l2=0.01).fit(data).save("linear.plackett")
    >>> load("linear.plackett")
    LinearRanker(l2=0.01)
    """
    with importing:
        from plackett.formats.detect import format_of
        from plackett.storage import models
        from plackett.storage.container import MAGIC
        from plackett.storage.opening import name_of

    fill()
    source, head = opened(path)
    if head.startswith(MAGIC) or format_of(head) is None:
        return models.load(source)
    with importing:
        from plackett.formats.read import read_model

        imported = importlib.import_module("plackett.rankers.imported")
    with contextlib.nullcontext(source) if isinstance(source, io.BytesIO) else open(source, "rb") as file:
        return read_model(file, name_of(path), imported.ranker_of)


def opened(path: str | os.PathLike | IO[bytes]) -> tuple[Any, bytes]:
    """Return a path, or the content of a file object, and its first bytes; none of what is not a file."""
    if not isinstance(path, (str, os.PathLike)):
        content = path.read()
        return io.BytesIO(content), content[:HEAD]
    if not os.path.isfile(path):
        return path, b""
    with open(path, "rb") as file:
        return path, file.read(HEAD)


def is_model_head(head: bytes) -> bool:
    """Return whether a file with these first bytes is a model, ours or that of another tool."""
    with importing:
        from plackett.storage.container import MAGIC

    if head.startswith(MAGIC):
        return True
    with importing:
        from plackett.formats.detect import format_of

    return format_of(head) is not None


def fill() -> None:
    """Register all classes that a model file may name with ``plackett.storage.models``."""
    with importing:
        from plackett import losses, solvers
        from plackett.data.preprocessing import scaling as normalize
        from plackett.losses import transforms
        from plackett.storage import models

    bases = {
        losses: losses.Loss,
        transforms: transforms.Transform,
        solvers: solvers.Solver,
        normalize: normalize.QueryNormalizer,
    }
    for module, base in bases.items():
        for value in list(vars(module).values()):  # other threads may import more modules of the package
            is_kind = isinstance(value, type) and issubclass(value, base) and value is not base
            if is_kind and not getattr(value, "__abstractmethods__", None):
                models.register(value)
    for class_name, home in _HOMES.items():
        models.register_home(class_name, home)


def _class(name: str) -> Any:
    with importing:
        module = importlib.import_module(_HOMES[name])
    return getattr(module, name)


def _catboost() -> Any:
    return import_optional("catboost", extra=None, needed_for="The ranker catboost").CatBoostRanker


def _entry(key: str) -> Entry:
    if key in ENTRIES:
        return ENTRIES[key]
    scorer = ENTRIES[scorer_of(key)]
    loss = key.partition(":")[2]
    return Entry(scorer.class_name, scorer.description.replace("any loss", loss), {"loss": loss})


def _is_plugin(key: str) -> bool:
    return key not in ENTRIES and key != CATBOOST and scorer_of(key) == key


def is_known(name: str) -> bool:
    """Return whether :func:`ranker` takes the name."""
    with contextlib.suppress(ValueError):
        return bool(known_name(name))
    return False


def known_name(name: Any) -> str:
    """Return the name as tables write it; an error for unknown names lists all.

    A ranker with any loss and its loss may have a name of its own: ``"linear:lambdarank"`` is ``"lambdarank"``.
    """
    if not isinstance(name, str):
        raise ValueError(f"the name of a ranker must be a string such as 'listmle', not {name!r}.")
    key, names = name.strip().lower().replace("_", "-"), [*ENTRIES, CATBOOST, *plugins("rankers")]
    if key in names or name in names:
        return key if key in names else name
    if scorer_of(key) != key:
        loss = key.partition(":")[2]
        same = Entry(ENTRIES[scorer_of(key)].class_name, "", {"loss": loss})
        for known, entry in ENTRIES.items():
            if (entry.class_name, entry.fixed) == (same.class_name, same.fixed):
                return known
        with importing:
            from plackett.losses import get_loss

        get_loss(loss)  # an error for unknown names lists all
        return key
    close = similar_names(key, names)
    advice = f".{did_you_mean(close)} The names are {', '.join(names)}."
    raise UnknownNameError(f"there is no ranker {name!r}", advice, names, close)


def table_name(name: str, estimator: Any) -> str:
    """Return the name of a ranker in tables: ``"linear"``, whose loss is that of ``"listmle"``, is shown as that."""
    home = ENTRIES[name].class_name if name in ENTRIES else None
    names = [known for known, entry in ENTRIES.items() if entry.class_name == home]
    return next((known for known in names if repr(ranker(known)) == repr(estimator)), name)


def _free(entry: Entry) -> str:
    """Return the name of the class of ``entry`` without fixed parameters."""
    return next(name for name, other in ENTRIES.items() if other.class_name == entry.class_name and not other.fixed)


def _is_same(given: Any, fixed: Any) -> bool:
    """Return whether a parameter agrees with the fixed one: the same value, or a loss object of that name."""
    return given == fixed or getattr(given, "name", None) == fixed


def _loss_with(params: Mapping[str, Any], key: str, cls: Any, loss: Any) -> Any:
    """Return the loss with these parameters; other parameters of a loss object are kept."""
    with importing:
        from plackett.losses import get_loss

    base = get_loss(cls().loss if loss is None else loss)
    known = base.get_params()
    for param in params:
        if param.removeprefix("loss__") not in known:
            raise _unknown(param, key, cls, list(known))
    return type(base)(**known | {param.removeprefix("loss__"): value for param, value in params.items()})


def _unknown(param: str, key: str, cls: Any, of_loss: list[str] | None = None) -> ValueError:
    """Return the error for a parameter that neither the ranker nor its loss has; ``of_loss`` is None without a loss."""
    own, passed_on = cls._get_param_names(), sorted(getattr(cls, "known_params", ()))
    names = [*own, *passed_on, *(of_loss or [])]
    close = [cls.aliases[param]] if param in getattr(cls, "aliases", {}) else similar_names(param, names, n=2)
    reason, hint = f"the ranker {key!r} has no parameter {param!r}", did_you_mean(close)
    if param in getattr(cls, "rejected_params", {}):
        reason, hint, close = f"{reason}: {cls.rejected_params[param]}", "", []
    rest = f", {', '.join(passed_on)} for {cls.package}" if passed_on else ""
    if of_loss is not None:
        rest += f", and {', '.join(of_loss)} of its loss" if of_loss else ", and its loss has none"
    return UnknownNameError(reason, f".{hint} It has {', '.join(own)}{rest}.", names, close)
