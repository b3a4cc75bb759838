"""``plackett serve``: serve models over HTTP."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from plackett.apps.serve.service import Service
    from plackett.apps.serve.settings import InterleaveSettings, ServingSettings

LIMITS, INTERLEAVING = "Limits", "Interleaving"
HOST, PORT = "127.0.0.1", 8766  # as in apps/serve/settings.py, which help does not load


def serve(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="FILE, NAME=FILE or NAME@VERSION=FILE; the first is the default.",
        ),
    ],
    host: Annotated[
        str,
        typer.Option("--host", metavar="HOST", help="Address to listen on; non-loopback addresses need a token."),
    ] = HOST,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 means any free port.")
    ] = PORT,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="PLACKETT_TOKEN",
            metavar="TOKEN",
            help="Token that requests must send; generated if one is needed.",
        ),
    ] = None,
    shadow: Annotated[
        str | None,
        typer.Option("--shadow", metavar="NAME", help="A model that also scores lists; its orders are only logged."),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log",
            metavar="FOLDER",
            envvar="PLACKETT_LOG",
            help="Folder for the log of lists and clicks, in UBI's schema.",
        ),
    ] = None,
    interleave: Annotated[
        str | None,
        typer.Option(
            "--interleave",
            metavar="NAME,NAME",
            rich_help_panel=INTERLEAVING,
            help="Mix the results of these models, to compare them by clicks.",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            rich_help_panel=INTERLEAVING,
            help="team-draft (default), optimised, or another method of plackett interleave.",
        ),
    ] = None,
    interleave_k: Annotated[
        int | None,
        typer.Option(
            "--interleave-k", min=1, rich_help_panel=INTERLEAVING, help="Documents mixed at the top of a list (10)."
        ),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=256, help="Processes behind the port.")] = 1,
    poll: Annotated[
        float,
        typer.Option(
            "--poll", min=0, help="Seconds between checks of the model files; 0: never swap.", rich_help_panel=LIMITS
        ),
    ] = 1.0,
    max_docs: Annotated[
        int, typer.Option("--max-docs", min=1, help="Maximum documents per request.", rich_help_panel=LIMITS)
    ] = 10_000,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="Maximum size of a request in MiB.", rich_help_panel=LIMITS)
    ] = 16,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=0.01, help="Maximum seconds to respond to a request.", rich_help_panel=LIMITS),
    ] = 5.0,
) -> None:
    """Serve models over HTTP: POST /rank orders a list by score. Stop it with Ctrl-C or SIGTERM."""
    from plackett._optional import import_optional
    from plackett.cli.shared import inputs, output
    from plackett.cli.shared.parameters import usage_errors

    for package in ("starlette", "uvicorn", "pydantic", "prometheus_client"):
        import_optional(package, extra="web", needed_for="plackett serve")
    from plackett.apps.access.server import address_of, open_port
    from plackett.apps.serve.log import prepare_log
    from plackett.apps.serve.models import ModelSpec, ModelTable, load_model
    from plackett.apps.serve.server import run_service
    from plackett.apps.serve.service import Service

    with usage_errors():
        specs = [ModelSpec.parse(text) for text in models]
        limits = {"max_docs": max_docs, "max_body": max_body << 20, "seconds": seconds}
        settings = _settings(
            host,
            port,
            token,
            **limits,
            shadow=shadow,
            log=log,
            interleave=_interleaving(interleave, {"method": method, "k": interleave_k}),
            poll=poll,
            workers=workers,
        )
        if workers > 1 and os.name != "posix":
            raise ValueError("--workers needs Linux or macOS; run several services behind a proxy instead.")
    inputs.check_exists(*(spec.path for spec in specs))
    if log is not None:  # before the workers start, which would fail one by one
        prepare_log(log)
    with open_port(host, port) as listener:
        service = Service(ModelTable(map(load_model, specs)), settings)
        _warn_of_same_models(service)
        for model in service.table:
            output.note(f"{model.spec.key}: {model.scorer!r}, version {model.version}")
        if not settings.is_local:
            output.note("plain HTTP: the token is sent unencrypted; anyone who can read the traffic can use it")
        if token is None and settings.token is not None:
            output.note(f"The token is {settings.token}")
        address = address_of(listener, settings).partition("?")[0]
        output.note(f"Serving at {address} (stop it with Ctrl-C)")
        run_service(service, listener)


def _interleaving(names: str | None, options: dict[str, Any]) -> InterleaveSettings | None:
    from plackett.apps.serve.settings import InterleaveSettings

    given = {name: value for name, value in options.items() if value is not None}
    if names is None:
        if given:
            raise ValueError("--method and --interleave-k require --interleave.")
        return None
    return InterleaveSettings(tuple(names.split(",")), **given)


def _warn_of_same_models(service: Service) -> None:
    """Warn if two interleaved models are copies of one file."""
    from plackett.cli.shared import output

    test, seen = service.settings.interleave, dict[str, str]()
    for key in () if test is None else test.rankers:
        model = service.table.get(key)
        if (first := seen.setdefault(model.checksum, key)) != key:
            output.alert(
                "warning",
                f"--interleave: {first} and {key} are the same model (checksum {model.short_checksum}), so a test of "
                "them can only end in a tie.",
            )


def _settings(host: str, port: int, token: str | None, **options: Any) -> ServingSettings:
    import secrets

    from plackett.apps.access.settings import is_loopback
    from plackett.apps.serve.settings import ServingSettings

    if not math.isfinite(options["seconds"]) or not math.isfinite(options["poll"]):
        raise ValueError("--seconds and --poll must be finite.")
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    return ServingSettings(host=host, port=port, token=token, **options)
