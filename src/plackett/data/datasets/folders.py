"""Folds of judged lists in folders: the files S1 to S5, or the folders Fold1, Fold2, ..."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from plackett._lazy import importing
from plackett.data.datasets.published import (
    FIVE_PARTS,
    FOLD_FILES,
    N_FOLDS,
    Fold,
    fold_parts,
    info,
    load,
    load_fold,
    names_in_fold,
)
from plackett.data.queries import Queries
from plackett.exceptions import DatasetNotFoundError
from plackett.storage.file_names import find_file, find_folder


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
    >>> Path("MQ2007").mkdir()
    >>> for part in range(1, 6):
    ...     size = Path(f"MQ2007/S{part}.txt").write_text(f"1 qid:{part} 1:0.5 46:0.2")
    >>> [fold.test.ids.tolist() for fold in datasets.load_folds("mq2007", ".")]
    [[5], [1], [2], [3], [4]]
    """
    if name is None:
        if folder is None:
            raise ValueError("load_folds needs the name of a data set or a folder.")
        return list(read_folder(folder))
    if info(name, version=version).n_folds != N_FOLDS:
        return [load_fold(name, 1, folder, version=version)]
    parts = [load(name, folder, part=part, version=version) for part in FIVE_PARTS]
    return list(_rotate([part for part in parts if isinstance(part, Queries)]))


def _rotate(parts: Sequence[Queries]) -> Iterator[Fold]:
    """Yield the folds of five parts, as LETOR publishes them."""
    named = dict(zip(FIVE_PARTS, parts, strict=True))
    for number in range(1, N_FOLDS + 1):
        table = fold_parts(number)
        yield Fold(Queries.concat([named[part] for part in table.train]), named[table.validation], named[table.test])


def read_folder(folder: str | PathLike) -> Iterator[Fold]:
    """Return the folds in ``folder``: its files S1 to S5 in rotation, or its folders Fold1, Fold2, ..."""
    root = Path(folder).expanduser()
    files = _part_files(root)
    if files is not None:
        return _rotate(_read_alike(files))
    stored = _fold_files(root)
    if not stored:
        raise DatasetNotFoundError(
            f"{root} {'has no folds' if root.is_dir() else 'is not a folder'}: expected S1.txt to S{N_FOLDS}.txt, or "
            f"{', '.join(names[0] for names in FOLD_FILES.values())} in Fold1, Fold2, ..."
        )
    sets = _read_alike([file for files in stored for file in files])
    return iter([Fold(*sets[start : start + 3]) for start in range(0, len(sets), 3)])


def read_whole(folder: str | PathLike) -> Queries:
    """Return all queries in ``folder``, in the order of its parts."""
    fold = next(read_folder(folder))
    return Queries.concat([part for part in fold if part is not None])


def _part_files(root: Path) -> list[Path] | None:
    files = [find_file(root, f"{part}.txt", part) for part in FIVE_PARTS]
    found = [file for file in files if file is not None]
    return found if len(found) == N_FOLDS else None


def _fold_files(root: Path) -> list[list[Path]]:
    """Return the training, validation and test files of Fold1, Fold2, ..."""
    answer: list[list[Path]] = []
    while find_folder(root, f"Fold{len(answer) + 1}") is not None:
        number = len(answer) + 1
        files = []
        for role, names in FOLD_FILES.items():
            file = find_file(root, *names_in_fold(number, role))
            if file is None:
                raise DatasetNotFoundError(f"{root / f'Fold{number}'} has no {role} file ({' or '.join(names)}).")
            files.append(file)
        answer.append(files)
    return answer


def _read_alike(files: Sequence[Path]) -> list[Queries]:
    """Read files with the same number of columns: rows may omit trailing zeros."""
    with importing:
        from plackett.data.letor.read import read_letor

    read = [read_letor(file) for file in files]
    widest = max(queries.n_features for queries in read)
    return [
        queries if queries.n_features == widest else read_letor(file, n_features=widest)
        for file, queries in zip(files, read, strict=True)
    ]
