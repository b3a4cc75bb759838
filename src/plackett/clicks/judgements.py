"""Judgements from clicks: grades of pairs by what a click model learned about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plackett._lazy import importing
from plackett.clicks.correction.features import RowsOfPairs
from plackett.clicks.log import ClickLog
from plackett.clicks.pairs import Pairs
from plackett.data.text_column import as_str_array
from plackett.data.trec.qrels import Qrels
from plackett.exceptions import DataWarning, ParameterError, warn
from plackett.validation import check_choice, check_number, count_of

if TYPE_CHECKING:
    from plackett.clicks.models.base import ClickModel

ATTRACTIVENESS, SATISFACTION = "attractiveness", "satisfaction"
BY = (ATTRACTIVENESS, SATISFACTION)
LEAST_DISTANCE = 1e-6  # of cut points
NOT_FITTED = "not in the log of the fit"
FEW_IMPRESSIONS, LITTLE_EVIDENCE = "too few impressions", "too little evidence"
_BLANK_OR_PERCENT = re.compile(r"[\s%]")


@dataclass(frozen=True, repr=False)
class Judgements(RowsOfPairs):
    """Grades of pairs of a query and a document. The result of ``ClickModel.judgements``.

    Rows are in the order of the names of queries, then of documents.

    Attributes
    ----------
    pairs : Pairs
        The graded pairs.
    grade : ndarray of int64 of shape (n_rows,)
        Number of cut points below the value, or below the lower end of its interval.
    value, low, high : ndarray of shape (n_rows,)
        Posterior mean of the probability, and the ends of its interval.
    impressions : ndarray of int64 of shape (n_rows,)
        How often the pair was shown in the log of the fit.
    evidence : ndarray of shape (n_rows,)
        Information about the attractiveness, as an equivalent number of examined impressions.
    cuts : ndarray of shape (n_grades - 1,)
        Cut points, the same for all queries.
    by : str
        "attractiveness" or "satisfaction".
    level : float
        Of the intervals.
    left_out : dict of str to int
        Number of pairs without a grade, by reason.
    features : ndarray of shape (n_rows, n_features) or None
        Features of the pairs, if the log has them.
    feature_names : list of str or None
        Names of these features, if known.

    Examples
    --------
    >>> import plackett as pk
    >>> log = pk.clicks.ClickLog.from_arrays(["shoe"] * 20, ["b", "a"] * 20, [1, 0] * 20, indptr=range(0, 41, 2))
    >>> found = pk.clicks.DCTR().fit(log).judgements(grades=[0.2, 0.6])
    >>> found
    Judgements(2 pairs of 1 query, grades 0..2, 0 pairs left out)
    >>> found.to_qrels().to_dict()
    {'shoe': {'a': 0, 'b': 2}}
    """

    _columns = ("query", "docid", "grade", "value", "low", "high", "impressions", "evidence")
    _label = "grade"
    _advice = "Use model.judgements(log.with_features(...)), or pass features."

    pairs: Pairs
    grade: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    impressions: np.ndarray
    evidence: np.ndarray
    cuts: np.ndarray
    by: str
    level: float
    left_out: dict[str, int]
    features: np.ndarray | None = None
    feature_names: list[str] | None = None

    def __len__(self) -> int:
        return self.grade.size

    def to_qrels(self, *, encode: bool = False) -> Qrels:
        """Return the grades as judgements that measures, ``pool`` and ``write_qrels`` take.

        Parameters
        ----------
        encode : bool, default=False
            Whether spaces and percent signs in names are percent-encoded ("red%20shoes"): qrels files cannot hold
            spaces. ``urllib.parse.unquote`` restores the names.
        """
        query, docid = self.query, self.docid
        if encode:
            query, docid = (as_str_array([_encoded(name) for name in names.tolist()]) for names in (query, docid))
        return Qrels(query, docid, self.grade)

    def to_dict(self) -> dict[str, Any]:
        """Return a summary for JSON: sizes, cut points, pairs of each grade, and pairs left out by reason."""
        return {
            "n_judgements": len(self),
            "n_queries": len(self.pairs.queries),
            "by": self.by,
            "level": self.level,
            "cuts": self.cuts.tolist(),
            "pairs_by_grade": np.bincount(self.grade, minlength=self.cuts.size + 1).tolist(),
            "left_out": dict(self.left_out),
        }

    def __repr__(self) -> str:
        queries = count_of(len(self.pairs.queries), "query", "queries")
        grades = f"grades {self.grade.min()}..{self.grade.max()}, " if len(self) else ""
        left_out = count_of(sum(self.left_out.values()), "pair")
        return f"Judgements({count_of(len(self), 'pair')} of {queries}, {grades}{left_out} left out)"


def judge(
    model: ClickModel, log: ClickLog | None, by: str, grades: int | Sequence[float], min_impressions: int,
    min_evidence: float, level: float, lower: bool,
) -> Judgements:  # fmt: skip
    """Return the judgements of a fitted model; ``ClickModel.judgements`` documents the parameters."""
    check_choice(by, "by", BY)
    check_number(min_impressions, "min_impressions", least=0)
    check_number(min_evidence, "min_evidence", least=0)
    if not 0 < check_number(level, "level") < 1:
        raise ParameterError("level", level, "it must be between 0 and 1.")
    given, n_grades = (None, int(grades)) if isinstance(grades, (int, np.integer)) else (_checked_cuts(grades), 0)
    if given is None and n_grades < 2:
        raise ParameterError("grades", grades, "at least 2 are needed.")

    posterior = model.posterior()
    if by == SATISFACTION:
        if log is None:
            raise ValueError('by="satisfaction" needs the log of the fit, which shows what was clicked last.')
        posterior = _product(posterior, model.satisfaction_posterior(log))
    evidence, impressions = model.evidence_.sum(axis=1), model.impressions_
    codes, left_out = _pairs_of_fit(model, log)
    for reason, values, least in (
        (FEW_IMPRESSIONS, impressions, min_impressions),
        (LITTLE_EVIDENCE, evidence, min_evidence),
    ):
        is_enough = values[codes] >= least
        codes, left_out[reason] = codes[is_enough], int(np.count_nonzero(~is_enough))

    mean, low, high = _summary(posterior[codes], level)
    cuts = cut_points(mean, evidence[codes], n_grades) if given is None else given
    if len(mean) > 1 and given is None and not cuts.size:
        warn(
            f"no quantile separates the values of the pairs ({mean.min():.3g} to {mean.max():.3g}): all have grade 0. "
            "Pass cut points, such as grades=[0.1, 0.3].",
            DataWarning,
        )
    features, feature_names = (None, None) if log is None else (log.features, log.feature_names)
    if features is not None and log is not None:
        features = features[model.pairs.match(log.pairs)[codes]]
    return Judgements(
        model.pairs.subset(codes),
        np.searchsorted(cuts, low if lower else mean, side="left"),
        mean,
        low,
        high,
        impressions[codes],
        evidence[codes],
        cuts,
        by,
        float(level),
        left_out,
        features,
        feature_names,
    )


def cut_points(values: np.ndarray, weights: np.ndarray, n_grades: int) -> np.ndarray:
    """Return the weighted quantiles 1/2, 3/4, 7/8, ... of values.

    Each grade but the last then has half the weight of the one below. Quantiles that are equal, or as large as the
    largest value, separate nothing and are left out.

    Examples
    --------
    >>> cut_points(np.array([0.1, 0.2, 0.3, 0.9]), np.array([5.0, 1.0, 1.0, 1.0]), 3)
    array([0.1, 0.2])
    """
    if not values.size:
        return np.zeros(0)
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    shares = 1 - 0.5 ** np.arange(1, n_grades)
    places = np.searchsorted(total, shares * total[-1] * (1 - 1e-12))  # sums of equal shares differ by rounding
    cuts = values[order][np.minimum(places, values.size - 1)]
    is_apart = np.diff(cuts, prepend=-1.0) > LEAST_DISTANCE
    return cuts[is_apart & (cuts < values.max() - LEAST_DISTANCE)]


def _pairs_of_fit(model: ClickModel, log: ClickLog | None) -> tuple[np.ndarray, dict[str, int]]:
    """Return the codes of the wanted pairs that the fit showed, and the number of those that it did not."""
    if log is None:
        return np.flatnonzero(model.impressions_), {}
    is_shown = np.zeros(log.n_pairs, dtype=bool)
    is_shown[log.pair] = True
    place = log.pairs.match(model.pairs)[is_shown]
    codes = place[place >= 0]
    codes = codes[model.impressions_[codes] > 0]
    return codes, {NOT_FITTED: place.size - codes.size}


def _summary(posterior: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means and the ends of the intervals of Beta distributions."""
    with importing:
        from scipy.special import betaincinv

    yes, no = posterior.T
    low, high = (betaincinv(yes, no, chance) for chance in ((1 - level) / 2, (1 + level) / 2))
    return yes / (yes + no), low, high


def _product(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the Beta distributions with the mean and the variance of products of independent Beta variables."""
    mean, square = np.ones((2, first.shape[0]))
    for part in (first, second):
        strength = part.sum(axis=1)
        mean *= part[:, 0] / strength
        square *= part[:, 0] * (part[:, 0] + 1) / (strength * (strength + 1))
    strength = (mean - square) / (square - mean**2)
    return np.stack([mean * strength, (1 - mean) * strength], axis=1)


def _checked_cuts(grades: Sequence[float]) -> np.ndarray:
    cuts = np.asarray(grades, dtype=np.float64)
    if cuts.ndim != 1 or not cuts.size or not ((cuts > 0) & (cuts < 1)).all() or (np.diff(cuts) <= 0).any():
        raise ParameterError("grades", grades, "a number of grades, or rising cut points between 0 and 1, are needed.")
    return cuts


def _encoded(name: str) -> str:
    return _BLANK_OR_PERCENT.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)
