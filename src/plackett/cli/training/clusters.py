"""Training on a Dask cluster, an existing one or one started on this machine."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plackett._optional import import_optional
from plackett.cli.shared.options import Options, Source, one

if TYPE_CHECKING:
    from plackett.data.queries import Queries
    from plackett.data.sources import Source as Part

SCHEMES = ("tcp://", "tls://", "ws://", "wss://", "ucx://")
CONNECT_SECONDS = 15


class Sizes(NamedTuple):
    """Sizes of the training set."""

    n_queries: int
    n_docs: int
    n_features: int


@dataclass(frozen=True)
class Cluster(Options):
    """A Dask cluster that fits the ranker."""

    address: str | None = one(
        "--cluster", metavar="tcp://HOST:PORT", help="Fit on a Dask cluster; workers read DATA.", panel="Clusters"
    )
    n_local: int | None = one(
        "--local-cluster", metavar="N", type=click.IntRange(min=1), help="Fit on N local processes.", panel="Clusters"
    )

    @property
    def option(self) -> str | None:
        """The option that was given; None without a cluster."""
        return "--cluster" if self.address is not None else None if self.n_local is None else "--local-cluster"

    def check(self, data: list[str], *, cache: bool) -> None:
        """Raise for options that cannot be combined with a cluster."""
        if self.address is not None and self.n_local is not None:
            raise click.BadParameter(
                "--cluster connects to a cluster and --local-cluster starts one; give one of them."
            )
        if self.option is None:
            return
        if self.address is not None and not self.address.startswith(SCHEMES):
            raise click.BadParameter(f"--cluster {self.address}: expected an address such as tcp://scheduler:8786.")
        if cache:
            raise click.BadParameter(f"--cache keeps a copy on this machine, which {self.option} does not read.")
        from plackett.cli.shared.inputs import is_known_name

        for name in data:
            if name == "-" or is_known_name(name):
                raise click.BadParameter(f"{self.option} needs files that every worker can read, not {name!r}.")

    @contextlib.contextmanager
    def connection(self) -> Iterator[Any]:
        """Yield a Dask client, which is the default client inside the block; None without a cluster."""
        if self.option is None:
            yield None
            return
        distributed = import_optional("distributed", extra="dask", needed_for=self.option)
        with contextlib.ExitStack() as stack:
            address = self.address
            if self.n_local is not None:
                address = stack.enter_context(_local_cluster(self.n_local))
            try:
                client = stack.enter_context(distributed.Client(address, timeout=CONNECT_SECONDS))
            except (OSError, TimeoutError) as error:
                raise ConnectionError(
                    f"no Dask scheduler answers at {address}. Is it running, and can this machine reach it? ({error})"
                ) from error
            if self.n_local is not None:
                client.run(_ignore_ctrl_c)
            yield client


@contextlib.contextmanager
def _local_cluster(n_workers: int) -> Iterator[Any]:
    """Start single-threaded worker processes that listen on loopback and delete their files at the end."""
    import logging
    import tempfile

    import dask
    import distributed

    with (
        tempfile.TemporaryDirectory(prefix="plackett-") as folder,
        dask.config.set({"temporary-directory": folder, "distributed.scheduler.reuse-broadcast-comm": True}),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL, scheduler_kwargs={"dashboard": False},
        ) as cluster,
    ):  # fmt: skip
        yield cluster


def _ignore_ctrl_c() -> None:
    """On a worker: ignore Ctrl-C, which ends the fit in the client; the client still needs results."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def load_sets(
    data: list[str], validation: str | None, client: Any, source: Source
) -> tuple[list[Part], Queries | None, None]:
    """Return the training set as parts that workers read, at least one per thread if files can be split.

    The validation set is read here. The last entry, a note about columns, is None.
    """
    from plackett.cli.shared.inputs import load_queries
    from plackett.data.sources import sources
    from plackett.storage.file_names import files_of, is_parquet

    options = {"first_index": 0} if source.zero_based and not is_parquet(files_of(data)[0]) else {}
    parts = sources(data, pieces=max(1, sum(client.nthreads().values())), **options)
    held_back = None if validation is None else load_queries([validation], source)
    return parts, held_back, None


def measure(client: Any, parts: list[Part], fitted: Any, metrics: list[str]) -> tuple[Sizes, dict[str, float]]:
    """Return the sizes of the training set and the means of the measures, computed on the workers."""
    import numpy as np

    from plackett.distributed.cluster import on_workers
    from plackett.evaluation.evaluate import Evaluation
    from plackett.metrics.measure import Measure

    measures = {name: Measure.parse(name) for name in metrics}  # workers do not know the names of users' measures
    answers = on_workers(client, _measure_part, parts, fitted, measures)
    values = np.concatenate([values for _, values in answers])
    means = Evaluation(metrics, np.arange(len(values)), values, convention="standard").mean()
    return Sizes(len(values), sum(n_docs for n_docs, _ in answers), fitted.n_features_in_), means


def _measure_part(source: Part, ranker: Any, metrics: dict[str, Any]) -> tuple[int, Any]:
    """On a worker: return the number of documents of a part and the measures of each query."""
    import numpy as np

    from plackett.cli.shared.models import fit_columns
    from plackett.distributed.loading import load_source
    from plackett.evaluation.evaluate import evaluate

    queries = load_source(source).queries
    if not queries.n_docs:
        return 0, np.zeros((0, len(metrics)))
    queries, _ = fit_columns(queries, ranker.n_features_in_, str(source), "the model")
    return queries.n_docs, evaluate(queries, ranker.predict(queries), metrics=metrics).values
