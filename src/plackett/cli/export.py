"""``plackett export``: a model in the format of a search engine or another tool."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from plackett.cli.shared import completion
from plackett.cli.shared.options import FILES, MODEL, Source, command, flag, option

if TYPE_CHECKING:
    from plackett.data.queries import Queries

# those of plackett.exporting, which is slow to import
TARGETS = ("elasticsearch", "opensearch", "solr", "elastic-ltr", "vespa", "ranklib", "onnx", "json")
LOADING = {  # what loads the file of a target
    "elasticsearch": "POST {} to /_ltr/_featureset/SET/_createmodel",
    "opensearch": "POST {} to /_ltr/_featureset/SET/_createmodel",
    "elastic-ltr": "PUT {} to /_ml/trained_models/NAME",
    "solr": "PUT {} to /solr/CORE/schema/model-store",
    "ranklib": "java -jar RankLib.jar -load {} -rank DATA -score SCORES",
}


@command()
@MODEL
@option(
    "--to", metavar="TARGET", required=True, complete=completion.of_names(TARGETS),
    help=f"{', '.join(TARGETS[:-1])} or {TARGETS[-1]}.",
)  # fmt: skip
@option(
    "-o",
    "--output",
    "target",
    metavar="FILE",
    default="-",
    show_default=False,
    help="Output file; - is standard output.",
)
@option("--features", metavar="FILE", help="Names of the features, one per line, in their order.")
@option("--check", metavar="DATA", help="A LETOR file on which to compare scores.")
@option("--name", metavar="NAME", help="Name of the exported model (plackett).")
@option("--store", metavar="NAME", help="Solr's feature store.")
@option("--dtype", metavar="TYPE", help="onnx: float32 or float64 (float32).")
@flag("--zero-based", help="Feature numbers of files start at 0.", panel=FILES)
def export(
    model: str,
    to: str,
    target: str,
    features: str | None,
    check: str | None,
    zero_based: bool,
    **of_target: str | None,
) -> None:
    """Write a linear model, trees or a net for Elasticsearch, OpenSearch, Solr, Vespa, RankLib or ONNX, or as JSON."""
    from plackett.cli.shared import inputs, models, output
    from plackett.cli.shared.parameters import usage_errors
    from plackett.exporting.forms import form_of
    from plackett.exporting.targets import OPTIONS, build, checked_options
    from plackett.validation import check_choice

    with usage_errors():
        check_choice(to, "to", tuple(OPTIONS))
        checked_options(to, of_target)
    if "-" in (model, features) or (check == "-" and model == "-"):
        raise click.BadParameter("only --check can be standard input (-).")
    if target != "-":
        output.check_target(target, "exported model")
    elif to == "onnx" and sys.stdout.isatty():
        raise click.BadParameter("an ONNX model is binary; give --output FILE.")
    inputs.check_exists(model, *([] if features is None else [features]))
    if check is not None:
        inputs.check_data([check])
    names = None if features is None else _read_names(features)
    ranker = models.load_ranker(model)
    form_of(ranker, names)  # raise before data are read
    rows = None if check is None else _rows(check, ranker, model, zero_based=zero_based)
    exported = build(ranker, to, feature_names=names, check=rows, **of_target)
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

    queries = inputs.load_queries([check], Source(zero_based=zero_based))
    return models.for_model(queries, ranker, models.name_of_data([check]), model)
