"""Types of the values of a request, with their limits."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, StringConstraints

from plackett.apps.workbench.limits import MAX_BASE, MAX_DOCID, MAX_GRADE, MAX_ID, MAX_NAME, MAX_QUERY, MAX_VALUE

NO_NULL = r"^[^\x00]*$"  # PostgreSQL and text files cannot store null characters


def _stripped(query: str) -> str:
    text = query.strip()
    if not text:
        raise ValueError("the query is empty")
    return text


QueryText = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_QUERY, pattern=NO_NULL), AfterValidator(_stripped)
]
Docid = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCID, pattern=NO_NULL)]
# one line, for menus and text files
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$")]
Base = Annotated[str, StringConstraints(max_length=MAX_BASE, pattern=NO_NULL)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Grade = Annotated[float, Field(strict=True, ge=0, le=MAX_GRADE, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, ge=-MAX_VALUE, le=MAX_VALUE, allow_inf_nan=False)]
Method = Literal["multiplicative", "linear", "rocchio"]
METHODS: tuple[Method, ...] = get_args(Method)
Format = Literal["letor", "qrels", "run", "json"]
