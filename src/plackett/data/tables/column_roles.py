"""Roles of the columns of a table: document ids, features, and ids or times that could be mistaken for features."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from plackett.exceptions import DataWarning, warn
from plackett.validation import feature_labels

DOCID, COMMENT = "docid", "letor_comment"
ID_NAMES = (DOCID, "doc_id", "document_id", "docno", "id")  # of documents, the first that exists
QID_NAMES, ONLY_LABELS = ("qid", "query_id"), ("label", "relevance", "rel", "grade", "judgement", "judgment", "target")
OTHER_ROLES = (*QID_NAMES, *ONLY_LABELS)  # a feature with such a name probably has another role
LABEL_NAMES = (*ONLY_LABELS[1:], "rating", "click", "clicked", "y")
SMALLEST_FLOAT_ID = 10_000
SHARE_OF_NAMES = 0.5  # of rows: a column with more distinct texts does not hold categories
NAMES_EXAMINED = 1000
FEWEST_IDS = 10  # fewer rows are not conclusive
ROWS_EXAMINED = 1 << 16
COLUMNS_LISTED = 12
GENERATED = ("column ", "feature ")  # names of columns without one begin so
EPOCHS = [(1e9 * unit, 4.2e9 * unit) for unit in (1, 1e3, 1e6, 1e9)]  # seconds to nanoseconds, in 2001 to 2103


def docid_column(wanted: str | None, present: Sequence[str]) -> str | None:
    """Return the column of the document names; the default, "docid", means any of the usual names, if present."""
    if wanted != DOCID:
        return wanted
    return next((name for name in ID_NAMES if name in present), None)


def check_feature_names(names: Sequence[str], columns: Container[str], option: str) -> None:
    """Reject features whose names would make them ids or labels when the table is read again."""
    for name in names:
        if name in columns:
            raise ValueError(f"a feature is called {name!r}, like another column. Choose another name: {option}")
        if name in ID_NAMES:
            raise ValueError(f"a feature is called {name!r}, which would be read as the document ids. Rename it.")


def names_and_first_index(names: list[str]) -> tuple[list[str] | None, int | None]:
    """Return the names of columns and None; for names that ``to_frame`` generated, None and the first number."""
    for first_index in (None, 0, 1) if names and names[0].startswith(GENERATED) else ():
        if names == feature_labels(len(names), None, first_index):
            return None, first_index
    return names, None


def resembles(name: str, values: np.ndarray) -> str | None:
    """Return why a feature may be an id, a label or a time; None if it looks like a feature."""
    if values.ndim != 1:  # duplicate columns are rejected elsewhere
        return None
    if name in (*ID_NAMES, *OTHER_ROLES):
        return f"has the name of {'a label' if name in ONLY_LABELS else 'an id'}"
    values = values[:ROWS_EXAMINED]
    if values.dtype.kind not in "iuf" or values.size < FEWEST_IDS:
        return None
    if values.dtype.kind == "f":  # integers with missing values become floats; small ones may be counts or ranks
        values = values[np.isfinite(values)]
        if values.size < FEWEST_IDS or (values != np.floor(values)).any() or np.abs(values).min() < SMALLEST_FLOAT_ID:
            return None
    low, high = float(values.min()), float(values.max())
    if any(start <= low and high < stop for start, stop in EPOCHS):
        return "holds whole numbers that look like times"
    if np.unique(values).size == values.size:
        return "holds a different whole number in every row, like an id"
    return None


def warn_of_columns(
    suspects: Mapping[str, str | None],
    *,
    left_out: Sequence[str] = (),
    times: Sequence[str] = (),
    unnamed: Sequence[str] = (),
    remedy: str,
) -> None:
    """Warn about columns that were left out as ids or times, and about features that resemble one."""
    sentences = [f"column {name!r} is a feature but {why}." for name, why in suspects.items() if why is not None]
    sentences += [f"column {name!r} is left out: its name is that of an id." for name in left_out]
    sentences += [f"column {name!r} is left out: it holds times." for name in times]
    sentences += [f"column {name!r} is left out: it has no name, like a pandas index." for name in unnamed]
    if sentences:
        warn(f"{' '.join(sentences)} {remedy}", DataWarning)


def warn_of_frame(frame: Any) -> None:
    """Warn about columns of a data frame of features that resemble ids or times."""
    names = getattr(frame, "column_names", None) or frame.columns
    suspects = {str(name): resembles(str(name), np.asarray(frame[name])) for name in names}
    warn_of_columns(suspects, remedy="Drop columns that are not features from X.")


def resembles_text(codes: np.ndarray, names: np.ndarray | None) -> str | None:
    """Return why a column of text may be an id or a text to search rather than categories; None if it is fine."""
    n_values = int((~np.isnan(codes)).sum())
    if names is None or n_values < FEWEST_IDS or names.size <= n_values * SHARE_OF_NAMES:
        return None
    return f"holds {names.size:,} different texts in {n_values:,} rows, like an id or a title"


def resembles_numbers(names: np.ndarray | None) -> str | None:
    """Return why a column of text should perhaps be numbers: half of its texts or more are; None if it is fine."""
    some = [] if names is None else names[:NAMES_EXAMINED].tolist()
    numbers = [text for text in some if is_number(text)]
    if not some or 2 * len(numbers) < len(some):
        return None
    others = [text for text in some if not is_number(text)]
    found = " and ".join(repr(texts[0]) for texts in (numbers, others) if texts)
    return f"holds numbers as text, such as {found}, and is read as categories: convert it, or name it in categorical"


def is_number(text: str) -> bool:
    """Return whether a text is a number, possibly with thousands separators, a decimal comma or a percent sign."""
    try:
        float(text.strip().rstrip("%").replace(",", ""))
    except ValueError:
        return False
    return True


def is_unnamed(name: str) -> bool:
    """Return whether a column has no name, or the one that pandas gives to it."""
    return not name.strip() or name.startswith("Unnamed: ")


def warn_of_texts(columns: Mapping[str, tuple[np.ndarray, np.ndarray | None]]) -> None:
    """Warn about columns of categories, given by name as codes and names, that look like ids or free text."""
    suspects = {name: resembles_text(*column) for name, column in columns.items()}
    warn_of_columns(suspects, remedy="Drop columns that are not features from X.")


# --- Choosing columns -------------------------------------------------------------------------------------------------


def has_no_labels(present: Sequence[str]) -> bool:
    """Return whether there is no column "label", nor another that looks like the labels."""
    return (
        "label" not in present
        and not {name.lower() for name in present} & set(LABEL_NAMES)
        and not near("label", present)
    )


def check_roles(roles: Mapping[str, str | None], drop: Sequence[str], categorical: Sequence[str]) -> None:
    """Raise if two parameters name the same column."""
    seen: dict[str, str] = {}
    for role, name in roles.items():
        if name is None:
            continue
        if name in seen:
            raise ValueError(f"{seen[name]} and {role} name the same column, {name!r}.")
        seen[name] = role
    for name in dict.fromkeys([*drop, *categorical]):
        if name in seen:
            hint = " For data without labels, pass label=None." if seen[name] == "label" and name in drop else ""
            which = "drop" if name in drop else "categorical"
            raise ValueError(f"{which} names {name!r}, which is the column of {seen[name]}.{hint}")
        if name in drop and name in categorical:
            raise ValueError(f"drop and categorical name the same column, {name!r}.")


def check_columns(names: Sequence[str], present: Sequence[str], path: str = "", label: str | None = None) -> None:
    """Raise if a column is missing, or there are several of its name; ``label`` is the one for which None may help."""
    where = f"{path} has" if path else "the table has"
    for name in names:
        if present.count(name) > 1:
            raise ValueError(f"{where} {present.count(name)} columns named {name!r}; it must have one.")
        if name not in present:
            hint = columns_in_words(name, present)
            if name == label:
                hint += " For labels with another name, pass label=...; without labels, label=None."
            raise ValueError(f"{f'{where} no' if path else 'there is no'} column {name!r}. {hint}")


def near(wanted: str, present: Sequence[str]) -> list[str]:
    """Return columns with a similar name."""
    return get_close_matches(str(wanted), present, n=3)


def columns_in_words(wanted: str, present: Sequence[str]) -> str:
    """Return a hint for a missing column: columns with a similar name, or the first columns."""
    usual = {"label": LABEL_NAMES, "qid": (*QID_NAMES, "query", "session_id", "search_id")}.get(wanted, ())
    similar = near(wanted, present) or [name for name in present if name.lower() in usual]
    if similar:
        return f"Did you mean {' or '.join(repr(other) for other in similar)}?"
    more = ", ..." if len(present) > COLUMNS_LISTED else ""
    return f"Its columns are {', '.join(map(repr, present[:COLUMNS_LISTED])) or 'none'}{more}."
