"""Files become documents: plain text comes out of every kind, whatever is in it."""

import os
import re
import sys

import pytest

from plackett.data.documents.markup import text_of_html, text_of_markdown
from plackett.data.documents.read import as_text, files_of, read_documents
from plackett.exceptions import DataFormatError

MARKDOWN = """Preface with `__init__` and snake_case_name

# On *wings* #

> - [x] They **lift**, see [the page](http://a.b/c_(d)) and ![a bird](bird.png "x").

| left | right |
|------|:-----:|
| one  | two   |

```python
x = a * b  # **kept**
```
***
[ref]: http://nowhere
Under &amp; line \\*
"""


def test_markdown_loses_its_marks_and_keeps_its_words():
    title, body = text_of_markdown(MARKDOWN)
    assert title == "On wings"
    lines = [" ".join(line.split()) for line in body.split("\n") if line.strip()]
    assert lines == [
        "Preface with __init__ and snake_case_name",
        "On wings",
        "They lift, see the page and a bird.",
        "left right",
        "one two",
        "x = a * b # **kept**",
        "Under & line *",
    ]


def test_an_underlined_heading_is_a_title():
    assert text_of_markdown("Wings\n=====\nlift")[0] == "Wings"
    assert text_of_markdown("no heading")[0] == ""


def test_html_is_text_without_scripts_styles_and_comments():
    page = (
        "<!DOCTYPE html><html><head><title>On &amp; off</title><style>p {}</style></head><body onload=x>"
        "<h1>A <em>b</em></h1><SCRIPT>alert('no')</SCRIPT ><p>1 < 2 &lt;script&gt;<!-- no --><br>new<b>s</b>"
    )
    assert text_of_html(page) == ("On & off", "A b\n1 < 2 <script>\nnews")
    assert text_of_html("<h1>A <em>b</em></h1>x")[0] == "A b"
    assert text_of_html("x<script>never closed") == ("", "x")
    assert text_of_html("") == ("", "")


N_PIECES = 100_000  # minutes, were the time to grow with the square


@pytest.mark.parametrize("piece", ["<a ", "<a a=", "<![CDATA[", "</", "<!", "&"])
def test_tags_that_never_end_are_text_however_many_there_are(piece):
    assert text_of_html(piece * N_PIECES) == ("", (piece * N_PIECES).strip())


@pytest.mark.parametrize("piece", ["<!--", "<script>", "<title>"])
def test_what_is_not_text_and_never_ends_is_left_out_however_often_it_begins(piece):
    assert text_of_html(piece * N_PIECES) == ("", "")


@pytest.mark.parametrize("piece", ["[", "[](", "[a](b(", "<http:", "&", "#"])
def test_marks_that_never_end_are_text_however_many_there_are(piece):
    assert text_of_markdown(piece * N_PIECES + "x") == ("", piece * N_PIECES + "x")


@pytest.mark.parametrize(
    ("piece", "left"),
    [
        ("> ", "x"),  # quoted as deep
        ("|", "x"),  # cells without words
        ("*", "x"),  # emphasis of nothing
        ("`", ""),  # opens a block of code, and x is its language
        ("`a", "a" * N_PIECES + "x"),  # pairs of marks around every other letter
        ("- ", "- " * (N_PIECES - 1) + "x"),  # one item
    ],
)
def test_marks_go_and_words_stay_however_many_there_are(piece, left):
    assert text_of_markdown(piece * N_PIECES + "x") == ("", left)


def test_underscores_that_never_end_leave_the_word():
    title, text = text_of_markdown("_" * N_PIECES + "x")
    assert title == ""
    assert text.lstrip("_") == "x"


def test_null_bytes_and_half_surrogates_become_replacement_characters():
    assert as_text("a\0b\ud800c\U0001f600") == "a\ufffdb\ufffdc\U0001f600"


def test_a_folder_gives_the_documents_of_its_files_in_order(tmp_path):
    (tmp_path / "a.html").write_text("<title>T</title>body")
    (tmp_path / "b.md").write_text("# H\ntext")
    (tmp_path / "c.txt").write_bytes(b"null\0 \xff broken")
    (tmp_path / "d.csv").write_text("id,title,body\n7,<b>,x\n")
    (tmp_path / ".hidden.txt").write_text("no")
    (tmp_path / "e.pdf").write_text("no")
    told = []
    found = list(read_documents(str(tmp_path), is_lenient=True, note=told.append))
    assert [(one.name, one.fields) for one in found] == [
        ("a.html", {"title": "T", "body": "body"}),
        ("b.md", {"title": "H", "body": "H\ntext"}),
        ("c.txt", {"title": "c", "body": "null\ufffd \ufffd broken"}),
        ("7", {"title": "<b>", "body": "x"}),
    ]
    assert told == [f"files of other types in {tmp_path} were skipped: .pdf (1)"]
    assert [path.name for path in files_of(str(tmp_path))] == ["a.html", "b.md", "c.txt", "d.csv"]
    with pytest.raises(DataFormatError, match=re.escape("this is not UTF-8 text. Convert the file, or name its")):
        list(read_documents(str(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know no such names")
def test_a_file_whose_name_is_not_utf_8_has_a_name_and_a_title_that_can_be_written(tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "w") as file:
        file.write("coffee")
    (document,) = read_documents(str(tmp_path))
    for text in (document.name, *document.fields.values()):
        text.encode("utf-8")
    assert document.fields["title"] == "caf\ufffd"


def test_links_to_files_outside_the_folder_are_not_followed(tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "open"
    folder.mkdir()
    (folder / "a.txt").write_text("open")
    try:
        (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
        (folder / "again.txt").symlink_to(folder / "a.txt")
    except OSError:
        pytest.skip("this system makes no links")
    assert [path.name for path in files_of(str(folder))] == ["a.txt", "again.txt"]
    assert [document.name for document in read_documents(str(folder))] == ["a.txt", "again.txt"]


def test_a_page_in_the_encoding_that_it_names_is_read(tmp_path):
    (tmp_path / "a.html").write_bytes("<meta charset='latin-1'><p>Über".encode("latin-1"))
    (tmp_path / "b.txt").write_bytes("Über".encode("utf-16"))
    found = [one.fields["body"] for one in read_documents(str(tmp_path), is_lenient=True)]
    assert found == ["Über", "Über"]
