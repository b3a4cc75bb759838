"""``plackett search``: search an index, or write a TREC run of many queries."""

from __future__ import annotations

from collections.abc import Iterator

import click

import plackett as pk
from plackett._names import count_of
from plackett.cli.index import load_collection
from plackett.cli.shared import completion, files, options, output, results
from plackett.cli.shared.options import argument, command, option, written
from plackett.exceptions import DataFormatError
from plackett.storage.opening import name_of
from plackett.storage.remote import local_files

RANKERS = ("bm25", "vector-space", "lm-jm", "lm-dirichlet", "lm-absolute")
SHOWN, IN_RUN = 10, 1000  # documents per query
TEXT_KEYS = ("text", "query", "title")


@command()
def search(
    path: str = argument("An index that plackett index wrote.", metavar="INDEX", reads="file"),
    query: tuple[str, ...] = argument("Words to search for.", metavar="QUERY"),
    k: int | None = option(f"Documents per query ({SHOWN}; {IN_RUN} with --queries).", "-k", min=1),
    ranker: str = option(f"{', '.join(RANKERS)}.", "-r", default="bm25", choice=RANKERS),
    field: str | None = option("Field to search.", metavar="NAME", show_default="all"),
    boolean: bool = option('QUERY has AND, OR, NOT, brackets, and phrases in "double quotes".'),
    queries: str | None = option(
        "Many queries: lines of id, tab, text; or JSONL; or a collection's name.",
        metavar="FILE",
        complete=completion.texts,
    ),
    target: str = written("run", "Output file of --queries; - is standard output."),
    tag: str | None = option(
        "Name of the run; default: the ranker.", "--run", metavar="TAG", callback=options.run_name
    ),
    as_json: bool = options.JSON,
) -> None:
    """Search an index: print rank, score, document and snippet, or write a TREC run of many queries."""
    words = " ".join(query)
    if (queries is None) == (not words.strip()):
        raise click.BadParameter("give either the words of a query or --queries FILE.")
    if queries is not None:
        if boolean or as_json:
            raise click.BadParameter("--queries writes a run; it cannot be combined with --boolean or --json.")
        texts = _load_queries(queries)
        results.write_run(pk.text.open_index(path).run(texts, k or IN_RUN, ranker, field, tag), target)
        results.next_step_of_scores(target, is_run=True)
        return
    if target != "-" or tag is not None:
        raise click.BadParameter("--output and --run require --queries.")
    index, k = pk.text.open_index(path), k or SHOWN
    if boolean:
        from plackett.text.boolean import search_boolean

        found = search_boolean(index, words, k, ranker, field)
        hits, terms = found.hits, found.terms
        if found.n_matching > k:
            output.note(f"the first {k:,} of {count_of(found.n_matching, 'document')} that match")
    else:
        hits, terms = index.search(words, k, ranker, field), index.analyser(words)
    if not len(hits.docid) and not as_json:
        why = "" if index.analyser(words) else ": all words of the query are stop words"
        output.note(f"no document was found{why}.")
        return
    _show(index, hits, terms, as_json=as_json)


def _show(index: pk.text.TextIndex, hits: pk.text.Hits, terms: list[str], *, as_json: bool) -> None:
    found = [
        {
            "rank": rank,
            "docid": name,
            "score": score,
            "title": index.title(name),
            "snippet": _snippet(index, name, terms),
        }
        for rank, (name, score) in enumerate(zip(hits.docid.tolist(), hits.scores.tolist(), strict=True), 1)
    ]
    if as_json:
        output.write_json(found)
        return
    rank_width, width = len(str(len(found))), max(len(f"{hit['score']:.4f}") for hit in found)
    for hit in found:
        label = hit["docid"] if hit["title"] == hit["docid"] else f"{hit['docid']}  {hit['title']}"
        output.write(f"{hit['rank']:>{rank_width}}  {hit['score']:>{width}.4f}  {output.printable(label)}")
        if hit["snippet"]:
            output.write(f"{'':{rank_width + width + 4}}{output.printable(hit['snippet'])}")


def _snippet(index: pk.text.TextIndex, name: str, terms: list[str]) -> str:
    """Return a snippet of the body, or of the longest field if there is no body."""
    try:
        texts = index.document(name)
    except ValueError:  # an index without stored texts
        return ""
    field = "body" if "body" in texts else max(texts, key=lambda field: len(texts[field]))
    return index.snippet(name, terms, field=field, width=100)


@local_files
def _load_queries(source: str) -> dict[str, str]:
    """Return the text of each query by its id."""
    from plackett.data.documents.read import read_text

    known = None if source == "-" else load_collection(source)
    if known is not None:
        return known.queries
    files.check_exists(source)
    name, text = name_of(source), read_text(source)
    read = _json_queries if text.lstrip().startswith("{") else _line_queries
    queries: dict[str, str] = {}
    for number, qid, words in read(name, text):
        if qid.split() != [qid]:
            raise DataFormatError(name, number, f"the query id {qid!r} must not contain spaces.")
        if qid in queries:
            raise DataFormatError(name, number, f"the query id {qid!r} occurs twice.")
        queries[qid] = words
    if not queries:
        raise DataFormatError(name, None, "the file has no queries.")
    return queries


def _line_queries(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Parse lines of id, tab and text; without tabs, whole lines numbered from 1."""
    lines = [(number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    has_ids = any("\t" in line for _, line in lines)
    for place, (number, line) in enumerate(lines, 1):
        qid, tab, words = line.partition("\t")
        if has_ids and not tab:
            raise DataFormatError(name, number, f'expected "id<tab>text", as in other lines, found {line[:60]!r}.')
        yield number, qid.strip() if has_ids else str(place), words if has_ids else line


def _json_queries(name: str, text: str) -> Iterator[tuple[int, str, str]]:
    from plackett.data.documents.read import id_key, json_lines

    for number, row in json_lines(name, text.split("\n")):
        key = "qid" if "qid" in row else id_key(row)
        words = next((row[one] for one in TEXT_KEYS if isinstance(row.get(one), str)), None)
        if key is None or words is None:
            raise DataFormatError(name, number, f"expected an id and one of {', '.join(TEXT_KEYS)} in the object.")
        yield number, str(row[key]), words
