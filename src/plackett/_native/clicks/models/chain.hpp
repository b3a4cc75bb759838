// Models in which users look at the documents from the top down, and stop at some rank: DCM, CCM, DBN, SDBN.
//
// A looked-at document is clicked with the chance `attraction`. After a skip, the user looks on with the chance
// `after_skip`; after a click, with a chance that depends on the pair (CCM, DBN, SDBN) or on the rank (DCM).
//
// Everything down to the last click was looked at, so these ranks give counts per pair. What is hidden is how far the
// user looked below the last click at rank l, where nothing was clicked. With S_r the chance of no click from rank r on
// if r is looked at, a tail has the chance T_l = 1 - k_l + k_l S_{l+1}; all tails of one list share S. The likelihood
// therefore depends only on the counts per pair and, for each different list, on how many sessions had their last click
// at each rank.
#pragma once
#include <cmath>
#include <cstring>

#include "clicks/models/cells.hpp"

namespace plackett::clicks {

// The different lists of one block of queries. List i holds rows indptr[i] to indptr[i + 1] of `pair`, counted from the
// first pair of the block, and of `ends`: sessions with their last click there. It begins at rank `start[i]` (from 0),
// the first one with sessions that ended; n_none[i] sessions had no click.
struct Lists {
    View<const Index> indptr;
    View<const Code> pair, ends, start, n_none;
    View<const Index> query_lists, query_pairs;  // bounds of the lists and of the pairs of each query
};

// Collapse the sessions of queries `first` to `last`. Pairs are counted from `first_pair`. Adds to `clicks` (all clicks of a
// pair), `skips` (those above the last click), `passed` (clicks above the last click) and `passed_at` (the same by rank).
// The outputs have room for one list per session and one entry per row. Returns the numbers of lists and of rows.
inline std::pair<Index, Index> collapse_lists(View<const Index> session_indptr, View<const Code> pair,
                                              View<const bool> click, View<const Index> bounds, View<const Code> order,
                                              Index first, Index last, Index first_pair, View<Index> indptr,
                                              View<Code> list_pair, View<Code> ends, View<Code> start,
                                              View<Code> n_none, View<Index> query_lists, View<Code> clicks,
                                              View<Code> skips, View<Code> passed, View<double> passed_at) {
    const Sessions sessions{session_indptr, pair, click};
    struct List {
        std::uint64_t hash;
        Code session;
        Index counts;  // where its counts by rank of the last click begin
    };
    std::vector<List> lists;
    std::vector<Code> counts;
    Table table;
    Index n_lists = 0, n_rows = 0;
    indptr[0] = query_lists[0] = 0;
    for (Index q = first; q < last; ++q) {
        lists.clear();
        counts.clear();
        table.reset(bounds[q + 1] - bounds[q]);
        for (Index i = bounds[q]; i < bounds[q + 1]; ++i) {
            const Code session = order[i];
            const auto pairs = sessions.pairs_of(session);
            const auto clicked = sessions.clicks_of(session);
            std::uint64_t hash = static_cast<std::uint64_t>(pairs.size);
            for (const Code p : pairs) hash = mixed(hash * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(p) + 1);
            const auto next = static_cast<Index>(lists.size());
            const Index place = table.find(hash, next, [&](Index other) {
                const auto known = sessions.pairs_of(lists[other].session);
                return lists[other].hash == hash && known.size == pairs.size &&
                       std::equal(known.begin(), known.end(), pairs.begin());
            });
            if (place == next) {
                lists.push_back({hash, session, static_cast<Index>(counts.size())});
                counts.resize(counts.size() + static_cast<std::size_t>(pairs.size) + 1, 0);
            }
            Index end = pairs.size;
            while (end > 0 && !clicked[end - 1]) --end;
            ++counts[lists[place].counts + end];
            for (Index r = 0; r < end; ++r) {
                const Index p = pairs[r] - first_pair;
                if (!clicked[r]) {
                    ++skips[p];
                    continue;
                }
                ++clicks[p];
                if (r + 1 < end) {
                    ++passed[p];
                    passed_at[r] += 1.0;
                }
            }
        }
        // an order that does not depend on the order of the sessions
        std::sort(lists.begin(), lists.end(), [&](const List& one, const List& other) {
            if (one.hash != other.hash) return one.hash < other.hash;
            const auto a = sessions.pairs_of(one.session), b = sessions.pairs_of(other.session);
            return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
        });
        for (const List& list : lists) {
            const auto pairs = sessions.pairs_of(list.session);
            const View<const Code> count{counts.data() + list.counts, pairs.size + 1};
            Index begin = 0;
            if (count[0] == 0)
                while (begin < pairs.size && count[begin + 1] == 0) ++begin;
            if (begin + 1 >= pairs.size && count[0] == 0) continue;  // nothing below the last click
            n_none[n_lists] = count[0];
            start[n_lists] = static_cast<Code>(begin);
            for (Index r = begin; r < pairs.size; ++r) {
                list_pair[n_rows] = static_cast<Code>(pairs[r] - first_pair);
                ends[n_rows++] = count[r + 1];
            }
            indptr[++n_lists] = n_rows;
        }
        query_lists[q - first + 1] = n_lists;
    }
    return {n_lists, n_rows};
}

// What is counted for each pair, apart from the lists; n_pairs each.
struct PairCounts {
    View<const Code> clicks, skips, passed;
    View<const double> prior_yes, prior_no;
};

// Expected counts of one query: skips of looked-at documents below the last click, and whether users looked on after
// their last click or stopped, per pair or per rank.
struct Tails {
    View<double> skips, passed, stopped;
    double passed_skips = 0.0, stopped_skips = 0.0;
};

// Walk the tails of one list. `look_on` is the chance after a click, per row. Returns the log-likelihood.
template <bool by_rank>
double tail_expectations(const Lists& lists, Index list, View<const double> attraction, View<const double> look_on,
                         double after_skip, View<double> none, Tails& tails) {
    const Index begin = lists.indptr[list], n = lists.indptr[list + 1] - begin, start = lists.start[list];
    none[n - 1] = 1.0 - attraction[lists.pair[begin + n - 1]];
    for (Index r = n - 2; r >= 0; --r)
        none[r] = (1.0 - attraction[lists.pair[begin + r]]) * (1.0 - after_skip + after_skip * none[r + 1]);
    double looked = lists.n_none[list], value = looked > 0.0 ? looked * log(none[0]) : 0.0;
    for (Index r = 0; r < n; ++r) {
        const Code pair = lists.pair[begin + r];
        tails.skips[pair] += looked;
        if (r + 1 == n) break;
        const double went_on = looked * after_skip * none[r + 1] / (1.0 - after_skip + after_skip * none[r + 1]);
        tails.passed_skips += went_on;
        tails.stopped_skips += looked - went_on;
        looked = went_on;
        const double ends = lists.ends[begin + r];
        if (ends > 0.0) {
            const Index at = by_rank ? start + r : pair;
            const double on = look_on[at], tail = 1.0 - on + on * none[r + 1];
            value += ends * log(tail);
            const double passed = ends * on * none[r + 1] / tail;
            tails.passed[at] += passed;
            tails.stopped[at] += ends - passed;
            looked += passed;
        }
    }
    return value;
}

inline double log_odds(double p, double yes, double no) { return yes * log(p) + no * log(1.0 - p); }

inline double mean_of(double yes, double no, double fallback) {
    return yes + no > 0.0 ? clipped(yes / (yes + no)) : fallback;
}

// Each model says how the chance to look on after a click depends on its parameters, and what the expected counts make of
// these. `globals` are its parameters that no pair owns, `totals` their expected (yes, no) counts.

struct DBN {  // globals: γ
    static constexpr bool by_rank = false, has_satisfaction = true;
    static double after_skip(View<const double> globals) { return globals[0]; }
    static double look_on(double, double satisfaction, View<const double> globals) {
        return globals[0] * (1.0 - satisfaction);
    }
    // Of users who stopped after their last click: those who were satisfied.
    static double satisfied(double satisfaction, double on) { return satisfaction / (1.0 - on); }
    static std::pair<double, double> attraction(double clicks, double skips, double, double, double, double,
                                                View<const double>) {
        return {clicks, skips};
    }
    static void totals(double, double satisfaction, double on, double skips, double passed, double stopped,
                       View<const double>, Rows<double> sums) {
        sums(0, 0) += skips + passed;
        sums(0, 1) += stopped * (1.0 - satisfied(satisfaction, on));
    }
};

struct SDBN : DBN {  // no globals
    static double after_skip(View<const double>) { return 1.0; }
    static double look_on(double, double satisfaction, View<const double>) { return 1.0 - satisfaction; }
    static void totals(double, double, double, double, double, double, View<const double>, Rows<double>) {}
};

struct CCM {  // globals: τ1, τ2, τ3
    static constexpr bool by_rank = false, has_satisfaction = false;
    static double after_skip(View<const double> globals) { return globals[0]; }
    static double look_on(double attraction, double, View<const double> globals) {
        return globals[1] * (1.0 - attraction) + globals[2] * attraction;
    }
    static double satisfied(double, double) { return 0.0; }
    // Clicked documents draw their attraction a second time, for the chance to look on.
    static std::pair<double, double> attraction(double clicks, double skips, double passed, double stopped, double a,
                                                double on, View<const double> globals) {
        const double again = passed * globals[2] * a / on + stopped * (1.0 - globals[2]) * a / (1.0 - on);
        return {clicks + again, skips + passed + stopped - again};
    }
    static void totals(double a, double, double on, double skips, double passed, double stopped,
                       View<const double> globals, Rows<double> sums) {
        const double passed_again = passed * globals[2] * a / on, stopped_again = stopped * (1.0 - globals[2]) * a / (1.0 - on);
        sums(0, 0) += skips;
        sums(1, 0) += passed - passed_again;
        sums(1, 1) += stopped - stopped_again;
        sums(2, 0) += passed_again;
        sums(2, 1) += stopped_again;
    }
};

struct DCM {  // globals: λ by rank
    static constexpr bool by_rank = true, has_satisfaction = false;
    static double after_skip(View<const double>) { return 1.0; }
    static double look_on(double, double, View<const double>) { return 0.0; }
    static double satisfied(double, double) { return 0.0; }
    static std::pair<double, double> attraction(double clicks, double skips, double, double, double, double,
                                                View<const double>) {
        return {clicks, skips};
    }
    static void totals(double, double, double, double, double, double, View<const double>, Rows<double>) {}
};

// EM on the parameters of the pairs of one query, given the globals. Arrays by pair are indexed from the first pair of
// the block, as the lists are.
template <class Model>
class QueryEM {
public:
    QueryEM(const Lists& lists, const PairCounts& counts, View<const double> globals, double yes, double no, Index n_pairs,
            Index n_ranks)
        : lists(lists), counts(counts), globals(globals), satisfaction_yes(yes), satisfaction_no(no), none(n_ranks),
          attraction(n_pairs), look_on(n_pairs), skips(n_pairs), passed(Model::by_rank ? n_ranks : n_pairs),
          stopped(Model::by_rank ? n_ranks : n_pairs) {}

    void select(Index q) {
        query = q;
        first = lists.query_pairs[q];
        size = lists.query_pairs[q + 1] - first;
    }
    Index n_pairs() const { return size; }
    Index n_parameters() const { return Model::has_satisfaction ? 2 * size : size; }

    // The E step at `x`: attractions, then satisfactions, of the pairs of the query. Returns the log-likelihood plus the
    // logarithms of the priors of x.
    double expect(View<const double> x) {
        const auto clear = [&](const Scratch<double>& sums, bool is_by_rank) {
            (is_by_rank ? sums.view() : sums.slice(first, first + size)).fill(0.0);
        };
        clear(skips, false);
        clear(passed, Model::by_rank);
        clear(stopped, Model::by_rank);
        const double after_skip = Model::after_skip(globals);
        double value = 0.0, n_skips = 0.0;
        for (Index p = 0, pair = first; p < size; ++p, ++pair) {
            attraction[pair] = x[p];
            n_skips += counts.skips[pair];
            value += log_odds(x[p], counts.clicks[pair] + counts.prior_yes[pair],
                              counts.skips[pair] + counts.prior_no[pair]);
            if constexpr (!Model::by_rank) {
                look_on[pair] = Model::look_on(x[p], satisfaction(x, p), globals);
                if (counts.passed[pair] > 0) value += counts.passed[pair] * log(look_on[pair]);
            }
            if constexpr (Model::has_satisfaction) value += log_odds(x[size + p], satisfaction_yes, satisfaction_no);
        }
        if (after_skip < 1.0) value += n_skips * log(after_skip);
        tails = {skips, passed, stopped};
        const View<const double> on = Model::by_rank ? globals : View<const double>(look_on);
        for (Index list = lists.query_lists[query]; list < lists.query_lists[query + 1]; ++list)
            value += tail_expectations<Model::by_rank>(lists, list, attraction, on, after_skip, none, tails);
        return value;
    }

    // The M step: the parameters that maximise what is expected at `x`.
    void maximise(View<const double> x, View<double> next) const {
        for (Index p = 0, pair = first; p < size; ++p, ++pair) {
            const auto [on, n_passed, n_stopped] = after_clicks(pair);
            const auto [yes, no] = Model::attraction(counts.clicks[pair], counts.skips[pair] + skips[pair], n_passed,
                                                     n_stopped, x[p], on, globals);
            next[p] = mean_of(yes + counts.prior_yes[pair], no + counts.prior_no[pair], x[p]);
            if constexpr (Model::has_satisfaction) {
                const double satisfied = n_stopped * Model::satisfied(x[size + p], on);
                next[size + p] = mean_of(satisfied + satisfaction_yes,
                                         n_passed + n_stopped - satisfied + satisfaction_no, x[size + p]);
            }
        }
    }

    // Add the expected (yes, no) counts of the globals.
    void add_totals(View<const double> x, Rows<double> sums) const {
        if constexpr (Model::by_rank) {
            for (Index r = 0; r < sums.n_rows; ++r) {
                sums(r, 0) += passed[r];
                sums(r, 1) += stopped[r];
            }
        } else {
            for (Index p = 0, pair = first; p < size; ++p, ++pair) {
                const auto [on, n_passed, n_stopped] = after_clicks(pair);
                Model::totals(x[p], satisfaction(x, p), on, counts.skips[pair], n_passed, n_stopped, globals, sums);
            }
            if (sums.n_rows > 0) {
                sums(0, 0) += tails.passed_skips;
                sums(0, 1) += tails.stopped_skips;
            }
        }
    }

private:
    struct AfterClicks {
        double on, passed, stopped;
    };
    AfterClicks after_clicks(Index pair) const {
        if constexpr (Model::by_rank) return {0.0, 0.0, 0.0};
        return {look_on[pair], counts.passed[pair] + passed[pair], stopped[pair]};
    }
    double satisfaction(View<const double> x, Index p) const { return Model::has_satisfaction ? x[size + p] : 0.0; }

    const Lists& lists;
    const PairCounts& counts;
    View<const double> globals;
    double satisfaction_yes, satisfaction_no;
    Scratch<double> none, attraction, look_on, skips, passed, stopped;
    Tails tails{};
    Index query = 0, first = 0, size = 0;
};

// Accelerated EM (SQUAREM, varadhan2008): at most `n_cycles` cycles, until no parameter moves by more than `tol`. An
// extrapolation is kept only if its likelihood is at least that of the EM step before it, so the likelihood never falls.
// Leaves the expectations of the final `x` in `em` and returns its likelihood.
template <class EM>
double ascend(EM& em, View<double> x, Index n_cycles, double tol, View<double> one, View<double> two) {
    const Index n = x.size;
    double value = em.expect(x);
    for (Index cycle = 0; cycle < n_cycles; ++cycle) {
        em.maximise(x, one);
        double largest = 0.0, length = 0.0, bend = 0.0;
        for (Index i = 0; i < n; ++i) largest = std::max(largest, std::abs(one[i] - x[i]));
        if (largest <= tol) break;
        const double value_one = em.expect(one);
        em.maximise(one, two);
        for (Index i = 0; i < n; ++i) {
            const double step = one[i] - x[i], change = two[i] - one[i] - step;
            length += step * step;
            bend += change * change;
        }
        const double factor = bend > 0.0 ? std::max(1.0, std::sqrt(length / bend)) : 1.0;
        if (factor > 1.0) {
            for (Index i = 0; i < n; ++i) {
                const double step = one[i] - x[i], change = two[i] - one[i] - step;
                x[i] = clipped(x[i] + 2.0 * factor * step + factor * factor * change);
            }
            value = em.expect(x);
            if (value >= value_one) {
                em.maximise(x, one);
                std::copy(one.begin(), one.end(), x.begin());
                value = em.expect(x);
                continue;
            }
        }
        std::copy(two.begin(), two.end(), x.begin());
        value = em.expect(x);
    }
    return value;
}

// One pass over the queries of a block: improve the attractions and satisfactions given the globals, and add up the
// expected (yes, no) counts of the globals. Returns the log-likelihood plus the logarithms of the priors of the pairs.
template <class Model>
double chain_pass(View<const Index> indptr, View<const Code> pair, View<const Code> ends, View<const Code> start,
                  View<const Code> n_none, View<const Index> query_lists, View<const Index> query_pairs,
                  View<const Code> clicks, View<const Code> skips, View<const Code> passed, View<const double> prior_yes,
                  View<const double> prior_no, double satisfaction_yes, double satisfaction_no,
                  View<const double> globals, Index n_ranks, Index n_cycles, double tol, View<double> attraction,
                  View<double> satisfaction, Rows<double> totals) {
    const Lists lists{indptr, pair, ends, start, n_none, query_lists, query_pairs};
    const PairCounts counts{clicks, skips, passed, prior_yes, prior_no};
    QueryEM<Model> em(lists, counts, globals, satisfaction_yes, satisfaction_no, attraction.size, n_ranks);
    Index largest = 0;
    for (Index q = 0; q + 1 < query_pairs.size; ++q) largest = std::max(largest, query_pairs[q + 1] - query_pairs[q]);
    Scratch<double> x(2 * largest), one(2 * largest), two(2 * largest);
    double value = 0.0;
    for (Index q = 0; q + 1 < query_pairs.size; ++q) {
        em.select(q);
        const Index first = query_pairs[q], size = em.n_pairs(), n = em.n_parameters();
        const auto own = x.slice(0, n);
        for (Index p = 0; p < size; ++p) own[p] = attraction[first + p];
        for (Index p = size; p < n; ++p) own[p] = satisfaction[first + p - size];
        value += ascend(em, own, n_cycles, tol, one.slice(0, n), two.slice(0, n));
        for (Index p = 0; p < size; ++p) attraction[first + p] = own[p];
        for (Index p = size; p < n; ++p) satisfaction[first + p - size] = own[p];
        em.add_totals(own, totals);
    }
    return value;
}

// Expected number of looks below the last click for each pair, and the sum of their squared chances: a look with the
// chance e hides e (1 - e) of the information about an attraction.
inline void hidden_looks(View<const Index> indptr, View<const Code> pair, View<const Code> ends, View<const Code> start,
                         View<const Code> n_none, View<const double> attraction, View<const double> look_on, bool by_rank,
                         double after_skip, Index n_ranks, View<double> looks, View<double> squares) {
    Scratch<double> none(n_ranks);
    for (Index list = 0; list + 1 < indptr.size; ++list) {
        const Index begin = indptr[list], n = indptr[list + 1] - begin;
        none[n - 1] = 1.0 - attraction[pair[begin + n - 1]];
        for (Index r = n - 2; r >= 0; --r)
            none[r] = (1.0 - attraction[pair[begin + r]]) * (1.0 - after_skip + after_skip * none[r + 1]);
        for (Index end = -1; end < n - 1; ++end) {
            const double count = end < 0 ? n_none[list] : ends[begin + end];
            if (count == 0.0) continue;
            double looked = 1.0;
            if (end >= 0) {
                const double on = look_on[by_rank ? start[list] + end : pair[begin + end]];
                looked = on * none[end + 1] / (1.0 - on + on * none[end + 1]);
            }
            for (Index r = end + 1; r < n; ++r) {
                looks[pair[begin + r]] += count * looked;
                squares[pair[begin + r]] += count * looked * looked;
                if (r + 1 < n) looked *= after_skip * none[r + 1] / (1.0 - after_skip + after_skip * none[r + 1]);
            }
        }
    }
}

// The chance of a click in each row of sessions first to last: given the clicks above, or before any was seen. `look_on`
// is the chance to look on after a click, by pair or by rank.
inline void chain_chances(View<const Index> indptr, View<const Code> pair, View<const bool> click, Index first, Index last,
                          View<const double> attraction, View<const double> look_on, bool by_rank, double after_skip,
                          bool is_conditional, View<double> chances) {
    for (Index s = first; s < last; ++s) {
        double looked = 1.0;
        for (Index i = indptr[s]; i < indptr[s + 1]; ++i) {
            const double a = attraction[pair[i]], chance = looked * a;
            const double on = look_on[by_rank ? std::min(i - indptr[s], look_on.size - 1) : pair[i]];
            chances[i - indptr[first]] = chance;
            if (!is_conditional)
                looked *= a * on + (1.0 - a) * after_skip;
            else if (click[i])
                looked = on;
            else
                looked = chance < 1.0 ? after_skip * (looked - chance) / (1.0 - chance) : 0.0;
        }
    }
}

// Clicks of simulated users; `draws` holds two numbers per row, for the click and for looking on.
inline void chain_simulate(View<const Index> indptr, View<const Code> pair, Index first, Index last,
                           View<const double> attraction, View<const double> look_on, bool by_rank, double after_skip,
                           Rows<const double> draws, View<bool> click) {
    for (Index s = first; s < last; ++s) {
        bool looks = true;
        for (Index i = indptr[s]; i < indptr[s + 1]; ++i) {
            const Index place = i - indptr[first];
            click[place] = looks && draws(place, 0) < attraction[pair[i]];
            const double on = look_on[by_rank ? std::min(i - indptr[s], look_on.size - 1) : pair[i]];
            looks = looks && draws(place, 1) < (click[place] ? on : after_skip);
        }
    }
}

// Add up, by rank, the logarithms of the chances of what happened in sessions first to last.
inline void add_logarithms(View<const Index> indptr, View<const bool> click, Index first, Index last,
                           View<const double> chances, View<double> sums, View<double> counts) {
    for (Index s = first; s < last; ++s)
        for (Index i = indptr[s]; i < indptr[s + 1]; ++i) {
            const double p = clipped(chances[i - indptr[first]]);
            sums[i - indptr[s]] += log(click[i] ? p : 1.0 - p);
            counts[i - indptr[s]] += 1.0;
        }
}

}  // namespace plackett::clicks
