"""``plackett export``: a model in the format of a search engine or another tool."""

from __future__ import annotations

import shlex
import sys
from typing import Any

import click

from plackett.cli.shared import inputs, options, output
from plackett.cli.shared.options import Source, command, option, written
from plackett.cli.shared.parameters import usage_errors
from plackett.exceptions import DataFormatError
from plackett.storage.remote import local_files

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
@option("Name of the exported model (plackett).", "--name", metavar="NAME")
@option("Solr's feature store.", "--store", metavar="NAME")
@option("onnx: float32 or float64 (float32).", "--dtype", metavar="TYPE")
def export(
    model: str = options.MODEL,
    to: str = option(f"{', '.join(TARGETS[:-1])} or {TARGETS[-1]}.", metavar="TARGET", required=True, choice=TARGETS),
    target: str = written("exported model"),
    features: str | None = option("Names of the features, one per line, in their order.", metavar="FILE", reads="file"),
    check: str | None = option("A LETOR file on which to compare scores.", metavar="DATA", reads="data"),
    zero_based: bool = option("Feature numbers of files start at 0.", panel=options.FILES),
    **of_target: Any,
) -> None:
    """Write a linear model, trees or a net for Elasticsearch, OpenSearch, Solr, Vespa, RankLib or ONNX, or as JSON."""
    from plackett.exporting.forms import form_of
    from plackett.exporting.targets import build, checked_options

    with usage_errors():
        checked_options(to, of_target)
    if "-" in (model, features):
        raise click.BadParameter("only --check can be standard input (-).")
    if target == "-" and to == "onnx" and sys.stdout.isatty():
        raise click.BadParameter("an ONNX model is binary; give --output FILE.")
    names = None if features is None else _read_names(features)
    ranker = inputs.load_ranker(model)
    form_of(ranker, names)  # raise before data are read
    rows = None
    if check is not None:
        rows = inputs.load_queries([check], Source(zero_based=zero_based))
        rows = inputs.for_model(rows, ranker, inputs.name_of_data([check]), model)
    exported = build(ranker, to, feature_names=names, check=rows, **of_target)
    exported.write(target)
    if exported.parity is not None:
        output.note(str(exported.parity))
    if target != "-" and to in LOADING:
        output.next_step(f"Load it: {LOADING[to].format(shlex.quote(target))}")


@local_files
def _read_names(path: str) -> list[str]:
    """Read one name per line. Blank lines are allowed only at the end; elsewhere they would shift names."""
    from plackett.data.documents.read import read_text

    text = read_text(path).rstrip()
    names = [line.strip() for line in text.split("\n")] if text else []
    if not all(names):
        raise DataFormatError(path, names.index("") + 1, "expected a name, found a blank line.")
    return names
