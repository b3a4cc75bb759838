"""A Dask cluster that does the work of a verb, an existing one or one started on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from plackett._optional import import_optional
from plackett.cli.shared import inputs
from plackett.cli.shared.files import is_known_name
from plackett.cli.shared.options import Options, Source, option
from plackett.storage.file_names import files_of, is_parquet

if TYPE_CHECKING:
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
    """A Dask cluster that does the work."""

    address: str | None = option(
        "Work on a Dask cluster; workers read DATA.", "--cluster", metavar="tcp://HOST:PORT", panel="Clusters"
    )
    n_local: int | None = option("Work on N local processes.", "--local-cluster", metavar="N", min=1, panel="Clusters")

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
                client.run(_prepare_worker)
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


def _prepare_worker() -> None:
    """On a worker: ignore Ctrl-C, which ends the fit in the client, and drop what LightGBM prints about its network."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def parts_of(
    data: list[str], client: Any, source: Source, *, needs_labels: bool = True, features: list[str] | None = None
) -> list[Part]:
    """Return references to parts of the data, which workers read: at least one per thread if files can be split.

    Parquet files need a column of labels only if ``needs_labels``; ``features`` are their features.
    """
    from plackett.data.sources import sources

    options = source.columns()
    for name in {"drop", "categorical", "sql"} & options.keys():
        raise click.BadParameter(f"--{name} needs all rows in this process, not on a cluster. Change the files.")
    first = files_of(data)[0]
    if is_parquet(first):
        options |= inputs.roles_in_parquet(data, source, needs_labels=needs_labels, features=features)
    elif options:
        raise click.BadParameter(f"--{next(iter(options))} names a column, but {first} is not a Parquet file.")
    else:
        options = source.of_letor()
    return sources(data, pieces=max(1, sum(client.nthreads().values())), **options)


def measure(parts: list[Part], fitted: Any, metrics: list[str]) -> tuple[Sizes, dict[str, float]]:
    """Return the sizes of the training set and the means of the measures, computed on the workers."""
    from plackett.evaluation.evaluate import evaluate
    from plackett.metrics.measure import make_measure

    size = make_measure(len, ties="stable")
    result = evaluate(parts, ranker=fitted, metrics=[*metrics, size])
    means = result.mean()
    del means[str(size)]
    return Sizes(len(result), int(result[size].sum()), fitted.n_features_in_), means
