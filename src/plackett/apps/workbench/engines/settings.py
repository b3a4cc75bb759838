"""Settings of a live engine: a TOML file, or the address of an index.

Secrets come from environment variables, as in ``Authorization = "ApiKey ${ES_API_KEY}"``. They never reach ``repr``,
messages, pages or logs.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from os import PathLike
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from plackett.apps.workbench.values import MAX_BASE, MAX_K

AUTHORIZATION = "PLACKETT_ENGINE_AUTHORIZATION"  # variable with the credentials of engines without a file
MAX_TIMEOUT = 15.0  # seconds, below the time that a request to the workbench may take
SCORE, TEXT = "score", "text"  # features that every engine has
# the places of values in the answers of engines, which files cannot change
_ELASTIC = {"id": "_id", "hits": "hits.hits"}
PATHS = {"elasticsearch": _ELASTIC, "opensearch": _ELASTIC, "solr": {"hits": "response.docs"}}
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_Text = Annotated[str, StringConstraints(min_length=1)]


class EngineSettings(BaseModel):
    """Settings for querying an engine and for finding the values in its responses."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    kind: Literal["elasticsearch", "opensearch", "solr", "json"]
    # the address of an index or core; for "json" that of the search, with {query} and {size} in its query string or in
    # request
    url: str
    # the name of the base ranker
    name: Annotated[str, StringConstraints(min_length=1, max_length=MAX_BASE)]
    # the field with the title; empty means the first of title, name and headline
    title: str = ""
    # the fields of a document, as paths such as "brand.name"; empty means all fields with text or numbers
    fields: list[_Text] = Field(default=[], max_length=50)
    # for "json", paths of the id and the score within a hit, and of the hits within the answer; an empty score means
    # the order of the hits. For "solr", id is the unique key. The other paths are those of the engine
    id: str = "id"
    score: str = "score"
    hits: str = ""
    # the body of a request or its parameters (Solr), whose strings may have {query} and {size}; empty: all fields
    request: dict[str, Any] = {}
    # for "json" the address of one document, with {id} in its query string
    document: str = ""
    headers: dict[str, str] = Field(default={}, repr=False)
    # "score", "text", and names of logged features or numeric fields
    features: list[_Text] = Field(default=[SCORE, TEXT], min_length=1, max_length=500)
    # queries to suggest
    examples: list[_Text] = Field(default=[], max_length=50)
    size: int = Field(default=100, ge=1, le=MAX_K)
    timeout: float = Field(default=5.0, ge=0.1, le=MAX_TIMEOUT)

    @model_validator(mode="before")
    @classmethod
    def _with_paths(cls, values: dict[str, Any]) -> dict[str, Any]:
        return {**values, **PATHS.get(str(values.get("kind")), {})}

    @model_validator(mode="after")
    def _check(self) -> EngineSettings:
        if not self.name.isprintable():
            raise ValueError("name must be one line of text.")
        address = check_address(self.url, "url")
        if self.document and (other := check_address(self.document, "document"))[:2] != address[:2]:
            raise ValueError(f"document is on {other.netloc} and url on {address.netloc}; both must be on one host.")
        for name in ("fields", "features", "examples"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name} has a string twice.")
        if self.kind == "json" and "{query}" not in self.url + str(self.request):
            raise ValueError("neither url nor request has {query}, so every search would be the same.")
        if self.kind == "json" and not self.hits:
            raise ValueError('hits is missing: the path of the hits in an answer, such as "data.items".')
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not value.isprintable() or not value.isascii():
                raise ValueError(f"the header {name[:60]!r} cannot be sent: it must be one line of ASCII text.")
        return self

    @property
    def address(self) -> SplitResult:
        """The parts of ``url``."""
        return urlsplit(self.url)

    @property
    def logged(self) -> list[str]:
        """Features that an engine logs or returns as fields."""
        return [name for name in self.features if name not in (SCORE, TEXT)]

    @property
    def place(self) -> str:
        """The host, for messages."""
        return self.address.netloc


def check_address(url: str, name: str) -> SplitResult:
    """Return the parts of an address; placeholders and credentials are refused where they are unsafe."""
    if not url.isprintable() or " " in url:
        raise ValueError(f"{name} must be an address such as http://127.0.0.1:9200/products.")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise ValueError(f"{name} must begin with http:// or https:// and a host.")
    if "@" in parts.netloc:  # a command line is visible to other users, and addresses are shown in messages
        raise ValueError(f"{name} contains a user name or password. Send it as a header from an environment variable.")
    if "{" in parts.netloc + parts.path or parts.fragment:
        raise ValueError(f"{name} may have {{query}}, {{size}} and {{id}} in its query string only.")
    return parts


def read_engine(path: str | PathLike[str], environment: Mapping[str, str] | None = None) -> EngineSettings:
    """Return the settings in a TOML file; ``environment`` has the values of ``${NAME}`` in headers."""
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    try:
        headers = _headers(values.get("headers", {}), os.environ if environment is None else environment)
        return _checked({"name": values.get("kind"), **values, "headers": headers})
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _checked(values: dict[str, Any]) -> EngineSettings:
    try:
        return EngineSettings.model_validate(values)
    except ValidationError as error:
        raise ValueError(_in_words(error)) from None


def _in_words(error: ValidationError) -> str:
    """Return the first error of a file, without its values, which may be secret."""
    fault = error.errors(include_input=False)[0]
    name = ".".join(map(str, fault["loc"]))
    if fault["type"] == "missing":
        return f"{name} is missing."
    if fault["type"] == "extra_forbidden":
        return f"unknown setting {name!r}; the settings are {', '.join(EngineSettings.model_fields)}."
    message = fault["msg"].removeprefix("Value error, ")
    return f"{name}: {message}." if name else message


def engine_at(kind: str, url: str, environment: Mapping[str, str] | None = None) -> EngineSettings:
    """Return the settings of an index by its address; an environment variable may have its credentials."""
    environment = os.environ if environment is None else environment
    authorization = environment.get(AUTHORIZATION)
    headers = {} if authorization is None else {"Authorization": authorization}
    return _checked({"name": kind, "kind": kind, "url": url.rstrip("/"), "headers": headers})


def _headers(headers: Any, environment: Mapping[str, str]) -> Any:
    """Return headers with the values of the variables in them; what is not a table of strings stays as it is."""
    if not isinstance(headers, dict):
        return headers

    def filled(value: Any) -> Any:
        for variable in _VARIABLE.findall(value) if isinstance(value, str) else ():
            if variable not in environment:
                raise ValueError(f"the environment variable {variable} is not set; a header needs it.")
        return _VARIABLE.sub(lambda match: environment[match[1]], value) if isinstance(value, str) else value

    return {name: filled(value) for name, value in headers.items()}
