// The second derivative of ListMLE and p-ListMLE: products, diagonal and bound. Names as in listmle.hpp.
#pragma once
#include "losses/listwise/listmle.hpp"
#include "losses/loss.hpp"

namespace plackett {

namespace listmle {

struct EfronCurvature {  // Σ_r of the terms of products; mean is Σ e^f v / C, own_mean the level's part of it
    double fall = 0.0, own_fall = 0.0;

    EfronCurvature(Index size, double share, double mean, double own_mean) {
        for (Index r = 0; r < size; ++r) {
            const double c = static_cast<double>(r) / static_cast<double>(size), rest = 1.0 - c * share;
            const double slant = (mean - c * own_mean) / (rest * rest);
            fall += slant;
            own_fall += c * slant;
        }
    }
};

struct EfronSquares {  // Σ_r of 1/(1 − c share)² and (1 − c)²/(1 − c share)²
    double squares = 0.0, own_squares = 0.0;

    EfronSquares(Index size, double share) {
        for (Index r = 0; r < size; ++r) {
            const double c = static_cast<double>(r) / static_cast<double>(size), rest = 1.0 - c * share;
            squares += 1.0 / (rest * rest);
            own_squares += (1.0 - c) * (1.0 - c) / (rest * rest);
        }
    }
};

// e^f of each document of a query, relative to one number, and 1/C of each level relative to it. If the range of scores
// is so wide that 1/C might overflow, each document is relative to the C of its own level, and `scale` has log C.
struct Choices {
    View<double> scale, shares;
    bool is_wide;

    // The factor that converts sums relative to the C of the level above to sums relative to this level's C.
    double shrink(Index level) const {
        return is_wide && level > 0 ? std::exp(scale[level] - scale[level - 1]) : 1.0;
    }
    double factor(Index level) const { return is_wide ? 1.0 : scale[level]; }
};

inline Choices choices(const Query& query, View<const double> scores, Index start, Index stop, View<double> out,
                       View<double> scale, View<double> shares) {
    const auto own_scores = scores.slice(start, stop);
    const auto [low, high] = range_of(own_scores);
    if (!(high - low < WIDEST / 2)) {  // half, because the diagonal squares them
        log_sums(query, scores, scale, shares);
        for (Index level = 0; level < query.n_levels(); ++level)
            for (const Index row : query.rows(level)) out[row] = std::exp(scores[row] - scale[level]);
        return {scale, shares, true};
    }
    exp_below(own_scores, high, out.slice(start, stop));
    double below = 0.0;
    for (Index level = query.n_levels() - 1; level >= 0; --level) {
        double own = 0.0;
        for (const Index row : query.rows(level)) own += out[row];
        below += own;
        scale[level] = 1.0 / below;
        shares[level] = own / below;
    }
    return {scale, shares, false};
}

// Level by level Σ w d (p v − p (p·v)), p being e^f / C: with A = Σ w d / C and B = Σ w d (p·v) / C over the levels at or
// above a document's own, its entry is e^f (v A − B).
inline void multiply_query(const Query& query, const Choices& chosen, View<const double> direction,
                           View<double> product, View<double> means, View<double> own_means) {
    double mean = 0.0;
    for (Index level = query.n_levels() - 1; level >= 0; --level) {
        double own = 0.0;
        for (const Index row : query.rows(level)) own += product[row] * direction[row];
        if (level + 1 < query.n_levels()) mean *= chosen.shrink(level + 1);
        mean += own;
        means[level] = mean * chosen.factor(level);
        own_means[level] = own * chosen.factor(level);
    }
    double pull = 0.0, fall = 0.0;
    for (Index level = 0; level < query.n_levels(); ++level) {
        double mass = query.weights[level] * static_cast<double>(query.size(level)), less = 0.0;
        double slant = mass * means[level], own_slant = 0.0;
        if (query.counts_ties(level)) {
            const Efron efron(query.size(level), chosen.shares[level]);
            const EfronCurvature bent(query.size(level), chosen.shares[level], means[level], own_means[level]);
            mass = efron.pull;
            less = efron.less;
            slant = bent.fall;
            own_slant = bent.own_fall;
        }
        const double shrink = chosen.shrink(level), factor = chosen.factor(level);
        pull = pull * shrink + mass * factor;
        fall = fall * shrink + slant * factor;
        const double own_pull = pull - less * factor, own_fall = fall - own_slant * factor;
        for (const Index row : query.rows(level)) product[row] *= direction[row] * own_pull - own_fall;
    }
}

// Σ w d (p − p²), or the bound Σ w d p.
inline void diagonal_of_query(const Query& query, const Choices& chosen, bool is_bound, View<double> diagonal) {
    double pull = 0.0, square = 0.0;
    for (Index level = 0; level < query.n_levels(); ++level) {
        double mass = query.weights[level] * static_cast<double>(query.size(level)), less = 0.0;
        double squares = mass, own_squares = mass;
        if (query.counts_ties(level)) {
            const Efron efron(query.size(level), chosen.shares[level]);
            const EfronSquares of_ties(query.size(level), chosen.shares[level]);
            mass = efron.pull;
            less = efron.less;
            squares = of_ties.squares;
            own_squares = of_ties.own_squares;
        }
        const double shrink = chosen.shrink(level), factor = chosen.factor(level);
        pull = pull * shrink + mass * factor;
        const double above = square * shrink * shrink;
        square = above + squares * factor * factor;
        const double own_pull = pull - less * factor;
        const double own_square = is_bound ? 0.0 : above + own_squares * factor * factor;
        for (const Index row : query.rows(level)) {
            const double chance = diagonal[row];
            diagonal[row] = std::max(chance * (own_pull - chance * own_square), 0.0);
        }
    }
}

}  // namespace listmle

class ListMLE final : public Loss {
public:
    explicit ListMLE(const WeightedLevels& levels) : levels(levels) {}

    View<const Index> indptr() const override { return levels.indptr; }

    void evaluate(View<const double> scores, View<double> slope, View<double> values, Index first,
                  Index last) const override {
        listmle::evaluate(levels, scores, slope, values, first, last);
    }

    void multiply(View<const double> scores, View<const double> direction, View<double> product, Index first,
                  Index last) const override {
        const Index most = levels.most_levels(first, last);
        const Scratch<double> means(most), own_means(most);
        each_query(scores, product, first, last, [&](const listmle::Query& query, const listmle::Choices& chosen) {
            listmle::multiply_query(query, chosen, direction, product, means, own_means);
        });
    }

    void diagonal(View<const double> scores, View<double> diagonal, Index first, Index last) const override {
        each_query(scores, diagonal, first, last, [&](const listmle::Query& query, const listmle::Choices& chosen) {
            listmle::diagonal_of_query(query, chosen, false, diagonal);
        });
    }

    void bound(View<const double> scores, View<double> bounds, Index first, Index last) const override {
        each_query(scores, bounds, first, last, [&](const listmle::Query& query, const listmle::Choices& chosen) {
            listmle::diagonal_of_query(query, chosen, true, bounds);
        });
    }

private:
    WeightedLevels levels;

    // Apply `work` to the choices of each query, which are in `out`; 0 for queries with one level.
    template <class Work>
    void each_query(View<const double> scores, View<double> out, Index first, Index last, Work work) const {
        const Index most = levels.most_levels(first, last);
        const Scratch<double> scale(most), shares(most);
        for (Index q = first; q < last; ++q) {
            const Index start = levels.indptr[q], stop = levels.indptr[q + 1], n_levels = levels.n_levels(q);
            if (n_levels < 2) {
                out.slice(start, stop).fill(0.0);
                continue;
            }
            const listmle::Query query(levels, q);
            work(query, listmle::choices(query, scores, start, stop, out, scale.slice(0, n_levels),
                                         shares.slice(0, n_levels)));
        }
    }
};

// Shuffle the rows of each level within `order`; draws are uniform in [0, 1), one per row.
inline void shuffle_levels(View<const Index> order, View<const Index> bounds, View<const double> draws,
                           View<Index> shuffled) {
    std::copy(order.begin(), order.end(), shuffled.begin());
    for (Index level = 0; level < bounds.size - 1; ++level) {
        const Index start = bounds[level];
        for (Index place = bounds[level + 1] - 1; place > start; --place) {
            const auto other = start + static_cast<Index>(draws[place] * static_cast<double>(place - start + 1));
            std::swap(shuffled[place], shuffled[other]);
        }
    }
}

inline Loss* make_listmle(View<const Index> indptr, View<const Index> order, View<const Index> bounds,
                          View<const Index> level_indptr, View<const double> weights, bool is_efron) {
    return new ListMLE({indptr, order, bounds, level_indptr, weights, is_efron});
}

}  // namespace plackett
