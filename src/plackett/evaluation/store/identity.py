"""Identities of estimators, by which stored results are found again.

Different estimators must never have the same identity. A function is identified by its bytecode, defaults, closure and
the globals that it reads; a class by all of its attributes; an object by its class and state. Code of the standard
library and of installed packages is identified by its name and build. Objects without accessible state raise
`NotIdentifiable`.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import importlib
import importlib.util
import json
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from plackett.data.queries import Queries
from plackett.evaluation.store.fingerprints import array_fingerprint, data_fingerprint
from plackett.evaluation.store.versions import build_of, compiled_file, is_at, is_known, name_of
from plackett.validation import is_sparse, plain

MAX_DEPTH = 20
READS_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
READS_ANY_ATTRIBUTE = {"getattr", "vars", "dir", "attrgetter", "__dict__", "__getattribute__"}
READS_ANY_NAME = {"eval", "exec", "globals", "__import__", "import_module"}
NOT_BEHAVIOUR = {  # attributes of a class: its location, type annotations, caches
    *("__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__parameters__"),
    *("__orig_bases__", "__abstractmethods__", "_abc_impl", "__signature__"),
}
SLOTS = (types.GetSetDescriptorType, types.MemberDescriptorType)
DESCRIPTORS = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    *SLOTS,
)


class NotIdentifiable(ValueError):
    """Raised for a value that cannot be distinguished from a different one in another process, such as an open file."""


def identity_of(value: Any, where: str = "the estimator") -> Any:
    """Return plain JSON values that identify a parameter, or an estimator with all of its parameters.

    Raises
    ------
    NotIdentifiable
        For objects without accessible state, and for code that looks up names at run time.
    """
    walk = _Walk()
    answer = walk.value(value, where)
    entries = walk.entries()
    if not entries:
        return answer
    text = json.dumps(entries, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return {"value": answer, "code": hashlib.sha256(text.encode()).hexdigest()}


def check_identifiable(measures: Iterable[Any]) -> None:
    """Raise a ValueError for a user's measure by which stored results cannot be identified."""
    for measure in measures:
        try:
            identity_of(measure, "the measure")
        except NotIdentifiable as error:
            raise ValueError(
                f"{measure} cannot be used with a folder of results: {error} Pass folder=None, or write the measure as "
                "a plain function."
            ) from error


class _Walk:
    """One traversal of a value and everything it refers to; each object, function and class is a numbered entry."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._found: list[tuple[Any, str]] = []  # keeps them alive, so that no id is used twice

    def entries(self) -> list[Any]:
        """Return the descriptions of all objects that `value` found; describing one may find others."""
        answer: list[Any] = []
        while len(answer) < len(self._found):
            answer.append(self._described(*self._found[len(answer)]))
        return answer

    def value(self, value: Any, where: str, depth: int = 0) -> Any:
        """Return plain values as they are, and the entry number of anything else."""
        if depth > MAX_DEPTH:
            raise NotIdentifiable(f"{where} is nested more than {MAX_DEPTH} deep, or contains itself.")
        value = plain(value)
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return {"float": value.hex()}
        if kind in (bytes, bytearray):
            return {kind.__name__: hashlib.sha256(value).hexdigest()}
        if kind in (list, tuple):
            return {kind.__name__: [self.value(one, f"{where}[{n}]", depth + 1) for n, one in enumerate(value)]}
        if kind in (set, frozenset):
            parts = [self.value(one, f"a member of {where}", depth + 1) for one in value]
            return {kind.__name__: sorted(parts, key=functools.partial(json.dumps, sort_keys=True))}
        if kind in (dict, types.MappingProxyType):
            return {
                "mapping": [
                    [self.value(key, f"a key of {where}", depth + 1), self.value(one, f"{where}[{key!r}]", depth + 1)]
                    for key, one in value.items()
                ]
            }
        if kind in (np.ndarray, np.memmap):
            if value.dtype.hasobject:
                return {"objects": value.shape, "values": self.value(value.tolist(), where, depth + 1)}
            return {"array": array_fingerprint(value), "dtype": str(value.dtype)}
        if isinstance(value, Queries):
            return {"queries": data_fingerprint(value)}
        if is_sparse(value):
            rows = value.tocsr()
            return {"sparse": kind.__name__, "shape": value.shape, "rows": array_fingerprint(*_parts(rows))}
        name = name_of(value)
        return {"named": name} if name is not None else self._number(value, where)

    def _number(self, value: Any, where: str) -> dict[str, int]:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._found)
            self._found.append((value, where))
        return {"entry": self._numbers[id(value)]}

    def _described(self, value: Any, where: str) -> Any:
        if isinstance(value, types.ModuleType):
            return self._module(value, where, names=None)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, (staticmethod, classmethod, functools._lru_cache_wrapper)):
            return {type(value).__name__: self.value(value.__wrapped__, where)}
        if isinstance(value, property):
            return {"property": self.value([value.fget, value.fset, value.fdel], where)}
        if isinstance(value, types.MethodType):
            bound = self.value(value.__self__, f"the object of {where}")
            return {"method": [self.value(value.__func__, where), bound]}
        if isinstance(value, (types.BuiltinMethodType, types.MethodWrapperType)) and value.__self__ is not None:
            return {"method": [value.__name__, self.value(value.__self__, f"the object of {where}")]}
        if isinstance(value, DESCRIPTORS):
            return {"descriptor": self.value([value.__name__, value.__objclass__], where)}
        if type(value).__module__.startswith("numba.") and hasattr(value, "py_func"):  # its state has a random id
            return {"compiled": self.value([type(value), value.py_func, dict(value.targetoptions)], where)}
        if isinstance(value, np.random.RandomState):
            return {"draws": self.value(value.get_state(legacy=False), where)}
        if isinstance(value, np.random.Generator):
            return {"draws": self.value(value.bit_generator.state, where)}
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        """Describe the class, the parameters, and the state that pickle would store."""
        reduce = copyreg.dispatch_table.get(type(value))
        try:
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:  # it cannot be pickled
            raise NotIdentifiable(
                f"{where} is a {type(value).__name__}, which cannot be identified in another process."
            ) from error
        if isinstance(reduced, str):  # the name of a constant, such as NotImplemented
            home = getattr(value, "__module__", None) or "builtins"
            if is_known(home) and is_at(value, home, reduced):
                return {"named": f"{home}.{reduced} {build_of(home)}"}
            raise NotIdentifiable(
                f"{where} is a {type(value).__name__}, which cannot be identified in another process."
            )
        make, arguments, *rest = reduced
        state, items, pairs = (*rest, None, None, None)[:3]
        params = _own_params(value) if hasattr(value, "get_params") else {}
        answer = {
            "class": self.value(type(value), where),
            "params": {name: self.value(one, name) for name, one in params.items()},
            "made by": self.value([make, list(arguments)], where),
            "state": self.value(state, where),
            "items": self.value(None if items is None else list(items), where),
            "pairs": self.value(None if pairs is None else dict(pairs), where),
        }
        if not is_known(type(value).__module__):  # its own __reduce__ may omit something
            answer["own"] = self.value(object.__getstate__(value), where)
        return answer

    def _class(self, cls: type) -> Any:
        attributes = {
            name: self.value(one, f"{name} of the class {cls.__name__}")
            for name, one in vars(cls).items()
            if name not in NOT_BEHAVIOUR and not isinstance(one, SLOTS)
        }
        ancestors = self.value([*cls.__bases__, type(cls)], f"an ancestor of the class {cls.__name__}")
        answer = {"class": cls.__qualname__, "ancestors": ancestors, "attributes": attributes}
        return {**answer, "compiled": compiled_file(cls.__module__)}

    def _function(self, function: types.FunctionType) -> Any:
        name, code = function.__qualname__, function.__code__
        cells = [_content(cell) for cell in function.__closure__ or ()]
        answer = {
            "code": self._code(code, name),
            "defaults": self.value([function.__defaults__, function.__kwdefaults__], f"a default of {name}"),
            "cells": [self.value(one, f"{cell} in {name}") for cell, one in zip(code.co_freevars, cells, strict=True)],
            "attributes": self.value(vars(function), f"an attribute of {name}"),
        }
        module = function.__globals__.get("__name__")
        if not (isinstance(module, str) and is_known(module)):
            answer["globals"] = self._globals(function)
        return answer

    def _code(self, code: types.CodeType, where: str) -> Any:
        consts = [
            self._code(one, where) if isinstance(one, types.CodeType) else self.value(one, f"a constant of {where}")
            for one in code.co_consts
        ]
        counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
        names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
        return [hashlib.sha256(code.co_code + code.co_exceptiontable).hexdigest(), counts, names, consts]

    def _globals(self, function: types.FunctionType) -> Any:
        """Describe every global that a function reads, and of modules the attributes that it may read."""
        where, known = function.__qualname__, function.__globals__
        used, attributes, imported = _names_in(function.__code__)
        if unseen := (used | attributes) & READS_ANY_NAME:
            raise NotIdentifiable(f"{where} uses {min(unseen)}, which hides what else it depends on.")
        names = None if (used | attributes) & READS_ANY_ATTRIBUTE else attributes
        answer = {}
        for name in sorted(used):
            if name in known or hasattr(builtins, name):
                one = known[name] if name in known else getattr(builtins, name)
                is_own_module = isinstance(one, types.ModuleType) and not is_known(one.__name__)
                answer[name] = (
                    self._module(one, name, names) if is_own_module else self.value(one, f"{name} in {where}")
                )
        for module in sorted(imported):
            answer[f"import {module}"] = self._import(module, known.get("__package__"), names)
        return answer

    def _import(self, name: str, package: str | None, names: set[str] | None) -> Any:
        """Describe a module that a function imports."""
        try:
            full = importlib.util.resolve_name(name, package)
            if is_known(full):
                return {"named": f"{full} {build_of(full)}"}
            return self._module(importlib.import_module(full), full, names)
        except ImportError:  # the function handles it
            return None

    def _module(self, module: types.ModuleType, where: str, names: set[str] | None, above: tuple[str, ...] = ()) -> Any:
        """Describe the named attributes of a module, and of modules among them; all attributes for None."""
        if is_known(module.__name__):
            return {"named": f"{module.__name__} {build_of(module.__name__)}"}
        if module.__name__ in above:
            return {"module": module.__name__}
        answer: dict[str, Any] = {"__compiled__": compiled_file(module.__name__)}
        for name, one in sorted(vars(module).items()):
            if name == "__getattr__" or (not name.startswith("__") if names is None else name in names):
                is_module = isinstance(one, types.ModuleType)
                answer[name] = (
                    self._module(one, f"{where}.{name}", names, (*above, module.__name__))
                    if is_module
                    else self.value(one, f"{where}.{name}")
                )
        return answer


def _names_in(code: types.CodeType) -> tuple[set[str], set[str], set[str]]:
    """Return the globals that code reads, the attributes that it may read, and the modules that it imports."""
    used, attributes, imported = set(), set(), set()
    for part in _with_inner(code):
        attributes |= {one for one in part.co_consts if isinstance(one, str) and one.isidentifier()}
        attributes |= {one for const in part.co_consts if isinstance(const, tuple) for one in const if type(one) is str}
        before: list[Any] = [0, 0]
        for step in dis.get_instructions(part):
            if step.opname in READS_GLOBALS:
                used.add(step.argval)
            elif step.opname == "IMPORT_NAME":  # after the level and the names
                imported.add("." * before[-2] + step.argval)
                attributes |= set(step.argval.split("."))
            elif step.opcode in dis.hasname:
                attributes.add(step.argval)
            before.append(step.argval)
    return used, attributes, imported


def _with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from _with_inner(one)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return ("empty cell",)


def _parts(rows: Any) -> Iterable[np.ndarray]:
    return rows.data, rows.indices, rows.indptr


def _own_params(value: Any) -> dict[str, Any]:
    if isinstance(value, type):
        return {}
    try:
        return value.get_params(deep=False)
    except TypeError:  # a get_params without the parameter deep
        return value.get_params()
