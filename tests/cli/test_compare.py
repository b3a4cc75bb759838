"""``plackett compare``: the table, the other formats, folders of folds, and wrong usage."""

import csv
import io
import json

import pytest

import plackett as pk
from plackett.evaluation.compare import folds
from plackett.evaluation.compare.comparison import Comparison

FILES = ("train.txt", "vali.txt", "test.txt")


@pytest.fixture
def five_parts(lists, lists_folder):
    for part in range(5):
        pk.write_letor(lists[part * 6 : part * 6 + 6], lists_folder / f"S{part + 1}.txt")
    for name in FILES:
        (lists_folder / name).unlink()
    return lists_folder


def test_the_best_ranker_is_fitted_to_all_queries_and_saved(run, lists):
    done = run("compare", *FILES, "-r", "regression,prank", "--folds", "3", "-m", "map", "-o", "best.plackett")
    assert done.returncode == 0
    assert "best ranker: " in done.stderr
    expected = pk.compare("regression,prank", pk.read_letor(list(FILES)), cv=3, metrics="map", refit=True).best_
    assert (pk.load("best.plackett").predict(lists.X) == expected.predict(lists.X)).all()
    assert run("compare", *FILES, "-r", "prank", "-o", "-").returncode == 2


def test_the_table_has_means_marks_p_values_reference_scores_and_times(run, lists):
    done = run("compare", *FILES, "-r", "regression", "-r", "listmle", "--folds", "3", "-m", "ndcg@5", "-m", "map")
    assert done.returncode == 0
    expected = pk.compare("regression,listmle", lists, cv=3, metrics="ndcg@5,map")
    headline = expected.headline()
    assert done.stdout.splitlines()[: len(headline) - 1] == headline[:-1]
    start = "No ranker is significantly better than the best single feature ("  # whose name files do not hold
    assert done.stdout.splitlines()[len(headline) - 1].startswith(start)
    assert headline[-1].startswith(start)
    heading, *rows = done.stdout.splitlines()[len(headline) :]
    assert heading.split() == ["standard", "ndcg@5", "p", "map", "p", "seconds"]
    assert [row[: len("random order")].strip() for row in rows] == [
        "regression",
        "listmle",
        "random order",
        "best feature",
    ]
    for row, name in zip(rows, ("regression", "listmle"), strict=False):
        assert all(f"{value:.4f}" in row for value in expected.mean()[name].values())
    other = next(name for name in expected.tables if name != expected.baseline)
    p_value = f"{expected.differences(against=expected.baseline)[0].p_random_holm:.3f}"
    assert p_value in next(row for row in rows if row.startswith(other))
    assert "1 of 6: regression, fold 1: 5 candidates in" in done.stderr
    assert "30 test queries in 3 folds, convention standard" in done.stderr
    assert "best feature by map, chosen on training queries: " in done.stderr


def test_folders_of_parts_are_taken_by_their_published_folds(run, lists, five_parts):
    given = ("-r", "regression", "-m", "map", "-c", "letor4", "-q")
    done = run("compare", ".", *given, "--json", "--per-query")
    assert (done.returncode, done.stderr) == (0, "")
    result = Comparison.from_dict(json.loads(done.stdout))
    parts = [key for part in (4, 0, 1, 2, 3) for key in lists.ids[part * 6 : part * 6 + 6].tolist()]
    assert [str(key) for key in result.queries.ids.tolist()] == [str(key) for key in parts]
    assert (result.n_folds, result.convention) == (5, "letor4")
    same = json.loads(run("compare", ".", *given, "--folds", "letor", "--json").stdout)
    assert same["mean"] == result.mean()
    assert "values" not in same
    three = json.loads(run("compare", ".", *given, "--cv", "3", "--json").stdout)
    assert three["settings"]["n_folds"] == 3


def test_a_folder_keeps_results_and_the_next_run_reads_them(run, lists_folder):
    words = ("compare", *FILES, "-r", "regression", "-f", "3", "--folder", "runs", "--json")
    first = run(*words)
    second = run(*words)
    assert "3 of 3: regression, fold 3: already finished" in second.stderr
    assert first.stdout == second.stdout
    assert len(list((lists_folder / "runs").iterdir())) == 1 + 3 * 5 + 3 + 3


def test_csv_is_the_summary_or_every_query(run):
    given = ("compare", *FILES, "-r", "regression,listmle", "-f", "3", "-m", "map", "-q", "--csv")
    summary = list(csv.DictReader(io.StringIO(run(*given).stdout)))
    assert {row["ranker"] for row in summary} == {"regression", "listmle", "random order", "best feature"}
    queries = list(csv.DictReader(io.StringIO(run(*given, "--per-query").stdout)))
    assert list(queries[0]) == ["ranker", "fold", "qid", "map"]
    assert len(queries) == 4 * 30
    mean = sum(float(row["map"]) for row in queries if row["ranker"] == "listmle") / 30
    assert mean == pytest.approx(float(next(row for row in summary if row["ranker"] == "listmle")["map"]))


@pytest.mark.parametrize(("flag", "start"), [("--markdown", "| "), ("--latex", r"\begin{tabular}")])
def test_tables_for_papers(run, flag, start):
    done = run("compare", *FILES, "-r", "regression,listmle", "-f", "3", flag)
    assert done.returncode == 0
    assert done.stdout.startswith(start)
    assert "best feature" in done.stdout


def test_a_report_is_written_beside_the_table(run, lists_folder):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    done = run("compare", *FILES, "-r", "regression,listmle", "-f", "3", "--report", "page.html")
    assert done.returncode == 0
    assert "</html>" in (lists_folder / "page.html").read_text(encoding="utf-8")
    assert "listmle" in done.stdout


def test_a_report_has_the_command_its_title_groups_and_named_queries(run, lists, lists_folder):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    ids = [str(key) for key in lists.ids.tolist()]
    lines = ["qid,group", *(f"{key},{'navigational' if int(key) % 2 else 'other'}" for key in ids)]
    (lists_folder / "groups.csv").write_text("\n".join(lines))
    words = ["compare", *FILES, "-r", "regression,listmle", "-f", "3", "--report", "page.html", "--title", "Two <b>"]
    words += ["--groups", "groups.csv", "--queries", f"{ids[0]},{ids[1]}", "--folder", "runs", "--learning-curve", "-q"]
    pages = []
    for _ in range(2):  # the second one is resumed
        assert run(*words).returncode == 0
        pages.append((lists_folder / "page.html").read_text(encoding="utf-8"))
    assert pages[0] == pages[1]
    assert "<h1>Two &lt;b&gt;</h1>" in pages[0]
    for text in ("plackett compare train.txt", "navigational", "Training size", "Important features", "run 20"):
        assert text in pages[0]
    done = run(*words, "--queries", "nobody")
    assert done.returncode == 1
    assert "query 'nobody' is not among the test queries" in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected a first line with the columns qid and group; the file is empty"),
        ("query,kind\n1,a", "expected a first line with the columns qid and group; found query, kind"),
        ("qid,group\n1,a\n1,b", "line 3: query 1 has the groups a and b"),
        ("qid,group\n1,", "line 2: expected a query id and a group"),
        ("qid,group\n", "expected a line for each query with a group; there are none"),
    ],
)
def test_a_damaged_file_of_groups_is_refused_before_the_fits(run, lists_folder, content, message):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    (lists_folder / "groups.csv").write_text(content)
    done = run("compare", *FILES, "-r", "regression", "--report", "page.html", "--groups", "groups.csv")
    assert done.returncode == 1
    assert message in done.stderr


def test_groups_of_other_queries_are_an_error_before_the_fits(run, lists, lists_folder, monkeypatch):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    monkeypatch.setattr("plackett.evaluation.compare.compare.run", lambda *args, **options: pytest.fail("a fit"))
    (lists_folder / "parts").mkdir()
    for part in range(5):
        pk.write_letor(lists[part * 6 : part * 6 + 6], lists_folder / "parts" / f"S{part + 1}.txt")
    (lists_folder / "groups.csv").write_text("qid,group\nnowhere,a\n")
    for data, first in ((FILES, lists.ids[0]), (["parts"], lists.ids[24])):  # the first published fold tests on S5
        done = run("compare", *data, "-r", "regression", "--report", "page.html", "--groups", "groups.csv")
        assert done.returncode == 2
        assert "--groups groups.csv: none of the 1 queries with a group is a test query" in done.stderr
        assert f"an id of the groups is 'nowhere', one of the test queries '{first}'" in done.stderr
        assert done.stdout == ""
        assert not (lists_folder / "page.html").exists()


def test_options_of_the_report_need_a_report(run):
    done = run("compare", *FILES, "-r", "regression", "--title", "x")
    assert done.returncode == 2
    assert "--title requires --report" in done.stderr


def test_the_table_is_there_also_when_the_page_cannot_be_written(run, monkeypatch):
    def full(comparison, path, **options):
        raise OSError("no space left")

    monkeypatch.setattr(pk, "write_report", full)
    done = run("compare", *FILES, "-r", "regression", "-f", "3", "--report", "page.html")
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].startswith("regression ")
    assert "plackett: error: no space left" in done.stderr


def test_a_ranker_that_fails_is_said_to_have_failed(run, monkeypatch):
    def fail(self, *args, **kwargs):
        raise RuntimeError("no luck")

    monkeypatch.setattr(pk.AdaRank, "fit", fail)
    done = run("compare", *FILES, "-r", "adarank,regression", "-f", "3", "--quiet")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].split() == ["adarank", "failed", "failed"]
    assert done.stderr.splitlines() == ["failed: adarank, every fold: RuntimeError: no luck"]
    alone = run("compare", *FILES, "-r", "adarank", "-f", "3")
    assert alone.returncode == 1
    assert "random order" in alone.stdout


def test_ctrl_c_says_where_finished_fits_are(run, lists_folder, monkeypatch):
    true_fit, n_fits = pk.LinearRanker.fit, 0

    def interrupted(self, *args, **kwargs):
        nonlocal n_fits
        n_fits += 1
        if n_fits == 3:
            raise KeyboardInterrupt
        return true_fit(self, *args, **kwargs)

    words = ("compare", *FILES, "-r", "regression", "-f", "3", "--folder", "runs", "-m", "map", "--json")
    with monkeypatch.context() as patch:
        patch.setattr(folds, "_warm", {pk.LinearRanker})  # the first fit of a process follows one on a few queries
        patch.setattr(pk.LinearRanker, "fit", interrupted)
        done = run(*words)
    assert (done.returncode, done.stdout) == (130, "")
    assert "finished fits are stored in runs; run the same command again to resume." in done.stderr
    assert len(list((lists_folder / "runs").glob("*.run"))) == 3  # two candidates, and the date of the first run
    with monkeypatch.context() as patch:
        patch.setattr(pk.LinearRanker, "fit", interrupted)
        n_fits = 2
        assert "with --folder they are kept" in run(*words[:-5], "-m", "map").stderr
    assert json.loads(run(*words).stdout)["mean"] == json.loads(run(*words[:-5], "-m", "map", "--json").stdout)["mean"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["-r", "listmel"], "Did you mean listmle"),
        (["-r", "listmle", "-f", "1"], "at least 2"),
        (["-r", "listmle", "-f", "²"], "at least 2"),
        (["-r", "listmle", "--seed", "4294967296"], "from 0 to 4294967295"),
        (["-r", "listmle", "-f", "letor"], "a folder with S1..S5"),
        (["-r", "listmle", "-m", "ndgc"], "ndgc"),
        (["-r", "listmle", "-c", "mine"], "mine"),
        (["-r", "listmle", "--select-by", "map,mrr"], "one measure"),
        (["-r", "listmle", "--baseline", "adarank"], "--baseline adarank: it is not among the contestants listmle"),
        (["-r", "listmle,listmle"], "twice"),
        (["-r", "listmle", "--json", "--csv"], "choose one of"),
        (["-r", "listmle", "-j", "0"], "at least 1"),
        ([], "--rankers"),
    ],
)
def test_wrong_usage_exits_with_2_and_a_hint(run, words, hint):
    done = run("compare", *FILES, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert hint in " ".join(done.stderr.replace("│", " ").split())


def test_data_that_are_not_there_and_reports_that_cannot_be_written_are_found_at_once(run):
    done = run("compare", "no.txt", "-r", "listmle")
    assert (done.returncode, done.stdout) == (1, "")
    assert "there is no file 'no.txt'" in done.stderr
    done = run("compare", *FILES, "-r", "listmle", "--report", "nowhere/page.html")
    assert done.returncode == 1
    assert "for the report" in done.stderr


def test_help_is_one_screen_with_an_example(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    text = run("compare", "--help").stdout
    assert "Example: plackett compare" in text
    assert len(text.splitlines()) <= 50


def test_parameters_in_brackets_belong_to_a_ranker(run, lists):
    name = "ranksvm(l2=0.1, normalize=query-zscore)"
    done = run("compare", "train.txt", "-r", f"ranksvm,{name}", "--cv", "2", "--json", "-q")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found["mean"]) == {"ranksvm", name}


@pytest.mark.parametrize(
    ("rankers", "message"),
    [
        ("listmle(l2=0.1", "expected a closing bracket at the end, as in trees(num_leaves=15)."),
        ("listmle(l3=0.1)", "has no parameter 'l3'"),
        ("listmle(l2)", "write it like --rankers listmle key=value."),
        ("listmel(l2=1)", "there is no ranker 'listmel'. Did you mean listmle"),
    ],
)
def test_parameters_in_brackets_are_checked(run, rankers, message):
    done = run("compare", "train.txt", "-r", rankers, "--cv", "2")
    assert done.returncode == 2
    assert message in done.stderr
