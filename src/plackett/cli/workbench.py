"""``plackett workbench``: search, judge and refine a ranking in a browser."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from plackett._optional import import_optional
from plackett._progress import Progress, is_watched
from plackett.cli.shared import files, inputs, output
from plackett.cli.shared.options import Server, argument, command, option
from plackett.cli.shared.parameters import usage_errors

if TYPE_CHECKING:
    from plackett.apps.workbench.collections.base import Collection
    from plackett.apps.workbench.engines.settings import EngineSettings


@command()
def workbench(
    source: str | None = argument(
        "Texts: a folder or file, or an index (Python's documentation).", metavar="SOURCE", required=False, reads="file"
    ),
    letor: list[str] = option("Judged lists to browse instead of SOURCE.", metavar="DATA", reads="data"),
    engines: list[str] = option(
        "A live engine, configured by a TOML file; repeatable.", "--engine", metavar="FILE", reads="file"
    ),
    elasticsearch: str | None = option("A live index: http://127.0.0.1:9200/shop.", metavar="URL"),
    opensearch: str | None = option("The same for OpenSearch.", metavar="URL"),
    solr: str | None = option("A live core: http://127.0.0.1:8983/solr/shop.", metavar="URL"),
    models: list[str] = option("A saved ranker as a base ranker.", "--model", metavar="FILE", reads="file"),
    store: str | None = option("Store of judgements: an SQLite file, or postgresql://…", metavar="PATH|URL"),
    server: Server = Server(),
    grades: str | None = option("Words for the grades 0, 1, 2, …, separated by commas.", metavar="WORDS"),
    no_browser: bool = option("Print the address without opening a browser."),
) -> None:
    """Search, judge results and refine the ranking in a browser; stop it with Ctrl-C."""
    for package in ("fastapi", "uvicorn", "sqlalchemy", "jinja2", "cachetools", "platformdirs"):
        import_optional(package, extra="web", needed_for="plackett workbench")
    if letor and source is not None:
        raise click.BadParameter("give either SOURCE or --letor.")
    from plackett.apps.access.server import address_of, open_port, serve, starting
    from plackett.apps.workbench.engines.settings import engine_at, read_engine
    from plackett.apps.workbench.settings import GRADES, Settings

    addresses = {"elasticsearch": elasticsearch, "opensearch": opensearch, "solr": solr}
    with usage_errors():
        live = [read_engine(path) for path in engines]
        live += [engine_at(kind, url) for kind, url in addresses.items() if url is not None]
        words = GRADES if grades is None else tuple(word.strip() for word in grades.split(","))
        settings = Settings(**server.settings(), grades=words)
    if live and letor:
        raise click.BadParameter("--letor cannot be combined with a live engine; give SOURCE, or neither.")
    # a port that is in use is reported before the index is built
    with open_port(settings.host, settings.port) as listener:
        settings = replace(settings, port=listener.getsockname()[1])  # the actual port if 0 was given
        from plackett.apps.workbench.app import create_app
        from plackett.apps.workbench.db import default_store_path
        from plackett.apps.workbench.store import Store

        address = address_of(listener, settings)
        with starting(listener), Progress("indexing", 1.0, is_shown=is_watched()) as bar:
            collection = _collection(source, letor, models, live, lambda n, n_all: bar.advance_to(n / n_all))
        with Store(default_store_path(collection.key) if store is None else store) as opened:
            app = create_app(collection, opened, settings)
            output.notes(app.state.workbench.rankers.notes)
            output.note(f"{collection.name}: {collection.size}; judgements in {opened.location}")
            if not settings.is_local:
                output.note("plain HTTP: the token is sent unencrypted; anyone who can read the traffic can use it")
            output.note(f"The workbench is at {address} (stop it with Ctrl-C)")
            if not no_browser and _has_display():
                import webbrowser

                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
            serve(app, listener)


def _collection(
    source: str | None,
    letor: list[str],
    models: list[str],
    engines: list[EngineSettings],
    progress: Callable[[int, int], None],
) -> Collection:
    from plackett.apps.workbench.collections.letor import LetorCollection
    from plackett.apps.workbench.collections.text import default_cache_folder, open_collection
    from plackett.apps.workbench.engines.answers import Engine
    from plackett.apps.workbench.engines.collection import EngineCollection
    from plackett.data.documents.read import as_text

    rankers = {path: inputs.load_ranker(path) for path in models}
    collection: Collection
    if letor:
        queries, name = inputs.load_queries(letor), inputs.name_of_data(letor)
        widest = max(rankers, key=lambda path: rankers[path].n_features_in_, default=None)
        if widest is not None:
            queries = inputs.for_model(queries, rankers[widest], name, widest)
        collection = LetorCollection(queries, name=as_text(os.path.basename(name)) or "judged lists")
        paths = "\0".join(name if files.is_known_name(name) else os.path.abspath(name) for name in letor)
        collection.key += f"-{hashlib.sha256(os.fsencode(paths)).hexdigest()[:10]}"
    elif engines and source is None:
        collection = EngineCollection(engines)
    else:
        texts = collection = open_collection(source, cache=default_cache_folder(), progress=progress)
        for settings in engines:
            texts.add_engine(Engine(settings))
    for path, ranker in rankers.items():
        name = os.path.splitext(os.path.basename(path))[0]
        while name in collection.base_rankers():
            name += "'"
        collection.add_ranker(name, ranker)
    return collection


def _has_display() -> bool:
    """Return whether there is a terminal and a display."""
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
