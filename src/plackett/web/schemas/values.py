"""Values of a request: how long, how large, and which of a few words they may be."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints

from plackett.web.limits import LARGEST, MAX_BASE, MAX_DOCID, MAX_GRADE, MAX_ID, MAX_NAME, MAX_QUERY

NO_NULL = r"^[^\x00]*$"  # which neither PostgreSQL nor a file of lines can keep

QueryText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY, pattern=NO_NULL)]
Docid = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCID, pattern=NO_NULL)]
# a line: shown in menus, and written into files of lines
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$")]
Base = Annotated[str, StringConstraints(max_length=MAX_BASE, pattern=NO_NULL)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Grade = Annotated[float, Field(strict=True, ge=0, le=MAX_GRADE, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Method = Literal["multiplicative", "linear", "rocchio"]
METHODS: tuple[Method, ...] = get_args(Method)
Format = Literal["letor", "qrels", "run", "json"]
