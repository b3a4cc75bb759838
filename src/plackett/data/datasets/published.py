"""Reading published data sets by name from the user's folder, and folds from any folder."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.data.datasets.catalogue import FIVE_PARTS, DatasetInfo, catalogue
from plackett.data.documents.collections import TextCollection, read_smart
from plackett.data.queries import Queries
from plackett.exceptions import DataFormatError, DatasetNotFoundError, DataWarning
from plackett.storage.file_names import find_file, find_folder
from plackett.validation import check_choice

if TYPE_CHECKING:
    from plackett.data.feedback.ratings import Ratings

VARIABLE = "PLACKETT_DATA"
N_FOLDS = 5

# file names in the folders Fold1..Fold5 of LETOR 4.0 and MSLR, and of LETOR 2.0 and 3.0
FOLD_FILES = {
    "train": ("train.txt", "trainingset.txt"),
    "validation": ("vali.txt", "validationset.txt", "valid.txt"),
    "test": ("test.txt", "testset.txt"),
}


class FoldParts(NamedTuple):
    """The parts S1..S5 that a fold trains, validates and tests on.

    Attributes
    ----------
    train : tuple of str
        The parts to train on.
    validation, test : str
        The part to choose hyperparameters on, and the part to measure on.

    Examples
    --------
    >>> from plackett import datasets
    >>> datasets.fold_parts(3).train
    ('S3', 'S4', 'S5')
    """

    train: tuple[str, ...]
    validation: str
    test: str


class Fold(NamedTuple):
    """One fold: three sets of queries; published folds always have validation queries.

    Attributes
    ----------
    train : Queries
        The queries to train on.
    validation : Queries or None
        The queries to choose hyperparameters on.
    test : Queries
        The queries to measure on.

    Examples
    --------
    >>> from plackett import datasets
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(10, 5, 3, random_state=0)
    >>> train, validation, test = datasets.Fold(lists[:6], lists[6:8], lists[8:])
    >>> test
    Queries(2 queries, 10 documents, 3 features, labels 0..3)
    """

    train: Queries
    validation: Queries | None
    test: Queries


def names() -> list[str]:
    """Return the names of the known data sets.

    Examples
    --------
    >>> from plackett import datasets
    >>> datasets.names()[:4]
    ['mq2007', 'mq2008', 'mq2007-list', 'mq2008-list']
    """
    return list(dict.fromkeys(dataset.name for dataset in catalogue()))


def info(name: str, *, version: str | None = None) -> DatasetInfo:
    """Return the description of a data set: its sizes, labels, columns, folds, source and licence.

    Parameters
    ----------
    name : str
        One of `names`.
    version : str, default=None
        One of the set's ``versions``; None means the first of them.

    Examples
    --------
    >>> from plackett import datasets
    >>> dataset = datasets.info("mq2008")
    >>> dataset.n_queries, dataset.n_docs, dataset.n_features, dataset.n_folds
    (784, 15211, 46, 5)
    >>> dataset.feature_names[20], dataset.columns["pagerank"]
    ('bm25_body', 41)
    >>> datasets.info("ohsumed").versions
    ('letor3-querylevelnorm', 'letor3-min', 'letor3-null', 'letor2')
    """
    check_choice(name, "name", names())
    versions = [dataset for dataset in catalogue() if dataset.name == name]
    if version is None:
        return versions[0]
    check_choice(version, f"{name} version", [dataset.version for dataset in versions])
    return next(dataset for dataset in versions if dataset.version == version)


def fold_parts(fold: int) -> FoldParts:
    """Return the parts of fold 1..5 as in LETOR: train on three, validate on the next, test on the one after.

    Parameters
    ----------
    fold : int
        From 1 to 5.

    Examples
    --------
    >>> from plackett import datasets
    >>> datasets.fold_parts(1)
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
    """Read a published data set: a Queries, Ratings or TextCollection, according to ``info(name).kind``.

    Nothing is downloaded. If the set is missing, the error says where to get it and where to put it. If it is found
    but does not have the published number of queries or rows, a `DataWarning` says so.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path, default=None
        The set's own folder, or one that contains it, laid out as published (``MQ2008/Fold1/train.txt``,
        ``MQ2008/S1.txt``). File names are not case-sensitive; files may be compressed. None takes the folder from the
        environment variable PLACKETT_DATA.
    part : str, default=None
        One of ``info(name).parts``, e.g. ``"S3"`` or ``"test"``; None reads the whole set.
    version : str, default=None
        One of ``info(name).versions``; None means the first of them.
    cache : bool, default=False
        Keep a binary copy beside each LETOR file, to read it faster the next time.

    Returns
    -------
    Queries, Ratings or TextCollection
        Queries have the feature names of ``info(name)`` if they are known.

    Examples
    --------
    >>> from plackett import datasets
    >>> from pathlib import Path
    >>> Path("MQ2008").mkdir()
    >>> size = Path("MQ2008/S1.txt").write_text("1 qid:10 1:0.5 46:0.2")
    >>> datasets.load("mq2008", ".", part="S1")
    Queries(1 query, 1 document, 46 features, labels 1..1)
    """
    dataset = info(name, version=version)
    if part is not None:
        if not dataset.parts:
            raise ValueError(f"part={part!r} cannot be read: {name} is not divided into parts.")
        check_choice(part, f"{name} part", dataset.parts)
    if dataset.kind == "text":
        return read_smart(name, _locate(dataset, folder)[0].parent)
    if dataset.kind == "ratings":
        with importing:
            from plackett.data.feedback.ratings import read_movielens

        return read_movielens(_locate(dataset, folder)[0])
    queries = _read(dataset, _locate(dataset, folder, dataset.parts if part is None else (part,)), cache)
    if part is None:
        _check_counts(dataset, queries)
    return queries


def locate(name: str, folder: str | PathLike | None = None, *, version: str | None = None) -> list[Path]:
    """Return the files of a published data set without reading them; raises the error of `load` if they are missing.

    Parameters
    ----------
    name : str
    folder, version
        As for `load`.

    Examples
    --------
    >>> from plackett import datasets
    >>> from pathlib import Path
    >>> Path("ml-100k").mkdir()
    >>> size = Path("ml-100k/u.data").write_text("")
    >>> [path.name for path in datasets.locate("movielens-100k", ".")]
    ['u.data']
    """
    return _locate(info(name, version=version), folder)


def load_fold(
    name: str, fold: int = 1, folder: str | PathLike | None = None, *, version: str | None = None, cache: bool = False
) -> Fold:
    """Read one fold of a data set: training, validation and test queries.

    Sets with five parts follow LETOR's table (see `fold_parts`), whether they are stored as ``S1.txt`` to ``S5.txt`` or
    as ``Fold1`` to ``Fold5``. Sets with one published split (Yahoo, Istella) have fold 1 only.

    Parameters
    ----------
    name : str
    fold : int, default=1
    folder, version, cache
        As for `load`.

    Examples
    --------
    >>> from plackett import datasets
    >>> from pathlib import Path
    >>> Path("MQ2007").mkdir()
    >>> for part in range(1, 6):
    ...     size = Path(f"MQ2007/S{part}.txt").write_text(f"1 qid:{part} 1:0.5 46:0.2")
    >>> fold = datasets.load_fold("mq2007", 1, ".")
    >>> [queries.ids.tolist() for queries in fold]
    [[1, 2, 3], [4], [5]]
    """
    dataset = info(name, version=version)
    if not dataset.n_folds:
        raise ValueError(f"{name} has no published folds. Load it whole and split it by query.")
    check_choice(fold, f"fold of {name}", range(1, dataset.n_folds + 1))
    table = fold_parts(fold) if dataset.n_folds == N_FOLDS else FoldParts(("train",), "validation", "test")
    # locate all three first: a missing test file should be reported before minutes of reading
    paths = [_locate(dataset, folder, parts) for parts in (table.train, (table.validation,), (table.test,))]
    return Fold(*(_read(dataset, files, cache) for files in paths))


def load_folds(
    name: str | None = None, folder: str | PathLike | None = None, *, version: str | None = None
) -> list[Fold]:
    """Read the published folds of a data set, each file once.

    Fold 1 trains on the parts S1, S2 and S3, validates on S4 and tests on S5; fold 2 starts with S2, and so on in
    rotation (``fold_parts``). Sets with a single published split (Yahoo, Istella) have one fold.

    Parameters
    ----------
    name : str, default=None
        A set of ``names()`` with published folds.
    folder : path, default=None
        The folder of that set, as for ``load``. Without a name: a folder with ``S1.txt`` to ``S5.txt``, or with any
        number of folders ``Fold1``, ``Fold2``, ... with a training, a validation and a test file each. File names are
        not case-sensitive; files may be compressed.
    version : str, default=None
        The version of a set that has several, as for ``load``.

    Examples
    --------
    >>> from plackett import datasets
    >>> from pathlib import Path
    >>> Path("folds").mkdir()
    >>> for part in range(1, 6):
    ...     size = Path(f"folds/S{part}.txt").write_text(f"1 qid:{part} 1:0.5 46:0.2")
    >>> [fold.test.ids.tolist() for fold in datasets.load_folds(folder="folds")]
    [[5], [1], [2], [3], [4]]
    """
    if name is None:
        if folder is None:
            raise ValueError("load_folds needs the name of a data set or a folder.")
        return list(read_folder(folder))
    dataset = info(name, version=version)
    if dataset.n_folds != N_FOLDS:
        return [load_fold(name, 1, folder, version=version)]
    return list(_rotated([_read(dataset, _locate(dataset, folder, (part,)), False) for part in FIVE_PARTS]))


def read_folder(folder: str | PathLike) -> Iterator[Fold]:
    """Return the folds in ``folder``: its files S1 to S5 in rotation, or its folders Fold1, Fold2, ..."""
    root = Path(folder).expanduser()
    parts = [find_file(root, f"{part}.txt", part) for part in FIVE_PARTS]
    if None not in parts:
        return _rotated(_read_alike(parts))
    sets = _read_alike(list(_fold_files(root)))
    if not sets:
        raise DatasetNotFoundError(
            f"{root} {'has no folds' if root.is_dir() else 'is not a folder'}: expected S1.txt to S{N_FOLDS}.txt, or "
            f"{', '.join(names[0] for names in FOLD_FILES.values())} in Fold1, Fold2, ..."
        )
    return (Fold(*sets[start : start + 3]) for start in range(0, len(sets), 3))


def read_whole(folder: str | PathLike) -> Queries:
    """Return all queries in ``folder``, in the order of its parts."""
    return Queries.concat([part for part in next(read_folder(folder)) if part is not None])


def _rotated(parts: list[Queries]) -> Iterator[Fold]:
    """Yield the folds of five parts, as LETOR publishes them."""
    named = dict(zip(FIVE_PARTS, parts, strict=True))
    for train, validation, test in map(fold_parts, range(1, N_FOLDS + 1)):
        yield Fold(Queries.concat([named[part] for part in train]), named[validation], named[test])


def _fold_files(root: Path) -> Iterator[Path]:
    """Yield the training, validation and test file of Fold1, of Fold2, ..."""
    for number in itertools.takewhile(lambda number: find_folder(root, f"Fold{number}"), itertools.count(1)):
        for role, names in FOLD_FILES.items():
            file = find_file(root, *_names_in_fold(number, role))
            if file is None:
                raise DatasetNotFoundError(f"{root / f'Fold{number}'} has no {role} file ({' or '.join(names)}).")
            yield file


def _read_alike(files: Sequence[Any]) -> list[Queries]:
    """Read files with the same number of columns: rows may omit trailing zeros."""
    with importing:
        from plackett.data.letor.read import read_letor

    read = [read_letor(file) for file in files]
    widest = max((queries.n_features for queries in read), default=0)
    return [
        queries if queries.n_features == widest else read_letor(file, n_features=widest)
        for file, queries in zip(files, read, strict=True)
    ]


def _read(dataset: DatasetInfo, paths: Sequence[Path], cache: bool) -> Queries:
    with importing:
        from plackett.data.letor.read import read_letor

    n_features = None if dataset.every_row_is_full else dataset.n_features
    dtype = np.float32 if dataset.missing_from is None else np.float64
    queries = read_letor(list(paths), n_features=n_features, dtype=dtype, cache=cache)
    if dataset.missing_from is not None:
        queries.X = _with_nan(queries.X, dataset.missing_from)
    if queries.n_features != dataset.n_features:
        sizes = {version: info(dataset.name, version=version).n_features for version in dataset.versions}
        hint = next((f" Try version={one!r}." for one in sizes if sizes[one] == queries.n_features), "")
        label = f"{dataset.name} ({dataset.version})" if dataset.version else dataset.name
        message = f"{queries.n_features} features, but {label} has {dataset.n_features}.{hint}"
        raise DataFormatError(str(paths[0]), None, message)
    if dataset.feature_names is not None:
        queries.feature_names = list(dataset.feature_names)
    return queries


def _with_nan(X: np.ndarray, missing_from: float) -> np.ndarray:
    """Return X in float32, with NaN for values of at least ``missing_from``; row by row, to save a copy."""
    rows = np.empty(X.shape, dtype=np.float32)
    for row, values in zip(rows, X, strict=True):
        row[:] = np.where(values >= missing_from, np.nan, values)
    return rows


def _check_counts(dataset: DatasetInfo, queries: Queries) -> None:
    """Warn if the counts differ from the published ones."""
    counted = {"queries": (queries.n_queries, dataset.n_queries), "rows": (queries.n_docs, dataset.n_docs)}
    wrong = [
        f"{found:,} {what} instead of {published:,}"
        for what, (found, published) in counted.items()
        if published is not None and found != published
    ]
    if wrong:
        message = f"{dataset.name} has {' and '.join(wrong)}: the files are not the published set, or not all of it."
        warnings.warn(message, DataWarning, stacklevel=3)


def _locate(dataset: DatasetInfo, folder: str | PathLike | None, parts: Sequence[str] = ()) -> list[Path]:
    """Return the files of ``parts``, or of all, from the first folder that has them all."""
    places, parts = list(_places(dataset, folder)), tuple(parts or dataset.files)
    for place in places:
        files = _files_of_parts(dataset, place, parts)
        if files:
            return files
    raise _not_found(dataset, folder, places, parts)


def _places(dataset: DatasetInfo, folder: str | PathLike | None) -> Iterator[Path]:
    """Yield folders that may hold the set: ``OHSUMED/Data`` below the root, or ``Data``, or a given root itself."""
    root = _root(folder)
    if root is None:
        return
    depth = max(len(Path(relative).parts) for relative in dataset.folders)
    for dropped in range(depth):
        for relative in dataset.folders:
            rest = Path(relative).parts[dropped:]
            # "Data" or "sample" in a folder with many sets is ambiguous
            if rest and (dropped == 0 or folder is not None):
                place = find_folder(root, "/".join(rest))
                if place is not None:
                    yield place
    if folder is not None and root.is_dir():
        yield root


def _root(folder: str | PathLike | None) -> Path | None:
    named = os.environ.get(VARIABLE) if folder is None else folder
    return Path(named).expanduser() if named else None


def _files_of_parts(dataset: DatasetInfo, place: Path, parts: tuple[str, ...]) -> list[Path]:
    """Return the files below ``place`` with exactly ``parts``; empty if no file matches."""
    for names_of_files in _layouts(dataset, parts):
        files = [find_file(place, *names) for names in names_of_files]
        if None not in files:
            return [file for file in files if file is not None]
    return []


def _layouts(dataset: DatasetInfo, parts: tuple[str, ...]) -> Iterator[list[tuple[str, ...]]]:
    """Yield the files that hold ``parts`` together, each by the names that it may have."""
    if dataset.n_folds != N_FOLDS:
        yield [dataset.files[part] for part in parts]
        return
    folds = {fold: fold_parts(fold) for fold in range(1, N_FOLDS + 1)}
    if len(parts) > 1:  # the training file of a fold
        yield from ([_names_in_fold(fold, "train")] for fold, table in folds.items() if table.train == parts)
    roles = [(role, fold) for role in ("test", "validation") for fold in folds]
    names = {part: list(dataset.files[part]) for part in parts}
    for role, fold in roles:
        names.get(getattr(folds[fold], role), []).extend(_names_in_fold(fold, role))
    yield [tuple(names[part]) for part in parts]
    if parts == FIVE_PARTS:  # every fold holds all five parts
        yield from ([_names_in_fold(fold, role) for role in FOLD_FILES] for fold in folds)


def _names_in_fold(fold: int, role: str) -> tuple[str, ...]:
    """Return the names that a file may have below the folder of the folds."""
    return tuple(f"Fold{fold}/{name}" for name in FOLD_FILES[role])


def _not_found(
    dataset: DatasetInfo, folder: str | PathLike | None, places: list[Path], parts: tuple[str, ...]
) -> DatasetNotFoundError:
    root = _root(folder)
    label = f"{dataset.name}, version {dataset.version!r}," if dataset.version else dataset.name
    if root is None:
        looked = f"no folder was given and {VARIABLE} is not set."
    elif not root.is_dir():
        looked = f"{root} is not a folder."
    else:
        below = ", ".join(str(root / relative) for relative in dataset.folders)
        also = f" and in {root} itself" if folder is not None else ""
        folds = f" (or Fold1/{FOLD_FILES['train'][0]}, ...)" if dataset.n_folds == N_FOLDS else ""
        looked = f"looked for {', '.join(dataset.files[part][0] for part in parts)}{folds} in {below}{also}."
        there = [str(place) for place in places if place != root]
        if there:
            looked += f" Found, but without these files: {', '.join(there)}."
    home = root if root is not None else Path("DATA")
    advice = f"Get it from {dataset.source} and copy its files to {home / dataset.folders[0]}"
    pointer = f"; then set {VARIABLE} to {str(home)!r}, or pass it as folder."
    other = _other_version(dataset, folder, parts)
    hint = f" version={other!r} is available." if other else ""
    return DatasetNotFoundError(f"{label} was not found: {looked}{hint} {advice}{pointer} ({dataset.licence})")


def _other_version(dataset: DatasetInfo, folder: str | PathLike | None, parts: tuple[str, ...]) -> str | None:
    for version in dataset.versions:
        other = info(dataset.name, version=version)
        # only folders with the name of the version: the root itself is ambiguous
        places = [place for place in _places(other, folder) if place != _root(folder)]
        if version != dataset.version and any(_files_of_parts(other, place, parts) for place in places):
            return version
    return None
