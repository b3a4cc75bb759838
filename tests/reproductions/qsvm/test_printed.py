"""The printed numbers of dai2019."""

import numpy as np

from plackett.reproductions.qsvm.printed import TABLE_1, TABLE_2, TABLE_3, TABLE_5, TABLE_6


def test_printed_numbers_are_those_of_the_paper():
    cells = {(scenario, gamma) for scenario in ("I", "II", "III", "IV") for gamma in (0.0, 0.1, 0.2)}
    assert set(TABLE_1) == set(TABLE_2) == cells
    assert set(TABLE_3) == {0.0, 0.1, 0.2}
    np.testing.assert_array_equal(TABLE_2["II", 0.1].means[0], [0.28, 0.28, 0.13, 0.15])
    np.testing.assert_allclose(TABLE_2["II", 0.1].errors[2], [0.011, 0.010, 0.012, 0.016])
    for table in (TABLE_1, TABLE_2, TABLE_3, TABLE_5, TABLE_6):
        assert all(cell.means.shape == cell.errors.shape == (3, 4) for cell in table.values())
    # where the paper shows numbers twice
    np.testing.assert_array_equal(TABLE_5[1, "score"].means, TABLE_1["II", 0.0].means)
    overall, observed, novel = (cell.means for cell in TABLE_6.values())
    np.testing.assert_allclose(overall, 0.9 * observed + 0.1 * novel, atol=0.0025)  # a tenth of the queries is new
