"""The printed numbers of dai2019, Tables 1 to 6: means over 50 replications, standard errors, and seconds.

A line of a block has the name of a cell, then for each measure the means of the four methods, with their standard
errors in thousandths in brackets.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

METHODS = ("rank-SVM", "indv-SVM", "kNN-SVM", "q-SVM")
MEASURES = ("MRE", "1 - ERR", "1 - NDCG")


class Printed(NamedTuple):
    """Means and standard errors of a cell, measures × methods."""

    means: np.ndarray
    errors: np.ndarray

    def is_clear(self, measure: int, first: int, second: int) -> bool:
        """Return whether two methods differ by more than two standard errors of their difference."""
        gap = self.means[measure, second] - self.means[measure, first]
        return bool(abs(gap) > 2 * np.hypot(self.errors[measure, first], self.errors[measure, second]))


def _read(block: str) -> dict[tuple[str, ...], Printed]:
    cells = {}
    for line in block.strip().splitlines():
        head, *measures = line.split("|")
        pairs = np.array([re.findall(r"(\.\d+)\((\d+)\)", measure) for measure in measures], dtype=float)
        cells[tuple(head.split())] = Printed(pairs[..., 0], pairs[..., 1] / 1000)
    return cells


def _by_scenario(block: str) -> dict[tuple[str, float], Printed]:
    return {(scenario, float(gamma)): cell for (scenario, gamma), cell in _read(block).items()}


# scenario and share of held-out queries
TABLE_1 = _by_scenario("""
I   .0 | .04(1) .30(1) .08(1) .08(1) | .05(3) .50(8) .11(4) .10(4) | .03(2) .45(6) .08(1) .08(1)
I   .1 | .04(1) .35(1) .09(1) .08(1) | .05(3) .54(7) .11(4) .11(3) | .04(2) .51(6) .09(3) .08(2)
I   .2 | .05(1) .38(1) .09(1) .09(1) | .05(2) .59(7) .12(5) .11(4) | .04(2) .56(6) .09(3) .09(3)
II  .0 | .27(1) .30(2) .09(2) .09(2) | .45(7) .52(5) .12(5) .12(5) | .40(5) .47(4) .09(1) .09(3)
II  .1 | .27(1) .35(1) .09(2) .09(1) | .46(7) .55(6) .12(5) .12(5) | .41(5) .51(5) .09(2) .09(1)
II  .2 | .29(2) .38(1) .14(4) .11(2) | .45(6) .59(6) .19(6) .14(5) | .42(5) .55(6) .16(4) .12(4)
III .0 | .30(2) .30(1) .23(4) .16(3) | .52(8) .52(7) .37(8) .26(7) | .47(7) .47(6) .32(6) .21(3)
III .1 | .30(2) .34(2) .28(4) .21(3) | .51(6) .54(8) .44(6) .32(6) | .48(5) .50(7) .40(6) .28(5)
III .2 | .31(1) .38(1) .33(4) .28(5) | .52(7) .58(6) .50(7) .38(6) | .49(6) .55(6) .46(4) .28(5)
IV  .0 | .48(2) .30(2) .42(3) .36(3) | .78(6) .52(7) .60(7) .62(7) | .78(6) .47(6) .68(6) .59(7)
IV  .1 | .48(2) .34(1) .42(3) .38(3) | .79(5) .55(6) .72(6) .65(5) | .78(5) .50(5) .60(6) .61(3)
IV  .2 | .48(3) .38(1) .44(3) .40(3) | .78(6) .58(7) .74(6) .65(5) | .78(5) .55(6) .72(5) .62(5)
""")

TABLE_2 = _by_scenario("""
I   .0 | .08(1) .22(3) .11(3) .11(4) | .09(6) .31(9) .12(5) .12(8) | .07(4) .25(7) .10(4) .10(6)
I   .1 | .08(1) .28(2) .11(4) .11(3) | .09(6) .35(8) .12(7) .13(8) | .07(4) .30(7) .10(5) .10(5)
I   .2 | .08(1) .32(2) .12(4) .11(4) | .09(5) .41(8) .14(6) .13(5) | .07(3) .36(7) .11(4) .10(4)
II  .0 | .27(3) .22(6) .14(10) .15(11) | .41(10) .32(12) .19(14) .20(17) | .34(9) .26(10) .15(12) .16(14)
II  .1 | .28(4) .28(3) .13(15) .15(18) | .41(12) .36(12) .17(13) .21(18) | .35(11) .32(10) .14(12) .17(16)
II  .2 | .29(5) .33(5) .15(15) .16(15) | .42(12) .42(14) .21(16) .22(17) | .37(11) .37(12) .17(15) .18(16)
III .0 | .34(8) .22(7) .19(7) .17(6) | .51(17) .33(14) .27(11) .26(9) | .46(16) .27(12) .22(9) .21(8)
III .1 | .34(9) .28(6) .21(7) .19(6) | .53(18) .39(13) .28(8) .27(7) | .47(18) .33(11) .23(6) .22(6)
III .2 | .35(10) .32(4) .26(6) .23(8) | .52(17) .41(12) .35(13) .31(10) | .47(17) .37(10) .30(10) .26(8)
IV  .0 | .46(5) .22(3) .19(4) .17(4) | .32(14) .30(8) .26(8) .24(8) | .75(14) .25(6) .21(6) .19(6)
IV  .1 | .47(5) .28(3) .20(6) .18(5) | .56(14) .36(7) .27(6) .26(7) | .63(15) .31(6) .22(5) .21(6)
IV  .2 | .47(5) .32(2) .21(7) .20(7) | .68(14) .42(7) .29(9) .27(8) | .64(15) .37(6) .24(7) .23(7)
""")

# its half with dependent documents, by the share of held-out queries; the other half is Scenario III of Table 1
TABLE_3 = {
    float(gamma): cell
    for (gamma,), cell in _read("""
.0 | .38(2) .34(2) .25(3) .15(3) | .66(6) .62(6) .41(7) .22(6) | .62(6) .58(5) .36(5) .18(4)
.1 | .38(3) .37(2) .28(3) .17(3) | .64(5) .65(5) .44(7) .23(9) | .60(5) .62(2) .39(6) .20(7)
.2 | .42(4) .41(1) .34(4) .26(4) | .68(7) .70(6) .51(8) .35(8) | .65(6) .67(6) .47(7) .31(6)
""").items()
}

# seconds of the four methods by numbers of queries and of documents per query
TABLE_4 = {
    (50, 20): (0.134, 0.146, 0.458, 0.432),
    (50, 50): (1.013, 0.579, 1.030, 0.989),
    (50, 100): (7.656, 1.316, 1.657, 1.620),
    (200, 20): (0.709, 0.233, 1.377, 1.334),
    (200, 50): (16.863, 2.115, 3.558, 3.829),
    (200, 100): (96.857, 5.270, 5.544, 5.553),
    (500, 20): (5.027, 0.344, 3.309, 2.892),
    (500, 50): (76.486, 5.166, 9.200, 8.137),
    (500, 100): (400.585, 14.772, 21.670, 21.628),
}

# example, and what is learned: scores of documents, or preferences between two of them (the paper's "ranking")
TABLE_5 = {
    (int(example), function): cell
    for (example, function), cell in _read("""
1 score | .27(1) .30(2) .09(2) .09(2) | .45(7) .52(5) .12(5) .12(5) | .40(5) .47(4) .09(1) .09(3)
1 pair  | .28(2) .34(2) .18(3) .18(3) | .44(7) .54(6) .27(8) .28(7) | .38(6) .49(6) .23(6) .23(6)
2 score | .27(3) .22(6) .13(7) .12(6) | .41(10) .32(12) .18(7) .17(14) | .34(9) .26(10) .15(4) .13(11)
2 pair  | .28(4) .24(5) .13(6) .13(6) | .41(10) .37(7) .21(8) .19(11) | .35(8) .30(6) .15(7) .15(9)
""").items()
}

TABLE_6 = {
    part: cell
    for (part,), cell in _read("""
overall  | .376(3) .356(4) .328(5) .322(4) | .669(3) .662(3) .644(3) .644(3) | .284(3) .266(3) .243(3) .239(3)
observed | .375(5) .341(4) .323(5) .318(5) | .667(4) .654(3) .640(4) .640(4) | .286(3) .257(3) .241(3) .237(3)
novel    | .391(10) .484(8) .369(11) .360(11) | .680(8) .731(7) .675(8) .680(7) | .269(6) .343(8) .255(7) .253(6)
""").items()
}
TABLE_6_SECONDS = (276.818, 35.417, 183.911, 199.057)
TABLE_6_IMPROVEMENT = {"rank-SVM": 0.144, "indv-SVM": 0.096, "kNN-SVM": 0.018}  # of q-SVM's MRE, overall; section 5.2
