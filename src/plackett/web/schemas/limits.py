"""What a value of a request may be: how long, how large, how many, and which of a few words."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, StringConstraints

MAX_QUERY = 1_000  # characters
MAX_DOCID = 1_000
MAX_NAME = 100
MAX_DOCS, MAX_FEATURES = 1_000, 1_000  # of a list that is sent to be refined
MAX_NUMBERS = 200_000  # in its features, all in all
MAX_IMPORT = 4_000_000  # characters
MAX_K = 200
LARGEST = 1e30  # of features and scores, so that sums of their squares stay finite
MAX_ID = 2**63 - 1
NO_NULL = r"^[^\x00]*$"  # which neither PostgreSQL nor a file of lines can keep

QueryText = Annotated[str, StringConstraints(min_length=1, max_length=MAX_QUERY, pattern=NO_NULL)]
Docid = Annotated[str, StringConstraints(min_length=1, max_length=MAX_DOCID, pattern=NO_NULL)]
# a line: shown in menus, and written into files of lines
Name = Annotated[str, StringConstraints(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$")]
Base = Annotated[str, StringConstraints(max_length=200, pattern=NO_NULL)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
Grade = Annotated[float, Field(strict=True, ge=0, le=30, allow_inf_nan=False)]
Number = Annotated[float, Field(strict=True, ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Method = Literal["multiplicative", "linear", "rocchio"]
METHODS: tuple[Method, ...] = get_args(Method)
Format = Literal["letor", "qrels", "run", "json"]
