"""Responses to requests whose values FastAPI refuses."""

from __future__ import annotations

from fastapi.exceptions import RequestValidationError
from starlette.requests import Request
from starlette.responses import Response

from plackett.apps.access.error_responses import error_response
from plackett.apps.access.errors import RequestError

FAULTS_SHOWN = 5  # faults of a request in one message


async def on_invalid(request: Request, error: RequestValidationError) -> Response:
    """Return what is wrong with the values of a request, without the values themselves."""
    faults = []
    is_malformed = False
    for fault in error.errors()[:FAULTS_SHOWN]:
        is_malformed = is_malformed or fault["type"] == "json_invalid"
        field = ".".join(str(part)[:60] for part in fault["loc"][1:])  # the first is body, query or path
        message = "the body is not JSON" if is_malformed else str(fault["msg"]).removeprefix("Value error, ")
        faults.append(f"{field}: {message}" if field and not is_malformed else message)
    n_more = len(error.errors()) - len(faults)
    text = "; ".join(faults) + (f"; and {n_more} more" if n_more > 0 else "") + "."
    hint = f"{request.app.openapi_url} describes what is expected."
    return error_response(request, RequestError(400 if is_malformed else 422, "invalid", text, hint))
