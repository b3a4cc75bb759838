"""Counters in Prometheus' text format.

If PROMETHEUS_MULTIPROC_DIR is set, any of several workers answers for all of them; otherwise each for itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from plackett.apps.serve.models import ModelTable
from plackett.apps.serve.settings import COUNTERS

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)  # seconds
ALONE = f"# Counters of one of several workers. Set {COUNTERS} to an empty folder for sums over all of them.\n"
disable_created_metrics()  # times that would double the lines


class Metrics:
    """Counters of a service, and the models of its table, which are listed beside them."""

    def __init__(self, table: ModelTable):
        self._table, self.registry = table, CollectorRegistry()
        self.registry.register(self)
        self.requests = self._counter("requests", "Requests by path and status.", "path", "status")
        self.rank_seconds = Histogram(
            "plackett_rank_seconds",
            "Time from the headers of POST /rank to the end of its response, in seconds.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.lists = self._counter("lists", "Lists that were ranked.", "model")
        self.documents = self._counter("documents", "Documents that were scored.", "model")
        self.swaps = self._counter("swaps", "Model files that replaced a model.", "model")
        self.swap_failures = self._counter("swap_failures", "Model files that could not replace a model.", "model")
        self.shadow = self._counter("shadow", "Requests that the shadow model scored.")
        self.shadow_failures = self._counter("shadow_failures", "Requests that the shadow model could not score.")
        about = "Requests that the shadow model skipped because it fell behind."
        self.shadow_dropped = self._counter("shadow_dropped", about)
        self.log_failures = self._counter("log_failures", "Lists and clicks that could not be logged.")
        self.clicks = self._counter("clicks", "Clicks that were logged.")
        self.interleaved = self._counter("interleaved", "Lists that mix models.")
        about = "Lists of requests for an interleaved model that were not mixed, by reason."
        self.interleaving_skipped = self._counter("interleaving_skipped", about, "reason")
        for model in table:  # a counter that starts at 0 shows its first increase
            for counter in (self.lists, self.documents, self.swaps, self.swap_failures):
                counter.labels(model.spec.key)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"plackett_{name}", about, labels, registry=self.registry)

    def add_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request, and the time of a ranking."""
        self.requests.labels(path, status).inc()
        if path == "/rank" and status == 200:
            self.rank_seconds.observe(seconds)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return which models are served, as a collector of Prometheus."""
        info = GaugeMetricFamily(
            "plackett_model_info", "Models that are served.", labels=["model", "version", "ranker"]
        )
        for model in self._table:
            info.add_metric([model.spec.key, model.version, model.scorer.ranker], 1)
        yield info

    def text(self, n_workers: int) -> bytes:
        """Return all counters in the text format."""
        if COUNTERS not in os.environ:
            return (ALONE if n_workers > 1 else "").encode() + generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        registry.register(self)
        return generate_latest(registry)
