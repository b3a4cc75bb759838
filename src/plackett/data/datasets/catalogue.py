"""The catalogue of published data sets, read from ``catalogue.toml``: sizes, labels, columns, sources, file layouts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

FIVE_PARTS = ("S1", "S2", "S3", "S4", "S5")


@dataclass(frozen=True)
class DatasetInfo:
    """The description of one version of a data set.

    Attributes
    ----------
    name, version, title : str
        ``version`` is ``""`` if there is only one.
    kind : str
        What ``load`` returns: ``"queries"`` (a Queries), ``"ratings"`` (a Ratings) or ``"text"`` (a TextCollection).
    n_queries, n_docs, n_features : int or None
        ``n_docs`` counts rows, that is pairs of query and document; for ratings, ``n_queries`` counts users and
        ``n_docs`` ratings; for text, ``n_docs`` counts documents.
    label_range : tuple of two numbers, or None
        The lowest and the highest label, where known.
    label_counts : mapping of int to int, or None
        Label -> number of its rows, where known.
    feature_names : tuple of str, or None
        In the order of the columns, where all of them are known.
    columns : mapping of str to int
        Name of a feature -> its number in the file, counted from 1 as LETOR does.
    parts : tuple of str
        Names of the parts, for ``load(..., part=)``.
    n_folds : int
        5 for the sets with LETOR's table of folds, 1 for those with a single published split, 0 for none.
    versions : tuple of str
        All versions of the set; the first is the default.
    folders : tuple of str
        Folders searched for the set, below the user's folder; the last part of each path is also searched.
    source, licence, note : str
        Where to get it, its terms of use, and remarks.

    Examples
    --------
    >>> import plackett as pk
    >>> dataset = pk.datasets.info("mq2008")
    >>> dataset.kind, dataset.label_range, dataset.parts
    ('queries', (0, 2), ('S1', 'S2', 'S3', 'S4', 'S5'))
    """

    name: str
    title: str
    kind: str
    n_queries: int | None
    n_docs: int | None
    folders: tuple[str, ...]
    source: str
    licence: str
    n_features: int | None = None
    version: str = ""
    label_range: tuple[float, float] | None = None
    label_counts: Mapping[int, int] | None = None
    feature_names: tuple[str, ...] | None = None
    columns: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    parts: tuple[str, ...] = ()
    n_folds: int = 0
    versions: tuple[str, ...] = ("",)
    note: str = ""
    files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    every_row_is_full: bool = field(default=False, repr=False)
    missing_from: float | None = field(default=None, repr=False)

    def __post_init__(self):
        if self.feature_names is not None:
            numbers = {name: number for number, name in enumerate(self.feature_names, 1)}
            object.__setattr__(self, "columns", MappingProxyType(numbers))
            object.__setattr__(self, "n_features", len(numbers))
        if self.label_counts and self.label_range is None:
            object.__setattr__(self, "label_range", (min(self.label_counts), max(self.label_counts)))


@functools.cache
def catalogue() -> tuple[DatasetInfo, ...]:
    """Return all data sets, those with several versions once per version."""
    import tomllib  # loaded where they are used, to keep start-up fast
    from importlib import resources

    tables = tomllib.loads(resources.files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8"))
    found = []
    for name, own in tables["datasets"].items():
        shared = tables["families"].get(own.pop("family", None), {}) | own
        versions = shared.pop("versions", {"": {}})
        for version, changes in versions.items():
            fields = {key: _frozen(value) for key, value in (shared | changes).items()}
            if "features" in fields:
                fields["feature_names"] = tuple(tables["features"][fields.pop("features")])
            if "label_counts" in fields:  # the keys of a TOML table are texts
                counts = fields["label_counts"].items()
                fields["label_counts"] = MappingProxyType({int(label): count for label, count in counts})
            if fields["kind"] == "queries":
                fields["parts"] = tuple(fields["files"])
            found.append(DatasetInfo(name, version=version, versions=tuple(versions), **fields))
    return tuple(found)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return MappingProxyType({key: _frozen(part) for key, part in value.items()})
    return tuple(value) if isinstance(value, list) else value
