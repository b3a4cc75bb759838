"""What a process costs: importing, asking for help, and a whole evaluation through the command line, kernels cached."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import plackett as pk
from benchmarks.timing import Result, best_of


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        data = pk.datasets.make_web_like(100, n_features=46, random_state=0)
        pk.write_letor(data, Path(folder) / "data.txt")
        scores = pk.datasets.make_rankings(data)["noisy"]
        (Path(folder) / "scores.txt").write_text("\n".join(map(repr, scores.tolist())))

        def python(code: str, *words: str) -> float:
            command = [sys.executable, "-c", code, *words]
            return best_of(lambda: subprocess.run(command, cwd=folder, check=True, capture_output=True), 7)

        numpy = python("import numpy")
        command = "from plackett.cli import main; main()"
        limit = "limit 0.15 s beyond numpy"
        return [
            Result("import plackett and numpy", python("import numpy, plackett"), "import numpy", numpy, note=limit),
            Result("plackett --help", python(command, "--help"), "import numpy", numpy),
            Result(
                f"plackett evaluate, {data.n_docs:,} rows, kernels cached",
                python(command, "evaluate", "data.txt", "scores.txt", "-m", "ndcg@10"),
                "import numba",
                python("import numba"),
                note="limit 1 s in all",
            ),
        ]
