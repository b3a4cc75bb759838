"""Which modules a version tells apart: those that come with Python or were installed as a package."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import numpy as np

UNKNOWN = "unknown"
IS_HEAP_TYPE = 1 << 9  # a class that was made by a statement; the others are compiled
UFUNCS = ("numpy", "scipy.special")


@functools.cache
def version_of(package: str) -> str:
    """The installed version of a package, by the name of its distribution or of its module."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(package), "__version__", UNKNOWN))


@functools.cache
def build_of(module: str) -> str:
    """The version of the package of a module, and a hash of its files as they were installed."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return "of Python"
    files = ""
    for name in (package, *_distributions().get(package, ())):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            files += importlib.metadata.distribution(name).read_text("RECORD") or ""
    return f"{version_of(package)} {hashlib.sha256(files.encode()).hexdigest()[:16]}"


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    """By module the distributions that installed it: sklearn comes from scikit-learn."""
    return importlib.metadata.packages_distributions()


@functools.cache
def is_known(module: str) -> bool:
    """Whether a version tells what a module holds. A module that is still being worked on has none."""
    package = module.partition(".")[0]
    if package == "plackett":  # of which every key holds a hash of the sources
        return True
    file = _file_of(module if module in sys.modules else package)
    if file is None:
        return package in sys.stdlib_module_names
    installed, python = _homes()
    places = {*file.absolute().parents, *file.resolve().parents}  # either may be the one that paths are given by
    if places & installed:
        return version_of(package) != UNKNOWN
    return package in sys.stdlib_module_names and bool(places & python)


@functools.cache
def compiled_file(module: str) -> str:
    """A hash of the file of a module that is compiled, whose functions have no code to look at; empty for others."""
    file = _file_of(module) if module in sys.modules else None
    if file is None or not file.name.endswith(tuple(EXTENSION_SUFFIXES)):
        return ""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def name_of(value: Any) -> str | None:
    """Where a function, a class or a module is found, and the build of its package; None for what is not known so."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(name, str):
        return None
    for home in UFUNCS if isinstance(value, np.ufunc) else (module,):
        if isinstance(home, str) and is_known(home) and (is_at(value, home, name) or _is_compiled(value)):
            return f"{home}.{name} {build_of(home)}"
    return None


def is_at(value: Any, module: str, name: str) -> bool:
    """Whether a value is found in a module under this name."""
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
    """The folders of installed packages, and those of Python itself."""
    paths = sysconfig.get_paths()
    installed = {paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()}
    python = {paths["stdlib"], paths["platstdlib"]}
    return _both_ways(installed), _both_ways(python)


def _both_ways(paths: Iterable[str]) -> set[Path]:
    return {way for path in paths for way in (Path(path).absolute(), Path(path).resolve())}
