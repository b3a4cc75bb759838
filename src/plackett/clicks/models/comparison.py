"""Comparing click models by how well they predict held-out sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plackett._lazy import importing
from plackett._tables import Column, Estimate, Table, json_value, notebook_html
from plackett._warnings import recorded
from plackett.clicks.log import ClickLog
from plackett.clicks.models.base import ClickModel
from plackett.clicks.models.registry import get_click_model
from plackett.evaluation.significance import Interval, holm
from plackett.exceptions import ConvergenceWarning, ParameterError, warn
from plackett.validation import check_choice, check_number, check_positive_int, check_seed

GROUPS = 2_000  # random groups of sessions, or of queries, that are resampled as one
LOG_LIKELIHOOD, PERPLEXITY = "log-likelihood", "perplexity"
MEASURES = {LOG_LIKELIHOOD: True, PERPLEXITY: False}  # whether higher is better


class ClickDifference(NamedTuple):
    """A difference between two models: the value of ``model`` less that of ``other``."""

    measure: str
    model: str
    other: str
    value: float
    interval: Interval
    p: float
    is_significant: bool


@dataclass(frozen=True, repr=False)
class ClickComparison:
    """The result of ``compare_click_models``.

    Attributes
    ----------
    models : list of str
        Names of the models.
    log_likelihood, perplexity : dict of str to float
        Mean log-likelihood of a held-out session (higher is better), and perplexity of the clicks, the mean over ranks
        (lower is better; 1 is perfect).
    perplexity_by_rank : dict of str to ndarray of shape (longest,)
        Perplexity at each rank.
    intervals : dict of (measure, model) to Interval
        Bootstrap intervals of "log-likelihood" and "perplexity".
    intervals_by_rank : dict of str to ndarray of shape (longest, 2)
        Those of the perplexity at each rank.
    differences : list of ClickDifference
        Every pair of models, with the p-value after Holm's correction within each measure.
    n_sessions : int
        Number of held-out sessions.
    share_unseen : float
        Share of the held-out documents that are pairs without an impression in the sessions of the fit.
    level : float
        Of the intervals; differences with p below 1 - level are significant.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 10, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 2_000)
    >>> found = pk.clicks.compare_click_models(["gctr", "pbm"], log, cv=2)
    >>> found.best, found.n_sessions, found.perplexity["pbm"] < found.perplexity["gctr"]
    ('pbm', 2000, True)
    """

    models: list[str]
    log_likelihood: dict[str, float]
    perplexity: dict[str, float]
    perplexity_by_rank: dict[str, np.ndarray]
    intervals: dict[tuple[str, str], Interval]
    intervals_by_rank: dict[str, np.ndarray]
    differences: list[ClickDifference]
    n_sessions: int
    share_unseen: float
    level: float

    @property
    def best(self) -> str:
        """Name of the model with the highest log-likelihood."""
        return max(self.models, key=self.log_likelihood.__getitem__)

    def to_table(self) -> Table:
        """Return both measures of each model with their intervals, those with the highest log-likelihood first."""
        columns = [Column("model", "text")]
        for name in MEASURES:
            columns += [Column(name), Column("low"), Column("high")]
        rows = []
        for model in sorted(self.models, key=self.log_likelihood.__getitem__, reverse=True):
            values = self.log_likelihood[model], self.perplexity[model]
            parts = [[value, *self.intervals[name, model]] for name, value in zip(MEASURES, values, strict=True)]
            rows.append([model, *parts[0], *parts[1]])
        return Table(columns, rows, name="models")

    def by_rank(self) -> Table:
        """Return a table of the perplexity of each model at each rank."""
        columns = [Column("rank", digits=0), *(Column(model) for model in self.models)]
        values = zip(*self.perplexity_by_rank.values(), strict=True)
        return Table(columns, [[rank, *row] for rank, row in enumerate(values, start=1)], name="ranks")

    def to_differences(self) -> Table:
        """Return a table of the differences between models, with intervals and corrected p-values."""
        columns = [Column("measure", "text"), Column("difference", "text"), Column("value", "estimate")]
        columns += [Column("p", "p"), Column("significant", "text")]
        rows = [
            [
                one.measure,
                f"{one.model} - {one.other}",
                Estimate(one.value, *one.interval, one.p, MEASURES[one.measure]),
                one.p,
                "yes" if one.is_significant else "no",
            ]
            for one in self.differences
        ]
        return Table(columns, rows, name="differences")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        parts = {
            model: {
                "log_likelihood": self.log_likelihood[model],
                "log_likelihood_interval": self.intervals[LOG_LIKELIHOOD, model],
                "perplexity": self.perplexity[model],
                "perplexity_interval": self.intervals[PERPLEXITY, model],
                "perplexity_by_rank": self.perplexity_by_rank[model],
                "perplexity_by_rank_intervals": self.intervals_by_rank[model],
            }
            for model in self.models
        }
        rest = {"n_sessions": self.n_sessions, "share_unseen": self.share_unseen, "level": self.level}
        return json_value({"models": parts, "differences": [one._asdict() for one in self.differences], **rest})

    def __str__(self) -> str:
        parts = [self.to_table().to_text(), self.by_rank().to_text()]
        if self.differences:
            parts.append(self.to_differences().to_text())
        return "\n\n".join(parts)

    def _repr_html_(self) -> str:
        return notebook_html([self.to_table(), self.to_differences()], [repr(self)])

    def __repr__(self) -> str:
        return f"ClickComparison({', '.join(self.models)}; {self.n_sessions:,} sessions, best {self.best})"


def compare_click_models(
    models: Sequence[str | ClickModel] | Mapping[str, str | ClickModel],
    log: ClickLog,
    *,
    cv: int = 5,
    by: str = "session",
    level: float = 0.95,
    n_draws: int = 2_000,
    random_state: int = 0,
) -> ClickComparison:
    """Compare click models by the log-likelihood and the perplexity of held-out sessions.

    Each session is predicted by models that were fitted on the other folds. Intervals are quantiles over bootstrap
    samples of sessions, the same samples for all models. Of more than 2,000 sessions, random groups are drawn.
    p-values take the standard error of the difference from these samples.

    Parameters
    ----------
    models : sequence or dict
        Names for ``get_click_model``, or models, which are copied and stay unfitted. A dict gives them other names.
    log : ClickLog
    cv : int, default=5
        Number of folds.
    by : {"session", "query"}, default="session"
        Whether folds and bootstrap samples are drawn from sessions, or from queries with all their sessions. Queries
        show how well models predict without any knowledge of the documents: all of them are new.
    level : float, default=0.95
        Of the intervals. Differences are significant if their p-value, after Holm's correction, is below 1 - level.
    n_draws : int, default=2_000
        Bootstrap samples.
    random_state : int, default=0

    Warns
    -----
    ConvergenceWarning
        If a fit did not converge.

    Examples
    --------
    >>> import plackett as pk
    >>> lists = pk.datasets.make_web_like(20, 10, 3, random_state=0)
    >>> log = pk.clicks.simulate_clicks(lists, lists.X[:, 0], 2_000)
    >>> found = pk.clicks.compare_click_models(["gctr", "pbm"], log, cv=2)
    >>> found.best
    'pbm'
    >>> [(one.measure, one.is_significant) for one in found.differences]
    [('log-likelihood', True), ('perplexity', True)]
    """
    named = _named(models)
    check_choice(by, "by", ("session", "query"))
    check_positive_int(n_draws, "n_draws")
    if not 0 < check_number(level, "level") < 1:
        raise ParameterError("level", level, "it must be between 0 and 1.")
    unit = np.arange(len(log)) if by == "session" else np.unique(log.session_query, return_inverse=True)[1]
    n_units = int(unit.max(initial=-1)) + 1
    if check_positive_int(cv, "cv") < 2 or cv > n_units:
        raise ParameterError("cv", cv, f"it must be from 2 to the number of {_PLURAL[by]}, {n_units:,}.")
    rng = np.random.default_rng(check_seed(random_state))
    order = rng.permutation(n_units)
    place = np.empty(n_units, dtype=np.int64)
    place[order] = np.arange(n_units)
    fold, group = (place % cv)[unit], (place % min(n_units, GROUPS))[unit]

    n_groups, longest = int(group.max()) + 1, log.longest
    counts = np.zeros((n_groups, longest))
    logarithms = np.zeros((len(named), 2, n_groups, longest))  # conditional and unconditional probabilities
    n_unseen = 0
    for number in range(cv):
        train, test = log[fold != number], log[fold == number]
        is_known = np.zeros(log.n_pairs, dtype=bool)
        is_known[train.pair] = True
        n_unseen += int(np.count_nonzero(~is_known[test.pair]))
        cell = np.repeat(group[fold == number], np.diff(test.indptr)) * longest + test.rank - 1
        counts += np.bincount(cell, minlength=counts.size).reshape(counts.shape)
        for place_of_model, (name, model) in enumerate(named.items()):
            parts = _held_out(name, model, train, test)
            for kind, values in enumerate(parts):
                logarithms[place_of_model, kind] += np.bincount(cell, values, counts.size).reshape(counts.shape)
    sessions = np.bincount(group, minlength=n_groups).astype(np.float64)
    return _summary(list(named), logarithms, counts, sessions, n_unseen / log.n_shown, level, n_draws, rng)


_PLURAL = {"session": "sessions", "query": "queries"}


def _named(models: Any) -> dict[str, ClickModel]:
    items = (
        list(models.items()) if isinstance(models, Mapping) else [(getattr(one, "name", one), one) for one in models]
    )
    if isinstance(models, str) or not items:
        raise ParameterError("models", models, "a list of names or models is needed.")
    named: dict[str, ClickModel] = {}
    for name, model in items:
        if name in named:
            raise ValueError(f"models holds {name!r} twice. Use a dict, which gives them different names.")
        named[name] = get_click_model(model) if isinstance(model, str) else type(model)(**model.get_params())
    return named


def _held_out(name: str, model: ClickModel, train: ClickLog, test: ClickLog) -> list[np.ndarray]:
    """Return the log-probabilities of the events in each row: given the clicks above it, and before them."""
    with recorded() as caught:  # every fold would repeat the warnings about pairs and second clicks
        model.fit(train)
        parts = [np.where(test.click, p, 1 - p) for p in (model.predict_conditional(test), model.predict(test))]
    for one in caught:
        if issubclass(one.category, ConvergenceWarning):
            warn(f"{name}: {one.message}" if name != model.name else str(one.message), ConvergenceWarning)
    return [np.log(part) for part in parts]


def _summary(
    names: list[str],
    logarithms: np.ndarray,
    counts: np.ndarray,
    sessions: np.ndarray,
    share_unseen: float,
    level: float,
    n_draws: int,
    rng: np.random.Generator,
) -> ClickComparison:
    n_groups = sessions.size
    draws = rng.multinomial(n_groups, np.full(n_groups, 1 / n_groups), size=n_draws).astype(np.float64)
    weights = np.vstack([np.ones(n_groups), draws])  # the first sample is the log itself
    n_rows, n_drawn = _weighted(weights, counts), _weighted(weights, sessions[:, None])[:, 0]
    values: dict[str, list[np.ndarray]] = {name: [] for name in MEASURES}
    by_rank, ends = {}, ((1 - level) / 2, (1 + level) / 2)
    ranks = {}
    for name, (conditional, before) in zip(names, logarithms, strict=True):
        values[LOG_LIKELIHOOD].append(_weighted(weights, conditional.sum(axis=1)[:, None])[:, 0] / n_drawn)
        with np.errstate(invalid="ignore", divide="ignore"):  # a sample without a list of this length
            perplexities = np.exp(-_weighted(weights, before) / n_rows)
        values[PERPLEXITY].append(np.nanmean(perplexities, axis=1))
        by_rank[name] = perplexities[0]
        ranks[name] = np.nanquantile(perplexities[1:], ends, axis=0).T
    intervals = {
        (measure, name): Interval(*np.quantile(drawn[1:], ends).tolist())
        for measure, of_models in values.items()
        for name, drawn in zip(names, of_models, strict=True)
    }
    first = {measure: dict(zip(names, (float(v[0]) for v in own), strict=True)) for measure, own in values.items()}
    differences = [one for measure, own in values.items() for one in _differences(measure, names, own, ends, level)]
    return ClickComparison(
        names,
        first[LOG_LIKELIHOOD],
        first[PERPLEXITY],
        by_rank,
        intervals,
        ranks,
        differences,
        int(sessions.sum()),
        share_unseen,
        float(level),
    )


def _weighted(weights: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Return the sums over groups of each sample; without BLAS, whose bits depend on the number of threads."""
    return np.einsum("dg,gr->dr", weights, sums)


def _differences(
    measure: str, names: list[str], values: list[np.ndarray], ends: tuple[float, float], level: float
) -> list[ClickDifference]:
    with importing:
        from scipy.special import ndtr

    found = []
    for i, model in enumerate(names):
        for j in range(i + 1, len(names)):
            drawn = values[i] - values[j]
            value, spread = float(drawn[0]), float(drawn[1:].std())
            p = 2 * float(ndtr(-abs(value) / spread)) if spread > 0 else float(value == 0)
            found.append((model, names[j], value, Interval(*np.quantile(drawn[1:], ends).tolist()), p))
    p_values = holm([one[-1] for one in found]).tolist() if found else []
    return [ClickDifference(measure, *one[:-1], p, p < 1 - level) for one, p in zip(found, p_values, strict=True)]
