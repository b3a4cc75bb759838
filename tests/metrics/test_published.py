"""Published values, recomputed: LETOR's tables, LETOR's Perl scripts, and trec_eval's own test outputs."""

import csv

import numpy as np
import pytest

import plackett as pk
from plackett.data.text_table import read_scores
from plackett.data.trec.run import Run

CUTOFFS = range(1, 11)
LETOR_METRICS = [*(f"ndcg@{k}" for k in CUTOFFS), "mean-ndcg", *(f"p@{k}" for k in CUTOFFS), "map"]
LETOR_COLUMNS = [*(f"NDCG@{k}" for k in CUTOFFS), "MeanNDCG", *(f"P@{k}" for k in CUTOFFS), "MAP"]
FOLDER = {"MQ2008": "letor4-mq2008", "OHSUMED": "letor3-ohsumed/QueryLevelNorm"}


def parts(shared_data, folder):
    return [shared_data / folder / f"S{part}.txt.gz" for part in (1, 2, 3, 4, 5)]


def test_every_single_feature_of_ohsumed_has_its_published_value(shared_data):
    data = pk.read_letor(parts(shared_data, "letor2-ohsumed"), dtype=np.float64)
    table = {"NDCG": {}, "Precision": {}}
    with open(shared_data / "letor-reference/letor2-ohsumed-official/SingleFeatures_OHSUMED.csv") as file:
        for row in csv.reader(file):
            if row[1] != "Feature No":
                table[row[0]][int(float(row[1]))] = [float(cell) for cell in row[2:]]
    assert len(table["NDCG"]) == len(table["Precision"]) == 25
    wanted = [*(f"ndcg@{k}" for k in CUTOFFS), *(f"p@{k}" for k in CUTOFFS), "map"]
    for feature in range(1, 26):
        found = pk.evaluate(data, data.X[:, feature - 1], metrics=wanted, convention="letor3").mean()
        expected = table["NDCG"][feature] + table["Precision"][feature]
        assert len(expected) == 21
        assert list(found.values()) == pytest.approx(expected, abs=1e-12)


def test_fifty_score_files_have_their_published_values(shared_data):
    folder = shared_data / "letor-reference/score-files"
    with open(folder / "expected.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50
    loaded = {}
    for row in rows:
        path = shared_data / FOLDER[row["dataset"]] / f"{row['part']}.txt.gz"
        data = loaded.setdefault(path, pk.read_letor(path))
        found = pk.evaluate(data, read_scores(folder / row["score_file"]), metrics=LETOR_METRICS, convention="letor4")
        for value, column in zip(found.mean().values(), LETOR_COLUMNS, strict=True):
            assert value == pytest.approx(float(row[column]), abs=5.1e-5), (row["score_file"], column)


def test_ranklib_listnet_models_have_their_published_values(shared_data):
    folder = shared_data / "letor-reference/ranklib-listnet"
    with open(folder / "expected.csv") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        data = pk.read_letor(shared_data / f"letor4-mq2008/{row['part']}.txt.gz", dtype=np.float64)
        scores = data.X @ weights_of(folder / row["model_file"])
        found = pk.evaluate(data, scores, metrics=LETOR_METRICS, convention="letor4").mean()
        for value, column in zip(found.values(), LETOR_COLUMNS, strict=True):
            assert value == pytest.approx(float(row[column]), abs=5.1e-5), (row["model_file"], column)


def weights_of(path):
    """Linear weights of features 1 to 46 in a RankLib model; the last input is a bias, which orders nothing."""
    rows = [
        line.split() for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("##")
    ]
    values = {int(row[1]): float(row[2]) for row in rows if len(row) == 3}
    return np.array([values[place] for place in range(46)])


# trec_eval's names -> ours; P, recall, ndcg_cut and map_cut carry their cut-off
PLAIN = {"map": "map", "recip_rank": "mrr", "ndcg": "ndcg"}
CUT = {"P": "p", "recall": "recall", "ndcg_cut": "ndcg", "map_cut": "map"}


def our_name(name, relevant_from):
    level = f"(relevant_from={relevant_from})" if relevant_from != 1 else ""
    stem, _, cutoff = name.rpartition("_")
    if name in PLAIN:
        return PLAIN[name] + (level if name != "ndcg" else "")
    if stem in CUT and cutoff.isdigit():
        return f"{CUT[stem]}@{cutoff}" + (level if stem != "ndcg_cut" else "")
    return None


def check_trec(folder, qrels, run, output, *, complete=None, relevant_from=1):
    expected = {}
    for line in (folder / output).read_text(encoding="utf-8").splitlines():
        name, query, value = line.split()
        ours = our_name(name, relevant_from)
        if ours is not None:
            expected[ours, query] = float(value)
    wanted = list(dict.fromkeys(name for name, _ in expected))
    assert len(wanted) >= 8
    result = pk.evaluate(pk.read_qrels(folder / qrels), run, metrics=wanted, convention="trec", complete=complete)
    means = result.mean()
    for (name, query), value in expected.items():
        found = means[name] if query == "all" else result[name][result.queries.tolist().index(query)]
        assert found == pytest.approx(value, abs=5.1e-5), (output, name, query)
    return len(expected)


@pytest.mark.parametrize(
    ("qrels", "run", "output", "arguments", "n_values"),
    [
        ("qrels.test.gz", "results.test.gz", "out.test", {}, 11),
        ("qrels.test.gz", "results.test.gz", "out.test.a", {}, 39),
        ("qrels.test.gz", "results.test.gz", "out.test.aq", {}, 4 * 39),
        ("qrels.test.gz", "results.trunc", "out.test.aqc", {"complete": True}, 4 * 39),
        ("qrels.test.gz", "results.test.gz", "out.test.meas_params", {}, 32),
        ("qrels.rel_level.gz", "results.test.gz", "out.test.aql", {"relevant_from": 2}, 4 * 39),
    ],
)
def test_trec_eval_outputs_are_reproduced(shared_data, qrels, run, output, arguments, n_values):
    folder = shared_data / "trec-eval"
    assert check_trec(folder, qrels, pk.read_trec_run(folder / run), output, **arguments) == n_values


def test_trec_eval_on_the_first_hundred_documents_is_reproduced(shared_data):
    folder = shared_data / "trec-eval"
    run = pk.read_trec_run(folder / "results.trunc")
    # trec_eval -M100 keeps the first hundred in its own order: by score as float32, then by document id, falling
    kept = []
    for query in dict.fromkeys(run.qid.tolist()):
        rows = [row for row in range(len(run)) if run.qid[row] == query]
        rows.sort(key=lambda row: (np.float32(run.scores[row]), run.docid[row]), reverse=True)
        kept += rows[:100]
    cut = Run(run.qid[kept], run.docid[kept], run.scores[kept])
    assert check_trec(folder, "qrels.test.gz", cut, "out.test.aqcM", complete=True) == 4 * 39
