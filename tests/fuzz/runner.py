"""Read mutated inputs in a separate process and count the outcomes.

An input is identified by its kind, seed and number. A process that ends or hangs is replaced, and the run continues
after its input.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import select
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import tests.fuzz

FINE = ("read", "refused")  # without an error, or with one of plackett
SECONDS = 5  # processor time of one input
PATIENCE = 60  # wall time of one input, as other processes may use the processor
SLACK = 200 << 20  # bytes of memory in addition to ten times the input
REPOSITORY = Path(tests.fuzz.__path__[0]).parents[1]


def kind_names() -> list[str]:
    """Return the kinds of file that have a fuzzer."""
    return sorted(m.name.removeprefix("of_") for m in pkgutil.iter_modules(tests.fuzz.__path__) if m.name[:3] == "of_")


def kind_of(name: str):
    """Return the module of a kind of file."""
    return importlib.import_module(f"tests.fuzz.of_{name}")


def mutated(kind, seeds: list[bytes], seed: int, number: int) -> bytes:
    """Return the input with this number."""
    return kind.mutate(seeds, np.random.default_rng([seed, number]))


def run(name: str, count: int, *, seed: int = 0, first: int = 0, keep: Path | None = None, log=None) -> Counter:
    """Read ``count`` inputs of a kind.

    Returns
    -------
    Counter
        Of ``read``, ``refused`` (an error of plackett), ``foreign`` (another error), ``memory`` (more than ten times
        the input and 200 MB), ``hang`` (more than 5 seconds of processor time) and ``signal``.
    """
    kind, outcomes = kind_of(name), Counter()
    seeds = kind.seeds()
    with tempfile.TemporaryDirectory(prefix="plackett-fuzz-") as folder:
        for place, content in enumerate(seeds):
            Path(folder, f"{place:03d}").write_bytes(content)
        number, last = first, first + count
        while number < last:
            for number, outcome, detail in _results(name, folder, seed, number, last):  # noqa: B020
                outcomes[outcome] += 1
                if log is not None and outcomes.total() % 5000 == 0:
                    print(f"{name} (seed {seed}): {dict(outcomes)}", file=log, flush=True)
                if outcome in FINE:
                    continue
                if log is not None:
                    print(f"{name} {number} (seed {seed}): {outcome}: {detail}", file=log, flush=True)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    input_path = keep / f"{name}-{seed}-{number}-{outcome}{kind.SUFFIX}"
                    input_path.write_bytes(mutated(kind, seeds, seed, number))
            number += 1
    return outcomes


def _results(name: str, folder: str, seed: int, first: int, last: int):
    """Yield numbers, outcomes and details, until the process has finished, ends or hangs."""
    command = [sys.executable, "-m", "tests.fuzz.worker", name, folder, str(seed), str(first), str(last)]
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PLACKETT_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=REPOSITORY)
    number, buffer = None, b""
    try:
        while True:
            ready, _, _ = select.select([process.stdout], [], [], PATIENCE if number is not None else 600)
            if not ready:
                if number is None:
                    raise RuntimeError(f"the fuzzer of {name} does not start")
                yield number, "hang", f"no answer for {PATIENCE} seconds"
                return
            part = os.read(process.stdout.fileno(), 1 << 16)
            if not part:
                break
            *lines, buffer = (buffer + part).split(b"\n")
            for line in lines:
                word, _, rest = line.decode(errors="replace").partition(" ")
                if word == "begin":
                    number = int(rest)
                else:
                    yield number, word, rest
        code = process.wait()
        if code == 0:
            return
        if code > 0 or number is None:
            raise RuntimeError(f"the fuzzer of {name} failed with status {code}")
        found = signal.Signals(-code).name
        yield number, "hang" if found == "SIGXCPU" else "signal", found
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
