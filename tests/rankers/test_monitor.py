"""The monitor of fits: history, the best iteration, early stopping, interruption."""

import numpy as np
import pytest

import plackett as pk
from plackett.metrics.conventions import Convention
from plackett.rankers.monitor import FitMonitor, ValidationSet, is_better

QUERIES = pk.Queries(np.zeros((4, 1)), [1, 0, 1, 0], [1, 1, 2, 2])


class Given(ValidationSet):
    """A validation set whose measure takes the values given."""

    def mean(self, scores):
        return scores


def run(values, patience, metric="ndcg@10"):
    monitor = FitMonitor(Given(QUERIES, metric), patience)
    with monitor.run("n_rounds", len(values), ["objective"]):
        for number, value in enumerate(values):
            if monitor.record(lambda value=value: value, [number], objective=-number):
                break
    return monitor


@pytest.mark.parametrize(
    ("patience", "n_iter", "reason"),
    [(None, 6, "n_rounds reached"), (2, 4, "no improvement on the validation set"), (9, 6, "n_rounds reached")],
)
def test_the_best_iteration_is_kept_and_patience_says_when_to_stop(patience, n_iter, reason):
    monitor = run([0.1, 0.3, 0.2, 0.3, 0.1, 0.2], patience)
    assert (monitor.n_iter, monitor.stop_reason) == (n_iter, reason)
    assert (monitor.best_iteration, monitor.best_score, monitor.best_state) == (2, 0.3, [1])
    assert monitor.n_kept == 2
    assert monitor.history == {
        "objective": [-number for number in range(n_iter)],
        "ndcg@10": [0.1, 0.3, 0.2, 0.3, 0.1, 0.2][:n_iter],
    }


def test_a_distance_is_best_when_it_is_smallest_and_nan_never_is():
    assert run([np.nan, 0.4, 0.2, np.nan], None, "kendall").best_iteration == 3
    with pytest.warns(pk.exceptions.DataWarning, match="ndcg@10 has no value on the validation set"):
        nothing = run([np.nan, np.nan], 1)
    assert (nothing.best_iteration, nothing.best_score, nothing.n_kept) == (None, None, 2)


def test_differences_of_rounding_are_no_improvement():
    measure = pk.metrics.Measure.parse("ndcg@10")
    assert is_better(0.5, None, measure)
    assert not is_better(0.5 + 1e-15, 0.5, measure)
    assert is_better(0.5 + 1e-9, 0.5, measure)


def test_an_interruption_while_measuring_leaves_whole_iterations():
    def interrupted():
        raise KeyboardInterrupt

    monitor = FitMonitor(Given(QUERIES, None), 3)
    with monitor.run("n_epochs", 5, ["objective"]):
        monitor.record(lambda: 0.5, objective=1.0)
        monitor.record(interrupted, objective=0.9)
    assert (monitor.n_iter, monitor.is_interrupted, monitor.stop_reason) == (1, True, "interrupted")
    assert monitor.history == {"objective": [1.0], "ndcg@10": [0.5]}


def test_without_validation_all_iterations_are_kept(capsys):
    monitor = FitMonitor(is_shown=True)
    with monitor.run("max_iter", 2, ["objective", "gradient_norm"], shown=["gradient_norm"]):
        for value in (2.0, 1.0):
            assert monitor.record(objective=value, gradient_norm=value / 8) is None
    assert (monitor.n_kept, monitor.best_iteration) == (2, None)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "gradient norm 0.125" in shown.err
    assert "objective" not in shown.err


# --- Validation measures of rankers ----------------------------------------------------------------------------------

FEW = {"max_iter": 4, "n_rounds": 4, "n_epochs": 4}


def coarse_lists(n_queries, seed):
    """Rows with few different values, so that scores tie, with the best documents first."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(6, 14, n_queries)
    qid = np.repeat(np.arange(n_queries), lengths)
    X = rng.integers(0, 3, (qid.size, 3)).astype(float)
    labels = np.clip(X[:, 0] - X[:, 1] + rng.integers(-1, 2, qid.size), 0, 2)
    rows = np.lexsort((-labels, qid))
    return pk.Queries(X[rows], labels[rows], qid, docid=[f"d{row:03}" for row in range(qid.size)])


def other_rows(queries, rows):
    return pk.Queries(queries.X[rows], queries.y[rows], queries.qid[rows], docid=queries.docid[rows])


TRAIN, HELD = coarse_lists(12, 0), coarse_lists(10, 1)
WORST_FIRST = other_rows(HELD, np.lexsort((HELD.y, HELD.qid)))


def quick(name):
    ranker = pk.ranker(name)
    if hasattr(ranker, "package"):
        pytest.importorskip(ranker.package)
    known = ranker.get_params(deep=False)
    return ranker.set_params(**{key: value for key, value in FEW.items() if key in known})


@pytest.mark.filterwarnings("ignore::plackett.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::plackett.exceptions.DataWarning")
@pytest.mark.parametrize("name", pk.ranker_names())
def test_the_order_of_the_rows_changes_no_measure_of_any_ranker(name):
    found = []
    for held in (HELD, WORST_FIRST):
        ranker = quick(name)
        if "random_state" in ranker.get_params():
            ranker.set_params(random_state=0)
        ranker.fit(TRAIN, eval_set=held, eval_metric="ndcg@3")
        scores = ranker.predict(held)
        table = pk.evaluate(held, scores, metrics="ndcg@3,map,mrr,kendall,wpd,p@2")
        values = {"ndcg": table.values, "score": ranker.score(held, metric="kendall")}
        values["best"] = getattr(ranker, "best_score_", None)
        values["history"] = (getattr(ranker, "history_", None) or {}).get("ndcg@3", [])
        found.append(values)
    for one, other in zip(*(values.values() for values in found), strict=True):
        assert one == other if one is None else one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("convention", ["standard", "paper", "letor4", "trec", "xgboost", "gdeval"])
@pytest.mark.parametrize("name", ["ndcg@3", "map", "kendall", "mre", "wpd"])
def test_what_early_stopping_computes_is_what_evaluate_reports(name, convention):
    scores = HELD.X[:, 0] / 3
    measure = pk.metrics.Measure.parse(f"{name}(convention={convention})")
    reported = pk.evaluate(HELD, scores, metrics=name, convention=convention).mean()[name]
    assert ValidationSet(HELD, measure).mean(scores) == reported


def test_early_stopping_by_a_distance_does_not_choose_the_round_with_the_most_ties():
    ranker = pk.ranker("rankboost", n_rounds=30).fit(TRAIN, eval_set=TRAIN, eval_metric="kendall")
    assert ranker.best_iteration_ > 1
    assert ranker.history_["kendall"][0] > ranker.best_score_


@pytest.mark.parametrize("convention", ["letor4", "trec"])
def test_eval_metric_goes_by_the_convention_that_it_carries(convention):
    measure = pk.metrics.Measure("ndcg", 3, convention=convention)
    for name in ("rankboost", "listmle", "featurerank"):
        ranker = quick(name).fit(TRAIN, eval_set=HELD, eval_metric=measure)
        table = pk.evaluate(HELD, ranker.predict(HELD), metrics="ndcg@3", convention=convention)
        last = ranker.history_[f"ndcg@3(convention={convention})"][ranker.best_iteration_ - 1]
        assert last == ranker.best_score_
        if name == "rankboost":  # which keeps the best round
            assert table.mean()["ndcg@3"] == pytest.approx(ranker.best_score_, rel=1e-12)
        assert ranker.score(HELD, metric=measure) == pytest.approx(table.mean()["ndcg@3"], rel=1e-12)


def test_document_ids_in_comments_and_under_a_normaliser_break_ties():
    commented = pk.Queries(HELD.X, HELD.y, HELD.qid, comments=[f"docid = {name} inc = 1" for name in HELD.docid])
    fits = [
        pk.ranker("rankboost", n_rounds=4, normalize="query-minmax").fit(
            TRAIN, eval_set=held, eval_metric="map(ties=trec)"
        )
        for held in (HELD, commented)
    ]
    assert fits[0].history_ == fits[1].history_
    assert (
        fits[0].best_score_
        == pk.evaluate(HELD, fits[0].predict(HELD), metrics="map(ties=trec)").mean()["map(ties=trec)"]
    )
    with pytest.raises(ValueError, match='ties="trec" orders equal scores by document id'):
        pk.ranker("rankboost", n_rounds=4).fit(TRAIN, eval_set=(HELD.X, HELD.y, HELD.qid), eval_metric="map(ties=trec)")


def test_adarank_boosts_its_measure_under_the_convention_that_it_carries():
    ranker = pk.AdaRank(pk.metrics.Measure("ndcg", 3, convention="letor4"), n_rounds=3).fit(TRAIN)
    by_letor = pk.evaluate(TRAIN, ranker.predict(TRAIN), metrics="ndcg@3", convention="letor4").mean()["ndcg@3"]
    assert max(ranker.history_["train"]) == pytest.approx(by_letor, rel=1e-12)


def test_a_ranker_with_an_unnamed_convention_cannot_be_saved(tmp_path):
    ours = Convention("ours", "empty queries left out", empty="skip")
    ranker = pk.AdaRank(pk.metrics.Measure("map", convention=ours), n_rounds=2).fit(TRAIN)
    with pytest.raises(ValueError, match="has a convention that is not in plackett"):
        ranker.save(tmp_path / "model.plackett")
    named = pk.AdaRank(pk.metrics.Measure("map", convention="letor4"), n_rounds=2).fit(TRAIN)
    named.save(tmp_path / "model.plackett")
    assert pk.load(tmp_path / "model.plackett").metric == pk.metrics.Measure("map", convention="letor4")
