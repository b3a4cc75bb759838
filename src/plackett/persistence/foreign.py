"""Estimators of scikit-learn in a model file, as skops stores them: what a file may not bring."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

# compiled code that walks through arrays without looking at them: a file that was tampered with would crash the process
_UNCHECKED_MODULES = ("sklearn.ensemble._hist_gradient_boosting",)
_UNCHECKED_CLASSES = frozenset(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"))


def unsafe_parts(content: bytes) -> list[str]:
    """Names of the parts that could run something, or that trust the numbers in a file; sorted, each once."""
    found: set[str] = set()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        _collect_unchecked(json.loads(archive.read("schema.json")), found)
    if not found:
        import skops.io  # here, because it imports all of scikit-learn

        found.update(skops.io.get_untrusted_types(data=content))
    return sorted(found)


def _collect_unchecked(node: Any, found: set[str]) -> None:
    to_see = [node]
    while to_see:
        node = to_see.pop()
        if isinstance(node, list):
            to_see.extend(node)
        elif isinstance(node, dict):
            module, name = str(node.get("__module__", "")), str(node.get("__class__", ""))
            if module.startswith(_UNCHECKED_MODULES) or (
                module.startswith("sklearn.svm") and name in _UNCHECKED_CLASSES
            ):
                found.add(f"{module}.{name}")
            to_see.extend(node.values())
