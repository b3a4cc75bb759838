// Weights of the pairs of one list that depend on the ranks of its scores.
//
// Tied documents form a group that owns the ranks start:stop. A weight is the expectation over all orders of the tied
// documents, the two of a pair at different ranks. With a cut, a pair has a weight only if one of the two is among the first
// k, also in expectation. Groups that reach the first k, all of them without a cut, are called top groups. For a top group A
// and a document j of another group, with means over the group's ranks of
//   mean: the discount; top: the discount within the first k, else 0; share: 1 within the first k, else 0,
// the formulas are short: above A, all ranks are within the first k; below A, those of A decide.
#pragma once
#include <cmath>

#include "core/sort.hpp"
#include "core/vector_ops.hpp"

namespace plackett {

enum class PairWeight : Index {
    uniform, label_difference, gain_difference, label, lambdarank, ndcg_loss1, ndcg_loss2, ndcg_loss2pp, precision
};

struct WeightSettings {  // the settings of weights, and values by place in label order
    PairWeight kind;
    Index k;  // the cut, 0 without one
    double mu;
    bool has_norm;  // whether weights are divided by .01 + |s_i - s_j|, as LightGBM and XGBoost do
    View<const double> labels, gains, discounts;

    bool has_cut() const { return k > 0; }
    // Whether a weight belongs to an ordered pair, all of which are met, instead of a pair of different labels.
    bool is_one_sided() const { return kind == PairWeight::label || kind == PairWeight::ndcg_loss1; }
    bool has_distances() const { return kind == PairWeight::ndcg_loss2 || kind == PairWeight::ndcg_loss2pp; }
    bool has_discounts() const {
        return kind == PairWeight::lambdarank || kind == PairWeight::ndcg_loss1 || kind == PairWeight::ndcg_loss2pp;
    }
    bool has_ranks() const { return has_cut() || has_distances() || has_discounts(); }
    bool moves() const { return has_ranks() || has_norm; }
    // What weights are made of besides ranks; none for those that are equal for all labels.
    View<const double> values() const {
        if (kind == PairWeight::uniform || kind == PairWeight::precision) return {nullptr, 0};
        return kind == PairWeight::label_difference || kind == PairWeight::label ? labels : gains;
    }
};

struct Ranking {  // of one list: its places in label order, sorted by score, and for each rank the end of its tie group
    View<Index> places, ends;
};

struct TieGroup {
    Index start, stop;
    double share, top, mean;
    double tied;  // the weight of two documents of the group

    Index size() const { return stop - start; }
};

class RankWeights {  // work space for lists of up to `longest` documents
public:
    RankWeights(const WeightSettings& settings, Index longest)
        : of(settings), sort(longest), keys(longest), starts(longest), shares(longest), means(longest),
          distances(settings.has_distances() ? longest : 0), from_distance(settings.has_distances() ? longest + 1 : 0) {
        if (!settings.has_distances()) return;
        from_distance[0] = 0.0;  // sums of δ(1) to δ(d), which is |1/D(d) - 1/D(d + 1)|
        for (Index d = 1; d < longest; ++d)
            from_distance[d] = from_distance[d - 1] + (of.discounts[d - 1] - of.discounts[d]);
    }

    // Rank the scores of a list, which are in label order. Without a need for ranks, every document is alone in any order.
    void rank(View<const double> scores, Ranking ranking) const {
        const Index n = scores.size;
        if (!of.has_ranks()) {
            for (Index r = 0; r < n; ++r) ranking.places[r] = r, ranking.ends[r] = r + 1;
            return;
        }
        const View<double> own = keys.slice(0, n);
        for (Index i = 0; i < n; ++i) own[i] = -scores[i];
        sort(own, ranking.places);
        for (Index start = 0, stop = 0; start < n; start = stop) {
            for (stop = start + 1; stop < n && own[stop] == own[start];) ++stop;
            ranking.ends.slice(start, stop).fill(stop);
        }
    }

    // Prepare the weights of a list. `scores` are those of the ranking; `values` and `scores` are in label order.
    void load(Ranking ranks, View<const double> own_scores, View<const double> own_values) {
        ranking = ranks;
        scores = own_scores;
        values = own_values;
        const auto [low, high] = range_of(scores);
        is_normed = of.has_norm && low != high;
        if (!of.has_ranks()) return;
        for (Index start = 0; start < ranking.ends.size; start = ranking.ends[start]) {
            const TieGroup group = group_at(start);
            for (Index r = group.start; r < group.stop; ++r) {
                const Index place = ranking.places[r];
                starts[place] = static_cast<double>(start);
                shares[place] = group.share;
                means[place] = group.mean;
            }
        }
    }

    // Call row(i) for each document of a top group, after the group's weights are prepared.
    template <class Row>
    void each_top(Row row) {
        for (Index start = 0; start < ranking.ends.size && (!of.has_cut() || start < of.k); start = ranking.ends[start]) {
            group = group_at(start);
            if (group.size() > 1) group.tied = tied_weight();
            if (of.has_distances()) measure_distances();
            for (Index r = group.start; r < group.stop; ++r) row(ranking.places[r]);
        }
    }

    // The weights of document i of the present group with documents first:last. `own` receives those of the pair in which i
    // should be above, `others` those of one-sided weights in which i should be below. Documents of top groups get 0 if
    // `is_rest`, because their pairs with i are met elsewhere.
    void weigh(Index i, Index first, Index last, bool is_rest, View<double> own, View<double> others) const {
        weigh_ranks(first, last, own, others);
        const Index n = last - first;
        double *w = own.data + first, *v = others.data + first;
        if (of.kind == PairWeight::label) std::copy_n(w, n, v);
        if (values.size > 0) {
            const double* value = values.data + first;
            const double at = values[i];
            if (of.is_one_sided()) {
#pragma omp simd
                for (Index j = 0; j < n; ++j) w[j] *= at, v[j] *= value[j];
            } else {
#pragma omp simd
                for (Index j = 0; j < n; ++j) w[j] *= std::abs(at - value[j]);
            }
        }
        if (is_normed) {
            const double *score = scores.data + first, at = scores[i];
#pragma omp simd
            for (Index j = 0; j < n; ++j) w[j] /= 0.01 + std::abs(at - score[j]);
            if (of.is_one_sided()) {
#pragma omp simd
                for (Index j = 0; j < n; ++j) v[j] /= 0.01 + std::abs(at - score[j]);
            }
        }
        if (is_rest) {
            const double* share = shares.view().data + first;
#pragma omp simd
            for (Index j = 0; j < n; ++j) w[j] = share[j] > 0.0 ? 0.0 : w[j];
            if (of.is_one_sided()) {
#pragma omp simd
                for (Index j = 0; j < n; ++j) v[j] = share[j] > 0.0 ? 0.0 : v[j];
            }
        }
    }

private:
    TieGroup group_at(Index start) const {
        TieGroup found = {start, ranking.ends[start], 1.0, 0.0, 0.0, 0.0};
        const double size = static_cast<double>(found.size());
        const Index inside = top_end(found) - start;
        if (of.has_cut()) found.share = static_cast<double>(inside) / size;
        if (of.has_discounts()) {
            const View<const double> own = of.discounts.slice(start, found.stop);
            found.top = sum_of(own.slice(0, inside)) / size;
            found.mean = found.top + sum_of(own.slice(inside, own.size)) / size;
        }
        return found;
    }

    Index top_end(const TieGroup& g) const { return of.has_cut() ? std::max(g.start, std::min(g.stop, of.k)) : g.stop; }

    // The expected weight of two documents of the present group.
    double tied_weight() const {
        const Index end = top_end(group);
        const double size = static_cast<double>(group.size()), inside = static_cast<double>(end - group.start);
        const double outside = size - inside, n_pairs = size * (size - 1.0);
        switch (of.kind) {
            case PairWeight::precision: return 2.0 * inside * outside / n_pairs;
            case PairWeight::ndcg_loss1:
                return (group.top * (size - 1.0) + (group.mean - group.top) * inside) / (size - 1.0);
            case PairWeight::lambdarank:
            case PairWeight::ndcg_loss2:
            case PairWeight::ndcg_loss2pp: break;
            default: return 1.0 - outside * (outside - 1.0) / n_pairs;
        }
        double differences = 0.0, steps = 0.0, below = 0.0;  // `below` sums the discounts of lower ranks
        if (of.has_discounts()) below = sum_of(of.discounts.slice(end, group.stop));
        for (Index p = end - 1; p >= group.start; --p) {
            const Index n_below = group.stop - 1 - p;
            if (of.has_distances()) steps += from_distance[n_below];
            if (!of.has_discounts()) continue;
            differences += of.discounts[p] * static_cast<double>(n_below) - below;
            below += of.discounts[p];
        }
        return 2.0 * mixed(differences, steps) / n_pairs;
    }

    double mixed(double difference, double distance) const {
        if (of.kind == PairWeight::lambdarank) return difference;
        return of.kind == PairWeight::ndcg_loss2 ? distance : difference + of.mu * distance;
    }

    // The expected δ of the ranks of a document of the present group and each document of another group.
    void measure_distances() const {
        const Index a = group.start, b = group.stop, end = top_end(group);
        for (Index start = 0, stop = 0; start < ranking.ends.size; start = stop) {
            stop = ranking.ends[start];
            if (start == a) continue;
            if (b - a == 1 && stop - start == 1) {
                const Index d = start > a ? start - a : a - start;
                distances[ranking.places[start]] = of.discounts[d - 1] - of.discounts[d];
                continue;
            }
            double sum = 0.0;
            if (start > a) {
                for (Index p = a; p < end; ++p) sum += from_distance[stop - 1 - p] - from_distance[start - 1 - p];
            } else {
                for (Index p = a; p < b; ++p) sum += from_distance[p - start] - from_distance[p - stop];
            }
            sum /= static_cast<double>((b - a) * (stop - start));
            for (Index r = start; r < stop; ++r) distances[ranking.places[r]] = sum;
        }
    }

    // The part of the weights that depends on ranks.
    void weigh_ranks(Index first, Index last, View<double> own, View<double> others) const {
        const Index n = last - first;
        if (!of.has_ranks()) {
            own.slice(first, last).fill(1.0);
            return;
        }
        const double *start = starts.view().data + first, *mean = means.view().data + first;
        const double a = static_cast<double>(group.start), tied = group.tied;
        const double g_share = group.share, g_top = group.top, g_mean = group.mean;
        double* w = own.data + first;
        switch (of.kind) {
            case PairWeight::lambdarank:
            case PairWeight::ndcg_loss2pp: {
#pragma omp simd
                for (Index j = 0; j < n; ++j) {
                    const double other = start[j] < a ? mean[j] - g_mean : g_top - g_share * mean[j];
                    w[j] = start[j] == a ? tied : other;
                }
                if (of.kind == PairWeight::lambdarank) return;
                const double* distance = distances.view().data + first;
                const double mu = of.mu;
#pragma omp simd
                for (Index j = 0; j < n; ++j) w[j] += start[j] == a ? 0.0 : mu * distance[j];
                return;
            }
            case PairWeight::ndcg_loss2: {
                const double* distance = distances.view().data + first;
#pragma omp simd
                for (Index j = 0; j < n; ++j) w[j] = start[j] == a ? tied : distance[j];
                return;
            }
            case PairWeight::ndcg_loss1: {
                double* v = others.data + first;
#pragma omp simd
                for (Index j = 0; j < n; ++j) {
                    const double above = start[j] < a ? g_mean : g_top, below = start[j] < a ? mean[j] : g_share * mean[j];
                    w[j] = start[j] == a ? tied : above;
                    v[j] = start[j] == a ? tied : below;
                }
                return;
            }
            case PairWeight::precision: {
                const double* share = shares.view().data + first;
#pragma omp simd
                for (Index j = 0; j < n; ++j) {
                    const double other = start[j] < a ? 1.0 - g_share : g_share * (1.0 - share[j]);
                    w[j] = start[j] == a ? tied : other;
                }
                return;
            }
            default:
#pragma omp simd
                for (Index j = 0; j < n; ++j) {
                    const double other = start[j] < a ? 1.0 : g_share;
                    w[j] = start[j] == a ? tied : other;
                }
        }
    }

    WeightSettings of;
    BucketSort sort;
    Scratch<double> keys, starts, shares, means, distances, from_distance;
    Ranking ranking{};  // of the present list
    View<const double> scores{}, values{};
    TieGroup group{};  // whose documents are met
    bool is_normed = false;
};

}  // namespace plackett
