"""Write the public names with their signatures, and the options of the command, to tests/api.txt (``make api``).

A test compares the file with the code, so that a change of the interface is seen in review.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parents[1] / "tests" / "api.txt"


def lines() -> Iterator[str]:
    """Yield a line for each public name, method and verb."""
    import plackett

    yield from _of_module(plackett, "plackett")
    yield from _of_command()


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


def _of_command() -> Iterator[str]:
    from plackett.cli.app import VERBS, load_verb

    for verb in sorted(VERBS):
        params = load_verb(verb).params
        arguments = [param.metavar or param.name.upper() for param in params if param.param_type_name == "argument"]
        options = sorted(
            name
            for param in params
            if param.param_type_name == "option" and param.name != "help"
            for name in (*param.opts, *param.secondary_opts)
        )
        yield " ".join(["$ plackett", verb, *arguments, *options])


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
