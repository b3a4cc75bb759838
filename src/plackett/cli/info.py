"""``plackett info``: describe a data set or a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from plackett.cli.shared import completion
from plackett.cli.shared.columns import Categorical, Docid, Drop, Label, Qid, Sql, columns_of
from plackett.cli.shared.options import AsJson, Cache, ZeroBased


def info(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA", help="LETOR files or tables, '-', a known set; or a model.", autocompletion=completion.data
        ),
    ],
    qid: Qid = None,
    label: Label = None,
    docid: Docid = None,
    drop: Drop = None,
    categorical: Categorical = None,
    sql: Sql = None,
    zero_based: ZeroBased = False,
    relevant_from: Annotated[float, typer.Option(help="Smallest label that counts as relevant.")] = 1.0,
    cache: Cache = False,
    columns: Annotated[bool, typer.Option("--columns", help="Print a table of the columns.")] = False,
    as_json: AsJson = False,
) -> None:
    """Describe judged lists (sizes, labels, columns, and what to look at before a fit) or a trained model."""
    from plackett.cli.shared import inputs, models, output
    from plackett.storage.opening import rereadable

    inputs.check_data(data)
    sources = data if inputs.is_known_name(data[0]) else [rereadable(name) for name in data]
    if len(data) == 1 and models.is_model(sources[0]):
        found = _describe(sources[0])
        if as_json:
            output.write_json(found)
        else:
            output.write_pairs(_rows_of_model(found))
        return
    queries = inputs.load_queries(
        sources,
        zero_based=zero_based,
        cache=cache,
        columns=columns_of(qid, label, docid, drop, categorical, sql),
        needs_labels=label is not None,
    )
    if columns:
        output.write_table(queries.describe_columns())
        return
    description = queries.describe(relevant_from=relevant_from)
    if as_json:
        output.write_json(description.to_dict())
    else:
        output.write(str(description))


def _describe(source: Any) -> dict[str, Any]:
    """Return the metadata of a model file; models of other tools are loaded."""
    from plackett.storage.container import MAGIC
    from plackett.storage.opening import first_bytes

    if first_bytes(source, len(MAGIC)) == MAGIC:
        from plackett.storage.models import describe

        return describe(source)
    from plackett.cli.shared.models import load_ranker

    return load_ranker(source).describe()


def _rows_of_model(found: dict[str, Any]) -> list[tuple[str, str]]:
    from plackett.validation import count_of

    rows = [("model", found["class"].rpartition(".")[2])]
    if "tool" in found:
        return rows + [(name, _shown(value)) for name, value in found.items() if name != "class" and value is not None]
    state = found["state"]
    rows += [(f"  {name}", _shown(value)) for name, value in found["params"].items()]
    if "n_features_in_" in state:
        rows.append(("features", f"{state['n_features_in_']:,}"))
    if state.get("feature_names_"):
        rows.append(("feature names", ", ".join(map(str, state["feature_names_"]))))
    if "n_queries_" in state:
        rows.append(("trained on", count_of(state["n_queries_"], "query", "queries")))
    if "stop_reason_" in state:
        rows.append(("stopped", state["stop_reason_"]))
    rows.append(("file", f"{count_of(found['bytes'], 'byte')}, written by plackett {found['plackett']}"))
    return rows + [("note", note) for note in found["notes"]]


def _shown(value: Any) -> str:
    """Return a parameter as text; an object as its constructor call."""
    if not isinstance(value, dict) or not {"class", "params"} <= set(value):
        return str(value)
    inside = ", ".join(f"{name}={_shown(one)}" for name, one in value["params"].items())
    return f"{value['class'].rpartition('.')[2]}({inside})"
