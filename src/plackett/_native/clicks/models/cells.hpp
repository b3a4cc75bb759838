// Models in which a click depends on the pair and on a cell, independently of all else: the rank (PBM), or the rank and
// the rank of the last click above (UBM). P(click) = chance[cell] · attraction[pair].
//
// The likelihood depends only on the clicks and skips of each pair in each cell, so the log is collapsed to these.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "clicks/models/sessions.hpp"
#include "core/exp.hpp"

namespace plackett::clicks {

constexpr double LEAST = 1e-6;  // probabilities stay within [LEAST, 1 - LEAST]

inline double clipped(double p) { return std::clamp(p, LEAST, 1.0 - LEAST); }

// The cell of a rank (from 0) after a last click at rank `last` (from 1; 0 for none).
inline Index cell_of(Index rank, Index last, bool by_last) { return by_last ? rank * (rank + 1) / 2 + last : rank; }

struct Count {
    std::uint64_t key;  // pair and cell
    Code clicks, skips;
};

// Counts of the pairs of one query by cell, in the order of pairs and cells.
class CellCounts {
public:
    // Count the rows of sessions order[begin] to order[end - 1].
    const std::vector<Count>& of(const Sessions& sessions, View<const Code> order, Index begin, Index end, bool by_last) {
        Index n_rows = 0, longest = 1;
        Code low = std::numeric_limits<Code>::max(), high = 0;
        for (Index i = begin; i < end; ++i) {
            n_rows += sessions.length(order[i]);
            longest = std::max(longest, sessions.length(order[i]));
            for (const Code pair : sessions.pairs_of(order[i])) low = std::min(low, pair), high = std::max(high, pair);
        }
        counts.clear();
        const Index n_cells = cell_of(longest - 1, by_last ? longest - 1 : 0, by_last) + 1;
        const Index n_pairs = n_rows ? high - low + 1 : 0;
        const auto key_of = [&](Index pair, Index cell) {
            return static_cast<std::uint64_t>(pair) << 32 | static_cast<std::uint64_t>(cell);
        };
        if (n_pairs <= (SMALL + 4 * n_rows) / n_cells) {  // a matrix: no search and no sorting
            matrix.assign(static_cast<std::size_t>(n_pairs * n_cells), {0, 0});
            visit(sessions, order, begin, end, by_last, [&](Code pair, Index cell, bool is_clicked) {
                auto& [clicks, skips] = matrix[static_cast<std::size_t>((pair - low) * n_cells + cell)];
                ++(is_clicked ? clicks : skips);
            });
            for (Index p = 0, i = 0; p < n_pairs; ++p)
                for (Index c = 0; c < n_cells; ++c, ++i)
                    if (const auto& [clicks, skips] = matrix[static_cast<std::size_t>(i)]; clicks + skips > 0)
                        counts.push_back({key_of(low + p, c), clicks, skips});
            return counts;
        }
        table.reset(n_rows);
        visit(sessions, order, begin, end, by_last, [&](Code pair, Index cell, bool is_clicked) {
            const auto key = key_of(pair, cell);
            const auto next = static_cast<Index>(counts.size());
            const Index place = table.find(mixed(key), next, [&](Index p) { return counts[p].key == key; });
            if (place == next) counts.push_back({key, 0, 0});
            ++(is_clicked ? counts[place].clicks : counts[place].skips);
        });
        std::sort(counts.begin(), counts.end(), [](const Count& one, const Count& other) { return one.key < other.key; });
        return counts;
    }

private:
    static constexpr Index SMALL = 1 << 12;

    template <class Each>
    static void visit(const Sessions& sessions, View<const Code> order, Index begin, Index end, bool by_last,
                      const Each& each) {
        for (Index i = begin; i < end; ++i) {
            const auto pairs = sessions.pairs_of(order[i]);
            const auto clicked = sessions.clicks_of(order[i]);
            Index above = 0;
            for (Index r = 0; r < pairs.size; ++r) {
                each(pairs[r], cell_of(r, above, by_last), clicked[r]);
                if (clicked[r]) above = r + 1;
            }
        }
    }

    std::vector<Count> counts;
    std::vector<std::pair<Code, Code>> matrix;
    Table table;
};

// Count the clicks and skips of the pairs of queries `first` to `last` by cell. Pairs are counted from `first_pair`, and
// cells of pair p are cell[indptr[p]] to cell[indptr[p + 1] - 1], in order. Returns the number of cells; the outputs
// have room for one cell per row.
inline Index collapse_cells(View<const Index> session_indptr, View<const Code> pair, View<const bool> click,
                            View<const Index> bounds, View<const Code> order, Index first, Index last, Index first_pair,
                            bool by_last, View<Index> indptr, View<Code> cell, View<Code> clicks, View<Code> skips) {
    const Sessions sessions{session_indptr, pair, click};
    CellCounts counts;
    Index n_cells = 0;
    indptr.fill(0);
    for (Index q = first; q < last; ++q)
        for (const Count& count : counts.of(sessions, order, bounds[q], bounds[q + 1], by_last)) {
            ++indptr[static_cast<Index>(count.key >> 32) - first_pair + 1];
            cell[n_cells] = static_cast<Code>(count.key & 0xFFFFFFFFu);
            clicks[n_cells] = count.clicks;
            skips[n_cells++] = count.skips;
        }
    for (Index p = 1; p < indptr.size; ++p) indptr[p] += indptr[p - 1];
    return n_cells;
}

// The attraction of one pair that maximises Σ clicks log p + Σ skips log(1 - chance p) + yes log p + no log(1 - p):
// concave in p, so Newton's method within a shrinking bracket.
inline double best_attraction(double p, double yes, double no, View<const double> chance, View<const Code> skips) {
    double low = LEAST, high = 1.0 - LEAST, curvature = 0.0;
    const auto slope_at = [&](double at) {
        double slope = yes / at - no / (1.0 - at);
        curvature = yes / (at * at) + no / ((1.0 - at) * (1.0 - at));
        for (Index c = 0; c < chance.size; ++c) {
            const double ratio = chance[c] / (1.0 - chance[c] * at);
            slope -= skips[c] * ratio;
            curvature += skips[c] * ratio * ratio;
        }
        return slope;
    };
    for (int step = 0; step < 100; ++step) {
        const double slope = slope_at(p);
        (slope > 0.0 ? low : high) = p;
        double next = p + slope / std::max(curvature, 1e-300);
        if (next <= LEAST && slope_at(LEAST) <= 0.0) return LEAST;
        if (next >= 1.0 - LEAST && slope_at(1.0 - LEAST) >= 0.0) return 1.0 - LEAST;
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        const double move = std::abs(next - p);
        p = next;
        if (move <= 1e-4 * p * (1.0 - p)) break;  // quadratic convergence: the error is about the square of the move
    }
    return p;
}

// One pass over the pairs of a block: set each attraction to its maximum given the chances of the cells, or leave it
// (`moves` false), and add up the expected looks in each cell after skips and clicks. Returns the log-likelihood plus
// Σ yes log p + no log(1 - p) of the attractions.
inline double cells_pass(View<const Index> indptr, View<const Code> cell, View<const Code> clicks, View<const Code> skips,
                         View<const double> chance, View<const double> prior_yes, View<const double> prior_no, bool moves,
                         View<double> attraction, View<double> looks) {
    double value = 0.0;
    std::vector<double> own;
    for (Index p = 0; p < attraction.size; ++p) {
        const Index begin = indptr[p], size = indptr[p + 1] - begin;
        own.resize(static_cast<std::size_t>(size));
        const View<double> chances{own.data(), size};
        const auto skipped = skips.slice(begin, begin + size);
        double n_clicks = 0.0;
        for (Index c = 0; c < size; ++c) {
            chances[c] = chance[cell[begin + c]];
            n_clicks += clicks[begin + c];
        }
        const double yes = prior_yes[p] + n_clicks, no = prior_no[p];
        if (moves) attraction[p] = best_attraction(attraction[p], yes, no, chances, skipped);
        const double a = attraction[p];
        value += yes * std::log(a) + no * std::log1p(-a);
        for (Index c = 0; c < size; ++c) {
            const double skip = 1.0 - chances[c] * a;
            looks[cell[begin + c]] += clicks[begin + c] + skipped[c] * chances[c] * (1.0 - a) / skip;
            if (skipped[c] > 0) value += skipped[c] * log(skip);
            if (clicks[begin + c] > 0) value += clicks[begin + c] * log(chances[c]);
        }
    }
    return value;
}

// The information about the logit of one attraction.
inline double own_information(double a, double prior, View<const double> chance, View<const Code> clicks,
                              View<const Code> skips) {
    double own = prior * a * (1.0 - a);
    for (Index c = 0; c < chance.size; ++c) {
        const double attracted = (1.0 - chance[c]) * a / (1.0 - chance[c] * a);  // given a skip
        own += (static_cast<double>(clicks[c]) + skips[c]) * a * (1.0 - a) - skips[c] * attracted * (1.0 - attracted);
    }
    return own;
}

// As `cells_pass`, with attractions integrated out under their Beta priors, by Gauss-Hermite quadrature around the mode
// on the scale of logits. Attractions are set to the mode, and the expected logarithms of p and of 1 - p are written to
// `log_yes` and `log_no`. `nodes` are those of the weight exp(-x²), and `log_weights` the logarithms of their weights plus
// x². Returns Σ log ∫ p^yes (1 - p)^no … d logit p.
inline double cells_marginal_pass(View<const Index> indptr, View<const Code> cell, View<const Code> clicks,
                                  View<const Code> skips, View<const double> chance, View<const double> prior_yes,
                                  View<const double> prior_no, View<const double> nodes, View<const double> log_weights,
                                  View<double> attraction, View<double> log_yes, View<double> log_no,
                                  View<double> looks) {
    constexpr Index n_nodes = 16;  // known to the compiler, so that loops over nodes have no remainder
    if (nodes.size != n_nodes || log_weights.size != n_nodes) throw std::invalid_argument("16 nodes are needed.");
    double value = 0.0;
    std::vector<double> own;
    alignas(64) double at[n_nodes], density[n_nodes];
    for (Index p = 0; p < attraction.size; ++p) {
        const Index begin = indptr[p], size = indptr[p + 1] - begin;
        if (size == 0) continue;  // never shown
        own.resize(static_cast<std::size_t>(size));
        const View<double> chances{own.data(), size};
        const auto clicked = clicks.slice(begin, begin + size), skipped = skips.slice(begin, begin + size);
        double yes = prior_yes[p];
        const double no = prior_no[p];
        for (Index c = 0; c < size; ++c) {
            chances[c] = chance[cell[begin + c]];
            yes += clicked[c];
            if (clicked[c] > 0) value += clicked[c] * log(chances[c]);
        }
        const double mode = attraction[p] = best_attraction(attraction[p], yes, no, chances, skipped);
        const double information = own_information(mode, prior_yes[p] + no, chances, clicked, skipped);
        const double scale = std::sqrt(2.0 / std::max(information, 1e-3)), center = std::log(mode) - std::log1p(-mode);
        for (Index k = 0; k < n_nodes; ++k) {
            at[k] = clipped(1.0 / (1.0 + std::exp(-(center + scale * nodes[k]))));
            density[k] = log_weights[k] + yes * log(at[k]) + no * log(1.0 - at[k]);
        }
        for (Index c = 0; c < size; ++c)
            if (skipped[c] > 0) {
                const double chance_of_look = chances[c], n_skips = skipped[c];
#pragma omp simd
                for (Index k = 0; k < n_nodes; ++k) density[k] += n_skips * log(1.0 - chance_of_look * at[k]);
            }
        double highest = density[0], total = 0.0;
        for (Index k = 1; k < n_nodes; ++k) highest = std::max(highest, density[k]);
        for (Index k = 0; k < n_nodes; ++k) total += density[k] = std::exp(density[k] - highest);
        value += highest + std::log(total * scale);
        log_yes[p] = log_no[p] = 0.0;
        for (Index k = 0; k < n_nodes; ++k) {
            density[k] /= total;
            log_yes[p] += density[k] * log(at[k]);
            log_no[p] += density[k] * log(1.0 - at[k]);
        }
        for (Index c = 0; c < size; ++c) {
            double looked = 0.0;
            const double chance_of_look = chances[c];
#pragma omp simd reduction(+ : looked)
            for (Index k = 0; k < n_nodes; ++k) looked += density[k] * (1.0 - at[k]) / (1.0 - chance_of_look * at[k]);
            looks[cell[begin + c]] += clicked[c] + skipped[c] * chances[c] * looked;
        }
    }
    return value;
}

// The observed information of the logits of attractions (diagonal) and of the logits of the chances, less what the
// attractions take away from it (Schur complement: the lower triangle), in the order of `free` cells (-1 for a fixed
// one), which rises; the coupling of pair p with its cells is written to `coupling`, aligned with the cells. Everything
// includes the priors of attractions.
inline void cells_information(View<const Index> indptr, View<const Code> cell, View<const Code> clicks,
                              View<const Code> skips, View<const double> chance, View<const double> prior_yes,
                              View<const double> prior_no, View<const double> attraction, View<const Code> free,
                              View<double> information, View<double> coupling, Rows<double> schur) {
    std::vector<std::pair<Code, double>> coupled;
    for (Index p = 0; p < attraction.size; ++p) {
        const double a = attraction[p];
        double own = (prior_yes[p] + prior_no[p]) * a * (1.0 - a);
        for (Index c = indptr[p]; c < indptr[p + 1]; ++c) {
            const double t = chance[cell[c]], skip = 1.0 - t * a, n = static_cast<double>(clicks[c]) + skips[c];
            const double attracted = (1.0 - t) * a / skip, looked = t * (1.0 - a) / skip;  // given a skip
            own += n * a * (1.0 - a) - skips[c] * attracted * (1.0 - attracted);
            coupling[c] = skips[c] * attracted * looked;
            const Code f = free[cell[c]];
            if (f >= 0) schur(f, f) += n * t * (1.0 - t) - skips[c] * looked * (1.0 - looked);
        }
        information[p] = own;
        coupled.clear();
        for (Index c = indptr[p]; c < indptr[p + 1]; ++c)
            if (free[cell[c]] >= 0 && coupling[c] != 0.0) coupled.push_back({free[cell[c]], coupling[c]});
        for (std::size_t c = 0; c < coupled.size(); ++c) {
            const double share = coupled[c].second / own;
            for (std::size_t d = 0; d <= c; ++d) schur(coupled[c].first, coupled[d].first) -= share * coupled[d].second;
        }
    }
}

// The variance that uncertain chances add to each logit: coupling' · covariance · coupling / information².
inline void cells_added_variance(View<const Index> indptr, View<const Code> cell, View<const Code> free,
                                 Rows<const double> covariance, View<const double> information,
                                 View<const double> coupling, View<double> added) {
    for (Index p = 0; p < information.size; ++p) {
        double sum = 0.0;
        for (Index c = indptr[p]; c < indptr[p + 1]; ++c)
            for (Index d = indptr[p]; d < indptr[p + 1]; ++d)
                if (free[cell[c]] >= 0 && free[cell[d]] >= 0)
                    sum += coupling[c] * coupling[d] * covariance(free[cell[c]], free[cell[d]]);
        added[p] = sum / (information[p] * information[p]);
    }
}

// The chance of a click in each row of sessions first to last: given the clicks above, or before any was seen.
inline void cells_chances(View<const Index> indptr, View<const Code> pair, View<const bool> click, Index first, Index last,
                          View<const double> attraction, View<const double> chance, Index n_ranks, bool by_last,
                          bool is_conditional, View<double> chances) {
    const Sessions sessions{indptr, pair, click};
    std::vector<double> at;  // chance that the last click was at rank j (from 1; 0 for none)
    for (Index s = first; s < last; ++s) {
        const auto pairs = sessions.pairs_of(s);
        const auto out = chances.slice(indptr[s] - indptr[first], indptr[s + 1] - indptr[first]);
        const auto cell = [&](Index rank, Index above) {  // ranks beyond those of the fit count as its last one
            const Index r = std::min(rank, n_ranks - 1);
            return cell_of(r, std::min(above, r), by_last);
        };
        if (is_conditional || !by_last) {
            const auto clicked = sessions.clicks_of(s);
            Index above = 0;
            for (Index r = 0; r < pairs.size; ++r) {
                out[r] = attraction[pairs[r]] * chance[cell(r, above)];
                if (clicked[r]) above = r + 1;
            }
            continue;
        }
        at.assign(static_cast<std::size_t>(pairs.size) + 1, 0.0);
        at[0] = 1.0;
        for (Index r = 0; r < pairs.size; ++r) {
            double now = 0.0;
            for (Index j = 0; j <= r; ++j) {
                const double here = at[j] * attraction[pairs[r]] * chance[cell(r, j)];
                at[j] -= here;
                now += here;
            }
            out[r] = at[r + 1] = now;
        }
    }
}

// Clicks of simulated users; a row is clicked if its draw is below its chance.
inline void cells_simulate(View<const Index> indptr, View<const Code> pair, Index first, Index last,
                           View<const double> attraction, View<const double> chance, Index n_ranks, bool by_last,
                           View<const double> draws, View<bool> click) {
    for (Index s = first; s < last; ++s) {
        Index above = 0;
        for (Index i = indptr[s]; i < indptr[s + 1]; ++i) {
            const Index rank = i - indptr[s], r = std::min(rank, n_ranks - 1), place = i - indptr[first];
            click[place] = draws[place] < attraction[pair[i]] * chance[cell_of(r, std::min(above, r), by_last)];
            if (click[place]) above = rank + 1;
        }
    }
}

}  // namespace plackett::clicks
