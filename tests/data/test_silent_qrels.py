"""Qrels hold whole numbers: trec_eval reads 0.5 as 0, and other tools stop at it."""

import numpy as np
import pytest

from plackett.data.trec import Qrels, read_qrels, write_qrels


@pytest.mark.parametrize("label", [0.5, 1e-9, 2.0**31, -1e300], ids=str)
def test_labels_that_other_tools_cannot_read_are_refused_and_nothing_is_written(label, tmp_path):
    qrels = Qrels(["7", "7"], ["a", "b"], [1, label])
    with pytest.raises(ValueError, match=r"document 'b' of query '7' has the label .*qrels\.rounded\(\)"):
        write_qrels(qrels, tmp_path / "qrels")
    assert list(tmp_path.iterdir()) == []


def test_labels_are_rounded_to_the_nearest_whole_number_and_halves_down(tmp_path):
    labels = [0.5, 0.51, 1.5, 2.0, 0.0, -0.5, -0.4, 2 / 3]
    docid = [f"d{row}" for row in range(len(labels))]
    qrels = Qrels(["7"] * len(labels), docid, labels, iteration=docid)
    write_qrels(qrels.rounded(), tmp_path / "qrels")
    found = read_qrels(tmp_path / "qrels")
    assert found.labels.tolist() == [0, 1, 1, 2, 0, -1, 0, 1]
    assert found.docid.tolist() == found.iteration.tolist() == docid
    assert not np.signbit(qrels.rounded().labels[[4, 6]]).any()
