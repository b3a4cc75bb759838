"""Settings of a scoring service: address, token, limits, shadow model, log and test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from plackett.apps.access.settings import MEGABYTE, ServerSettings

PORT = 8766
COUNTERS = "PROMETHEUS_MULTIPROC_DIR"  # the variable for the folder of the counters of all workers


class InterleaveSettings(NamedTuple):
    """A test of models: their keys, and parameters of ``plackett.clicks.Interleaver``."""

    rankers: tuple[str, ...]
    method: str = "team-draft"
    k: int = 10


@dataclass(frozen=True)
class ServingSettings(ServerSettings):
    """Settings of a scoring service, besides those of ``ServerSettings``."""

    port: int = PORT
    max_body: int = 16 * MEGABYTE
    seconds: float = 5.0
    workers: int = 1  # processes
    max_docs: int = 10_000  # of a request
    poll: float = 1.0  # seconds between checks of the model files; 0 turns swapping off
    shadow: str | None = None  # NAME or NAME@VERSION of a model that scores all lists too; its order is only logged
    log: str | None = None  # folder for the lists that were returned and the clicks on them
    interleave: InterleaveSettings | None = None  # a test by the clicks on lists that mix the results of models
