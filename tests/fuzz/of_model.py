"""Model files of every ranker."""

from __future__ import annotations

import contextlib
import functools
import io
import warnings

import numpy as np

import plackett as pk
from plackett.exceptions import ModelFormatError
from plackett.rankers import registry
from plackett.storage.models import describe
from tests.fuzz.mutations import mutate_array, mutate_bytes, mutate_json, one_of
from tests.storage.containers import array_in, parts_of, signed, with_array

OURS = ModelFormatError
SUFFIX = ".plackett"

FAST = {"max_iter": 2, "n_rounds": 2, "n_epochs": 2, "min_data_in_leaf": 1, "random_state": 0}
NEEDS = {"neural": "torch", "trees": "lightgbm", "lightgbm": "lightgbm", "xgboost": "xgboost"}
RNG = np.random.default_rng(0)
QID = np.repeat([1, 2, 3], 6)
X = RNG.integers(1, 4, size=(18, 4)) / 2.0
Y = RNG.integers(0, 3, size=18)
CODED = pk.Queries(
    np.column_stack([np.where(X[:, 0] > 1, np.nan, X[:, 0]), 2 * X[:, 1] - 1, X[:, 2:]]),
    Y, QID, categories={1: ["a", "b", "c"]},
)  # fmt: skip
RATINGS = {user: {item: float((user * item) % 5) for item in range(user % 3, 6)} for user in range(5)}


def ranker(name, **params):
    """Return a ranker of the registry with parameters for a fast fit."""
    known = registry.parameters(name)
    return pk.ranker(name, **{key: value for key, value in FAST.items() if key in known}, **params)


@functools.cache
def fitted():
    """Return models of every kind."""
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in pk.ranker_names():
            try:
                models.append(ranker(name).fit(X, Y, qid=QID))
            except ModuleNotFoundError:
                assert name in NEEDS
        models.append(ranker("kernel", kernel="poly", scope="position").fit(X, Y, qid=QID))
        for refiner in (pk.LinearRefiner(n_rounds=2), pk.MultiplicativeRefiner(n_rounds=2), pk.RocchioRefiner()):
            models.append(refiner.fit(X, Y, qid=QID, base_score=X[:, 0]))
        models.append(pk.PersonalityDiagnosis().fit(RATINGS))
        rules = {"missing": "median", "missing_indicator": True}
        models += [pk.LinearRanker(encoding=encoding, **rules).fit(CODED) for encoding in ("one-hot", "target")]
        models.append(pk.RankBoost(n_rounds=2, encoding="one-hot").fit(CODED))
    return models


def as_bytes(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def seeds():
    return [as_bytes(model) for model in fitted()]


def mutate(seeds, rng):
    content = one_of(seeds, rng)
    if rng.random() < 0.15:
        return mutate_bytes(content, rng, seeds)
    directory, body = parts_of(content)
    for _ in range(int(rng.integers(1, 3))):
        choice = rng.random()
        if choice < 0.1:
            body = mutate_bytes(body, rng)
        elif choice < 0.2:
            directory = directory | {"arrays": mutate_json(directory["arrays"], rng)}
        elif choice < 0.6 or not directory["arrays"] or not isinstance(directory["arrays"], dict):
            directory = directory | {"header": mutate_json(directory["header"], rng)}
        else:
            directory, body = other_array(directory, body, rng)
    return signed(directory, body)


def other_array(directory, body, rng):
    name = one_of(list(directory["arrays"]), rng)
    try:
        array = array_in(directory, body, name)
    except Exception:  # an earlier mutation broke it; numpy raises many kinds of errors
        return directory, body
    return with_array(directory, body, name, mutate_array(array, rng))


def read(path):
    describe(path)
    model = pk.load(path)
    try:
        if isinstance(model, pk.PersonalityDiagnosis):
            model.predict(ratings=RATINGS)
        elif hasattr(model, "predict") and getattr(model, "n_features_in_", 0) <= 64:
            rows = np.resize(X, (18, model.n_features_in_))
            model.predict(rows, qid=QID)
            if hasattr(model, "explain"):
                with contextlib.suppress(NotImplementedError):
                    model.explain(rows[:6], qid=QID[:6])
        if hasattr(model, "save"):
            model.save(io.BytesIO())
    except ValueError as error:  # inconsistent input raises the same error as after a fit
        raise ModelFormatError(str(path), str(error)) from error
