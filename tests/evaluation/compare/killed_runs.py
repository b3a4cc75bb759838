"""A comparison that is killed again and again: run as a script, in a process whose children can be killed.

Writes JSON: the result of a run that nobody killed, those of runs in the folder after all the kills, and how often each
way of dying took place.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import plackett as pk

N_KILLS = 20


def compare(folder=None):
    data = pk.datasets.make_web_like(24, 8, 4, random_state=3)
    rankers = {
        "listmle": ("listmle", {"l2": [1.0, 0.1, 0.01]}),
        "prank": ("prank", {"n_epochs": [1, 2]}),  # draws: only its seed makes runs alike
        "adarank": "adarank",
        "broken": pk.LinearRanker(loss="no such loss"),
    }
    return pk.compare(rankers, data, cv=4, metrics="ndcg@5,map", folder=folder)


def without_times(comparison):
    plain = comparison.to_dict()
    for fits in plain["fits"].values():
        for fit in fits:
            fit["seconds"] = None
    del plain["settings"]["date"]
    return plain


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(name, number):
    """Be killed at the ``number``-th call of a function of ``os``, after it has done half of what a write needs."""
    true, calls = getattr(os, name), 0

    def counted(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == number:
            die()
        return true(*args, **kwargs)

    setattr(os, name, counted)


def fork_run(folder, prepare=lambda: None):
    """The number of a child that runs the comparison."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        prepare()
        compare(folder)
        status = 0
    finally:
        os._exit(status)


def killed_run(folder, way, number, draws):
    """One run in a child, and how it ended: True if it was killed."""
    n_before = len(list(folder.glob("*.run")))
    pid = fork_run(folder, lambda: die_at(way, number) if way in ("fsync", "replace") else None)
    if way == "files":
        while len(list(folder.glob("*.run"))) < n_before + number and os.waitpid(pid, os.WNOHANG) == (0, 0):
            time.sleep(0.0002)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
    elif way == "delay":
        time.sleep(draws.uniform(0.0, 0.08))
        os.kill(pid, signal.SIGKILL)
    try:
        _, status = os.waitpid(pid, 0)
    except ChildProcessError:
        return False
    return os.WIFSIGNALED(status)


def main():
    folder, draws = Path(sys.argv[1]), random.Random(0)
    folder.mkdir()
    expected = without_times(compare())
    ways = {"fsync": 0, "replace": 0, "files": 0, "delay": 0}
    n_tries = 0
    while sum(ways.values()) < N_KILLS and n_tries < 60:
        way = list(ways)[n_tries % len(ways)]
        ways[way] += killed_run(folder, way, 1 + n_tries % 3, draws)
        n_tries += 1
    n_files = len(list(folder.glob("*.run")))
    others = [fork_run(folder) for _ in range(2)]  # two that finish what is left, at the same time as this one
    result = without_times(compare(folder))
    ends = [os.waitpid(pid, 0)[1] for pid in others]
    again = without_times(compare(folder))
    results = {"expected": expected, "resumed": result, "again": again}
    sys.stdout.write(json.dumps({**results, "ways": ways, "n_files": n_files, "ends": ends}))


if __name__ == "__main__":
    main()
