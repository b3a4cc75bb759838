"""Imports that happen when they are first needed, also from several threads at once."""

import ast
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import plackett

PACKAGE = Path(plackett.__file__).parent
IN_CYCLES = {"plackett", "sklearn", "scipy", "joblib", "torch", "distributed", "dask"}  # packages with import cycles
ONE_THREAD = {"cli", "reproductions"}
LOADED_AT_START = {"apps"}

FITS = """
import threading
import numpy as np, plackett as pk
random = np.random.default_rng(0)
X, y, qid = random.normal(size=(24, 3)), np.tile([2, 0, 1, 0], 6), np.repeat(range(6), 4)
names, together = ["qsvm", "rankboost", "listmle", "regression", "ranksvm", "kernel-cs-listmle"], threading.Barrier(12)
def fit(name):
    together.wait()
    try:
        pk.ranker(name).fit(X, y, qid=qid).predict(X, **({"qid": qid} if name == "qsvm" else {}))
    except BaseException as error:
        print(f"{name}: {error!r}"[:300])
threads = [threading.Thread(target=fit, args=(names[i % 6],)) for i in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
# `importing` is held while a function imports: code that runs at import would wait for it with a module's lock held
AT_IMPORT = """
import contextlib, importlib, pkgutil, sys, traceback
import plackett, plackett._lazy as lazy
class Refused:
    def __enter__(self):
        print(module, [frame.filename for frame in traceback.extract_stack() if "plackett" in frame.filename][-1])
    def __exit__(self, *error): pass
lazy.importing = Refused()
for found in list(pkgutil.walk_packages(plackett.__path__, "plackett.", onerror=lambda name: None)):
    module = found.name
    if not module.endswith("__main__"):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(module)
"""


def output(code, *words):
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def test_first_calls_of_different_rankers_from_twelve_threads():
    with ThreadPoolExecutor(2) as two:
        assert list(two.map(output, [FITS] * 20)) == [""] * 20


def test_importing_the_package_of_metrics_imports_none_of_its_modules():
    code = "import sys, plackett.metrics; print([name for name in sys.modules if name.startswith('plackett.metrics.')])"
    assert output(code) == "[]\n"


def test_modules_do_not_import_lazily_while_they_are_imported():
    found = [line.split() for line in output(AT_IMPORT).splitlines()]
    # modules that need an optional package name it; the functions that import these hold the lock already
    assert [module for module, file in found if not file.endswith("_optional.py")] == []


def unlocked_imports(node, in_function=False):
    """Yield the imports in functions that do not hold the lock, as statements."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.Import | ast.ImportFrom) and in_function:
            name = inner.module if isinstance(inner, ast.ImportFrom) else inner.names[0].name
            if name.split(".")[0] in IN_CYCLES:
                yield ast.unparse(inner)
        elif not (isinstance(inner, ast.With) and ast.unparse(inner.items[0]) == "importing"):
            yield from unlocked_imports(inner, in_function or isinstance(inner, ast.FunctionDef))


def test_functions_hold_the_lock_while_they_import():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        if room not in ONE_THREAD | LOADED_AT_START:
            found[str(path)] = list(unlocked_imports(ast.parse(path.read_text(encoding="utf-8"))))
    advice = "from plackett._lazy import importing; with importing: ..."
    assert {path: imports for path, imports in found.items() if imports} == {}, advice
