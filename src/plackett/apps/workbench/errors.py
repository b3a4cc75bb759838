"""Errors of requests, with the status of their response."""

from plackett.apps.access.errors import RequestError, client_errors

__all__ = ["RequestError", "client_errors"]
