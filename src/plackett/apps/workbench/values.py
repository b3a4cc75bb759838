"""Limits and types of values in requests, files and the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, dataclass_transform, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

MAX_QUERY = 1_000  # characters
MAX_DOCID = 1_000
MAX_NAME = 100  # characters in the name of a user or a trained ranker
MAX_BASE = 200  # characters in the name of a base ranker, which may be a column name
MAX_GRADE = 30  # 2**grade is the gain of NDCG
MAX_K = 200  # documents of a list
MAX_DOCS, MAX_FEATURES = 1_000, 1_000  # in an external list
MAX_NUMBERS = 200_000  # feature values of an external list
MAX_VALUE = 1e30  # largest feature or score, so that sums of squares do not overflow
MAX_IMPORT = 4_000_000  # characters
MAX_ID = 2**63 - 1  # largest id of a row in the store
FIRST = 10  # documents of the first page: those that are to be judged, and whose judgements are counted
RELEVANT_FROM = 1.0  # the smallest relevant grade
MAX_NEED = 2_000  # characters of an information need or a note
MAX_SET_QUERIES = 1_000  # in a query set
MAX_SETS, MAX_SNAPSHOTS = 1_000, 1_000  # per collection
MAX_BOARD_RANKERS = 8  # compared at a time
FROZEN_DEPTH = 100  # documents of a ranking that are measured and frozen

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


@dataclass_transform(frozen_default=True)
class Record:
    """Base of what responses consist of, and of rows of the store: frozen dataclasses."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class RequestModel(BaseModel):
    """Values of a request; unknown fields are refused, because most are misspelt."""

    model_config = ConfigDict(extra="forbid")


class PageRequest(RequestModel):
    """A page of a long result."""

    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=MAX_ID)
