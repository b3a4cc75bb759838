"""Multiplicative and linear ranking refinement: boosts weak classifiers from base scores and feedback."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from plackett import _native
from plackett._arrays import bounds
from plackett._lazy import importing
from plackett.data.queries import Queries
from plackett.exceptions import ParameterError
from plackett.rankers.parameters import param
from plackett.rankers.refinement.base import Refiner, dense_rows, map_queries
from plackett.rankers.refinement.judgements import Judgements
from plackett.rankers.refinement.weak_learners import (
    CLASSIFIER_FIELDS,
    MULTIPLICATIVE,
    N_COLUMNS,
    STUMP_FIELDS,
    BasePairs,
    Rounds,
    boost_classifier,
    boost_stumps,
    votes,
)
from plackett.storage.models.array_checks import check_bounds, check_records, check_vector
from plackett.validation import check_number, check_positive_int, plain

SMALLEST_SAMPLE = 20
SHARE_SAMPLED = 5


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedRefiner(Refiner):
    """Base class of the boosted refiners: ``F = Σ α f``, with one weak classifier f per round."""

    n_rounds: int = param(50, check_positive_int)
    eta: float = 0.02
    confidence: float | None = param(None, check_number, least=0.0)
    estimator: Any = None
    sample_size: int | str | None = None
    random_state: Any = None

    _loss_name: ClassVar[str]

    @abstractmethod
    def _gamma(self) -> float:
        """Return the weight of the base ranker's pairs, or ``MULTIPLICATIVE``."""

    @abstractmethod
    def _loss(self, history: np.ndarray) -> np.ndarray:
        """Return the objective, from err_w and err_t."""

    def _check_parameters(self) -> None:
        if check_number(self.eta, "eta", least=0.0) > 1.0:
            raise ParameterError("eta", plain(self.eta), "it must be between 0 and 1.")
        is_number = self.sample_size is not None and self.sample_size != "paper"
        if is_number and check_positive_int(self.sample_size, "sample_size") < 2:
            raise ValueError("sample_size=1; a classifier needs documents of two classes: at least 2.")
        if self.estimator is None:
            if self.sample_size is not None:
                raise ValueError("sample_size needs an estimator; exact stumps use all documents.")
            return
        is_estimator = hasattr(self.estimator, "fit") and hasattr(self.estimator, "predict")
        if not is_estimator or isinstance(self.estimator, (type, RegressorMixin)):
            raise ParameterError("estimator", self.estimator, "it must be a classifier of scikit-learn or None.")
        if self.sample_size is None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight; sample_size='paper' trains it on a sample "
                "drawn by the weights instead."
            )

    def _refine(self, queries: Queries, base: np.ndarray, feedback: Judgements) -> np.ndarray:
        seed = 0
        if self.estimator is not None:
            seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        confidence = None if self.confidence is None else float(self.confidence)
        common = (int(self.n_rounds), float(self.eta), self._gamma())

        def refine(query: int, rows: np.ndarray) -> tuple[Rounds, float]:
            own_base = base[queries.indptr[query] : queries.indptr[query + 1]]
            pairs = BasePairs(own_base, confidence, is_column=self.base_column_ is not None)
            own = feedback.of(query, pairs.order)
            if self.estimator is None:
                return boost_stumps(rows, pairs, own, *common), pairs.confidence
            found = boost_classifier(
                rows, pairs, own, *common, estimator=self.estimator,
                sample_size=self._documents_drawn(rows.shape[0]), draws=np.random.default_rng([seed, query]),
            )  # fmt: skip
            return found, pairs.confidence

        answers = map_queries(queries, refine)
        found = [rounds for rounds, _ in answers]
        self.confidence_ = np.array([value for _, value in answers])
        self.steps_indptr_ = bounds([rounds.steps.size for rounds in found])
        self.steps_ = np.concatenate([rounds.steps for rounds in found])
        self.states_ = np.concatenate([rounds.history for rounds in found])
        self.estimators_ = None
        if self.estimator is not None:
            self.estimators_ = [estimator for rounds in found for estimator in rounds.estimators]
        return np.concatenate([rounds.scores for rounds in found])

    def _documents_drawn(self, n_docs: int) -> int | None:
        if self.sample_size == "paper":
            return max(SMALLEST_SAMPLE, n_docs // SHARE_SAMPLED)
        return None if self.sample_size is None else int(self.sample_size)

    @property
    def history_(self) -> dict[Any, dict[str, Any]]:
        """The rounds of each query, by its id.

        Arrays with one number per round: ``"alpha"``, ``"theta"``, ``"mu"``, ``"nu"`` of the round, and the
        objective (``"L_p"``, or ``"L_a"`` of the linear one), ``"err_w"`` and ``"err_t"`` after it; and ``"start"``,
        the objective before the first.
        """
        check_is_fitted(self)
        answer = {}
        for place, key in enumerate(self.query_ids_.tolist()):
            own = self.states_[self.steps_indptr_[place] + place : self.steps_indptr_[place + 1] + place + 1]
            losses = self._loss(own)
            answer[key] = {
                **{name: own[1:, column] for column, name in enumerate(("alpha", "theta", "mu", "nu"))},
                self._loss_name: losses[1:],
                "err_w": own[1:, 4],
                "err_t": own[1:, 5],
                "start": float(losses[0]),
            }
        return answer

    def _score_query(self, place: int, rows: np.ndarray, base: np.ndarray | None) -> np.ndarray:
        scores, steps, estimators = np.zeros(rows.shape[0]), *self._steps_of(place)
        if estimators is None:
            # copies, because a view of one packed record counts as contiguous but is not aligned
            stumps = (steps[name].copy() for name in ("feature", "threshold", "is_above", "weight"))
            _native.rankers.add_stumps(rows, *stumps, 0, steps.size, scores)
            return scores
        for estimator, weight in zip(estimators, steps["weight"], strict=True):
            scores[votes(estimator, rows)] += weight
        return scores

    def _steps_of(self, place: int) -> tuple[np.ndarray, list | None]:
        """Return the steps of a query, and their classifiers if they are not stumps."""
        own = slice(int(self.steps_indptr_[place]), int(self.steps_indptr_[place + 1]))
        return self.steps_[own], None if self.estimators_ is None else self.estimators_[own]

    def _explanation(self, needed: Any, base: np.ndarray | None) -> Any:
        with importing:
            from plackett.explain.explanation import Explanation

        queries, rows = needed.queries, needed.rows
        places, scores = self._places_of(queries, self.has_ids_), self._scores_of(queries, base, self.has_ids_)
        stumps = [self._stumps_of(place, dense_rows(queries, query)) for query, place in enumerate(places)]
        numbers = {
            name: number for number, name in enumerate(dict.fromkeys(name for part in stumps for name in part[0]))
        }
        columns = [np.array([numbers[name] for name in names], dtype=np.int64) for names, _, _ in stumps]
        means = [scores[first:last].mean() for first, last in pairwise(queries.indptr.tolist())]
        return Explanation(
            contributions=_side_by_side([amounts for _, amounts, _ in stumps], columns, len(numbers))[rows],
            values=_side_by_side([values for _, _, values in stumps], columns, len(numbers))[rows],
            scores=scores[rows],
            baseline=np.repeat(means, np.diff(queries.indptr))[rows],
            feature_names=list(numbers),
            rows=needed.numbers[rows],
            qid=queries.qid[rows],
            docid=None if needed.docid is None else [needed.docid[row] for row in rows.tolist()],
        )

    def _stumps_of(self, place: int, rows: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Return the weak classifiers of a query, equal ones merged: what each adds to its documents, and its values.

        A classifier with weight α adds ``α (f - mean of f over the list)`` to a document, where f is its decision.
        """
        steps, estimators = self._steps_of(place)
        if estimators is not None:
            names = [f"round {t}: {type(self.estimator).__name__}" for t in range(1, len(estimators) + 1)]
            decisions = np.array([votes(estimator, rows) for estimator in estimators], dtype=np.float64)
            values = decisions = decisions.reshape(len(estimators), rows.shape[0]).T
            weights = steps["weight"]
        else:
            merged: dict[tuple[int, float, bool], float] = {}
            for feature, alpha, limit, is_above in steps.tolist():
                merged[feature, limit, is_above] = merged.get((feature, limit, is_above), 0.0) + alpha
            names, weights = stump_texts(list(merged), self._names()), np.array([*merged.values()])
            values = rows[:, [feature for feature, _, _ in merged]].astype(np.float64)
            limits, sides = (np.array([key[part] for key in merged]) for part in (1, 2))
            decisions = ((values > limits) == sides.astype(bool)).astype(np.float64)
        return names, weights * (decisions - decisions.mean(axis=0)), values

    def check_loaded(self) -> None:
        """Raise a ``ValueError`` for attributes that no fit sets; kernels do not check the steps."""
        super().check_loaded()
        n_queries = self.indptr_.size - 1
        check_bounds(self, "steps_indptr_", n_queries, least=0)
        n_rounds = int(self.steps_indptr_[-1])
        check_vector(self, "confidence_", size=n_queries)
        check_records(self, "steps_", STUMP_FIELDS if self.estimators_ is None else CLASSIFIER_FIELDS, n_rounds)
        states = getattr(self, "states_", None)
        if not isinstance(states, np.ndarray) or states.shape != (n_rounds + n_queries, N_COLUMNS):
            raise ValueError("states_ must have a row for every round, and one more for every query.")
        if self.estimators_ is not None:
            if not isinstance(self.estimators_, list) or len(self.estimators_) != n_rounds:
                raise ValueError(f"estimators_ must hold {n_rounds} classifiers.")
            if not all(hasattr(one, "predict") for one in self.estimators_):
                raise ValueError("estimators_ must hold classifiers.")
            if any(getattr(one, "n_features_in_", None) != self.n_prepared for one in self.estimators_):
                raise ValueError(f"estimators_ must be fitted to {self.n_prepared} features.")
            return
        features = self.steps_["feature"]
        if ((features < 0) | (features >= self.n_prepared)).any():
            raise ValueError(f"the features of steps_ must be columns 0 to {self.n_prepared - 1}.")


@dataclass(eq=False, repr=False, kw_only=True)
class MultiplicativeRefiner(BoostedRefiner):
    """Refines a ranking with feedback: boosts weak classifiers for the base ranker and the feedback at once.

    Multiplicative ranking refinement (jin2008; MRR in the paper, which is not the mean reciprocal rank). For the
    documents i and j of a query with base scores g,

        ``W_ij = 1 / (1 + exp(-λ (g_i - g_j)))`` is the confidence of the base ranker that i is better than j,
        ``T_ij = 1 - η/2`` that of the feedback for its pairs, and ``η/2`` for all other pairs,

    and the scores ``F = Σ α f`` minimise ``L_p = (Σ W_ij exp(F_j - F_i)) (Σ T_ij exp(F_j - F_i))``. In each round f, 1
    for some documents and 0 for the others, is the weak classifier that agrees best with the documents' weights
    ``w_i = Σ_j (γ_ij - γ_ji)``, where γ are the terms of both sums, each divided by its sum; and ``α = ½ ln(μ/ν)``,
    with the sums μ and ν of γ over the pairs that f orders right and wrong. The fit ends when no weak classifier lowers
    the objective.

    Each query is learned separately, so ``predict`` only ranks documents of the queries of ``fit``. Time and memory are
    O(n): no matrix over pairs is built.

    Parameters
    ----------
    n_rounds : int, default=50
        Maximum number of rounds.
    eta : float, default=0.02
        η, twice the share of wrong pairs in the feedback, from 0 to 1: larger for clicks than for judgements. It
        applies to all n² pairs, so it also sets the weight of the few judged pairs of a long list. With the paper's ½,
        ten judgements change little. On OHSUMED, MQ2008 and MSLR, values from 0.01 to 0.2 rank the documents that were
        not judged equally well, but documents judged relevant come first only with small values.
    confidence : float or None, default=None
        λ, the confidence in the base scores; 0 ignores them. None takes one over the standard deviation of the ten best
        base scores of the query, or 0 if these are equal.
    estimator : classifier or None, default=None
        Any classifier of scikit-learn, fitted in every round to the signs of the weights w, with their sizes as
        weights. None takes the best of all decision stumps (feature, threshold, side), which is exact and fastest.
    sample_size : int, "paper" or None, default=None
        Number of documents drawn by their weights, on which ``estimator`` is fitted without weights; ``"paper"`` draws
        a fifth of them and at least 20. None fits to all documents.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of estimators with a ``random_state``.
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    scores_ : ndarray of shape (n_docs,)
        Refined scores F of the rows of ``fit``; ties are broken by the base ranker.
    query_ids_ : ndarray of shape (n_queries,)
        Ids of the queries of ``fit``, in order of first appearance.
    confidence_ : ndarray of shape (n_queries,)
        λ of each query.
    steps_ : structured array of shape (n_steps,)
        The rounds of all queries, in order; those of query q are ``steps_indptr_[q]:steps_indptr_[q + 1]``. Stumps have
        the fields ``"feature"``, ``"weight"`` (α), ``"threshold"`` and ``"is_above"``, and are 1 where ``(x[feature] >
        threshold) == is_above``. Other classifiers have only ``"weight"``.
    estimators_ : list or None
        The classifiers of all rounds, if there was an ``estimator``. A file can hold linear ones and naive Bayes.
    steps_indptr_, states_ : ndarrays
        Bounds of the steps of each query, and the numbers of ``history_``.
    base_scores_ : ndarray of shape (n_docs,)
        Scores of the base ranker, with the rows of each query together.
    base_column_ : int or None
        The column of X with the base scores.
    indptr_, row_keys_, has_ids_ : ndarrays and bool
        Used by ``predict`` to find the rows of ``fit``: bounds of the queries, hashes of rows, and whether there were
        query ids.
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import MultiplicativeRefiner
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [0.0], [1.0], [0.0]])
    >>> y = [0, 1, np.nan, np.nan, np.nan]  # the first two were judged
    >>> refiner = MultiplicativeRefiner().fit(X, y, base_score=[9.0, 8.0, 7.0, 6.0, 5.0])
    >>> np.argsort(-refiner.scores_)
    array([1, 3, 0, 2, 4])
    """

    _loss_name = "L_p"

    def _gamma(self) -> float:
        return MULTIPLICATIVE

    def _loss(self, history: np.ndarray) -> np.ndarray:
        return history[:, 4] * history[:, 5]


@dataclass(eq=False, repr=False, kw_only=True)
class LinearRefiner(BoostedRefiner):
    """Refines a ranking with feedback by the weighted sum of both errors, ``Σ (γ W_ij + T_ij) exp(F_j - F_i)``.

    The baseline in the paper of :class:`MultiplicativeRefiner` (jin2008), with the same rounds but a weight γ to
    choose, which the product of the errors does not need.

    Parameters
    ----------
    gamma : float, default=0.1
        γ ≥ 0, the weight of the base ranker. The paper tries 0.1 to 10; with ten judgements of a list of 100 or more
        documents, 0.1 is the best of these.
    n_rounds, eta, confidence, estimator, sample_size, random_state : as in ``MultiplicativeRefiner``
    missing, missing_indicator, encoding : as in ``LinearRanker``

    Attributes
    ----------
    scores_, query_ids_, confidence_, steps_, steps_indptr_, estimators_, states_ : as in ``MultiplicativeRefiner``
    base_scores_, base_column_, indptr_, row_keys_, has_ids_ : as in ``MultiplicativeRefiner``
    n_queries_, feature_names_, first_index_, n_features_in_, feature_names_in_ : as in ``LinearRanker``
    categories_, encoder_, imputer_ : as in ``LinearRanker``

    Examples
    --------
    >>> from plackett import LinearRefiner
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [0.0], [1.0], [0.0]])
    >>> refiner = LinearRefiner().fit(X, base_score=[9.0, 8.0, 7.0, 6.0, 5.0], pairs=[(1, 0)])
    >>> np.argsort(-refiner.scores_)
    array([1, 3, 0, 2, 4])
    """

    _loss_name = "L_a"

    gamma: float = param(0.1, check_number, least=0.0)

    def _gamma(self) -> float:
        return float(self.gamma)

    def _loss(self, history: np.ndarray) -> np.ndarray:
        return float(self.gamma) * history[:, 4] + history[:, 5]


def stump_texts(stumps: list[tuple[int, float, bool]], names: list[str]) -> list[str]:
    """Return stumps as text, such as ``bm25 > 3.25``; with all digits if two are equal in four digits."""
    short = [f"{names[feature]} {'>' if side else '≤'} {limit:.4g}" for feature, limit, side in stumps]
    return [
        text if short.count(text) == 1 else f"{names[feature]} {'>' if side else '≤'} {limit!r}"
        for text, (feature, limit, side) in zip(short, stumps, strict=True)
    ]


def _side_by_side(blocks: list[np.ndarray], columns: list[np.ndarray], n_columns: int) -> Any:
    """Return blocks of rows below each other, each in its own columns, as a sparse matrix."""
    with importing:
        from scipy import sparse

    sizes = np.concatenate([np.full(block.shape[0], own.size) for block, own in zip(blocks, columns, strict=True)])
    indices = [np.tile(own, block.shape[0]) for block, own in zip(blocks, columns, strict=True)]
    data = np.concatenate([block.ravel() for block in blocks])
    indptr = bounds(sizes)
    return sparse.csr_array((data, np.concatenate(indices), indptr), shape=(sizes.size, n_columns))
