"""Parts of data as a fit takes them: loaded, checked against each other, and their columns remembered."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett.data.categories import Categories
from plackett.data.list_warnings import nothing_to_learn
from plackett.data.queries import Queries
from plackett.distributed.inputs import PartitionedInput
from plackett.distributed.metadata import (
    PartMetadata,
    check_categories,
    check_columns,
    check_whole_queries,
    metadata_of,
)
from plackett.exceptions import NothingToLearnWarning, warn
from plackett.losses.base import Loss
from plackett.validation import feature_number


class CheckedParts(NamedTuple):
    """Loaded parts that have rows, and their metadata."""

    partitions: Any  # LocalPartitions or ClusterPartitions
    metadata: list[PartMetadata]
    n_features: int
    total_weight: float
    categories: Categories | None

    def total(self, name: str) -> Any:
        """Return the sum of a number over all parts."""
        return sum(getattr(part, name) for part in self.metadata)


def checked_parts(ranker: Any, given: PartitionedInput, loss: Loss | None) -> CheckedParts:
    """Load parts, check them, and set the attributes about columns and queries that a local fit sets."""
    partitions = given.load()
    metadata = with_rows(partitions, "in any partition")
    n_features, names = check_columns(metadata)
    categories = check_categories(metadata)
    if categories and not ranker.takes_categories:
        column = feature_number(min(categories), metadata[0].first_index, names)
        raise ValueError(
            f"{metadata[0].name}: {column} of X holds text or categories, which {type(ranker).__name__} does not "
            "support over partitions. Leave them out."
        )
    total_weight = sum(part.weight for part in metadata)
    if not 0.0 < total_weight < np.inf:
        raise ValueError(f"sample_weight adds up to {total_weight:g} over all queries; a number above 0 is needed.")
    _remember_columns(ranker, n_features, names, metadata[0].first_index, is_frame=given.has_frames)
    ranker.n_queries_, ranker.categories_ = sum(part.n_queries for part in metadata), categories
    _warn_of_labels(metadata, loss)
    return CheckedParts(partitions, metadata, n_features, total_weight, categories)


def with_rows(partitions: Any, where: str) -> list[PartMetadata]:
    """Drop parts without rows, and return the metadata of the others, in which queries must be whole."""
    found: list[PartMetadata] = partitions.map(metadata_of)
    places = [place for place, one in enumerate(found) if one.n_docs]
    if not places:
        raise ValueError(f"there are no rows {where}.")
    partitions.keep(places)
    metadata = [found[place] for place in places]
    check_whole_queries(metadata, partitions)
    return metadata


def _warn_of_labels(metadata: list[PartMetadata], loss: Loss | None) -> None:
    """Warn if no query of any part has documents with different labels."""
    if any(part.has_pairs for part in metadata):
        return
    ends = {label for part in metadata for label in part.labels or ()}
    is_pointwise = loss is not None and loss.is_pointwise
    if is_pointwise and len(ends) > 1:
        return
    n_queries, n_docs = sum(part.n_queries for part in metadata), sum(part.n_docs for part in metadata)
    warn(nothing_to_learn(n_queries, n_docs, is_pointwise=is_pointwise), NothingToLearnWarning)


def _remember_columns(
    ranker: Any, n_features: int, names: list[str] | None, first_index: int | None, *, is_frame: bool
) -> None:
    """Set the attributes about columns, as a fit to a row of them does."""
    row = np.zeros((1, n_features))
    rows: Any = Queries.from_groups(
        row, None, np.zeros(1, np.int64), np.array([0, 1]), feature_names=names, first_index=first_index
    )
    if is_frame:
        with importing:
            from pandas import DataFrame

        rows = DataFrame(row, columns=names)
    ranker._check_queries(rows, None, None, needs_labels=False, reset=True)
