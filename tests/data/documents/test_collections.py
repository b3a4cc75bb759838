from __future__ import annotations

import gzip

import numpy as np
import pytest

from plackett.data.documents.collections import read_smart
from plackett.exceptions import DataFormatError, DatasetNotFoundError

# documents, queries, queries with judgements, judged pairs, as verified for the files of the shared folder
COUNTS = {
    "cranfield": (1_400, 225, 225, 1_837),
    "cisi": (1_460, 112, 76, 3_114),
    "cacm": (3_204, 64, 52, 796),
    "adi": (82, 35, 35, 170),
}


@pytest.mark.parametrize("name", COUNTS)
def test_collections_have_their_published_counts(name, shared_data):
    collection = read_smart(name, shared_data / "ir-classic" / name)
    judged = len(collection.judged_queries())
    assert (collection.n_docs, collection.n_queries, judged, len(collection.qrels)) == COUNTS[name]
    assert set(collection.qrels.docid) <= set(collection.docid)
    assert set(collection.qrels.qid) <= set(collection.queries)
    assert collection.docid == [str(number) for number in range(1, collection.n_docs + 1)]
    assert all(len(texts) == collection.n_docs for texts in collection.fields.values())
    assert all(len(texts) == collection.n_queries for texts in collection.query_fields.values())


def test_cranfield_turns_its_codes_round(shared_data):
    collection = read_smart("cranfield", shared_data / "ir-classic" / "cranfield", minus_one=0)
    labels, counts = np.unique(collection.qrels.labels, return_counts=True)
    # codes -1, 4, 3, 2, 1 in the file: 225, 363, 734, 387, 128
    assert dict(zip(labels, counts, strict=True)) == {0: 225, 1: 363, 2: 734, 3: 387, 4: 128}


def test_cranfields_unexplained_code_stands_once_in_every_query(shared_data):
    folder = shared_data / "ir-classic" / "cranfield"
    with_it, without = read_smart("cranfield", folder).qrels, read_smart("cranfield", folder, minus_one=None).qrels
    assert len(with_it) - len(without) == 225
    left_out = set(zip(with_it.qid, with_it.docid, strict=True)) - set(zip(without.qid, without.docid, strict=True))
    assert sorted(int(qid) for qid, _ in left_out) == list(range(1, 226))


def test_cranfields_unexplained_code_marks_the_documents_closest_to_the_query(shared_data):
    """The ground for counting them as the best: they share more of the query's rare words than any other code's."""
    collection = read_smart("cranfield", shared_data / "ir-classic" / "cranfield", minus_one=5)
    words = [set(text.split()) for text in collection.fields["body"]]
    shared = {label: [] for label in (5, 4, 1)}
    for qid, docid, label in zip(
        *(getattr(collection.qrels, name) for name in ("qid", "docid", "labels")), strict=True
    ):
        if label in shared:
            query = {word for word in collection.queries[qid].split() if len(word) > 4}
            shared[label].append(len(query & words[int(docid) - 1]) / len(query))
    assert np.mean(shared[5]) > np.mean(shared[4]) > np.mean(shared[1])


def test_cranfield_numbers_its_queries_by_position(shared_data):
    collection = read_smart("cranfield", shared_data / "ir-classic" / "cranfield")
    assert list(collection.queries) == [str(number) for number in range(1, 226)]
    assert collection.queries["3"].startswith("what problems of heat conduction")  # ".I 004" in the file


def test_cranfield_has_two_empty_documents_and_no_stray_fields(shared_data):
    collection = read_smart("cranfield", shared_data / "ir-classic" / "cranfield")
    empty = [docid for docid, body in zip(collection.docid, collection.fields["body"], strict=True) if not body]
    assert empty == ["471", "995"]
    # record 240 has ".A" and ".B" in the middle of its text
    assert "application to turbulent separations is made" in collection.document("240")["body"]
    assert "turbulent" not in collection.document("240")["author"]


def test_cacm_has_abstracts_and_links(shared_data):
    collection = read_smart("cacm", shared_data / "ir-classic" / "cacm")
    assert sum(bool(body) for body in collection.fields["body"]) == 1_587
    assert {kind: len(rows) for kind, rows in collection.links.items()} == {
        "coupling": 13_510 - 1_180,  # different lines of codes 4, 5, 6 in the file, less those of a record to itself
        "citation": 8_644 - 3_204,
        "cocitation": 11_801 - 1_161,
    }
    for rows in collection.links.values():
        links = {(one, other): weight for one, other, weight in rows.tolist()}
        assert all(links[other, one] == weight for (one, other), weight in links.items())
        assert all(one != other for one, other in links)
    # record 1 says "196 6 1" twice: documents 1 and 196 are cited together twice
    assert [0, 195, 2] in collection.links["cocitation"].tolist()


def test_cisi_has_cocitations_and_fields_of_queries(shared_data):
    collection = read_smart("cisi", shared_data / "ir-classic" / "cisi")
    assert [1, 151, 2] in collection.links["cocitation"].tolist()  # "152 2 2" in record 2
    assert collection.query_fields["source"][111].startswith("(Information Processing & Management, Vol. 17")


def test_adi_has_authors(shared_data):
    collection = read_smart("adi", shared_data / "ir-classic" / "adi")
    assert collection.document("41")["author"] == "K. H. MEYER-UHLENRIED\nG. LUSTIG"


def write_adi(folder, documents, queries=".I 1\n.W\nwings\n", judgements="1 1 0 0.0\n"):
    (folder / "ADI.ALL.gz").write_bytes(gzip.compress(documents.encode("latin-1")))
    (folder / "adi.qry").write_text(queries)
    (folder / "ADI.REL").write_text(judgements)


def test_fields_are_read_from_small_files_in_any_case_and_compressed(tmp_path):
    write_adi(
        tmp_path,
        ".I 1\r\n.T\r\nOn wings\r\n.A\r\nMüller\r\n.W\r\nfirst line\r\nsecond line\r\n.I 2\r\n.W\r\nno title\r\n",
    )
    collection = read_smart("adi", tmp_path)
    assert collection.document("1") == {"title": "On wings", "author": "Müller", "body": "first line\nsecond line"}
    assert collection.document("2") == {"title": "", "author": "", "body": "no title"}
    assert collection.queries == {"1": "wings"}
    assert collection.qrels.to_dict() == {"1": {"1": 1}}
    assert repr(collection) == "TextCollection('adi', 2 documents, 1 query, 1 judged pairs)"


def test_an_unknown_document_is_named(tmp_path):
    write_adi(tmp_path, ".I 1\n.W\ntext\n")
    with pytest.raises(KeyError, match="adi has no document '9'"):
        read_smart("adi", tmp_path).document("9")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"cacm: .* has no file cacm\.all"):
        read_smart("cacm", tmp_path)


def test_what_is_not_in_the_format_is_pointed_at(tmp_path):
    write_adi(tmp_path, "some text\n.I 1\n")
    with pytest.raises(DataFormatError, match=r'ADI.ALL.gz, line 1: expected ".I number" .* found \'some text\''):
        read_smart("adi", tmp_path)
    write_adi(tmp_path, ".I 1\n.W\ntext\n", judgements="1 1 0 0\n1 two 0 0\n")
    with pytest.raises(DataFormatError, match=r'ADI\.REL, line 2: expected a whole number as document, found "two"'):
        read_smart("adi", tmp_path)
    write_adi(tmp_path, "\n")
    with pytest.raises(DataFormatError, match="no record was found"):
        read_smart("adi", tmp_path)


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("CISI.ALL", "2\t5\t1", "2\tx\t1", r"CISI\.ALL: record 1: expected a link .*, found \'2\\tx\\t1\'"),
        ("CISI.ALL", "2\t5\t1", "9\t5\t1", r"CISI\.ALL: record 1: expected a link"),
        ("CISI.ALL", ".I 2", ".I 1", r"CISI\.ALL, line 7: record 1 occurs twice"),
        ("CISI.QRY", ".W\nq\n", ".W\nq\n.I 1\n", r"CISI\.QRY, line 4: record 1 occurs twice"),
    ],
)
def test_records_and_links_that_do_not_fit_are_pointed_at(tmp_path, file, old, new, message):
    texts = {
        "CISI.ALL": ".I 1\n.T\nx\n.W\n.X\n2\t5\t1\n.I 2\n.W\nz\n.X\n1\t5\t2\n",
        "CISI.QRY": ".I 1\n.W\nq\n",
        "CISI.REL": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert len(read_smart("cisi", tmp_path).qrels) == 0  # a collection without judgements is one too
    (tmp_path / file).write_text(texts[file].replace(old, new))
    with pytest.raises(DataFormatError, match=message):
        read_smart("cisi", tmp_path)
