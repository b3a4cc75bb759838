// Simulated sessions. Every draw is a function of the seed, the session and the draw's number, so that a session does not
// depend on those before it, on the number of threads, or on how sessions are dealt into blocks.
#pragma once
#include <utility>
#include <vector>

#include "clicks/log/names.hpp"
#include "core/arrays.hpp"

namespace plackett::click_log {

class Draws {
public:
    Draws(Index seed, Index session)
        : state(mixed(mixed(static_cast<std::uint64_t>(seed) + 0x9E3779B97F4A7C15ULL) +
                      0xD1B54A32D192ED03ULL * (static_cast<std::uint64_t>(session) + 1))) {}
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    Index below(Index n) { return std::min(n - 1, static_cast<Index>(uniform() * static_cast<double>(n))); }

private:
    std::uint64_t state;
    std::uint64_t next() { return mixed(state += 0x9E3779B97F4A7C15ULL); }
};

enum User : Index { INDEPENDENT = 0, CASCADE = 1, BROWSING = 2 };

// The query, ranker and order of sessions first .. first + n - 1; lists[j] are the rows of query j % n_queries by ranker
// j / n_queries. Write the lengths only where `rows` is empty.
struct Choice {
    Index query, ranker;
    bool is_random;
};

inline Choice choose(Draws& draws, Index n_queries, Index n_rankers, double random_share) {
    const Index query = draws.below(n_queries), ranker = draws.below(n_rankers);
    return {query, ranker, draws.uniform() < random_share};
}

// The query, ranker and length of sessions from `first` on.
inline void draw_sessions(Index seed, Index first, View<const Index> list_ptr, Index n_queries, Index n_rankers,
                          double random_share, View<std::int32_t> query, View<std::int32_t> ranker,
                          View<bool> is_random, View<Index> length) {
    for (Index i = 0; i < query.size; ++i) {
        Draws draws(seed, first + i);
        const Choice chosen = choose(draws, n_queries, n_rankers, random_share);
        const Index list = chosen.ranker * n_queries + chosen.query;
        query[i] = static_cast<std::int32_t>(chosen.query);
        ranker[i] = static_cast<std::int32_t>(chosen.ranker);
        is_random[i] = chosen.is_random;
        length[i] = list_ptr[list + 1] - list_ptr[list];
    }
}

// The shown pairs and clicks of sessions from `first` on. A document of relevance x at rank r is clicked, if the user looks
// at it, with chance slope[r] x + offset[r]; a cascade user stops after a click, a browsing user looks at r with chance
// browse(r, r' + 1) after a last click at r' (from 0; -1 for none).
inline void draw_clicks(Index seed, Index first, View<const Index> list_ptr, View<const std::int32_t> list_pair,
                        View<const double> relevance, Index n_queries, Index n_rankers, double random_share, Index user,
                        View<const double> slope, View<const double> offset, Rows<const double> browse,
                        View<const Index> indptr, View<std::int32_t> pair, View<bool> click) {
    for (Index i = 0; i + 1 < indptr.size; ++i) {
        Draws draws(seed, first + i);
        const Choice chosen = choose(draws, n_queries, n_rankers, random_share);
        const Index list = chosen.ranker * n_queries + chosen.query;
        const auto shown = list_pair.slice(list_ptr[list], list_ptr[list + 1]);
        const auto order = pair.slice(indptr[i] - indptr[0], indptr[i + 1] - indptr[0]);
        std::copy(shown.begin(), shown.end(), order.begin());
        if (chosen.is_random)
            for (Index place = order.size - 1; place > 0; --place) std::swap(order[place], order[draws.below(place + 1)]);
        const auto clicked = click.slice(indptr[i] - indptr[0], indptr[i + 1] - indptr[0]);
        Index last = -1;
        for (Index rank = 0; rank < order.size; ++rank) {
            double chance = slope[rank] * relevance[order[rank]] + offset[rank];
            if (user == CASCADE && last >= 0) chance = 0;
            if (user == BROWSING) chance *= browse(rank, last + 1);
            clicked[rank] = draws.uniform() < chance;
            if (clicked[rank]) last = rank;
        }
    }
}

}  // namespace plackett::click_log
