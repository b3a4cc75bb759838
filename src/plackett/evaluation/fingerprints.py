"""By what a finished result is known again: the content of the data, the estimator, the versions of the code."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import inspect
import json
import platform
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import plackett
from plackett._threads import query_blocks
from plackett.data.queries import Queries
from plackett.evaluation.estimators import parts_of
from plackett.metrics.measure import Measure
from plackett.rankers.boosted_trees import BoostedTrees
from plackett.validation import is_sparse, plain

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")  # what results rest on besides plackett itself
KNOWN_BY_VERSION = {"plackett", "numpy", "scipy", "sklearn", "numba", *sys.stdlib_module_names}
WITH_FUNCTIONS = ("numpy", "scipy", "sklearn")
LATER_ROOMS = ("export", "exports", "report", "reproductions", "cli", "web")  # they change no result
UNKNOWN = "unknown"
MAX_DEPTH = 20
NAMES_AT_ONCE = 1 << 16


class Unrecognisable(ValueError):
    """A parameter that no other process could tell from another, such as a function."""


def of_data(queries: Queries | None, *, with_labels: bool = True) -> str:
    """A hash of all that a ranker or a measure may see of the queries; without labels, of all but these."""
    digest = hashlib.sha256()
    if queries is None:
        return "none"
    queries = queries.grouped
    X = queries.X
    for part in (X.data, X.indices, X.indptr) if is_sparse(X) else (X,):
        _add_array(digest, part)
    _add_array(digest, np.array(X.shape))
    _add_array(digest, queries.indptr)
    _add_array(digest, queries.ids)
    if with_labels and queries.y is not None:
        _add_array(digest, queries.y)
    _add_names(digest, queries)
    _add_text(digest, json.dumps(queries.feature_names))
    return digest.hexdigest()


def _add_names(digest, queries: Queries) -> None:
    """Document names, since some conventions break ties by them; as text of some queries at a time, not of all."""
    if queries._docid is None and queries.comments is None:
        return
    for first, last in query_blocks(queries.indptr, NAMES_AT_ONCE):
        names = np.asarray(queries[first:last].docid)
        texts = names.tolist()
        if all(type(text) is str for text in texts):
            _add_array(digest, np.array([len(text) for text in texts]))
            _add_text(digest, "".join(texts))
        else:
            _add_array(digest, names)


def of_arrays(*arrays: np.ndarray) -> str:
    """A hash of arrays: their types, shapes and values."""
    digest = hashlib.sha256()
    for array in arrays:
        _add_array(digest, array)
    return digest.hexdigest()


def _add_array(digest, array: np.ndarray) -> None:
    array = np.asarray(array)
    _add_text(digest, f"{array.dtype.str} {array.shape}")
    if array.dtype.kind == "O":  # ids of several kinds: with their types, since "7" is not 7
        _add_text(digest, json.dumps([[type(value).__name__, str(value)] for value in array.tolist()]))
    elif array.dtype.kind in "mM":  # dates lend no buffer
        digest.update(array.tobytes())
    else:
        digest.update(np.ascontiguousarray(array).data)


def _add_text(digest, text: str) -> None:
    content = text.encode("utf-8", "surrogateescape")
    digest.update(struct.pack("<q", len(content)))
    digest.update(content)


def of_value(value: Any, where: str = "the estimator", depth: int = 0) -> Any:
    """A parameter, or an estimator with all of its parameters, as plain JSON values that tell it from every other.

    Raises
    ------
    Unrecognisable
        For functions and objects that keep their state to themselves.
    """
    if depth > MAX_DEPTH:
        raise Unrecognisable(f"{where} holds values within values more than {MAX_DEPTH} deep, or itself.")
    value = plain(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.ndarray):
        return {"array": of_arrays(value)}
    if isinstance(value, Queries):
        return {"queries": of_data(value)}
    if is_sparse(value):
        return {"sparse": of_arrays(value.tocsr().data, value.tocsr().indices, value.tocsr().indptr)}
    if isinstance(value, (list, tuple)):
        parts = [of_value(part, f"{where}[{place}]", depth + 1) for place, part in enumerate(value)]
        return {type(value).__name__: parts}
    if isinstance(value, Mapping):
        return {
            "mapping": [
                [of_value(key, f"a key of {where}", depth + 1), of_value(part, f"{where}[{key!r}]", depth + 1)]
                for key, part in value.items()
            ]
        }
    if isinstance(value, Measure):
        return {"measure": str(value)}
    if isinstance(value, np.random.RandomState):
        return {"draws": of_value(value.get_state(legacy=False), where, depth + 1)}
    if isinstance(value, np.random.Generator):
        return {"draws": of_value(value.bit_generator.state, where, depth + 1)}
    if isinstance(value, type):
        return _of_class(value)
    if hasattr(value, "get_params"):
        own = {name: of_value(part, f"{name}", depth + 1) for name, part in _own_params(value).items()}
        requests = getattr(value, "_metadata_request", None)  # who is told of queries in a pipeline, if it was set
        return {**_of_class(type(value)), "params": own, **({} if requests is None else {"requests": repr(requests)})}
    if _package(type(value)) in ("plackett", "sklearn") and hasattr(value, "__dict__"):  # such as ways to cut folds
        return {**_of_class(type(value)), "state": of_value(vars(value), where, depth + 1)}
    if _is_public_function(value):
        return {"function": f"{value.__module__}.{value.__name__}"}
    raise Unrecognisable(f"{where} is a {type(value).__name__}, which cannot be recognised in another run.")


def _own_params(value: Any) -> dict[str, Any]:
    try:
        return value.get_params(deep=False)
    except TypeError:  # a get_params that knows no depth
        return value.get_params()


def _is_public_function(value: Any) -> bool:
    """Whether it is a function such as ``numpy.log1p``, which its name and the version of its package tell."""
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not isinstance(module, str) or module.partition(".")[0] not in WITH_FUNCTIONS or not isinstance(name, str):
        return False
    return getattr(sys.modules.get(module), name, None) is value


def _of_class(cls: type) -> dict[str, Any]:
    """A class by its name; with the sources of those of its ancestors, itself among them, that come from elsewhere.

    A class that is still being written has no version; one whose source is not at hand must have one.
    """
    own = [parent for parent in cls.__mro__ if _package(parent) not in KNOWN_BY_VERSION]
    sources = [[version_of(_package(parent)), _source_of(parent)] for parent in own]
    return {"class": f"{cls.__module__}.{cls.__qualname__}", **({"source": sources} if sources else {})}


def _package(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def of_code(estimator: Any) -> dict[str, str]:
    """Versions of plackett, of what it rests on, and of the packages from which the estimator and its parts come."""
    answer = {"plackett": f"{plackett.__version__} {_source_digest()}", "python": platform.python_version()}
    others = list(PACKAGES)
    for part in parts_of(estimator):
        if isinstance(part, BoostedTrees):
            others.append(part.package)
        others += [package for package in map(_package, type(part).__mro__) if package not in KNOWN_BY_VERSION]
    versions = {name: version_of(name) for name in others}
    return {**answer, **{name: version for name, version in versions.items() if version != UNKNOWN}}


@functools.lru_cache(maxsize=256)  # which takes as long as a small fit
def _source_of(cls: type) -> str:
    try:
        return hashlib.sha256(inspect.getsource(cls).encode()).hexdigest()
    except (OSError, TypeError) as error:
        if version_of(_package(cls)) != UNKNOWN:  # compiled code of an installed package
            return ""
        raise Unrecognisable(f"the source of {cls.__name__} is not at hand.") from error


@functools.cache
def version_of(package: str) -> str:
    """The installed version of a package, by the name of its distribution or of its module."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(package), "__version__", UNKNOWN))


@functools.cache
def _source_digest() -> str:
    """A hash of the code that makes results: a version number stays the same while the code is being worked on."""
    home, digest = Path(plackett.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        if path.relative_to(home).parts[0] not in LATER_ROOMS:
            _add_text(digest, str(path.relative_to(home)))
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def of_key(parts: Mapping[str, Any]) -> str:
    """One hash of all of them."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
