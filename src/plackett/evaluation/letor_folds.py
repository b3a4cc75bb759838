"""The published folds of the LETOR data sets."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np

from plackett.data import datasets
from plackett.data.datasets.folders import read_folder, rotate
from plackett.data.datasets.published import FIVE_PARTS, N_FOLDS, Fold
from plackett.data.queries import Queries


class LetorFolds:
    """Splitter into the published folds of a data set.

    Fold 1 trains on the parts S1, S2 and S3, validates on S4 and tests on S5; fold 2 starts with S2, and so on in
    rotation (``plackett.datasets.fold_parts``). Sets with a single published split (Yahoo, Istella) have one fold.

    Parameters
    ----------
    name : str, default=None
        A set of ``plackett.datasets.names()`` with published folds.
    folder : path, default=None
        The folder of that set, as for ``plackett.datasets.load``. Without a name: a folder with ``S1.txt`` to
        ``S5.txt``, or with any number of folders ``Fold1``, ``Fold2``, ... with a training, a validation and a test
        file each. File names are not case-sensitive; files may be compressed.
    version : str, default=None
        The version of a set that has several, as for ``plackett.datasets.load``.
    parts : array-like of shape (n_queries,), default=None
        Instead of a name or a folder: the part, 1 to 5, of each query that ``folds`` is given.

    Examples
    --------
    >>> import numpy as np
    >>> from plackett import Queries
    >>> from plackett.evaluation import LetorFolds
    >>> data = Queries(np.arange(10.0).reshape(-1, 1), y=np.zeros(10), qid=list("abcdefghij"))
    >>> splitter = LetorFolds(parts=[1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    >>> first, second, *_ = splitter.folds(data)
    >>> first.train.ids.tolist(), first.validation.ids.tolist(), first.test.ids.tolist()
    (['a', 'f', 'b', 'g', 'c', 'h'], ['d', 'i'], ['e', 'j'])
    >>> second.test.ids.tolist()
    ['a', 'f']
    """

    def __init__(
        self,
        name: str | None = None,
        folder: str | PathLike | None = None,
        *,
        version: str | None = None,
        parts: Any = None,
    ):
        self.name, self.folder, self.version, self.parts = name, folder, version, parts

    def folds(self, queries: Queries | None = None) -> Iterator[Fold]:
        """Yield the folds.

        Parameters
        ----------
        queries : Queries, default=None
            The queries to split: required with ``parts``. With a name or a folder, None means the published data;
            queries with the same ids, such as scaled ones, are split like the published ones.
        """
        if self.parts is not None:
            return self._divided(queries)
        published = self._published()
        return published if queries is None else (_with_rows_of(fold, queries) for fold in published)

    def __repr__(self) -> str:
        given = {key: value for key, value in vars(self).items() if value is not None}
        if self.parts is not None:
            given["parts"] = "..."
        return f"LetorFolds({', '.join(f'{key}={value!r}' for key, value in given.items())})"

    def _divided(self, queries: Queries | None) -> Iterator[Fold]:
        if self.name is not None or self.folder is not None:
            raise ValueError("parts were given together with a name or a folder, which has its own parts.")
        if queries is None:
            raise ValueError("LetorFolds(parts=...) needs the queries: call folds(queries).")
        part_of = np.asarray(self.parts)
        if part_of.shape != (queries.n_queries,):
            raise ValueError(
                f"parts has shape {part_of.shape}, but there are {queries.n_queries:,} queries; "
                f"one number from 1 to {N_FOLDS} is needed for each."
            )
        found = np.unique(part_of).tolist()
        if found != list(range(1, N_FOLDS + 1)):
            raise ValueError(f"parts holds {found}; it must hold each of the numbers 1 to {N_FOLDS}, and no other.")
        return rotate([queries[part_of == number] for number in range(1, N_FOLDS + 1)])

    def _published(self) -> Iterator[Fold]:
        if self.name is None:
            if self.folder is None:
                raise ValueError("LetorFolds needs the name of a data set, a folder, or the part of each query.")
            return read_folder(self.folder)
        if datasets.info(self.name, version=self.version).n_folds != N_FOLDS:
            return iter([datasets.load_fold(self.name, 1, self.folder, version=self.version)])
        # each part is read only once
        parts = [datasets.load(self.name, self.folder, part=part, version=self.version) for part in FIVE_PARTS]
        return rotate([part for part in parts if isinstance(part, Queries)])


def _with_rows_of(fold: Fold, queries: Queries) -> Fold:
    train, validation, test = (queries.subset(part.ids.tolist()) for part in fold if part is not None)
    return Fold(train, validation, test)
