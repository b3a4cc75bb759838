"""Versions of the code that results depend on."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import platform
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np

import plackett
from plackett import _native
from plackett.evaluation.estimators import parts_of
from plackett.rankers.trees.base import BoostedTrees

UNKNOWN = "unknown"
PACKAGES = ("numpy", "scipy", "scikit-learn")  # every result depends on them
KNOWN = {"plackett", "numpy", "scipy", "sklearn", *sys.stdlib_module_names}
LATER_ROOMS = ("exports", "report", "reproductions", "cli", "apps")  # they do not change results
IS_HEAP_TYPE = 1 << 9  # a class that a class statement made; the others are compiled
UFUNCS = ("numpy", "scipy.special")


def code_versions(estimator: Any) -> dict[str, str]:
    """Return the versions of plackett, of its dependencies, and of the packages of the estimator and its parts.

    The build of the kernels is included, because builds agree only up to rounding. A run that is resumed on a processor
    with another build recomputes its results.
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


@functools.cache
def version_of(package: str) -> str:
    """Return the installed version of a package, given the name of its distribution or of its module."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(package), "__version__", UNKNOWN))


@functools.cache
def build_of(module: str) -> str:
    """Return the version of the package of a module, and a hash of its list of installed files."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return "standard library"
    files = ""
    for name in (package, *_distributions().get(package, ())):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            files += importlib.metadata.distribution(name).read_text("RECORD") or ""
    return f"{version_of(package)} {hashlib.sha256(files.encode()).hexdigest()[:16]}"


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """Distributions by the module that they install: scikit-learn installs sklearn."""
    return importlib.metadata.packages_distributions()


@functools.cache
def is_known(module: str) -> bool:
    """Whether the version of a module determines its content; that of a user's own module does not."""
    package = module.partition(".")[0]
    if package == "plackett":  # every key has a hash of its sources
        return True
    file = _file_of(module if module in sys.modules else package)
    if file is None:
        return package in sys.stdlib_module_names
    installed, python = _homes()
    places = {*file.absolute().parents, *file.resolve().parents}  # paths may be given with or without symbolic links
    if places & installed:
        return version_of(package) != UNKNOWN
    return package in sys.stdlib_module_names and bool(places & python)


@functools.cache
def compiled_file(module: str) -> str:
    """Return a hash of the file of a compiled module, whose functions have no bytecode; empty for others."""
    file = _file_of(module) if module in sys.modules else None
    if file is None or not file.name.endswith(tuple(EXTENSION_SUFFIXES)):
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def name_of(value: Any) -> str | None:
    """Return the import path and package build of a function, class or module; None if it has no known version."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(name, str):
        return None
    for home in UFUNCS if isinstance(value, np.ufunc) else (module,):
        if isinstance(home, str) and is_known(home) and (is_at(value, home, name) or _is_compiled(value)):
            return f"{home}.{name} {build_of(home)}"
    return None


def is_at(value: Any, module: str, name: str) -> bool:
    """Whether a module has this value under this name."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def _is_compiled(value: Any) -> bool:
    return isinstance(value, type) and not value.__flags__ & IS_HEAP_TYPE


def _file_of(module: str) -> Path | None:
    loaded = sys.modules.get(module)
    place = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            spec = None
        place = spec.origin if spec is not None and spec.has_location else None
    return None if place is None else Path(place)


@functools.cache
def _homes() -> tuple[set[Path], set[Path]]:
    """Return the folders of installed packages, and those of the standard library."""
    paths = sysconfig.get_paths()
    installed = {paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()}
    python = {paths["stdlib"], paths["platstdlib"]}
    return _with_resolved(installed), _with_resolved(python)


def _with_resolved(paths: Iterable[str]) -> set[Path]:
    return {way for path in paths for way in (Path(path).absolute(), Path(path).resolve())}
