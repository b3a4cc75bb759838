"""A cache is used when it fits and built anew when anything about it is odd."""

import io
import mmap
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from plackett.data.letor import parse as letor_parse
from plackett.data.letor.read import read_letor
from plackett.exceptions import DataFormatError, DataWarning
from plackett.storage import container
from plackett.storage.atomic import draft_of

TEXT = b"2 qid:1 1:0.5 3:0.25 #docid = a\n0 qid:2 2:1 #docid = b\n1 qid:1 1:7 #docid = c\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def parses(monkeypatch):
    """Counts how often text is parsed."""
    calls = []
    real = letor_parse.waves

    def counted(inputs):
        calls.append(inputs)
        return real(inputs)

    monkeypatch.setattr(letor_parse, "waves", counted)
    return calls


def caches(folder):
    return sorted(folder.glob("*.plackett-cache"))


def built(path):
    """The data in memory, for files that are mapped must not be cut short, and a cache of them beside the file."""
    read_letor(path, cache=True)
    return read_letor(path)


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def assert_same(a, b):
    for name in ("y", "ids", "_indptr", "qid", "docid", "row_order"):
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None)
        assert left is None or np.array_equal(left, right)
        assert left is None or left.dtype == right.dtype
    left, right = (X if isinstance(X, np.ndarray) else X.toarray() for X in (a.X, b.X))
    np.testing.assert_array_equal(left, right)
    assert left.dtype == right.dtype
    assert a.comments == b.comments


@pytest.mark.parametrize(
    "options", [{}, {"sparse": True}, {"dtype": np.float64, "missing": np.nan}, {"comments": False}]
)
def test_the_second_read_maps_the_same_arrays(path, parses, options):
    first = read_letor(path, cache=True, **options)
    second = read_letor(path, cache=True, **options)
    assert len(parses) == 1
    assert_same(first, second)
    data = second.grouped.X.data if options.get("sparse") else second.grouped.X
    assert is_mapped(data)


def test_writing_to_mapped_arrays_leaves_the_cache_as_it_is(path, parses):
    first = read_letor(path, cache=True)
    second = read_letor(path, cache=True)
    second.X[:] = -1  # allowed, as without a cache
    third = read_letor(path, cache=True)
    assert len(parses) == 1
    assert_same(first, third)


def test_text_ids_and_rows_out_of_order_are_kept(path, parses):
    path.write_bytes(TEXT.replace(b"qid:2", "qid:zwölf".encode()))
    first, second = read_letor(path, cache=True), read_letor(path, cache=True)
    assert second.ids.tolist() == ["1", "zwölf"]
    assert second.row_order.tolist() == [0, 2, 1]
    assert_same(first, second)
    assert len(parses) == 1


def test_other_options_have_another_cache(path, parses):
    read_letor(path, cache=True)
    assert read_letor(path, cache=True, missing=-1).X[0].tolist() == [0.5, -1, 0.25]
    assert read_letor(path, cache=True, first_index=0).n_features == 4
    assert read_letor(path, cache=True).X[0].tolist() == [0.5, 0, 0.25]
    assert len(parses) == 3
    assert len(caches(path.parent)) == 3


def test_a_folder_for_caches_is_made_and_used(path, parses, tmp_path):
    folder = tmp_path / "a" / "b"
    read_letor(path, cache=folder)
    read_letor(str(path), cache=str(folder))
    assert len(parses) == 1
    assert caches(path.parent) == []
    assert len(caches(folder)) == 1
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(path, other)
    read_letor(other / path.name, cache=folder)
    assert len(caches(folder)) == 2


def test_a_folder_can_be_moved_with_its_caches(path, parses, tmp_path):
    inner = tmp_path / "data"
    inner.mkdir()
    shutil.copy2(path, inner)
    read_letor(inner / path.name, cache=True)
    inner.rename(tmp_path / "moved")
    read_letor(tmp_path / "moved" / path.name, cache=True)
    assert len(parses) == 1


def test_a_file_that_changed_is_read_again(path, parses):
    read_letor(path, cache=True)
    status = path.stat()
    path.write_bytes(TEXT.replace(b"0.25", b"0.75"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, same time, other content
    assert read_letor(path, cache=True).X[0, 2] == 0.75
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    read_letor(path, cache=True)
    path.write_bytes(TEXT + TEXT)
    assert read_letor(path, cache=True).n_docs == 6
    assert len(parses) == 4


def test_several_files_share_one_cache(path, parses):
    second = path.with_name("more.txt")
    second.write_bytes(b"1 qid:3 1:9\n")
    first = read_letor([path, second], cache=True)
    assert_same(first, read_letor([path, second], cache=True))
    assert len(parses) == 1
    second.write_bytes(b"1 qid:3 1:8\n")
    assert read_letor([path, second], cache=True).X[-1, 0] == 8
    assert read_letor([second, path], cache=True).X[0, 0] == 8


def test_a_cache_is_as_private_as_the_most_private_of_its_files(path):
    other = path.with_name("more.txt")
    other.write_bytes(TEXT)
    path.chmod(0o644)
    other.chmod(0o640)
    read_letor([path, other], cache=True)
    assert caches(path.parent)[0].stat().st_mode & 0o777 == 0o640


def test_a_torn_cache_is_built_anew(path, parses):
    expected = built(path)
    (cache,) = caches(path.parent)
    whole = cache.read_bytes()
    for n in (0, 5, 128, len(whole) // 2, len(whole) - 1):
        cache.write_bytes(whole[:n])
        assert_same(read_letor(path, cache=True), expected)
        assert cache.read_bytes() == whole
    assert len(parses) == 7


@pytest.mark.filterwarnings("ignore:the cache .* is damaged")
def test_a_cache_with_any_byte_changed_is_built_anew(path, parses):
    expected = built(path)
    (cache,) = caches(path.parent)
    whole = cache.read_bytes()
    rng = np.random.default_rng(0)
    header = whole.rindex(b'{"kind"')
    for place in [*rng.integers(0, len(whole), 150).tolist(), *rng.integers(header, len(whole), 150).tolist()]:
        cache.write_bytes(whole[:place] + bytes([whole[place] ^ 0x21]) + whole[place + 1 :])
        assert_same(read_letor(path, cache=True), expected)


def test_a_large_cache_whose_pages_were_lost_is_built_anew(tmp_path, parses):
    path = tmp_path / "large.txt"
    path.write_bytes(b"".join(b"1 qid:%d 1:%d 2:3 3:4 4:5 5:6 6:7 7:8 8:9\n" % (k // 20, k + 1) for k in range(20_000)))
    expected = built(path)
    (cache,) = caches(tmp_path)
    whole = cache.read_bytes()
    half = len(whole) // 2
    cache.write_bytes(whole[: half // 2] + bytes(half) + whole[half // 2 + half :])
    with pytest.warns(DataWarning, match="is damaged; it is built anew"):
        assert_same(read_letor(path, cache=True), expected)
    assert len(parses) == 3


def test_a_foreign_file_in_place_of_the_cache_is_never_trusted(path, parses):
    expected = built(path)
    (cache,) = caches(path.parent)
    foreign = io.BytesIO()
    np.save(foreign, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    for content in (foreign.getvalue(), b"x" * 10_000, container.MAGIC * 500):
        cache.write_bytes(content)
        assert_same(read_letor(path, cache=True), expected)
    other = path.with_name("other.txt")
    other.write_bytes(b"1 qid:9 1:1\n")
    read_letor(other, cache=True)
    shutil.copy(next(c for c in caches(path.parent) if c.name.startswith("other")), cache)
    assert_same(read_letor(path, cache=True), expected)
    cache.unlink()
    cache.mkdir()
    with pytest.warns(DataWarning, match="could not be written"):
        assert_same(read_letor(path, cache=True), expected)


def test_a_header_that_lies_about_its_arrays_is_not_believed(path, parses, monkeypatch):
    expected = built(path)
    (cache,) = caches(path.parent)
    real = container.json.dumps
    lies = [
        ("offset", 10**15),
        ("offset", 65),
        ("offset", -64),
        ("shape", [10**12]),
        ("shape", [-3]),
        ("shape", [2]),
        ("dtype", "|O"),
        ("dtype", "<f3"),
        ("dtype", "O"),
    ]
    for name in ("X", "y", "indptr", "comment_bounds"):
        for field, value in lies:

            def lie(thing, name=name, field=field, value=value):
                if isinstance(thing, dict) and "arrays" in thing:
                    thing["arrays"][name][field] = value
                return real(thing)

            cache.unlink(missing_ok=True)
            with monkeypatch.context() as patch:
                patch.setattr(container.json, "dumps", lie)
                read_letor(path, cache=True)
            n = len(parses)
            assert_same(read_letor(path, cache=True), expected)
            assert len(parses) == n + 1


def test_a_folder_that_cannot_be_written_costs_a_warning_only(path, monkeypatch):
    def fail(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.warns(DataWarning, match=r"the cache .* could not be written \(.*No space left"):
        data = read_letor(path, cache=True)
    assert data.n_docs == 3
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    with pytest.warns(DataWarning, match="could not be written"):
        read_letor(path, cache=path)  # a file where a folder is needed


def test_a_file_that_changes_while_it_is_read_leaves_no_cache(path, monkeypatch):
    real = letor_parse.waves

    def read_and_change(inputs):
        yield from real(inputs)
        path.write_bytes(TEXT + b"# changed\n")

    monkeypatch.setattr(letor_parse, "waves", read_and_change)
    with pytest.warns(DataWarning, match="changed while it was read; it is read into memory"):
        assert read_letor(path, cache=True).n_docs == 3
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_wrong_text_leaves_no_cache(path):
    path.write_bytes(b"1 qid:1 1:x\n")
    with pytest.raises(DataFormatError):
        read_letor(path, cache=True)
    assert caches(path.parent) == []


def test_input_without_a_name_cannot_be_cached():
    for source in (io.BytesIO(TEXT), "-", ["a.txt", io.BytesIO(TEXT)]):
        with pytest.raises(ValueError, match="cache needs files with a name"):
            read_letor(source, cache=True)


def test_processes_may_build_a_cache_at_once(tmp_path):
    path = tmp_path / "train.txt"
    path.write_bytes(b"".join(b"1 qid:%d 1:%d 2:0.5\n" % (k // 10, k) for k in range(1, 5001)))
    code = (
        "import sys; from plackett.data.letor.read import read_letor\n"
        "for _ in range(5): data = read_letor(sys.argv[1], cache=True)\n"
        "assert data.X[:, 0].tolist() == list(range(1, 5001))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]
    assert [process.wait(timeout=300) for process in running] == [0, 0, 0, 0]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([path.name, caches(tmp_path)[0].name])


def test_drafts_of_killed_writers_are_removed_and_those_of_living_ones_are_not(tmp_path):
    path = tmp_path / "lists[1].txt"
    path.write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    read_letor(path, cache=True)
    (place,) = tmp_path.glob("*.plackett-cache")
    draft = place.with_name(f"{place.name}.plackett-0.part")
    draft.write_bytes(b"torn")
    place.unlink()
    read_letor(path, cache=True)
    assert place.exists()
    assert not draft.exists()
    place.unlink()
    with draft_of(place) as file:
        read_letor(path, cache=True)
        assert place.exists()
        assert os.path.exists(file.name)
