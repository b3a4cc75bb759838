"""Small objectives, written out in numpy, that stand in for a loss over a scorer."""

import numpy as np


class Problem:
    """The mean of ``losses(X @ coef)`` plus ``l2 / 2 |coef|²``; one term per row."""

    is_convex, is_smooth, is_random, has_smoothing = True, True, False, False
    has_curvature_product, has_curvature_bound = True, True

    def __init__(self, X, l2=1e-3, estimate="matrix"):
        self.X, self.l2, self.estimate = np.asarray(X, float), l2, estimate
        self.n_terms, self.size = self.X.shape
        self.name = f"{type(self).__name__}()"
        self.n_evaluations = self.n_products = self.n_terms_seen = 0
        self.last = None

    def losses(self, scores):
        """The loss of each row, its slope and its bend."""
        raise NotImplementedError

    def value(self, coef):
        return float(self.losses(self.X @ coef)[0].mean() + 0.5 * self.l2 * coef @ coef)

    def value_and_gradient(self, coef):
        self.n_evaluations += 1
        assert self.last is None or not np.array_equal(coef, self.last), "evaluated twice at one point"
        self.last = np.array(coef)
        losses, slope, _ = self.losses(self.X @ coef)
        with np.errstate(over="ignore", invalid="ignore"):
            gradient = self.X.T @ slope / self.n_terms + self.l2 * coef
        return float(losses.mean() + 0.5 * self.l2 * coef @ coef), gradient

    def hessian(self, coef):
        bend = self.losses(self.X @ coef)[2]
        return (self.X.T * bend) @ self.X / self.n_terms + self.l2 * np.eye(self.size)

    def curvature_at(self, coef):
        assert np.array_equal(coef, self.last), "curvature is cheap only where the value was just taken"
        hessian = self.hessian(coef)

        def multiply(vector):
            self.n_products += 1
            return hessian @ vector

        return multiply

    def curvature_estimate(self, coef):
        if self.estimate is None:
            return None
        matrix = self.X.T @ self.X / self.n_terms + self.l2 * np.eye(self.size)
        return matrix if self.estimate == "matrix" else matrix.diagonal().copy()

    def bend_bound(self):
        return 1.0

    def curvature_bound_diagonal(self, coef):
        # (Σ |x|) |x_l| over a row bounds the row's curvature: diagonally dominant
        spread = np.abs(self.X) * np.abs(self.X).sum(axis=1, keepdims=True)
        return self.bend_bound() * spread.mean(axis=0) + self.l2

    def term_value_and_gradient(self, coef, term):
        self.n_terms_seen += 1
        row = self.X[term : term + 1]
        losses, slope, _ = self.losses(row @ coef, [term])
        return float(losses[0] + 0.5 * self.l2 * coef @ coef), row[0] * slope[0] + self.l2 * coef


class Quadratic(Problem):
    """Least squares."""

    def __init__(self, X, targets, l2=1e-3, estimate="matrix"):
        super().__init__(X, l2, estimate)
        self.targets = np.asarray(targets, float)

    def losses(self, scores, rows=slice(None)):
        off = scores - self.targets[rows]
        return 0.5 * off**2, off, np.ones_like(off)

    def solution(self):
        return np.linalg.solve(self.hessian(np.zeros(self.size)), self.X.T @ self.targets / self.n_terms)


class Logistic(Problem):
    """log(1 + exp(-score)): rows are differences, the better document minus the worse."""

    def losses(self, scores, rows=slice(None)):
        p = 0.5 * (1.0 - np.tanh(0.5 * scores))
        return np.logaddexp(0.0, -scores), -p, p * (1.0 - p)

    def bend_bound(self):
        return 0.25


class Exponential(Problem):
    """exp(-score): overflows on too long a step."""

    def losses(self, scores, rows=slice(None)):
        with np.errstate(over="ignore"):
            falls = np.exp(-scores)
        return falls, -falls, falls


class SquaredHinge(Problem):
    """max(0, 1 - score)², piecewise quadratic."""

    def losses(self, scores, rows=slice(None)):
        short = np.maximum(1.0 - scores, 0.0)
        return short**2, -2.0 * short, 2.0 * (short > 0)

    def bend_bound(self):
        return 2.0


class Hinge(Problem):
    """max(0, 1 - score)."""

    is_smooth, has_curvature_product, has_curvature_bound, has_smoothing = False, False, False, True

    def losses(self, scores, rows=slice(None)):
        return np.maximum(1.0 - scores, 0.0), -1.0 * (scores < 1.0), np.zeros_like(scores)

    def smoothed(self, width):
        return SmoothedHinge(self, width)

    def duality_gap(self, coef, width):
        """Value minus the dual ``mean a - |mean a x|² / (2 l2)`` at the smoothed hinge's pulls, 0 ≤ a ≤ 1."""
        pulls = np.clip((1.0 - self.X @ coef) / width, 0.0, 1.0)
        mean = self.X.T @ pulls / self.n_terms
        return self.value(coef) - float(pulls.mean() - mean @ mean / (2.0 * self.l2))


class SmoothedHinge(Problem):
    """The hinge with a parabola between score 1 - width and 1."""

    def __init__(self, hinge, width):
        super().__init__(hinge.X, hinge.l2, hinge.estimate)
        self.width, self.hinge = width, hinge

    def losses(self, scores, rows=slice(None)):
        short, width = 1.0 - scores, self.width
        inside = (short > 0) & (short < width)
        losses = np.where(inside, short**2 / (2 * width), np.maximum(short - width / 2, 0.0))
        return losses, -np.clip(short / width, 0.0, 1.0), inside / width


class Psi(Problem):
    """min(1, max(0, 1 - score)): neither convex nor smooth."""

    is_convex = is_smooth = has_curvature_product = has_curvature_bound = False

    def losses(self, scores, rows=slice(None)):
        inside = (scores > 0) & (scores < 1)
        return np.clip(1.0 - scores, 0.0, 1.0), -1.0 * inside, np.zeros_like(scores)


class Drawn(Logistic):
    """Logistic with noise on every look."""

    is_random, has_curvature_product, has_curvature_bound = True, False, False

    def __init__(self, X, l2=1e-3, noise=0.05):
        super().__init__(X, l2)
        self.noise, self.rng = noise, np.random.default_rng(5)

    def losses(self, scores, rows=slice(None)):
        losses, slope, bend = super().losses(scores)
        return losses + self.noise * self.rng.normal(size=losses.shape), slope, bend


def differences(n_rows=300, n_columns=8, seed=0, noise=1.0):
    """Rows that mostly point along a hidden direction: a ranking that can be learned, with errors."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=n_columns)
    X = rng.normal(size=(n_rows, n_columns))
    return X * np.sign(X @ hidden + noise * rng.normal(size=n_rows) * np.linalg.norm(hidden))[:, None]


def spanning_decades(n_rows=300, n_columns=8, seed=0):
    """Columns whose scales span six decades."""
    return differences(n_rows, n_columns, seed) * np.logspace(-3, 3, n_columns)


def redundant(n_rows=600, n_columns=136, rank=20, seed=0):
    """136 columns that are mixtures of 20."""
    X = differences(n_rows, rank, seed)
    return X @ np.random.default_rng(seed + 1).normal(size=(rank, n_columns)) / np.sqrt(rank)
