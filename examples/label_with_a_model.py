"""Label the first documents of runs with a language model, by any client, and go on after an interruption.

    python examples/label_with_a_model.py --client my_client:ask --queries queries.tsv --documents documents.tsv \\
        --depth 10 --output labels.jsonl a.run b.run

``ask`` takes a prompt and returns the text of the answer; with the client of a provider it has three lines:

    def ask(prompt):
        answer = client.chat.completions.create(model="…", messages=[{"role": "user", "content": prompt}])
        return answer.choices[0].message.content

Queries and documents are tables of an id and a text, separated by a tab. Each line of the output has the query, the
document, the grade (null where the answer has none: it is counted later, not guessed) and the answer. Then:

    plackett judge agreement qrels.txt labels.jsonl
    plackett evaluate qrels.txt a.run b.run --model-qrels labels.jsonl --sampled random
"""

import argparse
import importlib
import json
import re
from pathlib import Path

import plackett as pk

PROMPT = """Grade how well the passage answers the query.
3: it is about the query and has the exact answer. 2: it has some answer, which may be unclear or hidden.
1: it seems related, but does not answer. 0: it has nothing to do with the query.
Query: {query}
Passage: {passage}
Reply with the grade alone."""


def read_texts(path):
    """Return ``{id: text}`` of a table."""
    return dict(line.split("\t", 1) for line in Path(path).read_text(encoding="utf-8").splitlines() if "\t" in line)


def pairs_of(runs, depth):
    """Return the first documents of every query in any of the runs, once each."""
    found = {}
    for path in runs:
        for qid, scores in pk.read_trec_run(path).to_dict().items():
            for docid in sorted(scores, key=scores.get, reverse=True)[:depth]:
                found[qid, docid] = None
    return list(found)


def grade_of(answer):
    """Return the grade that an answer consists of, or None."""
    match = re.fullmatch(r"\W*(?:grade)?\W*([0-3])\W*", answer.strip(), re.IGNORECASE)
    return None if match is None else int(match[1])


def label(ask, pairs, queries, documents, output):
    """Append a line for each pair that the output does not have yet."""
    path = Path(output)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    done = {(row["query"], row["docid"]) for row in map(json.loads, lines)}
    with path.open("a", encoding="utf-8") as file:
        for qid, docid in pairs:
            if (qid, docid) not in done:
                answer = ask(PROMPT.format(query=queries[qid], passage=documents[docid]))
                row = {"query": qid, "docid": docid, "grade": grade_of(answer), "answer": answer}
                file.write(json.dumps(row) + "\n")
                file.flush()  # labels cost money: an interrupted run keeps them


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--client", required=True, help="MODULE:FUNCTION, which takes a prompt and returns the answer")
    parser.add_argument("--queries", required=True)
    parser.add_argument("--documents", required=True)
    parser.add_argument("--depth", type=int, default=10)
    parser.add_argument("--output", default="labels.jsonl")
    options = parser.parse_args()
    module, _, name = options.client.partition(":")
    ask = getattr(importlib.import_module(module), name)
    pairs = pairs_of(options.runs, options.depth)
    label(ask, pairs, read_texts(options.queries), read_texts(options.documents), options.output)


if __name__ == "__main__":
    main()
