"""Compare the kernels of this checkout with those of another one: ``python -m benchmarks.against OTHER_CHECKOUT``.

One process per checkout sets up a case. Both measure it alternately, and the shortest time of each counts, because
noise only adds time. The ratio is this checkout's time over the other's. ``--output FOLDER`` keeps the times of all
turns in two files for ``python -m benchmarks.changes``, which tests them in pairs.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import subprocess
import sys
import uuid
import warnings
from pathlib import Path

from benchmarks.timing import shortest

HERE = Path(__file__).resolve().parents[1]
TURNS = 16  # fewer could not show a change among more than 200 cases
SECONDS = 0.15  # a turn repeats a short call for this long


def worker() -> None:
    """Run the commands from standard input, ``set MODULE CASE`` and ``time``, and print their results."""
    answer, sys.stdout = sys.stdout, sys.stderr
    call = None
    for line in sys.stdin:
        word, *rest = line.rstrip("\n").split("\t")
        try:
            if word == "set":
                call = importlib.import_module(f"benchmarks.native_cases.{rest[0]}").CASES[rest[1]]()
                call()
                reply = "ready"
            else:
                reply = repr(shortest(call, SECONDS))
        except Exception as error:
            reply = f"failed: {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, file=answer, flush=True)


class Checkout:
    """A process that imports plackett and the cases from one checkout, or the cases of this one if it has none."""

    def __init__(self, folder: Path):
        cases = folder if (folder / "benchmarks" / "native_cases").is_dir() else HERE
        # the import hook of an editable install overrides sys.path: another checkout runs with -S and explicit paths
        paths = [str(folder / "src"), str(cases), *(path for path in sys.path if path.endswith("site-packages"))]
        code = f"import sys; sys.path[:0] = {paths!r}; from benchmarks.against import worker; worker()"
        options = ["-W", "ignore"] if folder == HERE else ["-S", "-W", "ignore"]
        self.process = subprocess.Popen(
            [sys.executable, *options, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=cases
        )

    def ask(self, *words: str) -> str:
        assert self.process.stdin
        assert self.process.stdout
        print(*words, sep="\t", file=self.process.stdin, flush=True)
        return self.process.stdout.readline().rstrip("\n")

    def close(self) -> None:
        self.process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("other", type=Path, help="folder of the other checkout, with compiled kernels")
    parser.add_argument("modules", nargs="*", help="modules of benchmarks/native_cases; default: all")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="folder of this.json and other.json")
    arguments = parser.parse_args()
    runs: tuple[dict, dict] = ({}, {})
    import benchmarks.native_cases as cases

    modules = arguments.modules or sorted(module.name for module in pkgutil.iter_modules(cases.__path__))
    print("| family | case | this, ms | other, ms | ratio |\n|---|---|---:|---:|---:|")
    for module in modules:
        checkouts = Checkout(HERE), Checkout(arguments.other.resolve())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = list(importlib.import_module(f"benchmarks.native_cases.{module}").CASES)
        for name in names:
            print(f"{module}: {name} …", file=sys.stderr)
            replies = [checkout.ask("set", module, name) for checkout in checkouts]
            if replies != ["ready", "ready"]:
                print(f"| {module} | {name} | {replies[0]} | {replies[1]} | |", flush=True)
                continue
            times = [[float(checkout.ask("time")) for checkout in checkouts] for _ in range(arguments.turns)]
            for run, seconds in zip(runs, zip(*times, strict=True), strict=True):
                run[f"{module}: {name}"] = {"seconds": list(seconds), "reference": [1.0] * len(seconds)}
            this, other = (min(column) * 1e3 for column in zip(*times, strict=True))
            print(f"| {module} | {name} | {this:.4g} | {other:.4g} | {this / other:.2f} |", flush=True)
        for checkout in checkouts:
            checkout.close()
    if arguments.output is not None:
        from benchmarks.tracking import as_run, write_run

        arguments.output.mkdir(parents=True, exist_ok=True)
        session = uuid.uuid4().hex
        for name, folder, run in zip(("this", "other"), (HERE, arguments.other), runs, strict=True):
            write_run(as_run(run, session=session, checkout=folder), arguments.output / f"{name}.json")


if __name__ == "__main__":
    main()
