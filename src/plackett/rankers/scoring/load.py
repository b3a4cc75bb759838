"""``load_scorer``: a scorer from a model file, with numpy alone."""

from __future__ import annotations

import os
from typing import IO

from plackett.exceptions import ModelFormatError
from plackett.rankers.registry import load, opened
from plackett.rankers.scoring.build import build_scorer
from plackett.rankers.scoring.scorer import Scorer
from plackett.rankers.scoring.steps import NotScored
from plackett.storage.container import MAGIC, one_line
from plackett.storage.models.read import read_parts
from plackett.storage.opening import name_of
from plackett.storage.remote import local_files

_INVALID = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


@local_files
def load_scorer(path: str | os.PathLike | IO[bytes]) -> Scorer:
    """Return the scorer of a model file that ``ranker.save`` wrote, importing neither scikit-learn nor scipy.

    Nothing in the file is run, and its arrays are checked. Files of other tools that ``load`` reads work too, but
    they import scikit-learn, as do quantile and robust scalers.

    Parameters
    ----------
    path : str, path or binary file object

    Raises
    ------
    ModelFormatError
        If the file is not a model or is damaged.
    ValueError
        If the ranker has no scorer; the message says why.

    Examples
    --------
    >>> from plackett import load_scorer
    >>> import plackett as pk
    >>> data = pk.datasets.make_web_like(10, 5, 3, random_state=0)
    >>> pk.LinearRanker().fit(data).save("linear.plackett")
    >>> load_scorer("linear.plackett").score(data.X[:5]).shape
    (5,)
    """
    name, (source, head) = name_of(path), opened(path)
    if head and not head.startswith(MAGIC):
        return load(source).scorer()
    part = read_parts(source)
    try:
        return build_scorer(part)
    except NotScored:
        raise
    except _INVALID as error:
        raise ModelFormatError(name, f"{part.kind}: {one_line(error)}") from error
