// Cost-sensitive ListMLE: values, slopes and curvature. The formula is in cost_levels.hpp.
//
// Terms of the derivatives for a document with score f in level l:
//
// - weight, exp(f) as seen from the levels above; mean, Σ_t w exp(f_t) / norm over the documents below level l;
// - rivalry, 1 / (exp(f) + mean); stay, exp(f) · rivalry, the probability of f against the documents below;
// - pull, Σ_j w · rivalry_j over the documents above, so that weight · pull is the slope by f as a rival.
#pragma once
#include "losses/listwise/cost_levels.hpp"
#include "losses/loss.hpp"
#include "core/vector_ops.hpp"

namespace plackett {

namespace cost_sensitive {

constexpr double WIDEST = 300.0;  // within this range scores are taken relative to the largest; otherwise level by level
constexpr double HUGE_PRODUCT = 1e100;

// Sum with two independent accumulators.
inline double sum_of_rows(View<const double> values, View<const Index> rows) {
    double a = 0.0, b = 0.0;
    Index p = 0;
    for (; p + 2 <= rows.size; p += 2) {
        a += values[rows[p]];
        b += values[rows[p + 1]];
    }
    if (p < rows.size) a += values[rows[p]];
    return a + b;
}

struct OfLevel {
    double logs, joining;  // Σ log(1 + mean / exp) and Σ rivalry
};

// Replace the exponentials of a level in `slope` by its slopes.
inline OfLevel narrow_level(View<const Index> rows, double mean, double pull, double push, View<double> slope) {
    double joining = 0.0, logs = 0.0;
    double product = 0.0;  // Π (1 + mean / exp) − 1: one logarithm for many documents, and small terms keep their precision
    for (const Index row : rows) {
        const double weight = slope[row], rivalry = 1.0 / (weight + mean);
        joining += rivalry;
        slope[row] = pull * weight - push * rivalry;
        product += mean / weight * (1.0 + product);
        if (product > HUGE_PRODUCT) {
            logs += std::log(product);
            product = 0.0;
        }
    }
    return {logs + std::log1p(product), joining};
}

// The loss of a query with a narrow range of scores; `slope` has the exponentials relative to the largest.
inline double narrow(const CostQuery& query, View<double> mean, View<double> slope) {
    const Index lowest = query.n_levels() - 1;
    Carried below;
    for (Index level = lowest - 1; level >= 0; --level) {
        below.up(query, level, sum_of_rows(slope, query.of_level(query.rows, level + 1)), 1.0);
        mean[level] = below.weighted / query.norm[level];
    }
    double loss = 0.0;
    Carried above;
    for (Index level = 0; level < lowest; ++level) {
        const double norm = query.scale * query.norm[level];
        const auto [logs, joining] = narrow_level(query.of_level(query.rows, level), mean[level],
                                                  query.scale * above.weighted, norm * mean[level], slope);
        loss += norm * logs;
        above.down(query, level + 1, joining, 1.0);
    }
    for (const Index row : query.of_level(query.rows, lowest)) slope[row] *= query.scale * above.weighted;
    return loss;
}

// All terms of the derivatives: one mean, change and pull per level, the others per document in label order.
// Exponentials of the documents below a level are relative to the largest score below it; `change` is the exponential of
// that score relative to the one of the level before.
struct State {
    View<double> mean, change, pull, weight, rivalry, stay;

    State slice(Index first_level, Index last_level, Index first, Index last) const {
        return {mean.slice(first_level, last_level), change.slice(first_level, last_level),
                pull.slice(first_level, last_level), weight.slice(first, last),
                rivalry.slice(first, last),          stay.slice(first, last)};
    }
    void clear() const {
        for (const auto& zeros : {mean, pull, weight, rivalry, stay}) zeros.fill(0.0);
        change.fill(1.0);
    }
};

struct StateRoom {
    Scratch<double> mean, change, pull, weight, rivalry, stay;

    StateRoom(Index n_levels, Index n_docs)
        : mean(n_levels), change(n_levels), pull(n_levels), weight(n_docs), rivalry(n_docs), stay(n_docs) {}
    State of(const CostQuery& query) const {
        return State{mean, change, pull, weight, rivalry, stay}.slice(0, query.n_levels(), 0, query.rows.size);
    }
};

// Compute the state of one query with any finite scores; `ranked` and `top` are work space, per document and per level.
inline void prepare(const CostQuery& query, View<const double> scores, View<double> ranked, View<double> top,
                    const State& state) {
    const Index lowest = query.n_levels() - 1;
    if (lowest < 1) {
        state.clear();
        return;
    }
    take(scores, query.rows, ranked);
    double highest = -std::numeric_limits<double>::infinity();
    for (Index level = lowest; level > 0; --level) {
        const auto own = query.of_level(ranked, level);
        highest = std::max(highest, largest_of(own));
        top[level - 1] = highest;
        exp_below(own, highest, query.of_level(state.weight, level));
    }
    state.change.fill(1.0);
    for (Index level = 1; level < lowest; ++level) state.change[level] = std::exp(top[level] - top[level - 1]);
    query.of_level(state.weight, 0).fill(0.0);
    query.of_level(state.rivalry, lowest).fill(0.0);
    query.of_level(state.stay, lowest).fill(0.0);
    state.mean[lowest] = 0.0;
    Carried below;
    for (Index level = lowest - 1; level >= 0; --level) {
        below.up(query, level, sum_of(query.of_level(state.weight, level + 1)), state.change[level + 1]);
        const double mean = state.mean[level] = below.weighted / query.norm[level], highest_below = top[level];
#pragma omp simd
        for (Index p = query.begin(level); p < query.end(level); ++p) {
            const double gap = ranked[p] - highest_below, own = exp(gap < 700.0 ? gap : 700.0);
            state.rivalry[p] = 1.0 / (own + mean);
            state.stay[p] = own * state.rivalry[p];
        }
    }
    Carried above;
    state.pull[0] = 0.0;
    for (Index level = 1; level <= lowest; ++level) {
        above.down(query, level, sum_of(query.of_level(state.rivalry, level - 1)), state.change[level - 1]);
        state.pull[level] = above.weighted;
    }
}

// log(1 + mean · exp(gap)) for any gap.
inline double log_one_plus(double mean, double gap) {
    return gap > WIDEST ? std::log(mean) + gap : std::log1p(mean * std::exp(gap));
}

// The loss of a query with any finite scores, and its slope, from its state.
inline double wide(const CostQuery& query, View<const double> scores, const State& state, View<double> slope) {
    double loss = 0.0, highest = -std::numeric_limits<double>::infinity();
    for (Index level = query.n_levels() - 1; level >= 0; --level) {
        const double norm = query.norm[level], mean = state.mean[level];
        for (Index p = query.begin(level); p < query.end(level); ++p) {
            const Index row = query.rows[p];
            if (norm > 0.0) loss += query.scale * norm * log_one_plus(mean, highest - scores[row]);
            slope[row] = query.scale * (state.pull[level] * state.weight[p] - norm * mean * state.rivalry[p]);
        }
        for (const Index row : query.of_level(query.rows, level)) highest = std::max(highest, scores[row]);
    }
    return loss;
}

// π v − π (π · v) of each term, π its choice probabilities and v the direction.
inline void multiply(const CostQuery& query, const State& state, View<const double> direction, View<double> ranked,
                     View<double> mean, View<double> product) {
    const Index lowest = query.n_levels() - 1;
    if (lowest < 1) {
        for (const Index row : query.rows) product[row] = 0.0;
        return;
    }
    take(direction, query.rows, ranked);
    Carried below;
    for (Index level = lowest - 1; level >= 0; --level) {
        const double joining =
            inner_product(query.of_level(state.weight, level + 1), query.of_level(ranked, level + 1));
        below.up(query, level, joining, state.change[level + 1]);
        mean[level] = below.weighted / query.norm[level];
    }
    Carried above;
    double joining = 0.0;
    for (Index level = 0; level <= lowest; ++level) {
        if (level > 0) above.down(query, level, joining, state.change[level - 1]);
        joining = 0.0;
        const double pull = state.pull[level], crossed = above.weighted;
        for (Index p = query.begin(level); p < query.end(level); ++p) {
            const double along = ranked[p];
            double bent = state.weight[p] * (along * pull - crossed);
            if (level < lowest) {
                const double expected = state.stay[p] * along + state.rivalry[p] * mean[level];
                joining += state.rivalry[p] * expected;
                bent += query.norm[level] * state.stay[p] * (along - expected);
            }
            product[query.rows[p]] = query.scale * bent;
        }
    }
}

// As a rival a document has the curvature weight · (pull − weight · Σ_j w² rivalry_j² / norm), summed over the documents
// above.
inline void diagonal(const CostQuery& query, const State& state, View<double> out) {
    double square = 0.0;
    Carried above;
    for (Index level = 0; level < query.n_levels(); ++level) {
        if (level > 0) {
            const auto rivalry = query.of_level(state.rivalry, level - 1);
            const double joining = inner_product(rivalry, rivalry) / query.norm[level - 1];
            const double more = query.sign * (query.strength[level] - query.strength[level - 1]);
            const double factor = state.change[level - 1] * state.change[level - 1];
            const double meeting = query.strength[level - 1] + query.sign * query.strength[level];
            square = (square + 2.0 * more * above.weighted + more * more * above.plain) * factor;
            square += meeting * meeting * joining;
            above.down(query, level, joining, factor);
        }
        const double spread = query.norm[level] * state.mean[level], pull = state.pull[level];
        for (Index p = query.begin(level); p < query.end(level); ++p) {
            const double as_rival = state.weight[p] * (pull - state.weight[p] * square);
            out[query.rows[p]] = query.scale * (spread * state.stay[p] * state.rivalry[p] + std::max(as_rival, 0.0));
        }
    }
}

// The curvature of each term is diag(π) − π πᵀ, π its choice probabilities, which is at most diag(π).
inline void bound(const CostQuery& query, const State& state, View<double> out) {
    for (Index level = 0; level < query.n_levels(); ++level)
        for (Index p = query.begin(level); p < query.end(level); ++p)
            out[query.rows[p]] =
                query.scale * (query.norm[level] * state.stay[p] + state.pull[level] * state.weight[p]);
}

}  // namespace cost_sensitive

class CostSensitive final : public Loss {
public:
    explicit CostSensitive(const CostLevels& levels) : levels(levels) {}

    View<const Index> indptr() const override { return levels.indptr; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        const Scratch<double> mean(levels.most_levels(first, last));
        for (Index q = first; q < last; ++q) {
            const auto here = scores.slice(levels.indptr[q], levels.indptr[q + 1]);
            const auto pull = slope.slice(levels.indptr[q], levels.indptr[q + 1]);
            if (levels.n_levels(q) < 2) {
                values[q] = 0.0;
                pull.fill(0.0);
                continue;
            }
            const CostQuery query(levels, q);
            const auto [low, high] = range_of(here);
            if (high - low < cost_sensitive::WIDEST) {
                exp_below(here, high, pull);
                values[q] = cost_sensitive::narrow(query, mean, slope);
            } else {
                with_states(scores, q, q + 1, [&](const CostQuery&, const cost_sensitive::State& state) {
                    values[q] = cost_sensitive::wide(query, scores, state, slope);
                });
            }
        }
    }

    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        const Scratch<double> ranked(levels.most_docs(first, last)), mean(levels.most_levels(first, last));
        with_states(scores, first, last, [&](const CostQuery& query, const cost_sensitive::State& state) {
            cost_sensitive::multiply(query, state, direction, ranked, mean, product);
        });
    }

    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        with_states(scores, first, last, [&](const CostQuery& query, const cost_sensitive::State& state) {
            cost_sensitive::diagonal(query, state, diagonal);
        });
    }

    void bound(View<const double> scores, View<double> bounds, Index first, Index last) const override {
        with_states(scores, first, last, [&](const CostQuery& query, const cost_sensitive::State& state) {
            cost_sensitive::bound(query, state, bounds);
        });
    }

    // For many products at the same scores: `state` has space for all levels and documents.
    void keep(View<const double> scores, const cost_sensitive::State& state) const {
        const Index n_queries = levels.indptr.size - 1;
        const Scratch<double> ranked(levels.most_docs(0, n_queries)), top(levels.most_levels(0, n_queries));
        for (Index q = 0; q < n_queries; ++q)
            cost_sensitive::prepare(CostQuery(levels, q), scores, ranked, top, of_query(state, q));
    }
    void multiply_kept(const cost_sensitive::State& state, View<const double> direction, View<double> product) const {
        const Index n_queries = levels.indptr.size - 1;
        const Scratch<double> ranked(levels.most_docs(0, n_queries)), mean(levels.most_levels(0, n_queries));
        for (Index q = 0; q < n_queries; ++q)
            cost_sensitive::multiply(CostQuery(levels, q), of_query(state, q), direction, ranked, mean, product);
    }

private:
    CostLevels levels;

    cost_sensitive::State of_query(const cost_sensitive::State& state, Index q) const {
        return state.slice(levels.level_indptr[q], levels.level_indptr[q + 1], levels.indptr[q], levels.indptr[q + 1]);
    }

    template <class Work>
    void with_states(View<const double> scores, Index first, Index last, Work work) const {
        const Index most_levels = levels.most_levels(first, last), most_docs = levels.most_docs(first, last);
        const Scratch<double> ranked(most_docs), top(most_levels);
        const cost_sensitive::StateRoom room(most_levels, most_docs);
        for (Index q = first; q < last; ++q) {
            const CostQuery query(levels, q);
            const auto state = room.of(query);
            cost_sensitive::prepare(query, scores, ranked, top, state);
            work(query, state);
        }
    }
};

inline void keep_cost_sensitive(const Loss& loss, View<const double> scores, View<double> mean,
                                View<double> change, View<double> pull, View<double> weight, View<double> rivalry,
                                View<double> stay) {
    dynamic_cast<const CostSensitive&>(loss).keep(scores, {mean, change, pull, weight, rivalry, stay});
}

inline void multiply_cost_sensitive(const Loss& loss, View<double> mean, View<double> change,
                                    View<double> pull, View<double> weight, View<double> rivalry, View<double> stay,
                                    View<const double> direction, View<double> product) {
    dynamic_cast<const CostSensitive&>(loss).multiply_kept({mean, change, pull, weight, rivalry, stay}, direction, product);
}

inline Loss* make_cost_sensitive(View<const Index> order, View<const Index> indptr, View<const Index> bounds,
                                          View<const Index> level_indptr, View<const double> strength,
                                          View<const double> norm, View<const double> scale, double sign) {
    return new CostSensitive({order, indptr, bounds, level_indptr, strength, norm, scale, sign});
}

}  // namespace plackett
