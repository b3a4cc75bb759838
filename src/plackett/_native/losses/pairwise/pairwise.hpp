// Pairwise losses bound to their labels, for the objective and for Python.
#pragma once
#include "losses/loss.hpp"
#include "losses/pairwise/hinge_curvature.hpp"
#include "losses/pairwise/exponential.hpp"
#include "losses/pairwise/logistic.hpp"
#include "losses/pairwise/hinge_sums.hpp"
#include "losses/pairwise/squared_pairs.hpp"

namespace plackett {

template <class Kind>
concept HasCurvature = requires(Kind kind) { kind.if_active(0.0, NOWHERE, 1.0); };

// Σ over the pairs of a query of a loss of hinges.hpp, times the query's weight.
template <class Kind>
class PairLoss : public Loss {
public:
    PairLoss(Kind kind, const PairPlan& plan, View<const double> weights) : kind(kind), plan(plan), weights(weights) {}

    View<const Index> indptr() const override { return plan.indptr; }
    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        pair_sums(kind, plan, weights, scores, slope, values, first, last);
    }

protected:
    Kind kind;
    PairPlan plan;
    View<const double> weights;
};

// The same with a second derivative. Active pairs are computed in each call.
template <HasCurvature Kind>
class CurvedPairLoss : public PairLoss<Kind> {
public:
    using PairLoss<Kind>::PairLoss;

    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        const ActivePairs found(this->plan, first, last, Kind::has_width);
        find_active(this->kind, this->plan, scores, found, first, last);
        multiply_active(this->kind, this->plan, found, this->weights, direction, product, first, last);
    }
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        count(scores, diagonal, 1.0, first, last);
    }
    // Twice the diagonal, since (t_i - t_j)² is at most 2 t_i² + 2 t_j².
    void bound(View<const double> scores, View<double> bounds, Index first, Index last) const override {
        count(scores, bounds, 2.0, first, last);
    }

private:
    void count(View<const double> scores, View<double> out, double times, Index first, Index last) const {
        const ActivePairs found(this->plan, first, last, Kind::has_width);
        find_active(this->kind, this->plan, scores, found, first, last);
        for (Index q = first; q < last; ++q) {
            const View<const Index> rows = this->plan.query(q).rows;
            const View<double> counts = found.of_query(found.counts, this->plan, q);
            put(times * this->weights[q], counts, rows, out);
        }
    }
};

// The second derivative at fixed scores, whose active pairs are found once: `multiply` ignores the scores.
template <HasCurvature Kind>
class PairCurvature : public CurvedPairLoss<Kind> {
public:
    PairCurvature(Kind kind, const PairPlan& plan, View<const double> weights, View<const double> scores)
        : CurvedPairLoss<Kind>(kind, plan, weights), found(plan, 0, plan.n_queries(), Kind::has_width) {
        find_active(kind, plan, scores, found, 0, plan.n_queries());
    }
    void multiply(View<const double>, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        multiply_active(this->kind, this->plan, found, this->weights, direction, product, first, last);
    }

private:
    ActivePairs found;
};

class LogisticLoss : public Loss {
public:
    LogisticLoss(const PairPlan& plan, View<const double> weights, double sigma)
        : plan(plan), weights(weights), sigma(sigma) {}

    View<const Index> indptr() const override { return plan.indptr; }
    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        logistic(plan, weights, scores, slope, values, first, last, sigma);
    }
    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        logistic_product(plan, weights, scores, direction, product, first, last, sigma);
    }
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        logistic_diagonal(plan, weights, scores, diagonal, 1.0, first, last, sigma);
    }
    void bound(View<const double> scores, View<double> bounds, Index first, Index last) const override {
        logistic_diagonal(plan, weights, scores, bounds, 2.0, first, last, sigma);
    }

private:
    PairPlan plan;
    View<const double> weights;
    double sigma;
};

class ExponentialLoss : public Loss {
public:
    ExponentialLoss(const LevelPlan& plan, View<const double> weights) : plan(plan), weights(weights) {}

    View<const Index> indptr() const override { return plan.indptr; }
    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        const ExponentialPairs pairs(plan.longest(first, last));
        for (Index q = first; q < last; ++q) values[q] = pairs.evaluate(plan, q, weights[q], -1.0, scores, slope);
    }
    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        const ExponentialPairs pairs(plan.longest(first, last));
        for (Index q = first; q < last; ++q) pairs.multiply(plan, q, weights[q], scores, direction, product);
    }
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        add_up(scores, diagonal, 1.0, first, last);
    }
    void bound(View<const double> scores, View<double> bounds, Index first, Index last) const override {
        add_up(scores, bounds, 2.0, first, last);
    }

private:
    void add_up(View<const double> scores, View<double> out, double times, Index first, Index last) const {
        const ExponentialPairs pairs(plan.longest(first, last));
        for (Index q = first; q < last; ++q) pairs.evaluate(plan, q, times * weights[q], 1.0, scores, out);
    }

    LevelPlan plan;
    View<const double> weights;
};

}  // namespace plackett
