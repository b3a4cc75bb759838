"""By what a finished result is known again: the content of the data, and the versions of the code."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import plackett
from plackett import _native
from plackett._threads import query_blocks
from plackett.data.queries import Queries
from plackett.evaluation.select.estimators import parts_of
from plackett.evaluation.store.packages import UNKNOWN, version_of
from plackett.rankers.trees.boosted_trees import BoostedTrees
from plackett.validation import is_sparse

PACKAGES = ("numpy", "scipy", "scikit-learn")  # what results rest on besides plackett itself
KNOWN = {"plackett", "numpy", "scipy", "sklearn", *sys.stdlib_module_names}
LATER_ROOMS = ("export", "exports", "report", "reproductions", "cli", "web")  # they change no result
NAMES_AT_ONCE = 1 << 16


def of_data(queries: Queries | None, *, with_labels: bool = True) -> str:
    """A hash of all that a ranker or a measure may see of the queries; without labels, of all but these."""
    digest = hashlib.sha256()
    if queries is None:
        return "none"
    if not queries.is_grouped:  # scores are stored in the order of the rows
        _add_array(digest, queries.row_order)
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
    if queries.document_ids is None and queries.comments is None:
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


def of_code(estimator: Any) -> dict[str, str]:
    """Versions of plackett, of what it rests on, and of the packages from which the estimator and its parts come.

    The build of the kernels is one of them: builds agree only up to rounding, and a table should not mix them. A run
    that is continued on a processor with another build computes its results again.
    """
    answer = {
        "plackett": f"{plackett.__version__} {_source_digest()}",
        "native": f"{_native.build} {_native_digest()}",
        "python": platform.python_version(),
    }
    others = list(PACKAGES)
    for part in parts_of(estimator):
        if isinstance(part, BoostedTrees):
            others.append(part.package)
        homes = {cls.__module__.partition(".")[0] for cls in type(part).__mro__}
        others += sorted(homes - KNOWN)
    versions = {name: version_of(name) for name in others}
    return {**answer, **{name: version for name, version in versions.items() if version != UNKNOWN}}


@functools.cache
def _source_digest() -> str:
    """A hash of the Python code that makes results: a version stays the same while the code is being worked on."""
    home, digest = Path(plackett.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        if path.relative_to(home).parts[0] not in LATER_ROOMS:
            _add_text(digest, str(path.relative_to(home)))
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@functools.cache
def _native_digest() -> str:
    """A hash of the compiled kernels in use; an installation does not have their sources."""
    return hashlib.sha256(Path(_native.path).read_bytes()).hexdigest()[:16]


def of_key(parts: Mapping[str, Any]) -> str:
    """One hash of all of them."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
