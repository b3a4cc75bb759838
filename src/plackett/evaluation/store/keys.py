"""Identities of estimators and measures, by which stored results are found again.

Parameters and states are compared by value, classes and functions by name. Their code is identified by the version of
the installed package, or by the contents of the source files: those of their module and of every module that it uses
and that is not installed.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import pickle
import platform
import sys
import sysconfig
import types
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import plackett
from plackett import _native
from plackett._lazy import IMPORTED_AT
from plackett._threads import query_blocks
from plackett.data.queries import Queries
from plackett.evaluation.estimators import parts_of
from plackett.validation import is_sparse, plain

NAMES_AT_ONCE = 1 << 16  # document ids
PACKAGES = ("numpy", "scipy", "scikit-learn")  # every result depends on them
LATER_ROOMS = ("exporting", "report", "reproductions", "cli", "apps")  # they do not change results


class NotIdentifiable(ValueError):
    """Raised for a value that cannot be distinguished from a different one in another process."""


def identity_of(value: Any, where: str = "the estimator") -> str:
    """Return a hash of a parameter, of data, or of an estimator with all of its parameters.

    Objects without accessible state, such as an open file, are `NotIdentifiable`.
    """
    return Identity().of(value, where)


def versions_of(*estimators: Any) -> dict[str, str]:
    """Return the versions of plackett, of its dependencies, and of the packages of the estimators and their parts.

    The build of the kernels is included, because builds agree only up to rounding. A run that is resumed on a processor
    with another build recomputes its results.
    """
    classes = [cls for estimator in estimators for part in parts_of(estimator) for cls in type(part).__mro__]
    packages = {cls.__module__.partition(".")[0] for cls in classes}
    packages |= {name for cls in classes if isinstance(name := getattr(cls, "package", None), str)}  # of trees
    found = map(_distribution, sorted(packages - {"plackett"}))
    return {
        "plackett": f"{plackett.__version__} {_source_digest()}",
        "native": f"{_native.build} {_native_digest()}",
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in PACKAGES},
        **{name: version for name, version in found if version},
    }


def code_of(*values: Any) -> dict[str, str]:
    """Return `versions_of` with the source files of all classes and functions in the values.

    Code without a source file, such as that of a notebook, lambdas and functions inside of functions, and source files
    that were changed after plackett was imported, are `NotIdentifiable`.
    """
    answer = versions_of(*values)
    for value in values:
        params = value.get_params() if hasattr(value, "get_params") else {}
        inside = sorted(params.items(), key=lambda item: -item[0].count("__"))  # the most precise name first
        own = [("it", type(value)), *inside] if params else []
        for where, part in (*own, ("it", value)):
            identity = Identity()
            identity.of(part, where)
            for named in identity.named:
                for cls in named.__mro__ if isinstance(named, type) else (named,):
                    answer |= _code_of_module(_module_of(cls, where), where)
    return answer


class Identity(pickle.Pickler):
    """A hash of values by what pickle would store of them; ``named`` are the classes and functions in them."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.named: list[Any] = []
        self._latest: type = type(None)  # of the values so far, the last one, where pickling may fail
        super().__init__(SimpleNamespace(write=self.digest.update), protocol=4)

    def of(self, value: Any, where: str) -> str:
        """Return the hash of everything up to this value."""
        try:
            self.dump(value)
        except Exception as error:  # it cannot be pickled
            raise NotIdentifiable(
                f"{where} is a {self._latest.__name__}, which cannot be identified in another process."
            ) from error
        self.clear_memo()
        return self.digest.hexdigest()

    def persistent_id(self, value: Any) -> Any:
        """Return what to store instead of a value; None for all that pickle stores alike in every process."""
        kind = self._latest = type(value)
        if kind in (tuple, list, dict, type(None)):
            return None
        if kind in (str, bytes, bool, int, float) or isinstance(value, np.generic):  # two equal ones may be one object
            return f"{type(plain(value)).__name__} {plain(value)!r}"
        if kind in (set, frozenset):
            return kind.__name__, sorted(map(self._of_part, value))
        if kind in (np.ndarray, np.memmap) and not value.dtype.hasobject:
            content = value if value.dtype.kind not in "mM" else value.view(np.int64)  # dates have no buffer
            self.digest.update(np.ascontiguousarray(content).data)
            return f"array {value.dtype.str} {value.shape}"
        if isinstance(value, Queries):
            return f"queries {data_fingerprint(value)}"
        if _name(value) is not None:
            self.named.append(value)
            return f"named {pickle.whichmodule(value, _name(value))} {_name(value)}"  # type: ignore[attr-defined]
        if isinstance(kind.__reduce__, types.FunctionType):  # a __reduce__ of its own may omit something
            return kind, value.__reduce_ex__(4), getattr(value, "__dict__", None)
        return None

    def _of_part(self, value: Any) -> str:
        part = Identity()
        part.named = self.named
        return part.of(value, "a part")


def data_fingerprint(queries: Queries | None) -> str:
    """Return a hash of everything that a ranker or a measure can read from the queries."""
    if queries is None:
        return "none"
    identity, given = Identity(), queries.grouped
    X, subtopics = given.X, given.subtopics
    for part in (
        None if queries.is_grouped else queries.row_order,  # stored scores are in the order of the rows
        X.shape,
        *((X.data, X.indices, X.indptr) if is_sparse(X) else (X,)),
        (given.indptr, given.ids, given.y, given.feature_names, given.categories),
        None if subtopics is None else (subtopics.indptr, subtopics.codes, subtopics.labels),
    ):
        identity.of(part, "the queries")
    if given.document_ids is not None or given.comments is not None:  # some conventions break ties by them
        for first, last in query_blocks(given.indptr, NAMES_AT_ONCE):  # limits the memory for text
            identity.digest.update(repr(np.asarray(given[first:last].docid).tolist()).encode())
    return identity.digest.hexdigest()


def key_fingerprint(parts: Mapping[str, Any]) -> str:
    """Return one hash of plain values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _name(value: Any) -> str | None:
    """Return the name of a class, function or module; None for objects and for methods of objects."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if not isinstance(value, type) and not isinstance(getattr(value, "__self__", None), (types.ModuleType, type(None))):
        return None
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    return name if isinstance(name, str) and callable(value) else None


# --- Code -------------------------------------------------------------------------------------------------------------


def _module_of(value: Any, where: str) -> str:
    """Return the module in which a class or function is found by its name."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    name = _name(value) or ""
    module = pickle.whichmodule(value, name)  # type: ignore[attr-defined]
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value and not (isinstance(value, type) and module in sys.builtin_module_names):
        raise NotIdentifiable(
            f"{where} uses {name}, which has no source file of its own: define it at the top level of a module."
        )
    return module


def _code_of_module(name: str, where: str) -> dict[str, str]:
    """Return the version of the package of a module, or a hash of the source files that the module uses."""
    package = name.partition(".")[0]
    file = None if package == "plackett" else _file_of(name)
    if file is None and package in {"plackett", *sys.stdlib_module_names}:
        return {}
    if file is not None and _is_installed(file):
        return {} if package in sys.stdlib_module_names else dict([_distribution(package)])
    digest = hashlib.sha256()
    for path in sorted(_sources(name, where, set())):
        if path.stat().st_mtime > IMPORTED_AT:
            raise NotIdentifiable(
                f"{where} uses {path.name}, which was changed after plackett was imported: start a new process."
            )
        digest.update(path.read_bytes() + b"\0")
    return {name: digest.hexdigest()}


def _sources(name: str, where: str, seen: set[str]) -> set[Path]:
    """Return the file of a module, and those of the modules that it imports and that are not installed."""
    seen.add(name)
    file = _file_of(name)
    if file is None:
        raise NotIdentifiable(f"{where} uses code of {name}, which has no source file: move it to a module.")
    answer = {file}
    for other in _imports(name, file) - seen:
        home = _file_of(other.partition(".")[0])
        if home is not None and other.partition(".")[0] != "plackett" and not _is_installed(home) and _file_of(other):
            answer |= _sources(other, where, seen)
    return answer


def _imports(name: str, file: Path) -> set[str]:
    """Return the modules that a source file may import, anywhere in it."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    answer = set()
    for node in ast.walk(ast.parse(file.read_bytes())) if file.suffix == ".py" else ():
        if isinstance(node, ast.Import):
            answer |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            home = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            answer |= {home, *(f"{home}.{alias.name}" for alias in node.names)}
    return answer


def _file_of(module: str) -> Path | None:
    """Return the file of a module that is loaded or, without importing it, can be found; None for others."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if module not in sys.modules:
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(module)
            file = spec.origin if spec is not None and spec.has_location else None
    return None if file is None else Path(file).resolve()


@functools.cache
def _is_installed(file: Path) -> bool:
    """Whether a file belongs to the standard library or to an installed package with a version."""
    standard = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    homes = [home for home in map(Path.resolve, map(Path, sys.path)) if home in file.parents]
    home = max(homes, key=lambda one: len(one.parts), default=standard[0])
    if home in (*standard, standard[0] / "lib-dynload"):
        return any(one in file.parents for one in standard)
    name, version = _distribution(file.relative_to(home).parts[0].partition(".")[0])
    # the files of an editable installation are elsewhere
    return version != "" and Path(str(importlib.metadata.distribution(name).locate_file(""))).resolve() == home


@functools.cache
def _distribution(package: str) -> tuple[str, str]:
    """Return what installed a module, and its version: scikit-learn installs sklearn; an empty version if unknown."""
    name = next(iter(_distributions().get(package, ())), None)
    return (package, "") if name is None else (name, importlib.metadata.version(name))


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


@functools.cache
def _source_digest() -> str:
    """Return a hash of the Python code behind results, which may change without a new version during development."""
    home, digest = Path(plackett.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        if path.relative_to(home).parts[0] not in LATER_ROOMS:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(home)} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16]


@functools.cache
def _native_digest() -> str:
    """Return a hash of the compiled kernels in use; an installation does not have their sources."""
    return hashlib.sha256(Path(_native.path).read_bytes()).hexdigest()[:16]
