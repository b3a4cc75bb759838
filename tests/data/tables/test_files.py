"""Tables from files, and frames in place of ``Queries``."""

import gzip

import numpy as np
import pandas as pd
import pytest

import plackett as pk
from plackett.data.judged import as_judged
from plackett.data.tables.arrow_table import as_arrow
from plackett.data.tables.files import read_columns
from plackett.exceptions import DataFormatError, DataWarning

ROWS = 'query,grade,price,brand\ncats,2,9.5,acme\ndogs,1,3,"a,b"\ncats,0,NULL,zeta\ndogs,0,\\N,\n'
COLUMNS = {"qid": "query", "label": "grade"}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(ROWS)
    return path


def assert_log(data):
    assert data.ids.tolist() == ["cats", "dogs"]
    assert data.feature_names == ["price", "brand"]
    np.testing.assert_array_equal(data.X, [[9.5, 1], [3, 0], [np.nan, 2], [np.nan, np.nan]])
    assert data.categories[1].tolist() == ["a,b", "acme", "zeta"]
    assert data.y.tolist() == [2, 1, 0, 0]


def test_a_csv_file_has_missing_values_categories_and_any_row_order(csv):
    assert_log(pk.read_table(csv, **COLUMNS))


def test_tabs_compression_arrow_and_parquet_give_the_same(csv, tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import csv as arrow_csv
    from pyarrow import feather, parquet

    with gzip.open(tmp_path / "log.csv.gz", "wt") as file:
        file.write(ROWS)
    table = as_arrow(read_columns(csv))
    arrow_csv.write_csv(table, tmp_path / "log.tsv", arrow_csv.WriteOptions(delimiter="\t"))
    feather.write_feather(table, tmp_path / "log.arrow")
    parquet.write_table(table, tmp_path / "log.parquet")
    for name in ("log.csv.gz", "log.tsv", "log.arrow", "log.parquet"):
        assert_log(pk.read_table(tmp_path / name, **COLUMNS))


def test_several_files_are_read_as_one(csv, tmp_path):
    (tmp_path / "more.csv").write_text("query,grade,price,brand\nbirds,1,1,acme\n")
    data = pk.read_table([csv, tmp_path / "more.csv"], **COLUMNS)
    assert data.ids.tolist() == ["cats", "dogs", "birds"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,grade\n", "no rows found"),
        ("query,grade\ncats,2,9\n", "cannot be read as .csv.*Expected 2 columns, got 3"),
        ("", "cannot be read as .csv"),
    ],
)
def test_a_torn_file_is_named(text, message, tmp_path):
    path = tmp_path / "torn.csv"
    path.write_text(text)
    with pytest.raises(DataFormatError, match=message):
        pk.read_table(path, **COLUMNS)


def test_missing_columns_are_named_with_a_guess(csv):
    with pytest.raises(ValueError, match=r"no column 'label'\. Did you mean 'grade'"):
        pk.read_table(csv, qid="query")
    with pytest.raises(ValueError, match=r"no column 'qid'\. Did you mean 'query'"):
        pk.read_table(csv, label="grade")
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        pk.read_table("nowhere.csv")
    with pytest.raises(DataFormatError, match=r"found \.py"):
        pk.read_table(__file__)


def test_columns_are_dropped_or_taken_as_names():
    frame = pd.DataFrame({"qid": [1, 1, 2], "label": [1, 0, 1], "shop": [10, 7, 10], "price": [1.0, 2.0, 3.0]})
    data = pk.from_frame(frame, drop="price", categorical=["shop"])
    assert data.feature_names == ["shop"]
    assert data.categories[0].tolist() == ["10", "7"]
    assert data.X.tolist() == [[0], [1], [0]]
    with pytest.raises(ValueError, match=r"no column 'prise'\. Did you mean 'price'"):
        pk.from_frame(frame, drop="prise")
    with pytest.raises(ValueError, match="drop was given together with features"):
        pk.from_frame(frame, drop="shop", features=["price"])


LONG = pd.DataFrame(
    {
        "qid": ["a", "a", "b", "a", "b"],
        "docid": ["x", "y", "x", "x", "z"],
        "label": [1, 0, 2, 1, 0],
        "name": ["bm25", "bm25", "bm25", "pr", "pr"],
        "value": [1.0, 3.0, 4.0, 2.0, 5.0],
    }
)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_a_long_table_becomes_one_row_per_document(backend):
    frame = LONG
    if backend == "polars":
        frame = pytest.importorskip("polars").from_pandas(LONG)
    elif backend == "pyarrow":
        frame = pytest.importorskip("pyarrow").Table.from_pandas(LONG)
    data = pk.from_frame(frame, long=("name", "value"))
    assert data.feature_names == ["bm25", "pr"]
    assert data.docid.tolist() == ["x", "y", "x", "z"]
    assert data.qid.tolist() == ["a", "a", "b", "b"]
    assert data.y.tolist() == [1, 0, 2, 0]
    np.testing.assert_array_equal(data.X, [[1, 2], [3, np.nan], [4, np.nan], [np.nan, 5]])


def test_a_long_table_that_contradicts_itself_is_named():
    with pytest.raises(ValueError, match="document 'x' of query 'a' has the feature 'bm25' twice"):
        pk.from_frame(pd.concat([LONG, LONG[:1]]), long=("name", "value"))
    with pytest.raises(ValueError, match="document 'x' of query 'a' has several labels, 1 and 5"):
        pk.from_frame(LONG.assign(label=[1, 0, 2, 5, 0]), long=("name", "value"))
    with pytest.raises(ValueError, match="long needs a column of document names"):
        pk.from_frame(LONG.drop(columns="docid"), long=("name", "value"))


def frame_of(queries):
    """The rows of queries in another order, with other names of columns."""
    frame = queries.to_frame().rename(columns={"qid": "query", "label": "grade"})
    return frame.sample(frac=1.0, random_state=0)


def test_every_door_takes_a_frame_in_any_row_order(tmp_path):
    data = pk.datasets.make_web_like(24, 8, 3, random_state=0)
    frame, columns = frame_of(data), {"qid": "query", "label": "grade"}
    frame["when"] = pd.Timestamp("2024-01-01")
    frame.to_csv(tmp_path / "log.csv", index=False)
    columns["drop"] = "when"
    expected = pk.compare("listmle", data, cv=3).tables["listmle"].mean()
    for source in (frame, tmp_path / "log.csv"):
        assert pk.compare("listmle", source, cv=3, **columns).tables["listmle"].mean() == pytest.approx(expected)
        assert pk.cross_validate("listmle", source, cv=3, **columns).mean() == pytest.approx(expected)
        found = pk.select("listmle", source, {"l2": [0.1, 1.0]}, cv=3, **columns)
        assert found.best_value == pytest.approx(pk.select("listmle", data, {"l2": [0.1, 1.0]}, cv=3).best_value)
        name = data.feature_labels[0]
        measured = pk.evaluate(source, name, qid="query", label="grade").mean()
        assert measured == pytest.approx(pk.evaluate(data, data.X[:, 0]).mean())


def test_compare_takes_a_frame_first_and_chooses_rankers():
    frame = frame_of(pk.datasets.make_web_like(12, 6, 3, random_state=0))
    result = pk.compare(frame, qid="query", label="grade", cv=2)
    assert {"ranksvm", "listmle", "adarank"} <= set(result.tables)
    assert list(pk.compare(frame, "ranksvm", qid="query", label="grade", cv=2).tables) == ["ranksvm"]


def test_names_of_columns_need_a_table():
    data = pk.datasets.make_web_like(4, 4, 2, random_state=0)
    with pytest.raises(ValueError, match="label names a column of a table, but data is a Queries"):
        as_judged(data, label="grade")
    with pytest.raises(ValueError, match="qid names a column of a table, but data is 'mq2008'"):
        as_judged("mq2008", qid="query")
    with pytest.raises(ValueError, match="label was given, but the labels are an array"):
        pk.evaluate([1, 0], [1, 0], qid=[1, 1], label="grade")
    with pytest.raises(TypeError, match=r"unexpected argument 'y'.* Labels are named by label="):
        pk.compare("listmle", data, y="grade")
    with pytest.raises(TypeError, match="unexpected argument 'metric'; those for the columns of a table are"):
        pk.cross_validate("listmle", data, metric="map")
    with pytest.raises(ValueError, match='qid was given, but cv="letor" takes files'):
        pk.compare("listmle", "mq2008", cv="letor", qid="query")
    with pytest.raises(TypeError, match="data is a dict; Queries, a data frame, a path or an array is needed"):
        pk.select("listmle", {}, {"l2": [0.1]})
    with pytest.warns(DataWarning, match=r"it holds times.*drop="):
        as_judged(data.to_frame().assign(when=pd.Timestamp("2024-01-01")))


# --- Files as other programs write them -------------------------------------------------------------------------------

PLAIN = "qid,label,price,brand\n1,2,9.5,acme\n1,0,3.25,zeta\n2,1,4.5,acme\n"
OTHERS = {
    "semicolons": ("log.csv", PLAIN.replace(",", ";"), "utf-8"),
    "decimal commas": ("log.csv", PLAIN.replace(",", ";").replace(".", ","), "utf-8"),
    "tabs in .csv": ("log.csv", PLAIN.replace(",", "\t"), "utf-8"),
    "commas in .tsv": ("log.tsv", PLAIN, "utf-8"),
    "bars": ("log.csv", PLAIN.replace(",", "|"), "utf-8"),
    "byte order mark": ("log.csv", PLAIN, "utf-8-sig"),
    "UTF-16": ("log.csv", PLAIN, "utf-16"),
    "CRLF": ("log.csv", PLAIN.replace("\n", "\r\n"), "utf-8"),
    "blanks in the header": ("log.csv", PLAIN.replace("label,price", " label , price"), "utf-8"),
    "a quoted header": ("log.csv", PLAIN.replace("qid,label", '"qid","label"'), "utf-8"),
    "blank lines first": ("log.csv", "\n\n" + PLAIN, "utf-8"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_files_of_other_programs_are_read(name, tmp_path):
    file, text, encoding = OTHERS[name]
    (tmp_path / file).write_bytes(text.encode(encoding))
    data = pk.read_table(tmp_path / file)
    assert data.feature_names == ["price", "brand"]
    assert data.X.tolist() == [[9.5, 0], [3.25, 1], [4.5, 0]]
    assert (data.y.tolist(), data.qid.tolist()) == ([2, 0, 1], [1, 1, 2])


def test_columns_without_values_or_name(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(",qid,label,price,empty,\n0,1,2,9.5,,\n1,1,0,3,,\n")
    with pytest.warns(DataWarning, match="'Unnamed: 0' is left out: it has no name.*'Unnamed: 5' is left out"):
        data = pk.read_table(path)
    assert data.feature_names == ["price", "empty"]
    assert np.isnan(data.X[:, 1]).all()


def test_ids_in_text_keep_their_zeros_and_digits(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("qid,label,docid,price\n007,1,99999999999999999998,1\n7,0,99999999999999999999,2\n")
    data = pk.read_table(path)
    assert data.qid.tolist() == ["007", "7"]
    assert data.docid.tolist() == ["99999999999999999998", "99999999999999999999"]
    path.write_text("qid,label,docid,price\n10,1,-3,1\n7,0,4,2\n")
    data = pk.read_table(path)
    assert (data.qid.tolist(), data.docid.tolist()) == ([10, 7], [-3, 4])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n1,0,4\n", "line 1: expected the names of the columns, found numbers"),
        ("qid,label,a,a\n1,2,3,4\n", "line 1: the column 'a' occurs 2 times"),
        ("qid,label,a\n1,2,caf\u00e9\n", "column 'a' is not UTF-8.*iconv"),
        ("qid,label,a\n1,2\n", "Expected 3 columns, got 2"),
        ("qid,label,a\n", "no rows found"),
        ("", "Empty CSV file"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(text, message, tmp_path):
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataFormatError, match=message):
        pk.read_table(path)


def test_several_files_need_the_same_columns(tmp_path):
    for day, text in ((1, "qid,label,a\n1,1,2\n"), (2, "qid,label,a\nx,1,2.5\n"), (3, "qid,label,b\n1,1,2\n")):
        (tmp_path / f"day-{day}.csv").write_text(text)
    data = pk.read_table([tmp_path / "day-1.csv", tmp_path / "day-2.csv"])
    assert (data.qid.tolist(), data.X.tolist()) == (["1", "x"], [[2.0], [2.5]])
    with pytest.raises(DataFormatError, match=r"day-3\.csv: the column 'a' is missing; .*day-1\.csv has it"):
        pk.read_table(str(tmp_path / "day-*.csv"))


def test_one_text_among_different_numbers_is_named(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("".join(["qid,label,price\n", *(f"1,{n % 2},{n}.5\n" for n in range(20)), "1,0,?\n"]))
    with pytest.warns(DataWarning, match=r"'price' is a feature but holds numbers as text, such as '0\.5' and '\?'"):
        pk.read_table(path)


def test_numbers_as_text_are_a_warning(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("qid,label,price\n1,2,9.5\n1,0,unknown\n")
    with pytest.warns(DataWarning, match="'price' is a feature but holds numbers as text, such as '9.5' and 'unknown'"):
        pk.read_table(path)
    assert pk.read_table(path, categorical="price").categories[0].tolist() == ["9.5", "unknown"]
