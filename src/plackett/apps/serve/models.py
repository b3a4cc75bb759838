"""The models of a service: loaded, verified, and swapped while requests run.

A request takes its model once and keeps it, so a swap never changes the model of a running request. A file that cannot
be served leaves the model in place, and its error is reported.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plackett.apps.access.errors import missing
from plackett.apps.serve.features import FeatureSchema
from plackett.exceptions import ModelFormatError
from plackett.rankers.scoring.load import load_scorer
from plackett.rankers.scoring.scorer import Scorer
from plackett.storage.remote import is_remote, shown

DIGITS = 12  # digits of the checksum that are used as the version
Signature = tuple[int, int, int] | None
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class ModelSpec(NamedTuple):
    """A model to serve: its name, the version that the user gave, and its file."""

    name: str
    version: str | None
    path: str

    @property
    def key(self) -> str:
        """The name with the version, if the user gave one."""
        return self.name if self.version is None else f"{self.name}@{self.version}"

    @classmethod
    def parse(cls, text: str) -> ModelSpec:
        """Return the model of ``PATH``, ``NAME=PATH`` or ``NAME@VERSION=PATH``."""
        key, equals, path = text.partition("=")
        if not equals:
            key, path = os.path.splitext(os.path.basename(text))[0], text
        name, at, version = key.partition("@")
        if not path or not _NAME.fullmatch(name) or (at and not _NAME.fullmatch(version)):
            raise ValueError(
                f"{text!r} is not a model: expected FILE, NAME=FILE or NAME@VERSION=FILE, with "
                "letters, digits and . _ - in names and versions."
            )
        if is_remote(path):
            raise ValueError(f"{shown(path)} is not a file of this machine, which a service can watch. Copy it first.")
        return cls(name, version if at else None, path)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model of the service; it never changes."""

    spec: ModelSpec
    checksum: str  # SHA-256 of the file
    scorer: Scorer
    content: bytes = field(repr=False)  # of the file, which may change before a score is explained
    signature: Signature  # of the file before it was read
    loaded: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def version(self) -> str:
        """The version that the user gave, or the first digits of the checksum."""
        return self.spec.version or self.short_checksum

    @property
    def short_checksum(self) -> str:
        """The first digits of the checksum, which change with the file even if the user named the version."""
        return self.checksum[:DIGITS]

    @cached_property
    def schema(self) -> FeatureSchema:
        """The features that requests must have."""
        return FeatureSchema(self.scorer)

    @cached_property
    def ranker(self) -> Any:
        """The ranker in full, which explains scores; loading it imports scikit-learn."""
        from plackett.rankers.registry import load

        return load(io.BytesIO(self.content))

    def describe(self) -> dict[str, Any]:
        """Return the entry of ``GET /models``."""
        return {
            "name": self.spec.name,
            "version": self.version,
            "checksum": self.checksum,
            "ranker": self.scorer.ranker,
            "loaded": self.loaded.isoformat(timespec="seconds").replace("+00:00", "Z"),
            "depends_on_list": self.scorer.depends_on_list,
            "features": self.schema.describe(),
        }


def load_model(spec: ModelSpec) -> ServedModel:
    """Load a model, and check its checksums, its arrays and the scores of a trial list."""
    if os.path.isdir(spec.path):
        raise IsADirectoryError(f"{spec.path!r} is a folder; give the name of a model file in it.")
    signature = signature_of(spec.path)  # before reading: a write in the meantime changes it again
    with open(spec.path, "rb") as file:
        content = file.read()
    try:
        scorer = load_scorer(io.BytesIO(content))
    except ModelFormatError as error:
        raise ModelFormatError(spec.path, error.message) from None
    except ValueError as error:
        raise ValueError(f"{spec.path}: {error}") from None
    scorer.score(np.zeros((2, scorer.n_features)))
    return ServedModel(spec, hashlib.sha256(content).hexdigest(), scorer, content, signature)


def signature_of(path: str) -> Signature:
    """Return a value that changes whenever the file is written or replaced; None if it is missing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


class ModelTable:
    """The current models, by name and version; the first one is the default.

    Any thread may read it, while one thread swaps models.
    """

    def __init__(self, models: Iterable[ServedModel]):
        self._models: dict[str, ServedModel] = {}
        self.errors: dict[str, str] = {}
        for model in models:
            if model.spec.key in self._models:
                raise ValueError(f"two models are called {model.spec.key}; give NAME=FILE or NAME@VERSION=FILE.")
            self._models[model.spec.key] = model

    def __iter__(self):
        return iter(tuple(self._models.values()))

    def get(self, key: str | None = None) -> ServedModel:
        """Return a model by ``NAME`` or ``NAME@VERSION``, by default the first; raise a `RequestError`."""
        name, at, version = (key or "").partition("@")
        of_name = [model for model in self if key is None or model.spec.name == name]
        if not of_name:
            raise missing(f"there is no model {key!r}.", f"The models are {', '.join(self._models)}.")
        for model in of_name:
            if not at or model.version == version:
                return model
        hint = f"Its versions are {', '.join(model.version for model in of_name)}."
        raise missing(f"there is no version {version!r} of {name}.", hint)

    def swap(self, new: ServedModel) -> None:
        """Replace the model of the same name and version; running requests keep theirs.

        Raises a ValueError unless both take the same features, because running clients send those of the old model.
        """
        old = self._models[new.spec.key]
        if not new.schema.is_same(old.schema):
            raise ValueError(
                f"{new.spec.path} has different features ({new.schema.n:,}) than the served model ({old.schema.n:,}), "
                "so requests would fail. Restart the service to serve it."
            )
        for label, may, did in zip(new.schema.labels, new.schema.takes_missing, old.schema.takes_missing, strict=True):
            if did and not may:
                raise ValueError(
                    f"{new.spec.path} does not accept missing values of {label}, but the served model does, so "
                    "requests could fail. Restart the service to serve it."
                )
        self._models = {**self._models, new.spec.key: new}
        self.errors.pop(new.spec.key, None)
