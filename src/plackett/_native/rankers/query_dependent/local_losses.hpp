// The losses of a neighbourhood for its solver: smooth sums over pairs, with products of their curvature.
#pragma once
#include "losses/pairwise/hinge_curvature.hpp"
#include "losses/pairwise/logistic.hpp"
#include "core/vector_ops.hpp"
#include "losses/pairwise/hinge_sums.hpp"
#include "rankers/query_dependent/neighborhood.hpp"
#include "scorers/linear.hpp"

namespace plackett::query_dependent {

// A loss of hinges.hpp: its sum over the pairs of all queries, and the slope of their documents.
template <class Kind>
class PairTotal {
public:
    PairTotal(Kind kind, const Neighborhood& part) : kind(kind), plan(part.plan()), losses(part.n_queries()) {}

    double evaluate(View<const double> weights, View<const double> scores, View<double> slope) const {
        pair_sums(kind, plan, weights, scores, slope, losses, 0, plan.n_queries());
        return sum_of(losses);
    }

private:
    Kind kind;
    PairPlan plan;
    Scratch<double> losses;
};

// Second derivative by coefficients, from the one by scores, which `Own` multiplies.
template <class Own>
class ListCurvature {
public:
    explicit ListCurvature(Index n_docs) : moved(n_docs), slope(n_docs) {}

    void add_product(Rows<const double> X, View<const double> direction, View<double> product) const {
        score(X, direction, moved);
        static_cast<const Own&>(*this).multiply(moved, slope);
        pull_back(X, slope, product);
    }

private:
    Scratch<double> moved, slope;
};

class LocalLogistic {
public:
    static constexpr bool has_kink = false, has_centres = false;

    explicit LocalLogistic(const Neighborhood& part)
        : plan(part.plan()), weights(part.weights), losses(part.n_queries()) {}

    double evaluate(View<const double> scores, View<double> slope) const {
        logistic(plan, weights, scores, slope, losses, 0, plan.n_queries());
        return sum_of(losses);
    }
    double evaluate_exact(View<const double> scores, View<double> slope) const { return evaluate(scores, slope); }

    class Curvature : public ListCurvature<Curvature> {
    public:
        Curvature(const LocalLogistic& loss, View<const double> scores)
            : ListCurvature(scores.size), loss(loss), scores(scores) {}
        void multiply(View<const double> direction, View<double> product) const {
            logistic_product(loss.plan, loss.weights, scores, direction, product, 0, loss.plan.n_queries());
        }

    private:
        const LocalLogistic& loss;
        View<const double> scores;
    };
    Curvature curvature(View<const double> scores) const { return {*this, scores}; }

private:
    PairPlan plan;
    View<const double> weights;
    Scratch<double> losses;
};

// The hinge smoothed over a width: z² / (2 width) up to the width, then linear.
class LocalHinge {
public:
    static constexpr bool has_kink = true, has_centres = false;
    static constexpr double FIRST_WIDTH = 0.5, LEAST_WIDTH = 1e-6;
    double width = FIRST_WIDTH;

    explicit LocalHinge(const Neighborhood& part)
        : part(part), scaled(part.n_queries()), exact(Hinge{}, part), psi({1.0}, part) {}

    void round_off(double over) {
        width = over;
        for (Index q = 0; q < part.n_queries(); ++q) scaled[q] = part.weights[q] / width;
    }
    bool narrow(double by, View<const double>) {
        if (width <= LEAST_WIDTH) return false;
        round_off(by * width);
        return true;
    }

    double evaluate(View<const double> scores, View<double> slope) const {
        return PairTotal<Bend>({width}, part).evaluate(scaled, scores, slope);
    }
    double evaluate_exact(View<const double> scores, View<double> slope) const {
        return exact.evaluate(part.weights, scores, slope);
    }
    double evaluate_psi(View<const double> scores, View<double> slope) const {
        return psi.evaluate(part.weights, scores, slope);
    }
    double smoothed_at_zero(double at_zero) const { return at_zero * (1.0 - 0.5 * width); }
    // The sum of c min(1, z / width): the dual variables that correspond to the slope of the smoothed hinge.
    double dual_sum(View<const double> scores, View<double> slope) const {
        return PairTotal<Ramp>({width}, part).evaluate(scaled, scores, slope);
    }

    // The least difference of scores among the pairs; infinite without pairs.
    double least_margin(View<const double> scores) const {
        const PairPlan plan = part.plan();
        double least = INFINITE;
        for (Index q = 0; q < plan.n_queries(); ++q) {
            const QueryPairs pairs = plan.query(q);
            double better = INFINITE, own = INFINITE;  // lowest score above the run of equal labels, and within it
            Index end = 0;                             // of the run
            for (Index i = 0; i < pairs.n_docs(); ++i) {
                if (i >= end) {
                    better = std::min(better, own);
                    own = INFINITE;
                    end = pairs.run_end[i];
                }
                const double score = scores[pairs.rows[i]];
                own = std::min(own, score);
                least = std::min(least, better - score);
            }
        }
        return least;
    }

    class Curvature : public ListCurvature<Curvature> {
    public:
        Curvature(const LocalHinge& loss, View<const double> scores)
            : ListCurvature(scores.size), kind{loss.width}, plan(loss.part.plan()), weights(loss.scaled),
              found(plan, 0, plan.n_queries(), true) {
            find_active(kind, plan, scores, found, 0, plan.n_queries());
        }
        void multiply(View<const double> direction, View<double> product) const {
            multiply_active(kind, plan, found, weights, direction, product, 0, plan.n_queries());
        }

    private:
        Bend kind;
        PairPlan plan;
        View<const double> weights;
        ActivePairs found;
    };
    Curvature curvature(View<const double> scores) const { return {*this, scores}; }

private:
    const Neighborhood& part;
    Scratch<double> scaled;
    PairTotal<Hinge> exact;
    PairTotal<Ramp> psi;
};

}  // namespace plackett::query_dependent
