"""``plackett export``: a model in the format of a search engine or another tool."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.options import ZeroBased

if TYPE_CHECKING:
    from plackett.data.queries import Queries

# those of plackett.exports, which is slow to import
TARGETS = ("elasticsearch", "opensearch", "solr", "elastic-ltr", "vespa", "ranklib", "onnx", "json")
LOADING = {  # what loads the file of a target
    "elasticsearch": "POST {} to /_ltr/_featureset/SET/_createmodel",
    "opensearch": "POST {} to /_ltr/_featureset/SET/_createmodel",
    "elastic-ltr": "PUT {} to /_ml/trained_models/NAME",
    "solr": "PUT {} to /solr/CORE/schema/model-store",
    "ranklib": "java -jar RankLib.jar -load {} -rank DATA -score SCORES",
}


def export(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model of plackett train or another tool.")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="TARGET",
            help=f"{', '.join(TARGETS[:-1])} or {TARGETS[-1]}.",
            autocompletion=completion.of_names(TARGETS),
        ),
    ],
    target: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Output file; - is standard output.")
    ] = "-",
    features: Annotated[
        str | None,
        typer.Option("--features", metavar="FILE", help="Names of the features, one per line, in their order."),
    ] = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="DATA", help="A LETOR file on which to compare scores."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the exported model (plackett).")
    ] = None,
    store: Annotated[str | None, typer.Option("--store", metavar="NAME", help="Solr's feature store.")] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="TYPE", help="onnx: float32 or float64 (float32).")
    ] = None,
    zero_based: ZeroBased = False,
) -> None:
    """Write a linear model, trees or a net for Elasticsearch, OpenSearch, Solr, Vespa, RankLib or ONNX, or as JSON."""
    from plackett.cli.shared import inputs, models, output
    from plackett.cli.shared.parameters import usage_errors
    from plackett.exports.forms import form_of
    from plackett.exports.targets import OPTIONS, build, checked_options
    from plackett.validation import check_choice

    with usage_errors():
        check_choice(to, "to", tuple(OPTIONS))
        checked_options(to, {"name": name, "store": store, "dtype": dtype})
    if "-" in (model, features) or (check == "-" and model == "-"):
        raise typer.BadParameter("only --check can be standard input (-).")
    if target != "-":
        output.check_target(target, "exported model")
    elif to == "onnx" and sys.stdout.isatty():
        raise typer.BadParameter("an ONNX model is binary; give --output FILE.")
    inputs.check_exists(model, *([] if features is None else [features]))
    if check is not None:
        inputs.check_data([check])
    names = None if features is None else _read_names(features)
    ranker = models.load_ranker(model)
    form_of(ranker, names)  # raise before data are read
    rows = None if check is None else _rows(check, ranker, model, zero_based=zero_based)
    exported = build(ranker, to, feature_names=names, check=rows, name=name, store=store, dtype=dtype)
    exported.write(target)
    if exported.parity is not None:
        output.note(str(exported.parity))
    if target != "-" and to in LOADING:
        output.next_step(f"Load it: {LOADING[to].format(shlex.quote(target))}")


def _read_names(path: str) -> list[str]:
    """Read one name per line. Blank lines are allowed only at the end; elsewhere they would shift names."""
    from plackett.exceptions import DataFormatError
    from plackett.storage.opening import open_bytes

    with open_bytes(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataFormatError(path, content[: error.start].count(b"\n") + 1, "the names must be UTF-8.") from error
    lines = text.rstrip().split("\n") if text.strip() else []
    names = [line.strip() for line in lines]
    if not all(names):
        raise DataFormatError(path, names.index("") + 1, "expected a name, found a blank line.")
    return names


def _rows(check: str, ranker: Any, model: str, *, zero_based: bool) -> Queries:
    from plackett.cli.shared import inputs, models

    queries = inputs.load_queries([check], zero_based=zero_based, cache=False)
    return models.for_model(queries, ranker, models.name_of_data([check]), model)
