"""Fixed rules of fusion against loops over the definitions, and against ranx."""

import numpy as np
import pytest

import plackett as pk
from plackett.data.trec.pool import PooledRuns
from plackett.evaluation.fusion.methods import METHODS, NORMALIZATIONS, fused_scores
from plackett.exceptions import DataWarning

K = 60.0


def made_runs(seed=0, n_runs=3, n_queries=6):
    """Runs with different lists, some of which lack a query."""
    rng = np.random.default_rng(seed)
    runs = []
    for place in range(n_runs):
        run = {}
        for query in range(n_queries):
            if place == 1 and query == 2:
                continue
            docs = rng.choice(30, rng.integers(1, 15), replace=False)
            run[f"q{query}"] = {f"d{doc}": float(rng.normal() + 4) for doc in docs}
        runs.append(run)
    return runs


def pooled(runs, qrels=None):
    return PooledRuns({f"r{place}": pk.Run.from_dict(run) for place, run in enumerate(runs)}, qrels)


def literal_scaled(scores, how):
    values = list(scores.values())
    low, high, mean = min(values), max(values), sum(values) / len(values)
    deviation = (sum((value - mean) ** 2 for value in values) / len(values)) ** 0.5
    ranked = sorted(scores, key=scores.get, reverse=True)
    scaled = {}
    for doc, value in scores.items():
        if how == "min-max":
            scaled[doc] = (value - low) / (high - low) if high > low else 1.0
        elif how == "z-score":
            scaled[doc] = (value - mean) / deviation if high > low else 0.0
        else:
            scaled[doc] = value if how == "none" else 1 - ranked.index(doc) / len(values)
    return scaled


def literal(runs, method, weights, how, absent):
    """The fused score of every query and document, by the definitions."""
    queries = dict.fromkeys(query for run in runs for query in run)
    worst = []  # of each run over all queries
    for run in runs:
        values = [value for scores in run.values() for value in literal_scaled(scores, how).values()]
        worst.append(min(values))
    answer = {}
    for query in queries:
        candidates = dict.fromkeys(doc for run in runs for doc in run.get(query, {}))
        for doc in candidates:
            parts = []
            for place, run in enumerate(runs):
                own = run.get(query, {})
                ranked = sorted(own, key=own.get, reverse=True)
                rank = ranked.index(doc) + 1 if doc in own else None
                if method == "borda":
                    left = (len(candidates) - len(own) + 1) / 2
                    parts.append(left if rank is None else len(candidates) + 1 - rank)
                    continue
                of_rank = {"rrf": lambda rank: 1 / (K + rank), "isr": lambda rank: 1 / rank**2}.get(method)
                scaled = literal_scaled(own, how) if own and of_rank is None else {}
                part = None
                if rank is not None:
                    part = scaled[doc] if of_rank is None else of_rank(rank)
                elif absent == "zero":
                    part = 0.0
                elif absent == "min":
                    part = (min(scaled.values()) if of_rank is None else of_rank(len(own))) if own else 0.0
                elif absent == "worst":
                    part = worst[place] if of_rank is None else of_rank(len(own) + 1)
                parts.append(part)
            known = [(weight, part) for weight, part in zip(weights, parts, strict=True) if part is not None]
            total = sum(weight * part for weight, part in known)
            if absent == "skip" and method != "borda":
                total /= sum(weight for weight, _ in known)
            n_found = sum(doc in run.get(query, {}) for run in runs)
            answer[query, doc] = total * n_found if method in ("combmnz", "isr") else total
    return answer


SCALES = [(method, how) for method in METHODS for how in (NORMALIZATIONS if method.startswith("comb") else ["none"])]


@pytest.mark.parametrize("absent", ["zero", "min", "worst", "skip"])
@pytest.mark.parametrize(("method", "how"), SCALES)
@pytest.mark.filterwarnings("ignore:combmnz multiplies", "ignore:isr multiplies")
def test_scores_equal_loops_over_the_definition(method, how, absent):
    runs, weights = made_runs(), np.array([1.0, 0.25, 2.0])
    takes_scores = method.startswith("comb")
    pool = pooled(runs)
    normalize = how if takes_scores else None
    found = fused_scores(pool, method, weights, k=K, normalize=normalize, absent=absent)
    expected = literal(runs, method, weights, how, absent)
    assert len(expected) == found.size
    for row, score in enumerate(found.tolist()):
        assert score == pytest.approx(expected[pool.ids[pool.query[row]], pool.docid[row]], rel=1e-12, abs=1e-12)


PEERS = [("rrf", "rrf", None, None), ("isr", "isr", None, None), ("borda", "bordafuse", None, None)] + [
    (ours, theirs, how, norm)
    for ours, theirs in (("combsum", "sum"), ("combmnz", "mnz"))
    for how, norm in (("none", None), ("min-max", "min-max"), ("z-score", "zmuv"), ("rank", "rank"))
]


@pytest.mark.peer
@pytest.mark.parametrize(("ours", "theirs", "how", "norm"), PEERS)
@pytest.mark.filterwarnings("ignore")  # numba's own, and ours on negative scores
def test_ranx_has_the_same_scores(ours, theirs, how, norm):
    ranx = pytest.importorskip("ranx")
    runs = [{query: scores for query, scores in run.items() if len(scores) > 1} for run in made_runs(seed=3)]
    shared = set.intersection(*map(set, runs))  # ranx needs each query in each run
    runs = [{query: scores for query, scores in run.items() if query in shared} for run in runs]
    peer = ranx.fuse(runs=[ranx.Run(run, name=f"r{p}") for p, run in enumerate(runs)], norm=norm, method=theirs)
    pool = pooled(runs)
    mine = pool.run_of(fused_scores(pool, ours, normalize=how), "fused").to_dict()
    expected = {query: dict(scores) for query, scores in peer.to_dict().items()}
    assert mine.keys() == expected.keys()
    for query, scores in mine.items():
        assert scores.keys() == expected[query].keys()
        for doc, score in scores.items():
            assert score == pytest.approx(expected[query][doc], rel=1e-9, abs=1e-12)


def test_the_order_of_rows_and_of_queries_has_no_influence():
    runs = [pk.Run.from_dict(run) for run in made_runs()]
    rng = np.random.default_rng(5)
    orders = [rng.permutation(len(run)) for run in runs]
    mixed = [pk.Run(r.qid[o], r.docid[o], r.scores[o]) for r, o in zip(runs, orders, strict=True)]
    for method in METHODS:
        first, second = (pk.fuse(dict(zip("abc", some, strict=True)), method=method).run for some in (runs, mixed))
        assert first.to_dict() == second.to_dict()


def test_equal_scores_of_a_list_are_named():
    runs = {"bm25": {"1": {"a": 2.0, "b": 2.0}}, "dense": {"1": {"a": 0.1, "c": 0.4}}}
    with pytest.warns(DataWarning, match="bm25 has equal scores for all documents of 1 query: min-max"):
        fused = pk.fuse(runs, method="combsum")
    assert fused.run.to_dict() == {"1": {"c": 1.0, "b": 1.0, "a": 1.0}}


def test_negative_scores_turn_combmnz_around():
    runs = {"a": {"1": {"x": -1.0, "y": -2.0}}, "b": {"1": {"x": -1.0}}}
    with pytest.warns(DataWarning, match="combmnz multiplies sums by the number of runs"):
        pk.fuse(runs, method="combmnz", normalize="none")


@pytest.mark.parametrize("options", [{"method": 5}, {"weights": ["a", "b"]}, {"weights": object()}])
def test_values_of_a_wrong_type_are_named(options):
    runs = {"bm25": {"1": {"a": 2.0, "b": 1.0}}, "dense": {"1": {"a": 0.1, "c": 0.4}}}
    with pytest.raises(TypeError, match="it must"):
        pk.fuse(runs, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "rrf", "normalize": "min-max"}, "scales scores, but 'rrf' takes ranks"),
        ({"method": "median"}, "method='median'"),
        ({"method": "combsum", "normalize": "l2"}, "normalize='l2'"),
        ({"absent": "none"}, "absent='none'"),
        ({"k": -1.0}, "k=-1.0"),
        ({"window": 0}, "window=0"),
        ({"weights": [1.0]}, "weights has 1 values but there are 2 runs"),
        ({"weights": {"dense": 1.0, "bm52": 2.0}}, "weights names 'bm52'"),
        ({"weights": [1.0, -1.0]}, "weights must be numbers of at least 0"),
        ({"baseline": "bm52"}, "baseline='bm52'"),
    ],
)
def test_wrong_settings_are_named(options, message):
    runs = {"bm25": {"1": {"a": 2.0, "b": 1.0}}, "dense": {"1": {"a": 0.1, "c": 0.4}}}
    with pytest.raises(ValueError, match=message):
        pk.fuse(runs, **options)
