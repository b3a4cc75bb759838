"""The state in a database, shared by the processes of a service."""

import itertools
import json
import subprocess
import sys

import pytest

from plackett.clicks import Interleaver
from tests.postgresql import new_database

sqlalchemy = pytest.importorskip("sqlalchemy")

LISTS = {"old": list("abcdefghij"), "new": list("cxaydzbwvu")}
NUMBERS = itertools.count()
WORKER = """
import sys
from plackett.clicks import Interleaver
lists = {"old": list("abcdefghij"), "new": list("cxaydzbwvu")}
test = Interleaver(k=5, database=sys.argv[1])
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    shown = test.serve(lists, key=number, unit=number // 2)
    print(test.credit(shown, shown.documents[:1]).status)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def path(request, tmp_path):
    if request.param == "sqlite":
        return tmp_path / "clicks.db"
    return new_database(request.getfixturevalue("postgresql_server"), f"interleaving_{next(NUMBERS)}")


def test_processes_share_a_test_and_no_acknowledged_click_is_lost(path):
    """They begin it at the same time, without a seed, and serve some requests both."""
    bounds = [(0, 60), (40, 100)]
    started = [
        subprocess.Popen([sys.executable, "-c", WORKER, path, *map(str, some)], stdout=subprocess.PIPE, text=True)
        for some in bounds
    ]
    statuses = [status for one in started for status in one.communicate()[0].split()]
    assert [one.returncode for one in started] == [0, 0]
    assert len(statuses) == 120
    assert statuses.count("counted") == 50  # one list for each unit
    test = Interleaver(k=5, database=path)
    assert test.preference().n_units == 50
    assert test.rankers == ["old", "new"]


def test_another_process_sees_new_values(tmp_path):
    one, other = (Interleaver(k=5, database=tmp_path / "t.db") for _ in range(2))
    for number in range(5):
        shown = one.serve(LISTS, key=number)
        assert other.credit(shown.id, shown.documents[:1]).status == "counted"
        assert one.preference() == other.preference()
        assert one.preference().n_units == number + 1


def test_odd_names_of_units_and_documents_are_kept(path):
    test = Interleaver(k=3, database=path, lists_per_unit=None, test="odd")
    units = ["", "a\x00b", "\udce9", "é", "\\xe9", "' or 1 = 1"]
    for unit in units:
        shown = test.serve({"old": ["a\x00", "\udce9", "c"], "new": ["c", "'", "d"]}, key="k", unit=unit)
        assert test.credit(shown, shown.documents[:1]).status == "counted"
    assert [test.close(unit) for unit in units] == [1] * len(units)
    assert test.preference().n_units == len(units)


def test_a_database_holds_several_tests(tmp_path):
    first, second = (Interleaver(k=5, database=tmp_path / "t.db", test=name, random_state=0) for name in ("a", "b"))
    shown = first.serve(LISTS, key=1)
    second.serve(LISTS, key=1)
    assert first.credit(shown, shown.documents[:1]).status == "counted"
    assert second.credit(shown, shown.documents[:1]).status == "unknown"
    assert (first.preference().n_units, second.preference().n_units) == (1, 0)


def test_an_engine_is_taken_and_settings_must_be_the_same(tmp_path):
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 't.db'}")
    test = Interleaver(k=5, database=engine)
    shown = test.serve(LISTS, key=1)
    assert (
        Interleaver(k=5, database=f"sqlite:///{tmp_path / 't.db'}").credit(shown.id, ["nothing"]).status == "no clicks"
    )
    with pytest.raises(ValueError, match="started with k=5, not 4"):
        Interleaver(k=4, database=engine).serve(LISTS, key=1)
    with pytest.raises(ValueError, match="started with method='team-draft'"):
        Interleaver("balanced", k=5, database=engine, rankers=["old", "new"])
    with pytest.raises(ValueError, match="compares old, new, not new, other"):
        Interleaver(k=5, database=engine, rankers=["new", "other"])
    with pytest.raises(ValueError, match="is in its database"):
        test.to_json()
    engine.dispose()


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_missing_folder_is_named(tmp_path, form):
    with pytest.raises(FileNotFoundError, match="the folder of the database does not exist; create it first") as caught:
        Interleaver(k=5, database=form.format(tmp_path / "none" / "clicks.db"))
    assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError, match="needs the name of a file"):
        Interleaver(k=5, database=form.format(tmp_path))


def test_nothing_but_plain_values_is_stored(tmp_path):
    test = Interleaver(k=5, database=tmp_path / "t.db")
    test.credit(shown := test.serve(LISTS, key=1), shown.documents[:1])
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 't.db'}")
    with engine.connect() as connection:
        for table, column in (("lists", "body"), ("units", "body"), ("values", "credits"), ("tests", "settings")):
            for (text,) in connection.execute(sqlalchemy.text(f"select {column} from interleaving_{table}")):
                json.loads(text)
    engine.dispose()
