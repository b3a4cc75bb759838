"""Reading published data sets by name from a folder that the user has."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plackett.data.datasets.catalogue import CATALOGUE, FIVE_PARTS, DatasetInfo
from plackett.data.documents import collections as text_collections
from plackett.data.documents.collections import TextCollection
from plackett.exceptions import DataFormatError, DatasetNotFoundError, DataWarning
from plackett.storage.file_names import find_file, find_folder
from plackett.validation import check_choice

if TYPE_CHECKING:
    from plackett.data.feedback.movielens import Ratings
    from plackett.data.queries import Queries

VARIABLE = "PLACKETT_DATA"
N_FOLDS = 5

# what the roles are called in the folders Fold1..Fold5 of LETOR 4.0 and MSLR, and of LETOR 2.0 and 3.0
FOLD_FILES = {
    "train": ("train.txt", "trainingset.txt"),
    "validation": ("vali.txt", "validationset.txt", "valid.txt"),
    "test": ("test.txt", "testset.txt"),
}


class FoldParts(NamedTuple):
    """Which of the parts S1..S5 a fold trains, validates and tests on."""

    train: tuple[str, ...]
    validation: str
    test: str


class Fold(NamedTuple):
    """One fold: three sets of queries."""

    train: Queries
    validation: Queries
    test: Queries


def names() -> list[str]:
    """Names of the known data sets.

    Examples
    --------
    >>> names()[:4]
    ['mq2007', 'mq2008', 'mq2007-list', 'mq2008-list']
    """
    return list(dict.fromkeys(facts.name for facts in CATALOGUE))


def info(name: str, *, version: str | None = None) -> DatasetInfo:
    """What is known of a data set: its sizes, labels, columns, folds, source and licence.

    Parameters
    ----------
    name : str
        One of `names`.
    version : str, default=None
        One of the set's ``versions``; None means the first of them.

    Examples
    --------
    >>> facts = info("mq2008")
    >>> facts.n_queries, facts.n_docs, facts.n_features, facts.n_folds
    (784, 15211, 46, 5)
    >>> facts.feature_names[20], facts.columns["pagerank"]
    ('bm25_body', 41)
    >>> info("ohsumed").versions
    ('letor3-querylevelnorm', 'letor3-min', 'letor3-null', 'letor2')
    """
    check_choice(name, "name", names())
    versions = [facts for facts in CATALOGUE if facts.name == name]
    if version is None:
        return versions[0]
    check_choice(version, f"{name} version", [facts.version for facts in versions])
    return next(facts for facts in versions if facts.version == version)


def fold_parts(fold: int) -> FoldParts:
    """The parts of fold 1..5 by LETOR's table: train on three in a row, validate on the next, test on the one after.

    Examples
    --------
    >>> fold_parts(1)
    FoldParts(train=('S1', 'S2', 'S3'), validation='S4', test='S5')
    """
    check_choice(fold, "fold", range(1, N_FOLDS + 1))
    first, second, third, fourth, fifth = (FIVE_PARTS[(fold - 1 + step) % N_FOLDS] for step in range(N_FOLDS))
    return FoldParts((first, second, third), fourth, fifth)


def load(
    name: str,
    folder: str | PathLike | None = None,
    *,
    part: str | None = None,
    version: str | None = None,
    cache: bool = False,
) -> Queries | Ratings | TextCollection:
    """A published data set, read from disk: a Queries, Ratings or TextCollection, as ``info(name).kind`` says.

    Nothing is downloaded. When the set is not there, the error says where to get it and where to put it. When it is
    there but has not the published number of queries or rows, a `DataWarning` says so.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path, default=None
        The set's own folder, or one that holds it, laid out as published (``MQ2008/Fold1/train.txt``,
        ``MQ2008/S1.txt``), file names in any case, compressed or not. None: the environment variable PLACKETT_DATA.
    part : str, default=None
        One of ``info(name).parts``, e.g. ``"S3"`` or ``"test"``; None reads the whole set.
    version : str, default=None
        One of ``info(name).versions``; None means the first of them.
    cache : bool, default=False
        Keep a binary copy beside each LETOR file, which reads faster the next time.
    """
    facts = info(name, version=version)
    if part is not None:
        if not facts.parts:
            raise ValueError(f"part={part!r} was asked for, but {name} is not divided into parts.")
        check_choice(part, f"{name} part", facts.parts)
    if facts.kind == "text":
        readers = {
            "cranfield": text_collections.read_cranfield,
            "cisi": text_collections.read_cisi,
            "cacm": text_collections.read_cacm,
            "adi": text_collections.read_adi,
        }
        return readers[name](_locate_file(facts, folder).parent)
    if facts.kind == "ratings":
        from plackett.data.feedback.movielens import read_movielens

        return read_movielens(_locate_file(facts, folder))
    wanted = facts.parts if part is None else (part,)
    queries = _read(facts, _locate(facts, folder, wanted), cache)
    if part is None:
        _check_counts(facts, queries)
    return queries


def locate(name: str, folder: str | PathLike | None = None, *, version: str | None = None) -> list[Path]:
    """The files of a published data set, none of them read; the same error as `load` where they are not.

    Parameters
    ----------
    name : str
    folder, version
        As for `load`.
    """
    facts = info(name, version=version)
    return _locate(facts, folder, facts.parts) if facts.kind == "queries" else [_locate_file(facts, folder)]


def load_fold(
    name: str, fold: int = 1, folder: str | PathLike | None = None, *, version: str | None = None, cache: bool = False
) -> Fold:
    """One fold of a data set: training, validation and test queries.

    Sets with five parts follow LETOR's table (see `fold_parts`), whether they are stored as ``S1.txt`` to ``S5.txt`` or
    as ``Fold1`` to ``Fold5``. Sets with one published split (Yahoo, Istella) have fold 1 only.

    Parameters
    ----------
    name : str
    fold : int, default=1
    folder, version, cache
        As for `load`.

    Returns
    -------
    Fold
        Named tuple (train, validation, test) of Queries.
    """
    facts = info(name, version=version)
    if not facts.n_folds:
        raise ValueError(f"{name} has no published folds. Load it whole and split it by query.")
    check_choice(fold, f"fold of {name}", range(1, facts.n_folds + 1))
    table = fold_parts(fold) if facts.n_folds == N_FOLDS else FoldParts(("train",), "validation", "test")
    # locate all three before any is read: a missing test file should not show after minutes of reading
    paths = [_locate(facts, folder, parts) for parts in (table.train, (table.validation,), (table.test,))]
    return Fold(*(_read(facts, files, cache) for files in paths))


def _read(facts: DatasetInfo, paths: Sequence[Path], cache: bool) -> Queries:
    from plackett.data.letor.read import read_letor

    n_features = None if facts.every_row_is_full else facts.n_features
    dtype = np.float32 if facts.missing_from is None else np.float64
    queries = read_letor(list(paths), n_features=n_features, dtype=dtype, cache=cache)
    if facts.missing_from is not None:
        queries.X = _with_nan(queries.X, facts.missing_from)
    if queries.n_features != facts.n_features:
        others = [other for other in facts.versions if info(facts.name, version=other).n_features == queries.n_features]
        hint = f" Try version={others[0]!r}." if others else ""
        label = f"{facts.name} ({facts.version})" if facts.version else facts.name
        message = f"{queries.n_features} features, but {label} has {facts.n_features}.{hint}"
        raise DataFormatError(str(paths[0]), None, message)
    if facts.feature_names is not None:
        queries.feature_names = list(facts.feature_names)
    return queries


def _with_nan(X: np.ndarray, missing_from: float) -> np.ndarray:
    """X in float32, values of at least ``missing_from`` replaced by NaN; row by row, to need no further copy."""
    rows = np.empty(X.shape, dtype=np.float32)
    for row, values in zip(rows, X, strict=True):
        row[:] = np.where(values >= missing_from, np.nan, values)
    return rows


def _check_counts(facts: DatasetInfo, queries: Queries) -> None:
    """Warn of a set that is not all there, or not the one that was asked for."""
    counted = {"queries": (queries.n_queries, facts.n_queries), "rows": (queries.n_docs, facts.n_docs)}
    wrong = [
        f"{found:,} {what} instead of {published:,}"
        for what, (found, published) in counted.items()
        if published is not None and found != published
    ]
    if wrong:
        message = f"{facts.name} has {' and '.join(wrong)}: the files are not the published set, or not all of it."
        warnings.warn(message, DataWarning, stacklevel=3)


def _locate(facts: DatasetInfo, folder: str | PathLike | None, parts: tuple[str, ...]) -> list[Path]:
    """The files that together hold ``parts``, from the first folder that has them all."""
    places = list(_places(facts, folder))
    for place in places:
        files = _files_of_parts(facts, place, parts)
        if files:
            return files
    raise _not_found(facts, folder, places, parts)


def _locate_file(facts: DatasetInfo, folder: str | PathLike | None) -> Path:
    """The file that shows where a set without parts lies."""
    places = list(_places(facts, folder))
    ((_, candidates),) = facts.files.items()
    for place in places:
        found = _first_file(place, candidates)
        if found is not None:
            return found
    raise _not_found(facts, folder, places, ())


def _places(facts: DatasetInfo, folder: str | PathLike | None) -> Iterator[Path]:
    """Folders that may hold the set: ``OHSUMED/Data`` below the root, or ``Data``, or the root itself if given."""
    root = _root(folder)
    if root is None:
        return
    depth = max(len(Path(relative).parts) for relative in facts.folders)
    for dropped in range(depth):
        for relative in facts.folders:
            rest = Path(relative).parts[dropped:]
            # a lone "Data" or "sample" in a folder with many sets could be of any set
            if rest and (dropped == 0 or folder is not None):
                place = find_folder(root, "/".join(rest))
                if place is not None:
                    yield place
    if folder is not None and root.is_dir():
        yield root


def _root(folder: str | PathLike | None) -> Path | None:
    named = os.environ.get(VARIABLE) if folder is None else folder
    return Path(named).expanduser() if named else None


def _files_of_parts(facts: DatasetInfo, place: Path, parts: tuple[str, ...]) -> list[Path]:
    """Files below ``place`` that together hold ``parts`` and nothing else; empty when there are none."""
    if facts.n_folds == N_FOLDS and len(parts) > 1:
        published = _published_fold(place, parts)
        if published:
            return published
    single = [_file_of_part(facts, place, part) for part in parts]
    if all(file is not None for file in single):
        return [file for file in single if file is not None]
    if facts.n_folds == N_FOLDS and parts == FIVE_PARTS:  # any one fold holds all five parts
        for fold in range(1, N_FOLDS + 1):
            files = [_fold_file(place, fold, role) for role in FOLD_FILES]
            if all(file is not None for file in files):
                return [file for file in files if file is not None]
    return []


def _published_fold(place: Path, parts: tuple[str, ...]) -> list[Path]:
    """The training file of the fold that trains on ``parts``."""
    for fold in range(1, N_FOLDS + 1):
        if fold_parts(fold).train == parts:
            file = _fold_file(place, fold, "train")
            return [] if file is None else [file]
    return []


def _file_of_part(facts: DatasetInfo, place: Path, part: str) -> Path | None:
    found = _first_file(place, facts.files[part])
    if found is not None or facts.n_folds != N_FOLDS:
        return found
    for role in ("test", "validation"):
        for fold in range(1, N_FOLDS + 1):
            if getattr(fold_parts(fold), role) == part:
                found = _fold_file(place, fold, role)
                if found is not None:
                    return found
    return None


def _fold_file(place: Path, fold: int, role: str) -> Path | None:
    return _first_file(place, [f"Fold{fold}/{name}" for name in FOLD_FILES[role]])


def _first_file(place: Path, candidates: Sequence[str]) -> Path | None:
    found = (find_file(place, name) for name in candidates)
    return next((path for path in found if path is not None), None)


def _not_found(
    facts: DatasetInfo, folder: str | PathLike | None, places: list[Path], parts: tuple[str, ...]
) -> DatasetNotFoundError:
    root = _root(folder)
    label = f"{facts.name}, version {facts.version!r}," if facts.version else facts.name
    if root is None:
        looked = f"no folder was given and {VARIABLE} is not set."
    elif not root.is_dir():
        looked = f"{root} is not a folder."
    else:
        below = ", ".join(str(root / relative) for relative in facts.folders)
        also = f" and in {root} itself" if folder is not None else ""
        looked = f"looked for {_expected_files(facts, parts)} in {below}{also}."
        there = [str(place) for place in places if place != root]
        if there:
            looked += f" {' and '.join(there)} exists, but has no such files."
    home = root if root is not None else Path("DATA")
    advice = f"Get it from {facts.source} and put its files into {home / facts.folders[0]}"
    pointer = f"; then give folder={str(home)!r} or set {VARIABLE} to it."
    other = _other_version_at_hand(facts, folder, parts)
    hint = f" version={other!r} is at hand." if other else ""
    return DatasetNotFoundError(f"{label} was not found: {looked}{hint} {advice}{pointer} ({facts.licence})")


def _expected_files(facts: DatasetInfo, parts: tuple[str, ...]) -> str:
    wanted = [facts.files[part][0] for part in parts] or [candidates[0] for candidates in facts.files.values()]
    listed = ", ".join(wanted)
    return f"{listed} (or Fold1/{FOLD_FILES['train'][0]} and its like)" if facts.n_folds == N_FOLDS else listed


def _other_version_at_hand(facts: DatasetInfo, folder: str | PathLike | None, parts: tuple[str, ...]) -> str | None:
    for version in facts.versions:
        other = info(facts.name, version=version)
        # only folders that bear the version's own name: the root itself could be anything
        places = [place for place in _places(other, folder) if place != _root(folder)]
        if version != facts.version and any(_files_of_parts(other, place, parts) for place in places):
            return version
    return None
