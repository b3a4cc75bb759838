"""The ``plackett`` command in processes forked from one that has imported it, which saves a second of imports each."""

from __future__ import annotations

import io
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

# What most commands import. Nothing here computes: a fork of a process with OpenMP threads could hang.
PRELOADED = [
    "plackett.cli.app",
    "plackett.cli.train",
    "plackett.cli.compare",
    "plackett.cli.export",
    "plackett.evaluation.compare.comparison",
    "plackett.rankers.linear.ranker",
    "scipy.optimize",
    "scipy.stats",
]


def run_forked(words: list[str], environment: dict[str, str], timeout: float = 300) -> tuple[int, str]:
    """Run the command in the current folder and return its exit status and its terminal output."""
    from multiprocessing.reduction import DupFd  # not on Windows, where nothing is forked

    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    reader, writer = os.pipe()
    process = context.Process(target=_main, args=(words, environment, Path.cwd(), DupFd(writer)))
    process.start()
    os.close(writer)
    with open(reader, encoding="utf-8") as output:
        printed = output.read()
    process.join(timeout)
    assert process.exitcode is not None, f"still running after {timeout} s: plackett {words}"
    return process.exitcode, printed


def _main(words: list[str], environment: dict[str, str], folder: Path, writer: Any) -> None:
    descriptor = writer.detach()
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    # files without a buffer keep the order of what both print
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(io.FileIO(standard, "w", closefd=False), encoding="utf-8", write_through=True)
        for standard in (1, 2)
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["plackett", *words]
    from plackett.cli import main

    main()
