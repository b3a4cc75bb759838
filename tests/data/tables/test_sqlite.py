"""SQLite databases as tables."""

import sqlite3

import numpy as np
import pytest

import plackett as pk
from plackett.exceptions import DataFormatError


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE clicks (query TEXT, grade INTEGER, price REAL, brand TEXT)")
    rows = [("cats", 2, 9.5, "acme"), ("dogs", 1, None, "zeta"), ("cats", 0, 3, None), ("dogs", 0, 4.0, "acme")]
    database.executemany("INSERT INTO clicks VALUES (?, ?, ?, ?)", rows)
    database.commit()
    database.close()
    return path


def test_the_only_table_is_read(shop):
    data = pk.read_table(shop, qid="query", label="grade")
    assert data.ids.tolist() == ["cats", "dogs"]
    np.testing.assert_array_equal(data.X, [[9.5, 0], [np.nan, 1], [3, np.nan], [4, 0]])
    assert data.categories[1].tolist() == ["acme", "zeta"]


def test_a_query_chooses_rows_and_columns(shop):
    data = pk.read_table(shop, sql="SELECT query AS qid, grade AS label, price FROM clicks WHERE price > 3")
    assert data.y.tolist() == [2, 0]
    assert data.feature_names == ["price"]
    ranker = pk.LinearRanker(missing="zero")
    result = pk.compare({"linear": ranker}, shop, qid="query", label="grade", drop="brand", cv=2)
    assert list(result.tables) == ["linear"]


def test_mistakes_are_named_and_nothing_is_written(shop, tmp_path):
    before = shop.read_bytes()
    for query, message in {
        "DROP TABLE clicks": "SQLite error: attempt to write a readonly database",
        "SELECT colour FROM clicks": "SQLite error: no such column: colour",
        "SELECT grade, grade FROM clicks": "returns 'grade' twice; name its columns with AS",
        "SELECT * FROM clicks WHERE grade > 9": "no rows found",
    }.items():
        with pytest.raises(DataFormatError, match=message):
            pk.read_table(shop, sql=query)
    assert shop.read_bytes() == before
    database = sqlite3.connect(shop)
    database.execute("CREATE TABLE more (a)")
    database.close()
    with pytest.raises(DataFormatError, match=r"expected one table, found clicks, more\. Choose rows with a query"):
        pk.read_table(shop)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        pk.read_table(tmp_path / "nowhere.db")
    (tmp_path / "torn.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(DataFormatError, match="SQLite error: file is not a database"):
        pk.read_table(tmp_path / "torn.db")
    (tmp_path / "a.csv").write_text("qid,label\n1,1\n")
    with pytest.raises(ValueError, match="sql was given, but the data are not an SQLite database"):
        pk.read_table(tmp_path / "a.csv", sql="SELECT 1")
