// Sums over pairs of any loss of margins.hpp times any weight of rank_weights.hpp.
//
// Pairs are enumerated, O(n²) per list, or O(n k) with a cut. Places are in label order, so that the worse partners of a
// document are contiguous. Without a cut, every document meets these. With one, documents of top groups meet their worse
// partners, and those of their better partners that are in no top group. One-sided weights meet all partners in this way, in
// both directions, and the squared loss with uniform weights meets partners with the same label, too. Each meeting fills a
// row of weights and runs over it and the scores in vectors. If all documents tie, all are in one top group, which takes
// O(n²) also with a cut.
//
// The slope, the curvature and its products treat the weights as constants. They are computed at the given scores, or were
// kept at others (`held_at`).
#pragma once
#include <memory>

#include "losses/loss.hpp"
#include "losses/pairwise/margins.hpp"
#include "losses/pairwise/rank_weights.hpp"
#include "losses/pairwise/score_exponentials.hpp"

namespace plackett {

struct HeldWeights {  // of all queries: rankings and scores in label order, and the factors of has_norm
    HeldWeights(Index n_docs, Index n_queries) : places(n_docs), ends(n_docs), scores(n_docs), norms(n_queries) {}

    Scratch<Index> places, ends;
    Scratch<double> scores, norms;
};

enum class Pass { slope, slope_and_diagonal, diagonal, product };  // what a pass over the pairs writes

struct Written {  // where to: by document, by document, and by query
    View<double> slope, curvature, values;
};

struct Total {
    double loss = 0.0, strength = 0.0;  // the strength sums |weight times pull|
};

struct KindTraits {  // what the loading of a query depends on
    bool needs_exponential, has_targets;
    double rate, scale;
};

// Work space for the queries first to last of a plan, and the walk over their pairs, which are the same for all kinds.
class PairWalk {
public:
    PairWalk(const KindTraits& traits, const WeightSettings& settings, const PairPlan& plan, const HeldWeights* held,
             Index longest)
        : traits(traits), of(settings), plan(plan), held(held), weights(settings, longest), f(longest), up(longest),
          down(longest), along(longest), pulls(longest), bends(longest), base(longest), own(longest), others(longest),
          places(longest), ends(longest), run_start(longest) {}

protected:
    // Load a query: scores, exponentials and weights. The weight becomes NaN if a score is.
    QueryPairs load(Index q, double& weight, View<const double> scores) {
        const QueryPairs pairs = plan.query(q);
        const Index n = pairs.n_docs(), start = plan.indptr[q];
        pulls.slice(0, n).fill(0.0);
        bends.slice(0, n).fill(0.0);
        has_pairs = weight > 0.0 && n > 1 && (meets_equal_labels() || pairs.run_end[0] < n);
        if (!has_pairs) return pairs;
        const View<double> own_base = base.slice(0, n), x = f.slice(0, n);
        if (held) {
            std::copy_n(held->scores.view().begin() + start, n, own_base.begin());
            std::copy_n(held->places.view().begin() + start, n, places.view().begin());
            std::copy_n(held->ends.view().begin() + start, n, ends.view().begin());
        } else {
            take(scores, pairs.rows, own_base);
            weights.rank(own_base, ranking(n));
        }
        const View<const double> values = of.values();
        weights.load(ranking(n), own_base, values.size > 0 ? values.slice(start, start + n) : values);
        for (Index i = 0; i < n; ++i) run_start[i] = i > 0 && pairs.run_end[i] == pairs.run_end[i - 1] ? run_start[i - 1] : i;

        take(scores, pairs.rows, x);
        double zero = 0.0;
        for (Index i = 0; i < n; ++i) zero += 0.0 * x[i];
        if (zero != 0.0) weight = std::numeric_limits<double>::quiet_NaN();  // a score that is not finite
        const auto [low, high] = range_of(x);
        if (!(high - low <= FARTHEST)) centre(x, 0.5 * low + 0.5 * high);
        if (traits.has_targets)
            for (Index i = 0; i < n; ++i) x[i] -= of.labels[start + i];
        if (traits.needs_exponential) {
            is_wide = !(traits.rate * (high - low) <= NARROW);
            const View<double> powers = along.slice(0, n);
            for (Index i = 0; i < n; ++i) powers[i] = traits.rate * (x[i] - (0.5 * low + 0.5 * high));
            if (!is_wide) exponentials(powers, 0.0, up, down);
        }
        return pairs;
    }

    bool meets_equal_labels() const {
        return of.is_one_sided() || (traits.has_targets && of.kind == PairWeight::uniform);
    }

    Ranking ranking(Index n) const { return {places.slice(0, n), ends.slice(0, n)}; }

    double norm_of(Index q, double strength) const {
        if (!of.has_norm) return 1.0;
        if (held) return held->norms[q];
        const double sum = 2.0 * traits.scale * traits.rate * strength;
        return sum > 0.0 ? LOG2_E * std::log1p(sum) / sum : LOG2_E;  // log2(1 + sum) / sum, and its limit
    }

    using Meet = Total (PairWalk::*)(Index, double, Index, Index, View<const double>);

    // Call meet(i, sign, first, last, weights) for all pairs of i with first:last, and return the sums: i is the one that should
    // be above if the sign is 1, and the other one if it is -1.
    Total walk(const QueryPairs& pairs, Meet meet) {
        Total total;
        const Index n = pairs.n_docs();
        const bool is_one_sided = of.is_one_sided(), meets_equal = meets_equal_labels();
        const auto add = [&](const Total& part) {
            total.loss += part.loss;
            total.strength += part.strength;
        };
        const auto row = [&](Index i, double sign, Index first, Index last, bool is_rest) {
            if (first >= last) return;
            weights.weigh(i, first, last, is_rest, own, others);
            add((this->*meet)(i, sign, first, last, own));
            if (is_one_sided) add((this->*meet)(i, -sign, first, last, others));
        };
        weights.each_top([&](Index i) {
            row(i, 1.0, meets_equal ? i + 1 : pairs.run_end[i], n, false);
            if (of.has_cut()) row(i, is_one_sided ? 1.0 : -1.0, 0, meets_equal ? i : run_start[i], true);
        });
        return total;
    }

    KindTraits traits;
    WeightSettings of;
    PairPlan plan;
    const HeldWeights* held;
    RankWeights weights;
    Scratch<double> f, up, down, along, pulls, bends, base, own, others;
    Scratch<Index> places, ends, run_start;
    bool has_pairs = false, is_wide = false;
};

template <class Kind>
class WeightedPairs : PairWalk {
public:
    WeightedPairs(const Kind& kind, const WeightSettings& settings, const PairPlan& plan, const HeldWeights* held,
                  Index longest)
        : PairWalk({Kind::needs_exponential, Kind::has_targets, kind.rate, kind.scale}, settings, plan, held, longest),
          kind(kind) {}

    // Write the loss of a query times a weight with its slope, its second derivative times a direction, or the diagonal of
    // that. A diagonal adds up absolute weights, so that it is positive also for negative labels.
    template <Pass pass>
    void evaluate(Index q, double weight, View<const double> scores, View<const double> direction, const Written& written) {
        const QueryPairs pairs = load(q, weight, scores);
        Total total;
        if (has_pairs) {
            if constexpr (pass == Pass::product) take(direction, pairs.rows, along);
            total = meet_all<pass>(pairs);
            weight *= kind.scale * norm_of(q, total.strength);
        }
        if constexpr (has_slope(pass)) {
            put(weight * kind.rate, pulls, pairs.rows, written.slope);
            written.values[q] = weight * total.loss;
        }
        if constexpr (pass != Pass::slope) put(weight * kind.rate * kind.rate, bends, pairs.rows, written.curvature);
    }

    // Keep the weights at the scores of a query.
    void hold(Index q, View<const double> scores, const HeldWeights& kept) {
        double weight = 1.0;
        const QueryPairs pairs = load(q, weight, scores);
        const Index first = plan.indptr[q], n = pairs.n_docs();
        kept.norms[q] = 1.0;
        if (!has_pairs) return;
        std::copy_n(base.view().begin(), n, kept.scores.view().begin() + first);
        std::copy_n(places.view().begin(), n, kept.places.view().begin() + first);
        std::copy_n(ends.view().begin(), n, kept.ends.view().begin() + first);
        if (of.has_norm) kept.norms[q] = norm_of(q, meet_all<Pass::slope>(pairs).strength);
    }

private:
    static constexpr bool has_slope(Pass pass) { return pass == Pass::slope || pass == Pass::slope_and_diagonal; }

    // Without a slope, the strength is only computed if has_norm needs it.
    template <Pass pass>
    Total meet_all(const QueryPairs& pairs) {
        const bool has_strength = has_slope(pass) || (of.has_norm && held == nullptr);
        auto meet = &WeightedPairs::meet_row<pass, false, true>;
        if constexpr (!has_slope(pass))
            if (!has_strength) meet = &WeightedPairs::meet_row<pass, false, false>;
        if constexpr (Kind::needs_exponential)
            if (is_wide) meet = &WeightedPairs::meet_row<pass, true, true>;
        return walk(pairs, static_cast<Meet>(meet));
    }

    template <bool wide>
    PLACKETT_INLINE static double exponential_of(double m, double one, double other) {
        if constexpr (!Kind::needs_exponential) return 0.0;
        if constexpr (wide) return exp(-std::abs(m));
        return one < other ? one : other;  // e^m or e^-m, the smaller one
    }

    template <Pass pass, bool wide, bool has_strength>
    Total meet_row(Index i, double sign, Index first, Index last, View<const double> w) {
        constexpr bool is_product = pass == Pass::product;
        const double *x = f.view().data, *u = up.view().data, *d = down.view().data, *t = along.view().data;
        const double* weight = w.data;
        double *p = pulls.view().data, *b = bends.view().data;
        const double at = x[i], up_i = u[i], down_i = d[i], along_i = is_product ? t[i] : 0.0, factor = sign * kind.rate;
        const Kind own_kind = kind;
        double loss = 0.0, drawn = 0.0, strength = 0.0, bent = 0.0;
#pragma omp simd reduction(+ : loss, drawn, strength, bent)
#ifdef __clang__  // would split the sums of some passes further, so that a slope would depend on what else is written
#pragma clang loop interleave(disable)
#endif
        for (Index j = first; j < last; ++j) {
            const double m = factor * (at - x[j]), e = exponential_of<wide>(m, u[j] * down_i, d[j] * up_i);
            const Met met = own_kind.meet(m, e);
            const double pull = weight[j] * met.pull;
            if constexpr (has_strength) strength += std::abs(pull);
            if constexpr (has_slope(pass)) {
                loss += weight[j] * met.loss;
                drawn += pull;
                p[j] += sign * pull;
            }
            if constexpr (pass != Pass::slope) {
                const double c = own_kind.bend(m, e);
                const double part = is_product ? weight[j] * c * (along_i - t[j]) : std::abs(weight[j]) * c;
                bent += part;
                b[j] += is_product ? -part : part;
            }
        }
        if constexpr (has_slope(pass)) pulls[i] -= sign * drawn;
        if constexpr (pass != Pass::slope) bends[i] += bent;
        return {loss, strength};
    }

    Kind kind;
};

template <class Kind>
class WeightedPairLoss : public Loss {
public:
    WeightedPairLoss(Kind kind, const WeightSettings& settings, const PairPlan& plan, View<const double> query_weights,
                     std::shared_ptr<const HeldWeights> held = nullptr)
        : kind(kind), settings(settings), plan(plan), query_weights(query_weights), held(std::move(held)) {}

    View<const Index> indptr() const override { return plan.indptr; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        run<Pass::slope>(1.0, scores, {}, {slope, {}, values}, first, last);
    }
    void evaluate_with_diagonal(View<const double> scores, View<double> slope, View<double> diagonal, View<double> values,
                                Index first, Index last) const override {
        if constexpr (Kind::is_curved)
            run<Pass::slope_and_diagonal>(1.0, scores, {}, {slope, diagonal, values}, first, last);
        else
            Loss::evaluate_with_diagonal(scores, slope, diagonal, values, first, last);
    }
    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        if constexpr (Kind::is_curved)
            run<Pass::product>(1.0, scores, direction, {{}, product, {}}, first, last);
        else
            Loss::multiply(scores, direction, product, first, last);
    }
    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        if constexpr (Kind::is_curved)
            run<Pass::diagonal>(1.0, scores, {}, {{}, diagonal, {}}, first, last);
        else
            Loss::diagonal(scores, diagonal, first, last);
    }
    // Twice the diagonal, since (t_i - t_j)² is at most 2 t_i² + 2 t_j².
    void bound(View<const double> scores, View<double> bounds, Index first, Index last) const override {
        if constexpr (Kind::is_curved)
            run<Pass::diagonal>(2.0, scores, {}, {{}, bounds, {}}, first, last);
        else
            Loss::bound(scores, bounds, first, last);
    }
    Loss* held_at(View<const double> scores) const override {
        const Index n_queries = plan.n_queries();
        auto kept = std::make_shared<HeldWeights>(plan.order.size, n_queries);
        WeightedPairs<Kind> pairs(kind, settings, plan, nullptr, plan.longest(0, n_queries));
        for (Index q = 0; q < n_queries; ++q) pairs.hold(q, scores, *kept);
        return new WeightedPairLoss(kind, settings, plan, query_weights, kept);
    }

private:
    template <Pass pass>
    void run(double times, View<const double> scores, View<const double> direction, const Written& written, Index first,
             Index last) const {
        WeightedPairs<Kind> pairs(kind, settings, plan, held.get(), plan.longest(first, last));
        for (Index q = first; q < last; ++q)
            pairs.template evaluate<pass>(q, times * query_weights[q], scores, direction, written);
    }

    Kind kind;
    WeightSettings settings;
    PairPlan plan;
    View<const double> query_weights;
    std::shared_ptr<const HeldWeights> held;
};

enum class MarginLoss : Index {
    hinge, smoothed_hinge, squared_hinge, logistic, exponential, psi, soft_zero_one, squared
};

// A loss and a weight by their places in the enumerations.
//
// parameter: the slope σ of the logistic and the soft zero-one loss, the width of the smoothed hinge loss; others ignore it.
// labels, gains: by place in label order. Gains are already divided by the ideal DCG where they should be, because has_norm
// depends on their scale; it does not depend on the weights of queries. discounts: 1/D(r), decreasing, as many as the longest
// list has documents. k: the cut, 0 for none. Queries with a weight of 0 count 0.
inline Loss* make_weighted_pairs(const PairPlan& plan, View<const double> query_weights, View<const double> labels,
                                 View<const double> gains, View<const double> discounts, Index loss, double parameter,
                                 Index weight, Index k, double mu, bool has_norm) {
    const WeightSettings settings = {static_cast<PairWeight>(weight), k, mu, has_norm, labels, gains, discounts};
    const auto made = [&]<class Kind>(Kind kind) -> Loss* {
        return new WeightedPairLoss<Kind>(kind, settings, plan, query_weights);
    };
    switch (static_cast<MarginLoss>(loss)) {
        case MarginLoss::hinge: return made(ThresholdMargin<Hinge>{});
        case MarginLoss::smoothed_hinge: return made(ThresholdMargin<Bend>{{}, {parameter}, 1.0 / parameter});
        case MarginLoss::squared_hinge: return made(ThresholdMargin<SquaredHinge>{{}, {}, 2.0});
        case MarginLoss::logistic: return made(LogisticMargin{{}, parameter});
        case MarginLoss::exponential: return made(ExponentialMargin{});
        case MarginLoss::psi: return made(ThresholdMargin<Ramp>{{}, {1.0}});
        case MarginLoss::soft_zero_one: return made(SoftZeroOneMargin{{}, parameter});
        case MarginLoss::squared: return made(SquaredMargin{});
    }
    throw std::invalid_argument("no such pair loss");
}

}  // namespace plackett
