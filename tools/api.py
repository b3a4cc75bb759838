"""Write the public interface to tests/api.txt (``make api``).

It has the public names with their signatures, the names that functions take (rankers, losses, measures, conventions),
the options of the command with their defaults, and the addresses of the services.

A test compares the file with the code, so that a change of the interface is seen in review.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
import re
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "api.txt"


def lines() -> Iterator[str]:
    """Yield a line for each public name, method, name of a part, verb and address."""
    import plackett

    found = list(_of_module(plackett, "plackett"))
    yield from found
    seen = {line.partition("(")[0] for line in found}
    # names of the reference that are public in a module
    for name in re.findall(r"^   (plackett[\w.]+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.M):
        if name not in seen:
            yield from _of_object(pkgutil.resolve_name(name), name)
    yield from _of_names()
    yield from _of_command()
    yield from _of_services()


def _of_module(module: types.ModuleType, name: str) -> Iterator[str]:
    own = [key for key, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    for public in sorted(getattr(module, "__all__", [key for key in own if not key.startswith("_")])):
        found = getattr(module, public)
        if isinstance(found, types.ModuleType):
            yield from _of_module(found, f"{name}.{public}")
        else:
            yield from _of_object(found, f"{name}.{public}")


def _of_object(found: Any, name: str) -> Iterator[str]:
    if not callable(found):
        yield name
        return
    yield f"{name}{_signature(found)}"
    if not isinstance(found, type) or issubclass(found, BaseException):
        return
    for public, member in sorted(inspect.getmembers(found)):
        if not public.startswith("_") and _is_ours(member):
            yield f"{name}.{public}{_signature(member) if callable(member) else ''}"


def _is_ours(member: Any) -> bool:
    """Return whether a member is a method or property of plackett, not of a class it derives from."""
    if isinstance(member, property):
        function = member.fget
    elif isinstance(member, functools.cached_property):  # has a module of its own only from Python 3.13 on
        function = member.func
    else:
        function = getattr(member, "__func__", member)
    return str(getattr(function, "__module__", "")).partition(".")[0] == "plackett" and not isinstance(member, type)


def _signature(found: Any) -> str:
    """Return parameters and defaults, without annotations; objects without a stable text are ``...``."""
    if not isinstance(found, (type, types.FunctionType, types.MethodType)):
        return "(...)"  # compiled, or a type such as Callable[...]: their signatures depend on Python's version
    try:
        signature = inspect.signature(found)
    except ValueError:  # a class with a compiled constructor
        return "(...)"
    parameters = [
        one.replace(annotation=one.empty, default=one.default if _is_plain(one.default) else ...)
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    return str(inspect.Signature(parameters)).replace("Ellipsis", "...")


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or value is inspect.Parameter.empty or isinstance(value, (bool, int, float, str))


def _of_names() -> Iterator[str]:
    from plackett.losses import get_loss, loss_names
    from plackett.metrics.conventions import CONVENTIONS
    from plackett.metrics.registry import ALIASES, KINDS
    from plackett.rankers.registry import ENTRIES

    for name, entry in ENTRIES.items():
        yield " ".join(["ranker", name, entry.class_name, *(f"{key}={value!r}" for key, value in entry.fixed.items())])
    for name in loss_names():
        yield f"loss {name} {get_loss(name)}"
    yield from (f"measure {name}" for name in sorted({*KINDS, *ALIASES}))
    yield from (f"convention {name}" for name in CONVENTIONS)


def _of_services() -> Iterator[str]:
    from plackett.apps.serve import app
    from plackett.apps.workbench.app import SUBJECTS

    for route in app.ROUTES:
        yield f"serve {'|'.join(sorted(route.methods - {'HEAD'}))} {route.path}"
    for router in SUBJECTS:
        for route in router.routes:
            yield f"workbench {'|'.join(sorted(route.methods))} {route.path}"


def _of_command() -> Iterator[str]:
    from plackett.cli.app import VERBS, load_verb

    verbs = {verb: load_verb(verb) for verb in sorted(VERBS)}
    commands = {
        f"{verb} {name}".strip(): command
        for verb, found in verbs.items()
        for name, command in getattr(found, "commands", {"": found}).items()
    }
    for verb, command in commands.items():
        params = command.params
        arguments = [param.metavar or param.name.upper() for param in params if param.param_type_name == "argument"]
        options = sorted(
            name if param.default is None or not _is_plain(param.default) else f"{name}={param.default}"
            for param in params
            if param.param_type_name == "option" and param.name != "help"
            for name in (*param.opts, *param.secondary_opts)
        )
        yield " ".join(["$ plackett", verb, *arguments, *options])


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
