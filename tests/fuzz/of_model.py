"""Model files: those of every ranker."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import warnings
import zipfile

import numpy as np

import plackett as pk
from plackett.exceptions import ModelFormatError
from plackett.persistence import describe
from plackett.rankers import registry
from tests.fuzz.mutations import mutate_array, mutate_bytes, mutate_json, one_of

OURS = ModelFormatError
SUFFIX = ".plackett"

FAST = {"max_iter": 2, "n_rounds": 2, "n_epochs": 2, "max_epochs": 2, "min_data_in_leaf": 1, "random_state": 0}
NEEDS = {"neural": "torch", "trees": "lightgbm", "lambdarank": "lightgbm", "rank:ndcg": "xgboost"}
RNG = np.random.default_rng(0)
QID = np.repeat([1, 2, 3], 6)
X = RNG.integers(1, 4, size=(18, 4)) / 2.0
Y = RNG.integers(0, 3, size=18)
RATINGS = {user: {item: float((user * item) % 5) for item in range(user % 3, 6)} for user in range(5)}


def ranker(name, **params):
    """A ranker of the registry with little to do."""
    known = registry.parameters(name)
    return pk.ranker(name, **{key: value for key, value in FAST.items() if key in known}, **params)


@functools.cache
def fitted():
    """Models of every kind."""
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
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(int(rng.integers(1, 3))):
        name = one_of(list(members), rng) if rng.random() < 0.6 else "model.json"
        if rng.random() < 0.1:
            members[name] = mutate_bytes(members[name], rng)
        elif name == "model.json":
            members[name] = _other_document(members[name], rng)
        else:
            members[name] = _other_array(members[name], rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return file.getvalue()


def _other_document(content, rng):
    try:
        document = json.loads(content)
    except ValueError:
        return content
    return json.dumps(mutate_json(document, rng)).encode()


def _other_array(content, rng):
    try:
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # it was changed before; numpy raises many kinds
        return content
    file = io.BytesIO()
    np.save(file, mutate_array(array, rng))
    return file.getvalue()


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
    except ValueError as error:  # what does not go together is told as after a fit
        raise ModelFormatError(str(path), str(error)) from error
