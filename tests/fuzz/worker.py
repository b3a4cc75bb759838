"""The process that reads mutated inputs, under limits of memory and time."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

from tests.fuzz.runner import SECONDS, SLACK, kind_of, mutated


def main() -> None:
    name, folder, seed, first, last = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
    answers, sys.stdout = os.dup(1), sys.stderr  # other output must not mix with the results
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kind = kind_of(name)
    seeds = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(prefix="plackett-fuzz-", dir=in_memory) as own:
        path = Path(own, f"input{kind.SUFFIX}")
        for content in seeds:  # import everything that reading needs, without limits
            path.write_bytes(content)
            kind.read(path)
        for number in range(first, last):
            content = mutated(kind, seeds, seed, number)
            path.write_bytes(content)
            os.write(answers, b"begin %d\n" % number)
            os.write(answers, f"{_outcome(kind, path, len(content))}\n".encode())


def _outcome(kind, path: Path, size: int) -> str:
    room = 10 * size + SLACK
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak memory
    status = _status()
    _limit(resource.RLIMIT_AS, status["VmSize"] + room + (1 << 30))  # unused address space costs nothing
    used = resource.getrusage(resource.RUSAGE_SELF)
    _limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + SECONDS + 1)
    try:
        kind.read(path)
        outcome = "read"
    except kind.OURS:
        outcome = "refused"
    except MemoryError as error:
        outcome = f"memory {error}"
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        outcome = f"foreign {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
    peak = _status()["VmHWM"] - status["VmRSS"]
    if peak > room and not outcome.startswith("foreign"):
        outcome = f"memory {peak >> 20} MB for {size:,} bytes"
    return " ".join(outcome.split())[:300]


def _limit(what: int, most: int) -> None:
    with contextlib.suppress(ValueError):  # the hard limit is lower and applies
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def _status() -> dict[str, int]:
    """Return sizes of this process in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return {line.partition(":")[0]: int(line.split()[1]) << 10 for line in lines if line.endswith(" kB")}


if __name__ == "__main__":
    main()
