"""With the original files, here small made ones, the same commands run the experiments as published."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from plackett import datasets, reproductions
from plackett.reproductions.base import Job, Verdict, results
from plackett.reproductions.kernel_cs_listmle import protocols
from plackett.reproductions.qsvm import web_search

N_FEATURES = {"letor2": 44, "letor4": 46, "mslr": 136, "yahoo": 700}


def rows_of(rng: np.random.Generator, qid: int, n_docs: int, n_features: int, labels: np.ndarray) -> str:
    """Return the lines of a list; the first feature is constant within it, the next four follow the label."""
    X = rng.random((n_docs, n_features))
    X[:, 1:5] += 0.2 * labels[:, np.newaxis] / labels.max()
    X[:, 0] = qid / 100
    return "".join(
        f"{label} qid:{qid} {' '.join(f'{j + 1}:{value:.4f}' for j, value in enumerate(row))} #docid = D{qid}-{place}\n"
        for place, (label, row) in enumerate(zip(labels, X, strict=True))
    )


def write_parts(folder: Path, names: tuple[str, str, str], form: str, n_docs: int, labels) -> None:
    """Write five folds, each part with three lists."""
    rng = np.random.default_rng(0)
    parts = {
        f"S{part}": "".join(rows_of(rng, 10 * part + k, n_docs, N_FEATURES[form], labels(rng)) for k in range(3))
        for part in range(1, 6)
    }
    for fold in range(1, 6):
        train, validation, test = datasets.fold_parts(fold)
        home = folder / f"Fold{fold}"
        home.mkdir(parents=True)
        for name, members in zip(names, (train, (validation,), (test,)), strict=True):
            (home / name).write_text("".join(parts[member] for member in members))


LETOR2, LETOR4 = ("trainingset.txt", "validationset.txt", "testset.txt"), ("train.txt", "vali.txt", "test.txt")


def td2003(folder: Path) -> None:
    write_parts(folder / "TD2003" / "Data", LETOR2, "letor2", 40, lambda rng: rng.permutation(np.arange(40) < 8) + 0)


def td2004(folder: Path) -> None:
    write_parts(folder / "TD2004" / "Data", LETOR2, "letor2", 40, lambda rng: rng.permutation(np.arange(40) < 8) + 0)


def mq2007_list(folder: Path) -> None:
    write_parts(folder / "MQ2007-list", LETOR4, "letor4", 12, lambda rng: rng.permutation(12) + 1)


def mq2008_list(folder: Path) -> None:
    write_parts(folder / "MQ2008-list", LETOR4, "letor4", 12, lambda rng: rng.permutation(12) + 1)


def mslr(folder: Path) -> None:
    write_parts(folder / "MSLR-WEB10K", LETOR4, "mslr", 12, lambda rng: rng.permutation(np.arange(12) % 5))


def yahoo(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for first, part in enumerate(("train", "valid", "test")):
        lists = (rows_of(rng, 100 * first + k, 20, 700, rng.permutation(np.arange(20) % 5)) for k in range(1, 21))
        (folder / f"set1.{part}.txt").write_text("".join(lists))


@pytest.mark.parametrize(
    ("name", "item", "write", "data"),
    [
        ("refinement", "TD2003, η = ½", td2003, "td2003/letor2"),
        ("refinement", "TD2004, η = ½", td2004, "td2004/letor2"),
        ("p-listmle", "Figure 1 (a)", mq2007_list, "mq2007-list"),
        ("p-listmle", "Figure 1 (b)", mq2008_list, "mq2008-list"),
        ("featurerank", "Tables 1 and 2", mq2008_list, "mq2008-list"),
        ("qsvm", "Table 6", yahoo, "yahoo/set1"),
        ("kernel-cs-listmle", "appendix", mslr, "mslr-web10k"),
    ],
)
def test_the_experiment_runs_on_the_published_files(name, item, write, data, tmp_path, monkeypatch):
    monkeypatch.setattr(web_search, "N_QUERIES", 12)
    monkeypatch.setattr(protocols, "N_DRAWS", 2)
    write(tmp_path)
    paper, job = reproductions.paper(name), Job(is_quick=True, folder=tmp_path)
    chosen = [one for one in paper.items if item in one.title]
    assert len(chosen) == 1
    assert data in chosen[0].needs
    (table,) = paper.run(job, chosen)
    assert table.missing == ()
    assert len(table.rows) > 3
    assert "not on" not in table.title
    assert {row.verdict for row in table.rows} == {Verdict.MADE_DATA}
    found = json.loads(json.dumps(results(paper, job, [table])))
    assert set(found["verdicts"].values()) == {0}
    assert "made data" in found["data"][data]
    assert all(figure.series for figure in table.figures)
