"""Run the README's first example with the installed package, and compare its time with ``import sklearn.base``.

    python tools/first_example.py

Both run in new processes, in an empty folder that is also HOME, so that there is no cache. Fails if the output is not
that of the README, or if the example takes more than 3 s longer.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
LIMIT = 3.0  # seconds beyond the import of scikit-learn's base
ROUNDS = 3
EXAMPLE = """
import doctest, sys
test = doctest.DocTestParser().get_doctest(open(sys.argv[1], encoding="utf-8").read(), {}, "README", "README.md", 0)
sys.exit(doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed)
"""


def first_example() -> str:
    """Return the first block of the README with a prompt."""
    blocks = re.findall("```python\n(>>>.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert doctest.DocTestParser().get_examples(blocks[0])
    return blocks[0]


def seconds_of(command: list[str]) -> float:
    """Return the wall time of a process in an empty folder; raise if it fails."""
    with tempfile.TemporaryDirectory() as home:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLACKETT", "XDG", "PYTHON"))}
        start = time.perf_counter()
        done = subprocess.run(
            command, cwd=home, env={**kept, "HOME": home, "USERPROFILE": home}, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"failed: {done.stdout}{done.stderr}")
        return time.perf_counter() - start


def measured(python: list[str], setup: str = "", rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the seconds of the example and of ``import sklearn.base``: in turns, the shortest of each."""
    with tempfile.TemporaryDirectory() as folder:
        example = Path(folder) / "example.txt"
        example.write_text(first_example(), encoding="utf-8")
        ours = [*python, "-c", setup + EXAMPLE, str(example)]
        base = [*python, "-c", f"{setup}\nimport sklearn.base"]
        times = [(seconds_of(ours), seconds_of(base)) for _ in range(rounds)]
    return min(one for one, _ in times), min(other for _, other in times)


def main() -> None:
    ours, base = measured([sys.executable])
    print(f"the README's first example: {ours:.2f} s, import sklearn.base: {base:.2f} s")
    if ours > base + LIMIT:
        sys.exit(f"the example takes {ours - base:.2f} s beyond the import; at most {LIMIT:g} s are allowed.")


if __name__ == "__main__":
    main()
