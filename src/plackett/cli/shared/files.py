"""Checks of the files that a verb reads and writes, before its work."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from plackett._names import similar_names
from plackett.storage.compression import COMPRESSED
from plackett.storage.remote import is_remote


def check_files(ctx: click.Context, params: list[Any]) -> None:
    """Raise for files of a verb that are missing, before anything heavy is imported, and for two standard inputs."""
    read: list[str] = []
    for param in params:
        kind, value = getattr(param, "reads", None), ctx.params.get(param.name)
        if kind is not None and value is not None:
            names = [value] if isinstance(value, str) else list(value)
            known = [name for name in names if kind == "data" and is_known_name(name)]
            check_exists(*(name for name in names if name not in known), may_be_set=kind == "data")
            if known and len(names) > 1:
                raise click.UsageError(f"{known[0]} is a known data set, which cannot be combined with other DATA.")
            read += names
    check_exists(*(name for name in read if name == "-"))


def check_exists(*names: str, may_be_set: bool = False) -> None:
    """Raise for missing files; ``may_be_set`` if they can be known data sets, too.

    Whether there is a file at a URL is found when it is read.
    """
    for name in names:
        if name != "-" and not is_remote(name) and not os.path.exists(name):
            raise _not_found(name, may_be_set=may_be_set)
    if names.count("-") > 1:
        raise click.BadParameter("standard input (-) can be used for one file only.")
    if "-" in names and sys.stdin is None:
        raise ValueError("there is no standard input to read.")


def _not_found(name: str, *, may_be_set: bool) -> FileNotFoundError:
    """Return the error for a missing file, with the names of similar ones, or what to do, as a note."""
    error = FileNotFoundError(f"there is no file {name!r} (looked in {os.getcwd()}).")
    folder = os.path.dirname(name)
    is_folder = os.path.isdir(folder or ".")
    names = [os.path.join(folder, one) for one in os.listdir(folder or ".")] if is_folder else []
    if may_be_set:
        from plackett.data import datasets
        from plackett.rankers.registry import is_known

        names += datasets.names()
        if is_known(name):
            raise click.UsageError(f"{name} is a ranker, not DATA. Separate rankers by commas: -r listmle,{name}.")
    if similar := similar_names(name, names, cutoff=0.8):
        error.add_note(f"did you mean {' or '.join(similar)}?")
    elif not is_folder:
        error.add_note(f"there is no folder {folder!r} either; check the path.")
    elif may_be_set:
        error.add_note("give the path of a file, - for standard input, or a known data set, such as mq2008.")
    else:
        error.add_note("give the path of a file.")
    return error


def is_known_name(name: str) -> bool:
    """Whether ``name`` is a known data set and not a file."""
    if name == "-" or is_remote(name) or Path(name).exists():
        return False
    from plackett.data import datasets

    return name in datasets.names()


def check_folder(path: str, what: str) -> None:
    """Raise if no folder can be created or written to at this path, before the work starts; a URL is not checked."""
    if is_remote(path):
        return
    place = target = os.path.realpath(path)
    while not os.path.exists(place):
        if place == os.path.dirname(place):
            raise FileNotFoundError(f"there is no disk {place!r} for the {what}.")
        place = os.path.dirname(place)
    if not os.path.isdir(place):
        raise NotADirectoryError(f"{place!r} is a file; give the name of a folder for the {what}.")
    if place != target and not os.access(place, os.W_OK):  # an existing one may be meant to be read
        raise PermissionError(f"the folder {place!r} for the {what} cannot be written to.")


def check_target(path: str, what: str) -> None:
    """Raise if no file can be written to this path, before the work starts; a URL is not checked."""
    if what == "model":
        if path == "-":
            raise click.UsageError("a model cannot be written to standard output; give the name of a file.")
        if path.lower().endswith(COMPRESSED):
            raise click.UsageError(f"{path}: models are not compressed; choose another extension, such as .plackett.")
    if is_remote(path):
        return
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path!r} is a folder; give the name of a file for the {what}.")
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder!r} for the {what}.")
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device is not replaced, but written to
        if not os.access(path, os.W_OK):
            raise PermissionError(f"{path!r}, given for the {what}, cannot be written to.")
    elif not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder!r} for the {what} cannot be written to.")
