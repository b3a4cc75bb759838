"""``plackett index`` and ``plackett search``: texts of every kind in, hits and runs out."""

import gzip
import json

import pytest

import plackett as pk
from plackett.text import build_index, open_index

WINGS = {"d1": ("On wings", "Wings lift a plane."), "d2": ("On boats", "Boats float, wings do not.")}


@pytest.fixture
def jsonl(lists_folder):
    rows = [{"id": name, "title": title, "body": body, "year": 1960} for name, (title, body) in WINGS.items()]
    (lists_folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return lists_folder


@pytest.fixture
def wings(jsonl, run):
    done = run("index", "docs.jsonl", "-o", "wings", "--positions")
    assert (done.returncode, done.stderr) == (0, "")
    return done


def test_an_index_says_what_it_holds(wings, run):
    lines = dict(line.split(None, 1) for line in wings.stdout.splitlines())
    assert (lines["documents"], lines["terms"], lines["fields"]) == ("2", "6", "title, body")
    assert lines["size"].endswith(" MB")
    facts = json.loads(run("index", "docs.jsonl", "-o", "wings", "--fields", "title", "--json").stdout)
    assert (facts["documents"], facts["fields"]) == (2, ["title"])
    assert open_index("wings").fields == ("title",)


def test_hits_are_those_of_the_index(wings, run):
    expected = build_index({"title": [t for t, _ in WINGS.values()], "body": [b for _, b in WINGS.values()]})
    for ranker in ("bm25", "vector-space", "lm-jm", "lm-dirichlet", "lm-absolute"):
        hits = expected.search("wings lift", ranker=ranker, field="body")
        done = run("search", "wings", "wings", "lift", "--ranker", ranker, "--field", "body", "--json")
        assert [hit["score"] for hit in json.loads(done.stdout)] == hits.scores.tolist()
        assert [hit["docid"] for hit in json.loads(done.stdout)] == [f"d{place + 1}" for place in hits.places]


def test_hits_are_shown_with_title_and_snippet(wings, run):
    done = run("search", "wings", "lift", "-k", "1")
    score = open_index("wings").search("lift")[0].score
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    assert first == f"1  {score:.4f}  d1  On wings"
    assert second == " " * (len(f"{score:.4f}") + 5) + "Wings lift a plane."


def test_a_snippet_comes_from_the_longest_field_where_none_is_the_body(lists_folder, run):
    (lists_folder / "t.csv").write_text("id,title,abstract,checked\n7,Wings,Wings lift a plane.,no\n")
    run("index", "t.csv", "-o", "i")
    assert json.loads(run("search", "i", "lift", "--json").stdout)[0]["snippet"] == "Wings lift a plane."


def test_an_index_without_its_texts_is_searched_too(lists_folder, run):
    build_index(["Wings lift a plane."], docid=["7"], store=False).save("bare")
    assert run("search", "bare", "lift").stdout == "1  0.2877  7\n"  # ln(1 + 0.5 / 1.5)


def test_nothing_found_is_not_an_error(wings, run):
    assert run("search", "wings", "helicopter") == (0, "", "no document was found.\n")
    assert run("search", "wings", "helicopter", "--json") == (0, "[]\n", "")


def test_boolean_queries_find_what_matches_and_rank_it_by_the_wanted_words(wings, run):
    def found(*words):
        done = run("search", "wings", "--boolean", *words, "--json")
        assert done.returncode == 0, done.stderr
        return [hit["docid"] for hit in json.loads(done.stdout)]

    assert found("wings AND NOT float") == ["d1"]
    assert found("wings OR boats", "-k", "2") == ["d2", "d1"]  # d2 holds both
    assert found('"wings do not"') == ["d2"]
    assert found("NOT lift") == ["d2"]
    done = run("search", "wings", "--boolean", "wings", "-k", "1")
    assert done.stderr == "the first 1 of 2 documents that match\n"
    done = run("search", "wings", "--boolean", "wings AND (lift")
    assert done.returncode == 1
    assert done.stderr.startswith("plackett: error: at character ")


def test_many_queries_become_a_run(wings, run, jsonl):
    index = open_index("wings")
    (jsonl / "lines.tsv").write_text("q1\twings lift\nq2\tboats\r\n\n")
    (jsonl / "queries.jsonl").write_text('{"_id": "q1", "text": "wings lift"}\n{"qid": "q2", "query": "boats"}\n')
    (jsonl / "plain.txt").write_text("wings lift\nboats\n")
    expected = index.run({"q1": "wings lift", "q2": "boats"})
    for file, qid in {"lines.tsv": expected.qid, "queries.jsonl": expected.qid, "plain.txt": ["1", "1", "2"]}.items():
        assert run("search", "wings", "--queries", file, "-o", "out.run", "--run", "mine") == (0, "", "")
        found = pk.read_trec_run("out.run")
        assert (found.qid.tolist(), found.docid.tolist()) == (list(qid), expected.docid.tolist())
        assert (found.scores.tolist(), found.tag) == (expected.scores.tolist(), "mine")
    piped = run("search", "wings", "--queries", "-", "-k", "1", stdin="q1\twings lift\n")
    assert piped.stdout.split()[:4] == ["q1", "Q0", "d1", "1"]


def test_texts_markdown_and_tables_of_a_folder_become_one_index(lists_folder, run):
    folder = lists_folder / "notes"
    (folder / "deep" / ".hidden").mkdir(parents=True)
    (folder / "a.md").write_text("Preface\n\n# Wings and lift #\n\nAir flows.\n")
    (folder / "deep" / "b.txt").write_text("Boats float.")
    (folder / "deep" / ".hidden" / "c.txt").write_text("never")
    (folder / "picture.png").write_bytes(b"\xff\xfe")
    (folder / "t.csv").write_text('docid,title,body\nx,Cars,"roll, mostly"\n')
    (folder / "t.tsv.gz").write_bytes(gzip.compress(b"title\ttext\nShips\tsail\n"))
    (folder / "s.jsonl").write_text('{"_id": 7, "abstract": ["One.", "Two."], "n": 3}\n')
    done = run("index", "notes", "-o", "all")
    assert done.returncode == 0, done.stderr
    index = open_index("all")
    assert sorted(index.docid.tolist()) == ["7", "a.md", "deep/b.txt", "t.tsv.gz:2", "x"]
    assert index.fields == ("title", "body", "abstract", "text")
    assert index.title("a.md") == "Wings and lift"
    assert index.document("deep/b.txt") == {"title": "b", "body": "Boats float.", "abstract": "", "text": ""}
    assert index.text("x", "body") == "roll, mostly"
    assert index.text("7", "abstract") == "One.\nTwo."


def test_files_of_two_folders_keep_their_names_apart(lists_folder, run):
    for name in ("old", "new"):
        (lists_folder / name).mkdir()
        (lists_folder / name / "a.txt").write_text(f"{name} wings")
    (lists_folder / "new" / "a.pdf").write_text("%PDF")
    done = run("index", "old", "new", "-o", "both")
    assert (done.returncode, done.stderr) == (0, "files of other types in new were skipped: .pdf (1)\n")
    assert open_index("both").docid.tolist() == ["old/a.txt", "new/a.txt"]


def test_other_encodings_arrays_of_objects_and_semicolons_are_read(lists_folder, run):
    (lists_folder / "latin.txt").write_bytes("Über das Fliegen".encode("latin-1"))
    assert run("index", "latin.txt", "-o", "i", "--encoding", "latin-1", "--all-words").returncode == 0
    assert open_index("i").terms == ["das", "fliegen", "latin", "über"]
    (lists_folder / "rows.json").write_text('[{"id": 1, "body": "x"},\n {"body": "y"}]')
    assert run("index", "rows.json", "-o", "i").returncode == 0
    assert open_index("i").docid.tolist() == ["1", "rows.json:2"]
    (lists_folder / "rows.csv").write_text("\ufeffid;title\n7;Wings, mostly\n", encoding="utf-8")
    assert run("index", "rows.csv", "-o", "i").returncode == 0
    assert open_index("i").document("7") == {"title": "Wings, mostly"}


def test_words_that_are_dropped_can_be_kept(lists_folder, run):
    (lists_folder / "a.txt").write_text("to be")
    run("index", "a.txt", "-o", "few")
    run("index", "a.txt", "-o", "all", "--all-words")
    assert run("search", "few", "to", "be").stderr == (
        "no document was found: all words of the query are stop words.\n"
    )
    assert len(json.loads(run("search", "all", "to", "be", "--json").stdout)) == 1


def test_nothing_that_a_terminal_obeys_is_shown(lists_folder, run):
    build_index(["wings \x1b[31m\x07\x00 \u202e fly"], docid=["a\x1b[2J"]).save("odd")
    done = run("search", "odd", "wings")
    assert done.stdout.replace("\n", "").isprintable()
    assert json.loads(run("search", "odd", "wings", "--json").stdout)[0]["docid"] == "a\x1b[2J"


def test_standard_input_is_json_lines_or_one_text(lists_folder, run):
    assert run("index", "-", "-o", "rows", stdin='{"id": 1, "docid": "x", "body": "Wings lift."}\n').returncode == 0
    assert (open_index("rows").docid.tolist(), open_index("rows").fields) == (["1"], ("body",))
    assert run("index", "-", "-o", "text", stdin="Wings lift.").returncode == 0
    assert open_index("text").docid.tolist() == ["standard input"]


def test_a_known_collection_keeps_its_links(lists_folder, run):
    folder = lists_folder / "cisi"
    folder.mkdir()
    records = [".I 1\n.T\nOn wings\n.W\nlift\n.X\n2\t3\t1\n", ".I 2\n.T\nBoats\n.W\nfloat\n.X\n1\t3\t2\n"]
    (folder / "CISI.ALL").write_text("".join(records))
    (folder / "CISI.QRY").write_text(".I 1\n.W\nwings\n")
    (folder / "CISI.REL").write_text("1 1 0 0.0\n")
    assert run("index", "cisi", "--collection", "cisi", "-o", "index").returncode == 0
    assert open_index("index").links.tolist() == [[0, 1, 3], [1, 0, 3]]


def test_the_built_in_corpus_is_searched_by_its_queries(lists_folder, run):
    assert run("index", "stdlib", "-o", "python").returncode == 0
    found = run("search", "python", "push item onto heap, maintaining the heap invariant").stdout
    assert "  heapq.heappush\n" in found
    assert open_index("python").links is not None
    assert run("search", "python", "--queries", "stdlib", "-k", "5", "-o", "known.run") == (0, "", "")
    assert len(set(pk.read_trec_run("known.run").qid.tolist())) == 200


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["index", "nowhere", "-o", "i"], 1, "there is no file 'nowhere'"),
        (["index", "docs.jsonl", "stdlib", "-o", "i"], 1, "stdlib is a collection; index it separately."),
        (["index", "empty", "-o", "i"], 1, "the folder 'empty' holds no text"),
        (["index", "latin.txt", "-o", "i"], 1, "latin.txt, line 2: this is not UTF-8 text"),
        (["index", "latin.txt", "-o", "i", "--encoding", "klingon"], 2, "--encoding 'klingon' is unknown"),
        (
            ["index", "docs.jsonl", "-o", "empty/..", "--stem", "english"],
            1,
            "is a folder; give the name of a file for the index.",
        ),
        (["index", "half.json", "-o", "i"], 1, "half.json, line 1: this is not JSON"),
        (["index", "three.json", "-o", "i"], 1, "three.json: entry 2 of the array is '3', not an object."),
        (["index", "broken.jsonl", "-o", "i"], 1, "broken.jsonl, line 2: expected a JSON object"),
        (["index", "torn.csv", "-o", "i"], 1, "torn.csv, line 3: this row does not have 2 cells"),
        (["index", "same.csv", "-o", "i"], 1, "same.csv, line 1: column names must be unique: title, title."),
        (["index", "numbers.jsonl", "-o", "i"], 1, "numbers.jsonl holds no document with text."),
        (["index", "docs.jsonl", "docs.jsonl", "-o", "i"], 1, "the id 'd1' belongs to two documents"),
        (["index", "docs.jsonl", "-o", "i", "--fields", "name"], 2, "--fields name is not known"),
        (["index", "docs.jsonl", "-o", "i", "--fields", ","], 2, "--fields names no field."),
        (["index", "docs.jsonl", "-o", "i", "--collection", "trec"], 2, "--collection trec is not known"),
        (["index", "docs.jsonl", "-o", "docs.jsonl"], 1, "docs.jsonl is not an index. Choose another name."),
        (["search", "wings"], 2, "give either the words of a query or"),
        (["search", "wings", "lift", "--queries", "q.txt"], 2, "give either the words of a query or"),
        (["search", "nowhere", "lift"], 1, "there is no file 'nowhere'"),
        (["search", "empty", "lift"], 1, "empty"),
        (
            ["search", "wings", "lift", "--ranker", "bm26"],
            2,
            "--ranker bm26 is not known. Did you mean bm25? hint: choose one of bm25, ",
        ),
        (["search", "wings", "lift", "-k", "0"], 2, "-k 0: it must be at least 1."),
        (["search", "wings", "lift", "--field", "name"], 2, "--field name is not known"),
        (["search", "wings", "lift", "-o", "x.run"], 2, "require --queries"),
        (["search", "wings", "--queries", "twice.tsv"], 1, "twice.tsv, line 2: the query id 'a' occurs twice."),
        (["search", "wings", "--queries", "mixed.tsv"], 1, 'mixed.tsv, line 2: expected "id<tab>text"'),
        (["search", "wings", "--queries", "none.tsv"], 1, "none.tsv: the file has no queries."),
        (["search", "wings", "--queries", "broken.jsonl"], 1, "broken.jsonl, line 1: expected an id and one of"),
        (["search", "wings", "--queries", "twice.tsv", "--boolean"], 2, "cannot be combined with --boolean"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_words(wings, run, jsonl, words, status, message):
    (jsonl / "empty").mkdir()
    (jsonl / "latin.txt").write_bytes(b"one\ncaf\xe9\n")
    (jsonl / "half.json").write_text('[{"id": 1, "body": "x"}')
    (jsonl / "three.json").write_text('[{"id": 1, "body": "x"}, 3]')
    (jsonl / "broken.jsonl").write_text('{"id": 1, "body": "x"}\n[1]\n')
    (jsonl / "numbers.jsonl").write_text('{"id": 1, "size": 3}\n')
    (jsonl / "torn.csv").write_text("title,body\na,b\nc\n")
    (jsonl / "same.csv").write_text("title,title\na,b\n")
    (jsonl / "twice.tsv").write_text("a\tx\na\ty\n")
    (jsonl / "mixed.tsv").write_text("a\tx\ny\n")
    (jsonl / "none.tsv").write_text("\n")
    done = run(*words)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in " ".join(done.stderr.replace("│", " ").split())
    assert not (jsonl / "i").exists()
