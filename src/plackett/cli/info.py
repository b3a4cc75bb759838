"""``plackett info``: describe a data set or a model file."""

from __future__ import annotations

from typing import Any

from plackett._names import count_of
from plackett.cli.shared import files, inputs, options, output
from plackett.cli.shared.options import Source, command, option
from plackett.storage.opening import first_bytes, rereadable
from plackett.storage.remote import local_files


@command()
def info(
    data: list[str] = options.data_argument("LETOR files or tables, '-', a known set; or a model."),
    source: Source = Source(),
    relevant_from: float = option("Smallest label that counts as relevant.", metavar="X", default=1.0),
    columns: bool = option("Print a table of the columns."),
    as_json: bool = options.JSON,
) -> None:
    """Describe judged lists (sizes, labels, columns, and what to look at before a fit) or a trained model."""
    sources = data if files.is_known_name(data[0]) else [rereadable(name) for name in data]
    if len(data) == 1 and inputs.is_model(sources[0]):
        found = _describe(sources[0])
        if as_json:
            output.write_json(found)
        else:
            output.write_pairs(_rows_of_model(found))
        return
    queries = inputs.load_queries(sources, source, needs_labels=source.label is not None)
    if columns:
        output.write_table(queries.describe_columns())
        return
    output.show(queries.describe(relevant_from=relevant_from), as_json=as_json)


@local_files
def _describe(source: Any) -> dict[str, Any]:
    """Return the metadata of a model file; models of other tools are loaded."""
    from plackett.storage.container import MAGIC

    if first_bytes(source, len(MAGIC)) == MAGIC:
        from plackett.storage.models import describe

        return describe(source)
    return inputs.load_ranker(source).describe()


def _rows_of_model(found: dict[str, Any]) -> list[tuple[str, str]]:
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
