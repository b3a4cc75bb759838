"""Results in notebooks: the example runs, and its tables are aligned and readable in light and in dark."""

from pathlib import Path

import numpy as np
import pytest

import plackett as pk
from plackett._tables import Bar, Column, Table, notebook_html
from tests.browser import COLOURS, contrast, media, screen, start_browser
from tests.notebook import page, results

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "first_look.ipynb"


@pytest.fixture(scope="module", autouse=True)
def pictures_in_memory():
    pytest.importorskip("matplotlib").use("agg")


def test_every_cell_of_the_example_shows_a_table_or_a_picture():
    shown = dict(results(EXAMPLE))
    assert len(shown) > 15
    for source, html in shown.items():
        wanted = "<img" if source.endswith(";") else '<div class="plackett">'
        assert html.startswith(wanted), source


def test_outputs_are_aligned_and_readable_in_light_and_dark(tmp_path):
    browser = start_browser(tmp_path / "profile")
    try:
        (tmp_path / "page.html").write_text(page(EXAMPLE), encoding="utf-8")
        for width, scheme in ((1100, "light"), (1100, "dark"), (390, "light")):
            screen(browser, width)
            media(browser, "screen", scheme, "reduce")
            browser.get((tmp_path / "page.html").as_uri())
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
            for selector in (".plackett td.n", ".plackett tbody th", ".plackett p"):
                assert contrast(*browser.execute_script(COLOURS, selector)) > 4.5, (selector, scheme)
        style = "return getComputedStyle(document.querySelector(arguments[0])).textAlign"
        assert browser.execute_script(style, ".plackett td.n") == "right"
        assert browser.execute_script(style, ".plackett tbody th") == "left"
    finally:
        browser.quit()


def test_a_bar_begins_at_zero_and_has_the_length_of_its_number():
    table = Table([Column("a", "text"), Column("b")], [["x", Bar(3.0, "3")], ["y", Bar(-1.0, "-1")]])
    html = notebook_html(table)
    assert '<rect class="good" x="25.0" width="75.0"' in html
    assert '<rect class="bad" x="0.0" width="25.0"' in html
    assert table.to_text().split() == ["a", "b", "x", "3", "y", "-1"]
    assert table.to_csv().splitlines() == ["a,b", "x,3.0", "y,-1.0"]


def test_names_of_queries_and_documents_are_escaped():
    queries = pk.Queries([[1.0], [2.0]], [0, 1], ["<q>", "<q>"], docid=["<d>", "e"], feature_names=["<f>"])
    run = pk.Run(["<q>"], ["<d>"], [1.0])
    for html in (queries._repr_html_(), run._repr_html_()):
        assert "&lt;q&gt;" in html
        assert "&lt;d&gt;" in html
        assert not {"<q>", "<d>", "<f>"} & set(html.replace("><", ">\0<").split("\0"))


def test_documents_without_names_are_said_to_be_row_numbers():
    ranking = pk.LinearRanker("squared").fit([[1.0], [2.0]], [0, 1]).rank([[1.0], [2.0]])
    assert repr(ranking) == "Ranking(1 query, 2 documents by their row numbers)"
    assert '<th scope="col" class="text">row</th>' in ranking._repr_html_()
    named = pk.Queries([[1.0], [2.0]], [0, 1], docid=["a", "b"])
    assert repr(pk.LinearRanker("squared").fit(named).rank(named)) == "Ranking(1 query, 2 documents)"


def test_a_peek_shows_sparse_rows_categories_and_missing_labels():
    sparse = pytest.importorskip("scipy.sparse")
    X = np.array([[0.0, 1.0], [2.5, 0.0]])
    dense = pk.Queries(X, [np.nan, 2], [1, 1], categories={1: ["red", "blue"]})
    assert ">blue</td>" in dense._repr_html_()
    assert "nan" not in dense._repr_html_()
    assert ">2.50</td>" in pk.Queries(sparse.csr_matrix(X), [0, 2], [1, 1])._repr_html_()


def test_plots_draw_the_numbers_of_their_results():
    data = pk.datasets.make_web_like(20, 8, 4, random_state=0)
    ranker = pk.LinearRanker("squared").fit(data)
    result = pk.evaluate(data, ranker.predict(data), metrics="ndcg@5")
    axes = result.plot()
    assert axes.get_ylabel() == "ndcg@5"
    assert axes.lines[0].get_ydata()[0] == pytest.approx(result.mean()["ndcg@5"])
    explanation = ranker.explain(data[:1])
    for found, wanted in (
        (explanation, explanation.importance()),
        (explanation.why(0, 1), {part.feature: part.difference for part in explanation.why(0, 1).differences}),
    ):
        axes = found.plot()
        assert [bar.get_width() for bar in axes.patches] == pytest.approx(list(wanted.values()))
        assert [label.get_text() for label in axes.get_yticklabels()] == list(wanted)
    comparison = pk.compare("regression,listmle", data, cv=2, metrics="ndcg@5", learning_curve=[0.5, 1])
    axes = comparison.plot_learning_curves()
    drawn = {line.get_label(): list(line.get_ydata()) for line in axes.lines}
    for name, points in comparison.learning_curves.items():
        assert drawn[name] == [point.mean for point in points]
    with pytest.raises(ValueError, match="no learning curves"):
        pk.compare("regression", data, cv=2, metrics="ndcg@5").plot_learning_curves()
    runs = {name: pk.Run(data.qid, np.arange(data.n_docs), data.X[:, place]) for place, name in enumerate("ab")}
    fusion = pk.fuse(runs, pk.Qrels(data.qid, np.arange(data.n_docs), data.y.astype(int)))
    assert [bar.get_width() for bar in fusion.plot().patches] == pytest.approx(list(fusion.weights.values()))
