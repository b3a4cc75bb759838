"""Fits to data in parts, in this process: the same as to all of it, however it is cut."""

import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import plackett as pk
from plackett.data.sources import sources
from plackett.distributed import local, partition
from plackett.distributed.loading import from_arrays, from_queries
from plackett.distributed.local import DelayedPart, LocalPartitions
from plackett.distributed.metadata import check_whole_queries, metadata_of
from plackett.distributed.objective import PartitionedObjective
from plackett.distributed.partition import Plan, partition_of
from plackett.distributed.tree_sum import add_up, leaf, root, together
from plackett.losses import get_loss, loss_names
from plackett.losses.transforms import Linear
from plackett.objective.objective import Objective
from plackett.objective.penalties import L2
from plackett.scorers.linear import LinearScorer
from plackett.storage.mapped import is_mapped

MADE = pk.datasets.make_web_like(60, n_features=7, random_state=3)
X = (MADE.X - MADE.X.mean(0)) / (MADE.X.std(0) + 1e-9)
DATA = pk.Queries(X.astype(float), MADE.y, MADE.qid)
WHOLE_LOSSES = [name for name in loss_names() if name != "psi"]
cuts_of_data = st.lists(st.integers(0, DATA.n_queries), max_size=6).map(sorted)


def cut(data, cuts):
    """The queries between neighbouring cuts; equal cuts leave an empty part."""
    edges = [0, *cuts, data.n_queries]
    return [data[first:last] for first, last in itertools.pairwise(edges)]


def partitioned(loss, parts, l2=0.1, weights=None):
    """The objective over parts of DATA that have rows, without a ranker around it."""
    loss = get_loss(loss)
    delayed = [DelayedPart(from_queries, (part, str(place))) for place, part in enumerate(parts)]
    partitions, has_intercept = LocalPartitions(delayed), not loss.ignores_shifts
    plan = Plan(loss, has_intercept, DATA.n_features, None, float(DATA.n_queries))
    partitions.keep([place for place, part in enumerate(parts) if part.n_docs])
    partitions.replace(partition_of, plan)
    penalty = L2(l2, n_free=int(has_intercept))
    return PartitionedObjective(
        loss, partitions, penalty, n_features=DATA.n_features, n_queries=DATA.n_queries, has_intercept=has_intercept
    )


def whole(loss, l2=0.1):
    loss = get_loss(loss)
    scorer = LinearScorer(DATA.X, has_intercept=not loss.ignores_shifts)
    return Objective(loss, scorer, DATA.lists, L2(l2, n_free=int(scorer.has_intercept)))


# --- The objective ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHOLE_LOSSES)
def test_all_that_a_solver_asks_for_is_as_over_the_whole(name):
    one, parts = whole(name), partitioned(name, cut(DATA, [4, 4, 31]))
    coef = np.cos(np.arange(one.size)) * 0.3
    assert (parts.size, parts.n_terms, parts.name) == (one.size, one.n_terms, one.name)
    for attribute in ("is_convex", "is_smooth", "is_random", "has_curvature_product", "has_curvature_bound"):
        assert getattr(parts, attribute) == getattr(one, attribute)
    value, gradient = parts.value_and_gradient(coef)
    expected, expected_gradient = one.value_and_gradient(coef)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(parts.curvature_estimate(coef), one.curvature_estimate(coef), rtol=1e-9, atol=1e-12)
    if one.has_curvature_product:
        multiply, expected_product = parts.curvature_at(coef), one.curvature_at(coef)
        parts.value_and_gradient(2 * coef)
        parts.curvature_at(2 * coef)(coef)  # in between another point is asked about
        np.testing.assert_allclose(multiply(coef), expected_product(coef), rtol=1e-9, atol=1e-12)
    if one.has_curvature_bound:
        found = parts.curvature_bound_diagonal(coef)
        np.testing.assert_allclose(found, one.curvature_bound_diagonal(coef), rtol=1e-10)


def test_the_duality_gap_is_that_of_the_whole():
    one, parts = whole("hinge"), partitioned("hinge", cut(DATA, [10, 40]))
    coef = np.cos(np.arange(7)) * 0.3
    for width in (1.0, 0.01):
        assert parts.duality_gap(coef, width) == pytest.approx(one.duality_gap(coef, width), rel=1e-10)
        smooth, expected = parts.smoothed(width), one.smoothed(width)
        assert smooth.has_curvature_product
        assert smooth.value_and_gradient(coef)[0] == pytest.approx(expected.value_and_gradient(coef)[0], rel=1e-12)


@given(cuts=cuts_of_data, seed=st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_a_sum_depends_on_the_partitioning_alone(cuts, seed):
    parts = [part for part in cut(DATA, cuts) if part.n_docs]
    coef = np.random.default_rng(seed).normal(size=7)
    expected = partitioned("listmle", parts).value_and_gradient(coef)
    # as if each of three workers held some of the partitions, some of them twice, and added up its own
    loose = partitioned("listmle", parts)._partitions
    vectors = loose.map(partition.evaluated, partition.Form(), "loss_value_and_gradient", coef)
    rng, n = np.random.default_rng(seed), len(parts)
    holders = rng.random((3, n)) < 0.6
    holders[rng.integers(3, size=n), np.arange(n)] = True
    sums = [add_up({leaf(place): vectors[place] for place in np.flatnonzero(held)}, n) for held in holders]
    total = add_up(together(sums), n)
    assert list(total) == [root(n)]
    assert total[root(n)][0] + 0.05 * coef @ coef == pytest.approx(expected[0], rel=1e-15)
    np.testing.assert_array_equal(total[root(n)][1:] + 0.1 * coef, expected[1])


def test_a_loss_that_is_not_defined_at_the_start_says_so_and_later_is_infinite():
    loss = get_loss(pk.losses.ListMLE(transform=Linear(1.0, 5.0)))
    parts = partitioned(loss, cut(DATA, [20]))
    bad = np.append(np.full(7, 100.0), 0.0)
    with pytest.raises(ValueError, match="it must be positive"):
        parts.value_and_gradient(bad)
    assert np.isfinite(parts.value_and_gradient(np.zeros(8))[0])
    value, gradient = parts.value_and_gradient(bad)
    assert value == np.inf
    assert not gradient.any()


# --- The ranker -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "loss", ["listmle", "p-listmle", "listnet", "cs-listmle", "squared", "logistic", "squared-hinge", "rankcosine"]
)
def test_coefficients_are_those_of_a_fit_to_the_whole(loss):
    ranker = pk.LinearRanker(loss=loss, l2=1e-3, tol=1e-10)
    expected = ranker.fit(DATA)
    coef, intercept = expected.coef_.copy(), expected.intercept_
    found = pk.LinearRanker(loss=loss, l2=1e-3, tol=1e-10).fit(cut(DATA, [7, 7, 30, 59]))
    np.testing.assert_allclose(found.coef_, coef, rtol=0, atol=1e-8)
    assert found.intercept_ == pytest.approx(intercept, abs=1e-8)
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-12)
    assert found.solver_ == expected.solver_


def test_the_hinge_ends_by_its_duality_gap():
    expected = pk.LinearRanker(loss="hinge", l2=1e-2, tol=1e-8).fit(DATA)
    found = pk.LinearRanker(loss="hinge", l2=1e-2, tol=1e-8).fit(cut(DATA, [7, 30]))
    assert found.duality_gap_ <= 1e-8 * found.objective_
    # strongly convex: a gap of g leaves the coefficients within the root of 2 g / l2
    assert np.linalg.norm(found.coef_ - expected.coef_) <= 2 * np.sqrt(2 * 1e-8 * found.objective_ / 1e-2)


@given(cuts=cuts_of_data)
@settings(deadline=None, max_examples=15)
def test_any_partitioning_that_keeps_queries_whole_gives_the_same_coefficients(cuts):
    coef = pk.LinearRanker(loss="listmle", tol=1e-10).fit(DATA).coef_
    found = pk.LinearRanker(loss="listmle", tol=1e-10).fit(cut(DATA, cuts))
    np.testing.assert_allclose(found.coef_, coef, rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", ["lbfgs", "newton", "newton-diag"])
def test_solvers_that_see_all_queries_at_once_work(solver):
    expected = pk.LinearRanker(solver=solver, tol=1e-10, max_iter=3000).fit(DATA)
    found = pk.LinearRanker(solver=solver, tol=1e-10, max_iter=3000).fit(cut(DATA, [20]))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    "ranker",
    [
        pk.LinearRanker(solver="sgd"),
        pk.LinearRanker(loss="psi"),
        pk.LinearRanker(loss=pk.losses.ListMLE(ties="random")),
    ],
)
def test_what_looks_at_one_query_at_a_time_is_refused(ranker):
    with pytest.raises(ValueError, match='solver="sgd" visits one query at a time and does not work over partitions'):
        ranker.fit(cut(DATA, [20]))


@pytest.mark.parametrize(
    "normalize",
    ["query-minmax", "query-zscore", "query-rank", "minmax", "zscore", MinMaxScaler((-1, 1)), StandardScaler()],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_scaled_as_in_a_fit_to_the_whole(normalize, dtype):
    rows = MADE.X.astype(dtype)
    rows[:, 2] = 0.1  # a constant column, which no standard deviation may divide
    rows[:, 3] = np.where(rows[:, 3] > 0, 1e6, 1e6 + 1)  # a column far away from zero
    data = pk.Queries(rows, MADE.y, MADE.qid)
    expected = pk.LinearRanker(normalize=normalize, tol=1e-8).fit(data)
    found = pk.LinearRanker(normalize=normalize, tol=1e-8).fit(cut(data, [1, 13, 40]))
    assert type(found.normalizer_) is type(expected.normalizer_)
    known, learned = vars(expected.normalizer_), vars(found.normalizer_)
    assert known.keys() == learned.keys()
    for name, value in known.items():
        if isinstance(value, (np.ndarray, np.generic)):
            np.testing.assert_allclose(learned[name], value, rtol=1e-6 if dtype == np.float32 else 1e-11, atol=1e-12)
            assert learned[name].dtype == value.dtype
        else:
            assert learned[name] == value
    np.testing.assert_allclose(found.predict(data), expected.predict(data), rtol=1e-4, atol=1e-4)


def test_a_scaling_that_needs_all_rows_is_refused():
    with pytest.raises(ValueError, match="normalize='quantile' needs all rows in one process"):
        pk.LinearRanker(normalize="quantile").fit(cut(DATA, [20]))


def test_attributes_are_those_of_a_fit_to_the_whole():
    named = pk.Queries(DATA.X, DATA.y, DATA.qid, feature_names=list("abcdefg"))
    held_back = named[50:]
    kept = {"eval_set": held_back, "eval_metric": "map"}
    expected = pk.LinearRanker(patience=3).fit(named[:50], **kept)
    found = pk.LinearRanker(patience=3).fit(cut(named[:50], [20]), **kept)
    assert vars(found).keys() == vars(expected).keys()
    assert found.history_.keys() == expected.history_.keys()
    np.testing.assert_allclose(found.history_["map"], expected.history_["map"])
    for name in ("n_queries_", "n_features_in_", "feature_names_", "best_iteration_", "best_score_"):
        assert getattr(found, name) == getattr(expected, name)
    np.testing.assert_allclose(found.predict(held_back), expected.predict(held_back))


def test_warm_start_and_paths_of_penalties_work_over_parts():
    parts = cut(DATA, [20])
    ranker = pk.LinearRanker(warm_start=True, tol=1e-8).fit(parts)
    assert ranker.fit(parts).n_iter_ == 0
    strengths = [1e-1, 1e-3]
    path, expected = (pk.LinearRanker(tol=1e-10).l2_path(given, l2=strengths) for given in (parts, DATA))
    np.testing.assert_allclose(path.coef, expected.coef, atol=1e-8)


def test_sparse_rows_work():
    rows = sparse.csr_matrix(np.where(np.abs(DATA.X) > 0.5, DATA.X, 0.0))
    data = pk.Queries(rows, DATA.y, DATA.qid)
    expected = pk.LinearRanker(tol=1e-10).fit(data)
    np.testing.assert_allclose(pk.LinearRanker(tol=1e-10).fit(cut(data, [9])).coef_, expected.coef_, atol=1e-8)


def test_rows_that_are_mapped_already_are_not_written_again(tmp_path, monkeypatch):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((40, 3)))
    rows = np.load(tmp_path / "X.npy", mmap_mode="r")
    queries = pk.Queries(rows, np.arange(40) % 3, np.arange(40) // 10)
    monkeypatch.setattr(local, "IN_MEMORY_BYTES", 0)
    partitions = LocalPartitions([DelayedPart(from_queries, (queries, "part"))])
    [X] = partitions.map(lambda piece: piece.queries.X)
    assert X.ctypes.data == rows.ctypes.data


def test_a_failed_fit_leaves_the_ranker_as_it_was():
    ranker = pk.LinearRanker().fit(DATA)
    before = dict(vars(ranker))
    with pytest.raises(ValueError, match="other columns"):
        ranker.fit([DATA[:20], pk.Queries(DATA.X, DATA.y, DATA.qid, feature_names=list("abcdefg"))[20:]])
    assert vars(ranker) == before


# --- What may be wrong with partitions --------------------------------------------------------------------------------


def test_a_query_in_two_partitions_is_named():
    parts = [DATA[:20], DATA[20:40], DATA[39:]]
    split = DATA.ids[39]
    message = rf"query {split!r} has rows in partition 1 and in partition 2. .* plackett.write_parquet does this"
    with pytest.raises(ValueError, match=message.replace("np.str_(", "").replace("np.int64(", "").replace(")", "")):
        pk.LinearRanker().fit(parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 3]),
        (["a", "b"], ["b", "c"]),
        ([1.0, 2.0], [2, 3]),
        ([("x", 1), "b"], ["q", ("x", 1)]),
        (np.array([1, 2**63 + 8], dtype=np.uint64), ["a", 2**63 + 8]),
        (np.array([1, 2**63], dtype=np.uint64), [0.5, 2.0**63]),
        (np.array([-(2**63), 5]), ["a", -(2**63)]),
    ],
)
def test_ids_that_are_equal_are_found_whatever_their_type(one, other):
    with pytest.raises(ValueError, match=r"^query \S.* has rows in part 0 and in part 1\. All rows of a query must"):
        check_ids_of(one, other)


def test_different_ids_are_not_taken_for_equal():
    check_ids_of([1, 2], ["1", "2"], [-1, 1.5], np.array([7, 2**64 - 1], dtype=np.uint64))


def check_ids_of(*ids):
    """Check parts with these query ids for queries in two of them."""
    parts = [
        DelayedPart(from_arrays, (np.zeros((2, 1)), [1, 0], qid, None, f"part {number}"))
        for number, qid in enumerate(ids)
    ]
    partitions = LocalPartitions(parts)
    check_whole_queries(partitions.map(metadata_of), partitions)


def test_a_partition_with_other_columns_is_named():
    narrow = pk.Queries(DATA.X[:, :5], DATA.y, DATA.qid)
    with pytest.raises(ValueError, match="partition 1 has 5 features but partition 0 has 7"):
        pk.LinearRanker().fit([DATA[:20], narrow[20:]])
    one = pk.Queries(DATA.X, DATA.y, DATA.qid, feature_names=list("abcdefg"))
    other = pk.Queries(DATA.X, DATA.y, DATA.qid, feature_names=list("abcdxfg"))
    with pytest.raises(ValueError, match="other columns than partition 0: column 4 is 'x' in the former and"):
        pk.LinearRanker().fit([one[:20], other[20:]])


def test_rows_are_held_once():
    pd = pytest.importorskip("pandas")
    for rows in (pd.DataFrame(DATA.X), DATA.X, DATA.X.astype(np.float32)):
        made = partition_of(
            from_arrays(rows, DATA.y, DATA.qid, None, "p"), Plan(get_loss("listmle"), False, 7, None, 60.0)
        )
        assert np.shares_memory(made.objective(partition.Form()).scorer.X, made.queries.X)
        assert isinstance(rows, pd.DataFrame) or np.shares_memory(made.queries.X, rows)


def test_bad_rows_are_told_with_their_partition():
    rows = DATA.X.copy()
    rows[-1, 3] = np.nan
    bad = pk.Queries(rows, DATA.y, DATA.qid)
    with pytest.raises(ValueError, match="partition 1: X has a NaN in row"):
        pk.LinearRanker().fit([DATA[:20], bad[20:]])
    labels = DATA.y.copy()
    labels[-1] = np.nan
    with pytest.raises(ValueError, match="partition 1: "):
        pk.LinearRanker().fit([DATA[:20], pk.Queries(DATA.X, labels, DATA.qid)[20:]])


def test_parts_without_any_rows_are_refused():
    with pytest.raises(ValueError, match="no rows in any partition"):
        pk.LinearRanker().fit([DATA[:0], DATA[:0]])


def test_rankers_that_compare_all_documents_refuse_parts():
    with pytest.raises(ValueError, match="KernelRanker needs all rows in one place"):
        pk.KernelRanker().fit([DATA[:20], DATA[20:]])


# --- Files ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    """DATA in three LETOR files; the second one leaves out its last column, which is zero there."""
    rows = DATA.X.copy()
    rows[DATA.indptr[10] : DATA.indptr[30], -1] = 0.0
    data = pk.Queries(rows, DATA.y, DATA.qid)
    for number, part in enumerate(cut(data, [10, 30])):
        if number == 1:
            part = pk.Queries.from_groups(part.X[:, :-1], part.y, part.ids, part.indptr)
        pk.write_letor(part, tmp_path / f"{number}.txt")
    return tmp_path


@pytest.mark.parametrize("in_memory", [1 << 40, 0])
def test_files_are_read_one_by_one_and_give_the_fit_to_all_of_them(files, in_memory, monkeypatch):
    monkeypatch.setattr(local, "IN_MEMORY_BYTES", in_memory)
    paths = sorted(files.glob("*.txt"))
    expected = pk.LinearRanker(normalize="minmax", tol=1e-10).fit(pk.read_letor(paths))
    ranker = pk.LinearRanker(normalize="minmax", tol=1e-10)
    for given_paths in (paths, str(files / "*.txt"), sources(paths)):
        np.testing.assert_allclose(ranker.fit(given_paths).coef_, expected.coef_, atol=1e-8)


def test_rows_beyond_the_limit_are_mapped_from_files_that_no_kill_leaves_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "IN_MEMORY_BYTES", 0)
    monkeypatch.setenv("PLACKETT_CACHE", str(tmp_path))
    partitions = LocalPartitions([DelayedPart(from_queries, (part, "p")) for part in cut(DATA, [20])])
    assert all(is_mapped(part.queries.X) for part in partitions._parts)
    assert os.listdir(tmp_path) == []


def test_files_that_cannot_be_read_are_named(files):
    (files / "1.txt").write_text("0 qid:1 1:1\nnonsense\n")
    with pytest.raises(ValueError, match=r"1\.txt, line 2"):
        pk.LinearRanker().fit(str(files / "*.txt"))
    with pytest.raises(FileNotFoundError, match="no file matches the pattern"):
        pk.LinearRanker().fit(str(files / "*.csv"))


def test_files_without_rows_are_passed_over_unless_all_are(files):
    expected = pk.LinearRanker().fit(str(files / "*.txt"))
    (files / "0-empty.txt").write_bytes(b"")
    (files / "3-empty.txt").write_bytes(b"\n  \n# written by hand\n")
    np.testing.assert_array_equal(pk.LinearRanker().fit(str(files / "*.txt")).coef_, expected.coef_)
    with pytest.raises(ValueError, match="no rows in any partition"):
        pk.LinearRanker().fit(str(files / "*-empty.txt"))


def test_a_file_that_is_given_twice_is_named(files):
    with pytest.raises(ValueError, match=r"1\.txt is given twice; each file must be given once"):
        pk.LinearRanker().fit([str(files / "1.txt"), str(files / "*.txt")])


def test_what_does_not_go_with_files_is_refused(files):
    with pytest.raises(ValueError, match="sample_weight cannot be used with a list of partitions or paths"):
        pk.LinearRanker().fit(str(files / "*.txt"), sample_weight=[1.0])
    with pytest.raises(ValueError, match="X names files, so y must be the name of a column"):
        pk.LinearRanker().fit(str(files / "*.txt"), DATA.y)
    with pytest.raises(ValueError, match="Queries already have labels and qid"):
        pk.LinearRanker().fit(cut(DATA, [3]), DATA.y)


# --- Missing values ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["zero", "mean", "min"])
@pytest.mark.parametrize("normalize", [None, "zscore"])
def test_missing_values_are_filled_as_in_one_process(missing, normalize):
    draws = np.random.default_rng(0)
    X, labels, qid = draws.normal(size=(120, 3)), draws.integers(0, 3, size=120), np.repeat(np.arange(12), 10)
    X[draws.random(X.shape) < 0.2] = np.nan
    X[:, 2] = np.arange(120)
    data = pk.Queries(X, labels, qid)
    params = {"missing": missing, "missing_indicator": True, "normalize": normalize, "tol": 1e-9, "l2": 0.1}
    whole = pk.LinearRanker(**params).fit(data)
    parts = pk.LinearRanker(**params).fit([data[:5], data[5:9], data[9:]])
    np.testing.assert_allclose(parts.imputer_.fill_, whole.imputer_.fill_, rtol=1e-12)
    np.testing.assert_array_equal(parts.imputer_.indicated_, [0, 1])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(parts.predict(data), whole.predict(data), rtol=1e-5, atol=1e-8)


def test_rules_and_categories_that_need_one_process_are_refused():
    data = pk.Queries([[0.0], [np.nan], [1.0]], [0, 1, 2], qid=[1, 1, 2])
    with pytest.raises(ValueError, match=r"partition 0: X has a NaN in row 1, column 0.*missing=\"zero\", \"mean\" or"):
        pk.LinearRanker().fit([data[:1], data[1:]])
    with pytest.raises(ValueError, match=r"missing='median' needs all rows in one process.*'zero', 'mean' or 'min'"):
        pk.LinearRanker(missing="median").fit([data[:1], data[1:]])
    coded = data.replace(categories={0: np.array(["a", "b"])})
    with pytest.raises(ValueError, match="text or categories, which LinearRanker does not support over partitions"):
        pk.LinearRanker(missing="zero").fit([coded[:1], coded[1:]])
