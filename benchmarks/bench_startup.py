"""Measure new processes: import, evaluation, a first fit, a first list scored, a first answer of the service, and the
README on read-only files.

The package is copied as a wheel would install it, with its ``.pyc`` files, so that no hook of an editable install runs.
In a cold start the files are not in the page cache, except for those that other processes have mapped.
"""

from __future__ import annotations

import compileall
import doctest
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

import plackett as pk
from benchmarks.timing import Result
from benchmarks.turns import judged
from plackett import _native

ROUNDS = 5
IMPORT = "import time; start = time.perf_counter(); import plackett; print(time.perf_counter() - start)"
SKLEARN = "import sklearn.base"
FIT = """
import numpy as np, plackett as pk
X, qid = np.random.default_rng(0).random((200, 10)), np.repeat(np.arange(20), 10)
pk.LinearRanker().fit(X, np.floor(3 * X[:, 0]), qid=qid)
"""
PREDICT = "import numpy as np, plackett as pk; pk.load('model.plackett').predict(np.ones((9, 46)))"
SCORE = "import numpy as np, plackett as pk; pk.load_scorer('trees.plackett').score(np.ones((100, 46)))"
EVALUATE = "import sys; sys.argv[1:] = 'evaluate data.txt scores.txt'.split(); from plackett.cli import main; main()"
SERVE = "import sys; sys.argv[1:] = 'serve trees.plackett --port 0'.split(); from plackett.cli import main; main()"
CODES = (IMPORT, SKLEARN, FIT, PREDICT, SCORE, EVALUATE)
# prints the files that a process read to standard error at exit
FILES = """
import atexit, sys
def _say():
    names = [vars(m).get(key) for m in list(sys.modules.values()) for key in ("__file__", "__cached__")]
    names += [line.split()[-1] for line in open("/proc/self/maps") if "/" in line]
    print(*{name for name in names if name}, sep="\\n", file=sys.stderr)
atexit.register(_say)
"""
# makes every mounted file system read-only, except for those of the kernel and the current folder, which is empty
READ_ONLY = """
set -e
mount --make-rprivate /
for place in $(cut -d' ' -f2 /proc/mounts | grep -vE '^/(proc|sys|dev)(/|$)'); do
    mount -o remount,ro,bind "$place"
done
! touch "$1/probe" 2>/dev/null
mount -t tmpfs none "$1"; cd "$1"; shift
exec "$@"
"""


def run() -> list[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _install(folder / "site")
        n_docs = _write_data(folder)
        start = partial(_start, folder)
        results = []
        for how, before in (("warm", lambda _: None), ("cold", partial(_forget, folder))):
            seconds = {code: _shortest(start, before, code) for code in CODES}
            of_base = "1.25 × import sklearn.base", 1.25 * seconds[SKLEARN]
            results += [
                _within(f"import plackett, {how}", seconds[IMPORT], "limit", 0.03),
                _within(f"plackett evaluate, {n_docs:,} rows, {how}", seconds[EVALUATE], "limit", 0.5),
                _within(f"a first small LinearRanker.fit, {how}", seconds[FIT], *of_base),
                _within(f"load a linear model and predict, {how}", seconds[PREDICT], *of_base),
                _within(f"load_scorer of 500 trees and a first list, {how}", seconds[SCORE], "limit", 0.5),
            ]
        return [*results, *_serving(folder), *_on_read_only_files(folder)]


def _serving(folder: Path) -> list[Result]:
    """Measure the time from the start of a serving process to its first answer to ``POST /rank``."""
    frozen = _frozen(folder / "empty-too")
    without_pyc = ("-B", "-X", f"pycache_prefix={folder / 'nothing'}")  # not even for the standard library
    ways: dict[str, Callable[[], float]] = {
        "warm": lambda: _first_answer(folder)[0],
        "cold": lambda: (_drop(_first_answer(folder, FILES)[1]), _first_answer(folder)[0])[1],
        "warm, without .pyc files": lambda: _first_answer(folder, options=without_pyc)[0],
    }
    if frozen:
        ways["read-only, no HOME"] = lambda: _first_answer(folder, around=frozen)[0]
    best = {how: min(measure() for _ in range(ROUNDS)) for how, measure in ways.items()}
    return [_within(f"plackett serve, 500 trees, to its first answer, {how}", best[how], "limit", 0.5) for how in best]


def _first_answer(folder: Path, code: str = "", around: Sequence[str] = (), options: Sequence[str] = ()):
    """Return the seconds to the first answer of a service, and what it wrote to standard error at its end."""
    serve = SERVE.replace("trees.plackett", str(folder / "trees.plackett"))
    begin = time.perf_counter()
    process = subprocess.Popen(
        _command(folder, code + serve, around, options),
        cwd=folder,
        env=_environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    address = next(line for line in process.stderr if line.startswith("Serving at "))
    connection = http.client.HTTPConnection("127.0.0.1", int(address.split(":")[2].split("/")[0]), timeout=60)
    connection.request("POST", "/rank", json.dumps({"documents": [[1.0] * 46] * 100}))
    answer = connection.getresponse()
    answer.read()
    seconds = time.perf_counter() - begin
    connection.close()
    process.terminate()
    said = process.communicate()[1]
    assert answer.status == 200
    return seconds, said


def _on_read_only_files(folder: Path) -> list[Result]:
    """Measure the README's first example without a HOME, if only the current folder is writable."""
    frozen = _frozen(folder / "empty")
    if not frozen:
        return []
    start = partial(_start, folder, around=frozen)
    codes = _readme_example(), SKLEARN, SCORE.replace("trees.plackett", str(folder / "trees.plackett"))
    example, base, score = (_shortest(start, lambda _: None, code) for code in codes)
    return [
        _within("the README's example, read-only, no HOME", example, "3 s + import sklearn.base", 3 + base),
        _within("load_scorer of 500 trees and a first list, read-only, no HOME", score, "limit", 0.5),
    ]


def _frozen(place: Path) -> list[str]:
    """Return the words around a command on read-only files with an empty current folder; none if it is impossible."""
    place.mkdir()
    frozen = ["unshare", "--mount", "--map-root-user", "sh", "-c", READ_ONLY, "sh", str(place)]
    tried = subprocess.run([*frozen, "true"], capture_output=True, text=True) if shutil.which("unshare") else None
    if tried is None or tried.returncode:
        why = "there is no unshare" if tried is None else tried.stderr.strip() or "files stayed writable"
        print(f"runs on read-only files are skipped: {why}", file=sys.stderr)
        return []
    return frozen


def _within(what: str, seconds: float, name: str, limit: float) -> Result:
    return judged(Result(what, seconds, name, limit, target=1.0))


def _readme_example() -> str:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    block = re.findall("```python\n(.*?)```", text, re.DOTALL)[0]
    return "".join(example.source for example in doctest.DocTestParser().get_examples(block))


def _install(site: Path) -> None:
    """Copy the package, with both builds of its kernels, as a wheel has them."""
    ignored = shutil.ignore_patterns("*.cpp", "*.hpp", "*.so", "__pycache__")
    shutil.copytree(Path(pk.__file__).parent, site / "plackett", ignore=ignored)
    built = Path(_native._module.__file__)  # an editable install has the builds in another folder than the sources
    for path in built.parent.glob(f"_*{built.suffix}"):
        shutil.copy(path, site / "plackett/_native")
    compileall.compile_dir(site, quiet=1)


def _write_data(folder: Path) -> int:
    data = pk.datasets.make_web_like(100, n_features=46, random_state=0)
    pk.write_letor(data, folder / "data.txt")
    scores = data.y + np.random.default_rng(0).normal(size=data.n_docs)
    (folder / "scores.txt").write_text("\n".join(map(repr, scores.tolist())))
    pk.LinearRanker().fit(data).save(folder / "model.plackett")
    pk.TreeRanker("lightgbm", n_rounds=500, num_leaves=31).fit(data).save(folder / "trees.plackett")
    return data.n_docs


def _start(folder: Path, code: str, around: Sequence[str] = ()) -> subprocess.CompletedProcess:
    """Run Python code in a new process with the copied package, without HOME and other settings."""
    command = _command(folder, code, around)
    return subprocess.run(command, cwd=folder, env=_environment(), check=True, capture_output=True, text=True)


def _command(folder: Path, code: str, around: Sequence[str] = (), options: Sequence[str] = ()) -> list[str]:
    paths = [str(folder / "site"), *(path for path in sys.path if path.endswith("site-packages"))]
    return [*around, sys.executable, "-S", *options, "-c", f"import sys; sys.path[:0] = {paths}\n{code}"]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"]}


def _shortest(start: Callable[[str], subprocess.CompletedProcess], before: Callable[[str], None], code: str) -> float:
    """Return the shortest of some starts in seconds: the number that the code prints, or the time of the process."""
    best = float("inf")
    for _ in range(ROUNDS):
        before(code)
        begin = time.perf_counter()
        answer = start(code).stdout
        seconds = time.perf_counter() - begin
        best = min(best, float(answer) if code == IMPORT else seconds)
    return best


def _forget(folder: Path, code: str) -> None:
    """Drop the files that the code reads from the page cache."""
    _drop(_start(folder, FILES + code).stderr)


def _drop(names: str) -> None:
    for name in names.splitlines():
        if os.path.isfile(name):
            with open(name, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
