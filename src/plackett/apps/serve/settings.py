"""Settings of a scoring service: address, token, limits, models and logs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import NamedTuple

from plackett.apps.access.settings import MEGABYTE, ServerSettings

PORT = 8766
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
        return cls(name, version if at else None, path)


class InterleaveSettings(NamedTuple):
    """A test of models: their keys, and parameters of ``plackett.clicks.Interleaver``."""

    rankers: tuple[str, ...]
    method: str = "team-draft"
    k: int = 10


@dataclass(frozen=True)
class ServingSettings(ServerSettings):
    """Settings of a scoring service, besides those of ``ServerSettings``.

    Attributes
    ----------
    max_docs : int
        Maximum documents of a request.
    poll : float
        Seconds between checks of the model files; 0 turns swapping off.
    shadow : str or None
        ``NAME`` or ``NAME@VERSION`` of a model that also scores all lists; its order is logged, never returned.
    log : str or None
        Folder for the lists that were returned and the clicks on them.
    interleave : InterleaveSettings or None
        A test of models by the clicks on lists that mix their results.
    """

    port: int = PORT
    max_body: int = 16 * MEGABYTE
    seconds: float = 5.0
    max_docs: int = 10_000
    poll: float = 1.0
    shadow: str | None = None
    log: str | None = None
    interleave: InterleaveSettings | None = None
