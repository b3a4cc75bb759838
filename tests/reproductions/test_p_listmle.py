"""The reproduction of the p-ListMLE paper."""

from plackett.reproductions import p_listmle
from plackett.reproductions.base import Job, Verdict


def test_the_worked_example_confirms_all_but_the_paper_s_own_weights():
    table = p_listmle.worked_example(Job())
    verdicts = [row.verdict for row in table.rows]
    assert verdicts[:4] == [Verdict.CONFIRMED] * 4
    assert verdicts[4] is Verdict.NOT_CONFIRMED
    assert table.rows[4].ours == "1.8554 and 1.9457"


def test_figure_1_runs_on_one_fold(shared_data):
    table = p_listmle.figure_1(Job(is_quick=True, folder=shared_data))
    assert "not on MQ2008-list" in table.title
    own = next(row for row in table.rows if row.what == "p-ListMLE above ListMLE, linear gain")
    assert own.verdict is Verdict.CONFIRMED
    assert own.printed == "+0.54 %"
