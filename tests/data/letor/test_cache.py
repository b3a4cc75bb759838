"""A cache is used when it fits and built anew when anything about it is odd."""

import errno
import gc
import io
import os
import shutil
import subprocess
import sys
import tracemalloc
from operator import itemgetter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plackett.data.letor import cache as letor_cache
from plackett.data.letor import parse as letor_parse
from plackett.data.letor import text as letor_text
from plackett.data.letor.read import read_letor
from plackett.data.letor.write import write_letor
from plackett.exceptions import DataFormatError, DataWarning
from plackett.storage import container
from plackett.storage.atomic import draft_of
from plackett.storage.mapped import Spill, is_mapped
from tests.storage.containers import parts_of, signed

TEXT = b"2 qid:1 1:0.5 3:0.25 #docid = a\n1 qid:1 1:7 #docid = c\n0 qid:2 2:1 #docid = b\n"


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


def test_text_ids_are_kept(path, parses):
    path.write_bytes(TEXT.replace(b"qid:2", "qid:zwölf".encode()))
    first, second = read_letor(path, cache=True), read_letor(path, cache=True)
    assert second.ids.tolist() == ["1", "zwölf"]
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
    path.write_bytes(TEXT + b"1 qid:3 1:1\n" * 3)
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
    other.write_bytes(b"1 qid:3 1:9\n")
    path.chmod(0o644)
    other.chmod(0o640)
    read_letor([path, other], cache=True)
    assert caches(path.parent)[0].stat().st_mode & 0o777 == 0o640


def test_a_truncated_cache_is_rebuilt_with_a_warning(path, parses):
    expected = built(path)
    (cache,) = caches(path.parent)
    whole = cache.read_bytes()
    for n in (0, 5, 128, len(whole) // 2, len(whole) - 1):
        cache.write_bytes(whole[:n])
        with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
            assert_same(read_letor(path, cache=True), expected)
        assert cache.read_bytes() == whole
    assert len(parses) == 7


def test_a_cache_of_another_version_is_rebuilt_without_a_warning(path, parses):
    expected = built(path)
    (cache,) = caches(path.parent)
    whole = cache.read_bytes()
    directory, body = parts_of(whole)
    cache.write_bytes(signed(directory | {"version": directory["version"] + 1}, body))
    assert_same(read_letor(path, cache=True), expected)
    assert cache.read_bytes() == whole
    assert len(parses) == 3


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
    with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
        assert_same(read_letor(path, cache=True), expected)
    assert len(parses) == 3


def test_a_foreign_file_in_place_of_the_cache_is_never_trusted(path, parses):
    expected = built(path)
    (cache,) = caches(path.parent)
    foreign = io.BytesIO()
    np.save(foreign, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    for content in (foreign.getvalue(), b"x" * 10_000, container.MAGIC * 500):
        cache.write_bytes(content)
        with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
            assert_same(read_letor(path, cache=True), expected)
    other = path.with_name("other.txt")
    other.write_bytes(b"1 qid:9 1:1\n")
    read_letor(other, cache=True)
    shutil.copy(next(c for c in caches(path.parent) if c.name.startswith("other")), cache)
    assert_same(read_letor(path, cache=True), expected)
    cache.unlink()
    cache.mkdir()
    with pytest.warns(DataWarning, match="could not be written"), pytest.warns(DataWarning, match="cannot be read"):
        assert_same(read_letor(path, cache=True), expected)


@pytest.mark.filterwarnings("ignore:the cache .* is damaged")
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


@pytest.mark.parametrize("options", [{"sparse": True}, {"sparse": True, "n_features": 9}])
@pytest.mark.parametrize("n_columns", [10**8, 2**40, 2**62, True])
def test_a_cache_cannot_declare_columns_that_its_text_does_not_have(options, n_columns, path):
    n_features = read_letor(path, cache=True, **options).n_features
    [cache] = caches(path.parent)
    directory, body = parts_of(cache.read_bytes())
    assert "indices" in directory["arrays"]
    directory["header"]["shape"][1] = n_columns
    cache.write_bytes(signed(directory, body))
    with pytest.warns(DataWarning, match="is damaged; rebuilding it"):
        again = read_letor(path, cache=True, **options)
    assert again.n_features == n_features


def test_columns_whose_only_values_are_zeros_are_not_cached(tmp_path):
    path = tmp_path / "wide.txt"
    path.write_text("1 qid:1 1:0.5\n0 qid:1 90000000:0\n")
    for _ in range(2):
        with pytest.warns(DataWarning, match="could not be written .*too few for so many columns"):
            assert read_letor(path, cache=True, sparse=True).n_features == 90_000_000


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
    with pytest.warns(DataWarning, match="changed while it was read.*; reading into memory instead"):
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
    draft = place.with_name(f"{place.name}.plackett.part")
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


# --- Writing the cache wave by wave -----------------------------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch):
    """Waves and blocks of a few lines."""
    monkeypatch.setattr(letor_text, "WAVE_BYTES", 160)
    monkeypatch.setattr(letor_text, "CHUNK_BYTES", 64)
    monkeypatch.setattr(letor_cache, "BLOCK_BYTES", 100)


def assert_same_bits(a, b):
    assert type(a.X) is type(b.X)
    assert a.X.shape == b.X.shape
    pairs = [(getattr(a, name), getattr(b, name)) for name in ("y", "ids", "row_order")]
    pairs += [(a.grouped.indptr, b.grouped.indptr), (a.grouped.y, b.grouped.y)]
    if isinstance(a.X, np.ndarray):
        pairs.append((a.X, b.X))
    else:
        pairs += [(getattr(a.X, name), getattr(b.X, name)) for name in ("data", "indices", "indptr")]
    assert (a.comments is None) == (b.comments is None)
    if a.comments is not None:
        pairs += [(a.comments.buffer, b.comments.buffer), (a.comments.bounds, b.comments.bounds)]
    for left, right in pairs:
        assert (left is None) == (right is None)
        if left is not None:
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes()


def assert_cached_as_in_memory(path, **options):
    """Read through a cache, first as it is made and then again, and in memory."""
    in_memory = read_letor(path, **options)
    first, again = read_letor(path, cache=True, **options), read_letor(path, cache=True, **options)
    assert_same_bits(first, in_memory)
    assert_same_bits(again, in_memory)
    names = {entry.name for entry in path.parent.iterdir() if entry.name.endswith((".part", ".plackett-cache"))}
    assert [name.endswith(".plackett-cache") for name in names] == [True]
    return first


def lines(n, features, qid=lambda k: k // 3, comment=lambda k: f" # docid = d{k}"):
    text = "".join(
        f"{k % 3} qid:{qid(k)} {' '.join(f'{j}:{v}' for j, v in features(k))}{comment(k)}\n" for k in range(n)
    )
    return text.encode()


def full(k):
    return [(1, k), (2, "-0"), (3, 0.5)]


FORMS = {
    "in place": (lines(60, full), {}),
    "as CSR": (lines(60, full), {"sparse": True}),
    "text ids late": (lines(60, full, qid=lambda k: k // 7 if k < 50 else f"q{k // 4}"), {}),
    "text ids late, CSR": (lines(60, full, qid=lambda k: k // 7 if k < 50 else f"q{k // 4}"), {"sparse": True}),
    "texts as ids": (lines(60, full, qid=lambda k: f"0{k // 9}"), {}),
    "an id goes on after another wave": (lines(60, full, qid=lambda k: 5), {}),
    "wider late": (lines(60, lambda k: [*full(k), (4 + k // 20, 9)]), {"missing": -1.0}),
    "wider within a wave": (lines(60, lambda k: [*full(k), *([(9, 2)] if k in (20, 43) else [])]), {}),
    "wider, CSR": (lines(60, lambda k: [*full(k), (4 + k // 20, 9)]), {"sparse": True}),
    "low fill": (lines(60, lambda k: [(1 + k, "-0"), (61, 1)]), {}),
    "few columns named": (lines(60, lambda k: [(1, 0), (40, k)]), {}),
    "columns given": (lines(60, full), {"n_features": 9, "missing": 3.0}),
    "no features": (lines(60, lambda k: []), {}),
    "features come late": (lines(60, lambda k: full(k) if k > 40 else []), {"dtype": np.float64}),
    "no comments": (lines(60, full, comment=lambda k: ""), {}),
    "comments left out": (lines(60, full), {"comments": False}),
    "comments late": (lines(60, full, comment=lambda k: "#" + "x" * (k - 40)), {}),
    "blank lines": (lines(30, full) + b"\n# nothing\n\n\n" * 30 + lines(30, full, qid=lambda k: 10 + k // 3), {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_cache_made_wave_by_wave_is_as_the_text_in_memory(form, tmp_path, tiny):
    text, options = FORMS[form]
    path = tmp_path / "rows.txt"
    path.write_bytes(text)
    data = assert_cached_as_in_memory(path, **options)
    assert data.n_docs == 60
    assert is_mapped(data.grouped.X) == (data.n_features > 0)


def test_a_query_whose_rows_are_not_adjacent_is_named_with_the_remedy(tmp_path, tiny):
    path = tmp_path / "torn.txt"
    path.write_bytes(lines(60, full, qid=lambda k: k // 3 if k < 50 else 4))
    with pytest.raises(ValueError, match=r"query 4 are not adjacent in .*torn.txt.*write_letor\(read_letor"):
        read_letor(path, cache=True)
    assert os.listdir(tmp_path) == ["torn.txt"]
    write_letor(read_letor(path).grouped, tmp_path / "whole.txt")
    assert_same(read_letor(tmp_path / "whole.txt", cache=True), read_letor(tmp_path / "whole.txt"))


def test_text_whose_rows_grow_wider_is_read_twice(tmp_path, tiny, parses):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(300, lambda k: [(1, 0), *((j + 1, j) for j in range(1, 2 + k // 2))]))
    read_letor(path, cache=True, missing=7.0)
    assert len(parses) == 2
    assert_cached_as_in_memory(path, missing=7.0)


def test_waves_that_would_need_much_room_are_kept_as_pairs(tmp_path, tiny, monkeypatch):
    monkeypatch.setattr(letor_cache, "_ROOM_BYTES", 16)
    real, rooms = letor_cache._Rows.make_room, []

    def noted(self, wave):
        rooms.extend(real(self, wave))
        return self._room

    monkeypatch.setattr(letor_cache._Rows, "make_room", noted)
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full))
    assert_cached_as_in_memory(path, missing=2.0)
    assert len(rooms) > 10
    assert all(room is None for room in rooms)


def test_several_files_some_of_them_packed_are_one(tmp_path, tiny):
    import gzip

    first, second = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    first.write_bytes(lines(40, full, qid=lambda k: k // 7))
    second.write_bytes(gzip.compress(lines(40, lambda k: [*full(k), (6, k)], qid=lambda k: k // 7 + 9)))
    in_memory = read_letor([first, second])
    assert_same_bits(read_letor([first, second], cache=True), in_memory)
    assert in_memory.row_order is None
    assert_same_bits(read_letor([second, first], cache=True), read_letor([second, first]))


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(["1", "2", "3", "03"]),
            st.dictionaries(st.integers(1, 9), st.sampled_from(["0", "-0", "1.5", "NULL", "1e30"]), max_size=4),
            st.sampled_from(["", "#", "# a", "#docid = é"]),
        ),
        min_size=1,
        max_size=30,
    ),
    sparse=st.booleans(),
)
def test_any_rows_are_the_same(rows, sparse, tmp_path_factory):
    path = tmp_path_factory.mktemp("any") / "rows.txt"
    path.write_bytes(
        b"".join(
            f"{k} qid:{qid} {' '.join(f'{j}:{v}' for j, v in pairs.items())} {comment}\n".encode()
            for k, (qid, pairs, comment) in enumerate(sorted(rows, key=itemgetter(0)))
        )
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(letor_text, "WAVE_BYTES", 100)
        patch.setattr(letor_text, "CHUNK_BYTES", 40)
        patch.setattr(letor_cache, "BLOCK_BYTES", 50)
        assert_cached_as_in_memory(path, sparse=sparse)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 qid:1 1:x", r"rows.txt, line 61: expected index:value"),
        ("1 qid:1 1:1e99", r"rows.txt, line 61: the value 1e99 does not fit into float32. Pass dtype=numpy.float64"),
    ],
)
def test_wrong_lines_are_named_and_leave_nothing_behind(line, message, tmp_path, tiny):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full) + f"{line}\n".encode())
    with pytest.raises(DataFormatError, match=message):
        read_letor(path, cache=True)
    assert os.listdir(tmp_path) == [path.name]


def test_text_without_rows_is_refused(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"# nothing\n")
    with pytest.raises(DataFormatError, match="no rows found"):
        read_letor(path, cache=True)
    assert os.listdir(tmp_path) == [path.name]


def test_a_full_disk_costs_a_warning_and_the_text_is_read_into_memory(tmp_path, tiny, monkeypatch):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full))

    def is_full(self, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("append", "finish"):
        with monkeypatch.context() as patch:
            patch.setattr(Spill, name, is_full)
            with pytest.warns(DataWarning, match=r"could not be written \(.*No space left"):
                data = read_letor(path, cache=True)
        assert_same_bits(data, read_letor(path))
        assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("most_bytes", [9000, 12_000])
def test_so_does_a_disk_that_is_full_when_the_draft_is_closed(most_bytes, tmp_path, tiny):
    resource = pytest.importorskip("resource")
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(1000, full))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, limit[1]))  # a file may not grow any further
    try:
        with pytest.warns(DataWarning, match=r"could not be written \(.*File too large"):
            data = read_letor(path, cache=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert data.n_docs == 1000
    assert os.listdir(tmp_path) == [path.name]


def test_errors_leave_no_files_open_and_no_circles(tmp_path, tiny):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full) + b"1 qid:1 9:1 4:x\n")  # too wide for X as it is, and wrong as well
    gc.collect()
    gc.disable()
    try:
        n_open = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
        with pytest.raises(DataFormatError, match="line 61") as caught:
            read_letor(path, cache=True)
        assert caught.value.__context__ is None
        del caught
        assert n_open is None or len(os.listdir("/proc/self/fd")) == n_open
    finally:
        gc.enable()


def test_reading_that_fails_is_no_matter_of_the_cache(tmp_path, tiny, monkeypatch, recwarn):
    path = tmp_path / "rows.txt"
    path.write_bytes(lines(60, full))
    real = letor_parse.waves

    def failing(inputs):
        yield next(real(inputs))
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(letor_parse, "waves", failing)
    with pytest.raises(OSError, match="Input/output error"):
        read_letor(path, cache=True)
    assert len(recwarn) == 0
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("sparse", [False, True])
def test_making_a_cache_takes_a_small_share_of_the_data(sparse, tmp_path, monkeypatch):
    monkeypatch.setattr(letor_text, "WAVE_BYTES", 1 << 18)
    monkeypatch.setattr(letor_text, "CHUNK_BYTES", 1 << 16)
    monkeypatch.setattr(letor_cache, "BLOCK_BYTES", 1 << 16)
    path = tmp_path / "rows.txt"
    pairs = " ".join(f"{j}:{j % 7}.5" for j in range(1, 101))
    path.write_bytes(b"".join(f"1 qid:{k // 22} {pairs} # {k}\n".encode() for k in range(20_000)))
    small = tmp_path / "small.txt"
    small.write_bytes(path.read_bytes()[:300_000].rsplit(b"\n", 1)[0])
    read_letor(small, sparse=sparse, cache=True)  # what is imported once does not count
    tracemalloc.start()
    try:
        data = read_letor(path, sparse=sparse, cache=True)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = data.X.nbytes if not sparse else data.X.data.nbytes + data.X.indices.nbytes
    assert data.n_queries == 910
    assert peak < 0.1 * size + 8 * letor_text.WAVE_BYTES
