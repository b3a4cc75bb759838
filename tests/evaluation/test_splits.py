"""Splits by query: nothing lost, nothing leaked, and the published folds as published."""

import gzip

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    cross_val_score,
    cross_validate,
)

import plackett as pk
from plackett._threads import set_n_threads
from plackett.data import datasets
from plackett.data.datasets import published
from plackett.data.datasets.published import Fold
from plackett.data.letor.write import write_letor
from plackett.evaluation.splits import QueryKFold, as_folds, check_folds, with_validation
from plackett.exceptions import DatasetNotFoundError

DATA = datasets.make_web_like(n_queries=24, docs_per_query=5, n_features=4, random_state=0)


def queries_of(qid):
    rows = np.arange(len(qid), dtype=float).reshape(-1, 1)
    return pk.Queries(rows, y=np.zeros(len(qid)), qid=qid)


def ids_of(fold):
    return [None if part is None else part.ids.tolist() for part in fold]


def same(one, other):
    return one.ids.tolist() == other.ids.tolist() and np.array_equal(one.X, other.X) and np.array_equal(one.y, other.y)


ids_in_any_order = st.lists(st.integers(0, 15), min_size=1, max_size=50)
splitters = st.builds(
    QueryKFold, st.integers(2, 6), shuffle=st.booleans(), random_state=st.integers(0, 9), validation=st.booleans()
)


@settings(max_examples=150, deadline=None)
@given(ids_in_any_order, splitters)
def test_every_query_is_tested_once_and_parts_are_of_equal_size(qid, splitter):
    data, n_splits = queries_of(qid), splitter.n_splits
    if data.n_queries < n_splits:
        with pytest.raises(ValueError, match="cannot be divided into so many parts"):
            list(splitter.folds(data))
        return
    folds = list(splitter.folds(data))
    assert len(folds) == n_splits
    assert sorted(key for fold in folds for key in fold.test.ids.tolist()) == sorted(set(qid))
    sizes = [fold.test.n_queries for fold in folds]
    assert max(sizes) - min(sizes) <= 1
    validated = splitter.validation and n_splits > 2
    for number, fold in enumerate(folds):
        parts = [part for part in fold if part is not None]
        assert len(parts) == (3 if validated else 2)
        assert sorted(key for part in parts for key in part.ids.tolist()) == sorted(set(qid))
        assert sum(part.n_docs for part in parts) == len(qid)
        if validated:
            assert same(fold.validation, folds[(number + 1) % n_splits].test)
    check_folds(folds)


@settings(max_examples=100, deadline=None)
@given(ids_in_any_order, st.randoms(use_true_random=False), st.sampled_from([int, str, lambda key: (key, "a"), None]))
def test_the_order_of_the_rows_changes_no_set(qid, random, kind):
    mixed = {key: key if key % 2 else str(key) for key in qid}
    qid = [mixed[key] if kind is None else kind(key) for key in qid]
    if len(set(qid)) < 3:
        return
    shuffled = random.sample(qid, len(qid))
    for one, other in zip(QueryKFold(3).folds(queries_of(qid)), QueryKFold(3).folds(queries_of(shuffled)), strict=True):
        assert [set(ids) for ids in ids_of(one)] == [set(ids) for ids in ids_of(other)]


@settings(max_examples=50, deadline=None)
@given(ids_in_any_order, splitters)
def test_split_gives_the_rows_of_the_test_queries(qid, splitter):
    data = queries_of(qid)
    if data.n_queries < splitter.n_splits:
        return
    rows = np.zeros((len(qid), 1))
    by_groups = list(splitter.split(rows, groups=np.array(qid))) if splitter.shuffle else None
    for number, (fold, (train, test)) in enumerate(zip(splitter.folds(data), splitter.split(data), strict=True)):
        np.testing.assert_array_equal(np.sort(data.X[test], axis=0), np.sort(fold.test.X, axis=0))
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(qid)))
        if by_groups is not None:
            train, test = by_groups[number]
            assert {qid[row] for row in test} == set(fold.test.ids.tolist())
            np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(qid)))


def test_seeds_choose_the_parts_and_threads_do_not():
    tests = [[fold.test.ids.tolist() for fold in QueryKFold(4, random_state=seed).folds(DATA)] for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]
    try:
        set_n_threads(1)
        assert tests[0] == [fold.test.ids.tolist() for fold in QueryKFold(4).folds(DATA)]
    finally:
        set_n_threads(None)


def test_unshuffled_parts_are_runs_in_order_of_appearance():
    data = queries_of(list("cbadefg"))
    assert [ids_of(fold)[2] for fold in QueryKFold(3, shuffle=False).folds(data)] == [
        list("cba"),
        list("de"),
        list("fg"),
    ]


@pytest.mark.parametrize("n_splits", [0, 1, -3, 2.0, True, "5"])
def test_numbers_of_parts_that_make_no_sense_are_refused(n_splits):
    with pytest.raises(ValueError, match="n_splits="):
        next(QueryKFold(n_splits).folds(DATA))


def test_rows_without_ids_are_refused():
    with pytest.raises(ValueError, match=r"pass groups \(or qid\), one id per row"):
        next(QueryKFold(3).split(DATA.X))
    with pytest.raises(ValueError, match="qid has 3 ids but there are 120 rows"):
        next(QueryKFold(3).split(DATA.X, groups=[1, 2, 3]))


def test_grid_search_takes_the_splitter_with_qid_alone():
    ranker, grid = pk.LinearRanker(), {"l2": [1e-3, 10.0]}
    splitter = QueryKFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ranker, grid, cv=splitter).fit(DATA.X, DATA.y, qid=DATA.qid)
        again = GridSearchCV(ranker, grid, cv=splitter).fit(DATA.X, DATA.y, qid=DATA.qid, groups=DATA.qid)
    for place, l2 in enumerate(grid["l2"]):
        for number, fold in enumerate(QueryKFold(3, validation=False).folds(DATA)):
            expected = clone(ranker).set_params(l2=l2).fit(fold.train).score(fold.test)
            assert search.cv_results_[f"split{number}_test_score"][place] == pytest.approx(expected)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], again.cv_results_["mean_test_score"])


def test_cross_validation_of_scikit_learn_takes_the_splitter():
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(pk.LinearRanker(), DATA.X, DATA.y, cv=QueryKFold(3), params={"qid": DATA.qid})
    folds = QueryKFold(3, validation=False).folds(DATA)
    assert scores == pytest.approx([pk.LinearRanker().fit(fold.train).score(fold.test) for fold in folds])
    # without routing: groups say what to divide
    result = cross_validate(
        sklearn.dummy.DummyRegressor(), DATA.X, DATA.y, groups=DATA.qid, cv=QueryKFold(4), return_indices=True
    )
    for train, test in zip(result["indices"]["train"], result["indices"]["test"], strict=True):
        assert not set(DATA.qid[train]) & set(DATA.qid[test])
    assert "n_splits=3" in repr(QueryKFold(3))


@pytest.fixture
def parts_folder(tmp_path):
    """A folder with S1.txt to s5.txt.gz; the rows of S2 leave out the last column, which is zero."""
    parts = [DATA[start::5] for start in range(5)]
    parts[1].X[:, -1] = 0.0
    for number, part in enumerate(parts, 1):
        path = tmp_path / f"S{number}.txt"
        write_letor(pk.Queries(part.X[:, :3], part.y, part.qid) if number == 2 else part, path)
        if number == 5:
            (tmp_path / "s5.TXT.gz".lower()).write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    return tmp_path, parts


def test_a_folder_of_parts_is_read_by_the_published_table(parts_folder):
    folder, parts = parts_folder
    folds = as_folds("letor", folder)
    assert len(folds) == 5
    assert all(part.n_features == 4 for fold in folds for part in fold)
    first = [*folds[0].train.ids, *folds[0].validation.ids, *folds[0].test.ids]
    assert first == [key for part in parts for key in part.ids]
    np.testing.assert_allclose(folds[1].test.X, parts[0].X, rtol=1e-6)
    np.testing.assert_allclose(folds[2].test.X, parts[1].X, rtol=1e-6)
    divided = as_folds(3, str(folder))
    assert [ids_of(fold) for fold in divided] == [
        ids_of(fold) for fold in QueryKFold(3).folds(pk.Queries.concat(parts))
    ]


def test_stored_folds_are_taken_as_they_are(tmp_path):
    for number, names in (
        (1, ("train.txt", "vali.txt", "test.txt")),
        (2, ("trainingset.txt", "validationset.txt", "testset.txt")),
    ):
        folder = tmp_path / f"Fold{number}"
        folder.mkdir()
        bounds = [0, 4, 6, 8] if number == 1 else [8, 12, 14, 16]
        for name, first, last in zip(names, bounds, bounds[1:], strict=False):
            write_letor(DATA[first:last], folder / name)
    folds = as_folds("letor", tmp_path)
    assert [[part.n_queries for part in fold] for fold in folds] == [[4, 2, 2], [4, 2, 2]]
    assert ids_of(folds[1]) == [DATA.ids[8:12].tolist(), DATA.ids[12:14].tolist(), DATA.ids[14:16].tolist()]
    (tmp_path / "Fold2" / "testset.txt").unlink()
    with pytest.raises(DatasetNotFoundError, match=r"Fold2 has no test file \(test.txt or testset.txt\)"):
        as_folds("letor", tmp_path)


def test_folders_without_folds_are_refused(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"has no folds: expected S1.txt to S5.txt"):
        as_folds("letor", tmp_path)
    with pytest.raises(DatasetNotFoundError, match="is not a folder"):
        as_folds("letor", tmp_path / "nowhere")
    with pytest.raises(ValueError, match=r"data is Queries, which does not say what its parts are"):
        as_folds("letor", DATA)


def test_a_letor_file_can_be_divided(tmp_path):
    write_letor(DATA, tmp_path / "all.txt")
    assert [ids_of(fold) for fold in as_folds(3, tmp_path / "all.txt")] == [ids_of(fold) for fold in as_folds(3, DATA)]


def test_letor_folds_are_the_published_ones(shared_data, monkeypatch):
    published = [datasets.load_fold("mq2008", number, shared_data) for number in range(1, 6)]
    by_name = datasets.load_folds("mq2008", shared_data)
    for fold, expected in zip(by_name, published, strict=True):
        assert all(same(part, other) for part, other in zip(fold, expected, strict=True))
        assert fold.test.feature_names == expected.test.feature_names
    monkeypatch.setenv("PLACKETT_DATA", str(shared_data))
    for data in ("mq2008", shared_data / "letor4-mq2008"):
        assert [ids_of(fold) for fold in as_folds("letor", data)] == [ids_of(fold) for fold in published]


def test_sets_with_one_published_split_have_one_fold(monkeypatch):
    asked = []
    fold = Fold(DATA[:10], DATA[10:12], DATA[12:])
    monkeypatch.setattr(published, "load_fold", lambda *names, **options: asked.append((names, options)) or fold)
    assert datasets.load_folds("istella-s", "here") == [fold]
    assert asked == [(("istella-s", 1, "here"), {"version": None})]
    with pytest.raises(ValueError, match="load_folds needs the name of a data set or a folder"):
        datasets.load_folds()


def test_group_splitters_of_scikit_learn_make_folds():
    for splitter in (GroupKFold(4), LeaveOneGroupOut(), GroupShuffleSplit(1, random_state=0)):
        folds = as_folds(splitter, DATA)
        expected = list(splitter.split(DATA.X, DATA.y, DATA.qid))
        assert len(folds) == len(expected)
        for fold, (train, test) in zip(folds, expected, strict=True):
            assert fold.validation is None
            np.testing.assert_array_equal(fold.train.X, DATA.X[train])
            np.testing.assert_array_equal(fold.test.X, DATA.X[test])
    named = pk.Queries(DATA.X, DATA.y, [("q", int(key)) for key in DATA.qid])
    assert sum(fold.test.n_queries for fold in as_folds(GroupKFold(4), named)) == 24


def test_splitters_that_tear_queries_apart_are_refused():
    with (
        pytest.warns(UserWarning, match="groups parameter is ignored by KFold"),
        pytest.raises(ValueError, match=r"split: .* Use QueryKFold"),
    ):
        as_folds(KFold(7, shuffle=True, random_state=0), DATA)


def test_folds_may_be_given_as_they_are():
    fold = Fold(DATA[:10], DATA[10:12], DATA[12:])
    for given_fold in (fold, tuple(fold)):
        assert ids_of(as_folds([given_fold])[0]) == ids_of(fold)
    assert ids_of(as_folds([(DATA[:10], DATA[12:])])[0]) == [DATA.ids[:10].tolist(), None, DATA.ids[12:].tolist()]
    rows = as_folds([(np.arange(50), np.arange(50, 120))], DATA)[0]
    assert (rows.train.n_queries, rows.test.n_queries) == (10, 14)


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([(DATA[:8], DATA[8:12], DATA[6:])], r"fold 1: 6 queries \(.*, \.\.\.\) are in both train and test"),
        ([(DATA[:8], DATA[7:12], DATA[12:])], r"fold 1: query \d+ is in both train and validation"),
        ([(DATA[:8], DATA[8:13], DATA[12:])], r"fold 1: query \d+ is in both validation and test"),
        ([(DATA[:8], DATA[8:]), (DATA[9:], DATA[:9])], r"query \d+ is in the test sets of fold 1 and of fold 2"),
        ([(DATA[:0], DATA[8:])], "fold 1: train has no queries"),
        ([(queries_of([1, 2]), DATA)], "fold 1: train has 1 feature, but test has 4"),
        ([(DATA,)], "a fold has 1 sets"),
        ([(DATA[:8], DATA[8:], None)], "None instead of training or test queries"),
        ([([0, 1], [2, 3])], "row numbers, but data was not given"),
        ([], "there are no folds"),
        (3, "divides data, but none was given"),
        ("loo", "cv='loo' is not known"),
    ],
)
def test_folds_that_leak_or_make_no_sense_are_refused(folds, message):
    with pytest.raises(ValueError, match=message):
        as_folds(folds)


def test_the_error_names_the_queries_that_leak():
    fold = (queries_of(list("abcdefg")), queries_of(list("xg")))
    with pytest.raises(ValueError, match="fold 1: query 'g' is in both train and test"):
        as_folds([fold])
    with pytest.raises(ValueError, match=r"2 queries \('b', 'c'\) are in both train and test"):
        as_folds([(queries_of(list("abc")), queries_of(list("bcd")))])


def test_other_things_are_refused():
    with pytest.raises(TypeError, match=r"cv is 2.5; it must be a number of folds"):
        as_folds(2.5, DATA)
    with pytest.raises(TypeError, match="data is a list"):
        as_folds(3, [1, 2])


def test_validation_queries_come_from_the_training_queries_alone():
    fold = as_folds(GroupKFold(4), DATA)[0]
    complete = with_validation(fold, n_parts=3)
    assert complete.validation.n_queries == 6
    assert same(complete.test, fold.test)
    assert sorted([*complete.train.ids, *complete.validation.ids]) == sorted(fold.train.ids)
    assert with_validation(complete) is complete
