"""``plackett serve``: serve models over HTTP."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from plackett._optional import import_optional
from plackett.cli.shared import files, output
from plackett.cli.shared.options import Server, argument, command, option
from plackett.cli.shared.parameters import usage_errors

if TYPE_CHECKING:
    from plackett.apps.serve.service import Service

LIMITS, INTERLEAVING = "Limits", "Interleaving"


@command()
@option("A model that also scores lists; its orders are only logged.", "--shadow", metavar="NAME")
@option("Seconds between checks of the model files; 0: never swap.", "--poll", min=0.0, default=1.0, panel=LIMITS)
@option("Maximum documents per request.", "--max-docs", min=1, default=10_000, panel=LIMITS)
@option("Maximum seconds to respond to a request.", "--seconds", min=0.01, default=5.0, panel=LIMITS)
def serve(
    models: list[str] = argument(
        "FILE, NAME=FILE or NAME@VERSION=FILE; the first is the default.", metavar="MODEL", required=True
    ),
    server: Server = Server(),
    log: str | None = option(
        "Folder for the log of lists and clicks, in UBI's schema.", metavar="FOLDER", envvar="PLACKETT_LOG"
    ),
    interleave: str | None = option(
        "Mix the results of these models, to compare them by clicks.", metavar="NAME,NAME", panel=INTERLEAVING
    ),
    method: str | None = option(
        "team-draft (default), optimised, or another method of plackett interleave.", metavar="NAME", panel=INTERLEAVING
    ),
    interleave_k: int | None = option("Documents mixed at the top of a list (10).", min=1, panel=INTERLEAVING),
    workers: int = option("Processes behind the port.", min=1, max=256, default=1),
    max_body: int = option("Maximum size of a request in MiB.", min=1, default=16, panel=LIMITS),
    **others: Any,
) -> None:
    """Serve models over HTTP: POST /rank orders a list by score. Stop it with Ctrl-C or SIGTERM."""
    for package in ("starlette", "uvicorn", "pydantic", "prometheus_client"):
        import_optional(package, extra="web", needed_for="plackett serve")
    from plackett.apps.access.server import address_of, open_ports
    from plackett.apps.serve.log import prepare_log
    from plackett.apps.serve.models import ModelSpec, ModelTable, load_model
    from plackett.apps.serve.server import run_service
    from plackett.apps.serve.service import Service
    from plackett.apps.serve.settings import InterleaveSettings, ServingSettings

    with usage_errors():
        specs = [ModelSpec.parse(text) for text in models]
        mixing: dict[str, Any] = {name: value for name, value in (("method", method), ("k", interleave_k)) if value}
        if interleave is None and mixing:
            raise ValueError("--method and --interleave-k require --interleave.")
        test = None if interleave is None else InterleaveSettings(tuple(interleave.split(",")), **mixing)
        settings = ServingSettings(
            **server.settings(), **others, log=log, workers=workers, max_body=max_body << 20, interleave=test
        )
        if workers > 1 and os.name != "posix":
            raise ValueError("--workers needs Linux or macOS; run several services behind a proxy instead.")
    files.check_exists(*(spec.path for spec in specs))
    if log is not None:  # before the workers start, which would fail one by one
        prepare_log(log)
    with contextlib.ExitStack() as stack:
        listeners = [stack.enter_context(one) for one in open_ports(settings.host, settings.port, settings.workers)]
        service = Service(ModelTable(map(load_model, specs)), settings)
        _warn_of_same_models(service)
        for model in service.table:
            output.note(f"{model.spec.key}: {model.scorer!r}, version {model.version}")
        if not settings.is_local:
            output.note("plain HTTP: the token is sent unencrypted; anyone who can read the traffic can use it")
        if server.token is None and settings.token is not None:
            output.note(f"The token is {settings.token}")
        address = address_of(listeners[0], settings).partition("?")[0]
        output.note(f"Serving at {address} (stop it with Ctrl-C)")
        run_service(service, listeners)


def _warn_of_same_models(service: Service) -> None:
    """Warn if two interleaved models are copies of one file."""
    test, seen = service.settings.interleave, dict[str, str]()
    for key in () if test is None else test.rankers:
        model = service.table.get(key)
        if (first := seen.setdefault(model.checksum, key)) != key:
            output.alert(
                "warning",
                f"--interleave: {first} and {key} are the same model (checksum {model.short_checksum}), so a test of "
                "them can only end in a tie.",
            )
