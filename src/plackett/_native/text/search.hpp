// The best documents of a query, skipping postings that cannot change them. The layout of postings is in weighting.hpp.
#pragma once
#include <limits>
#include <utility>

#include "text/weighting.hpp"

namespace plackett::text {

constexpr Index BLOCK = 64;    // documents that are skipped together if none of them is good enough
constexpr double MANY = 0.5;   // postings per document above which scanning all documents is cheaper than listing those met
constexpr double FEW = 0.25;   // share of documents met up to which they are always listed
constexpr Index LOOKUP = 50;   // postings that are added in the time of one look-up

// The score of a document: base + scale · sum + weight_of_prior · prior; `prior` may be empty.
struct Scoring {
    double scale, base;
    View<const double> prior;
    double weight_of_prior;

    double operator()(double total, Index doc) const {
        const double score = base + scale * total;
        return prior.size ? score + weight_of_prior * prior[doc] : score;
    }
};

// The best documents so far; a heap with the worst on top when it is full.
struct Best {
    View<double> scores;
    View<Doc> docs;
    Index n_kept = 0;

    bool is_full() const { return n_kept == scores.size; }

    void keep(double score, Doc doc) {
        if (!is_full()) {
            put(n_kept++, score, doc);
            if (is_full()) make_heap();
        } else if (is_worse(scores[0], docs[0], score, doc)) {
            put(0, score, doc);
            sift_down(0, n_kept);
        }
    }

    // Sort in descending order.
    void sort() {
        if (!is_full()) make_heap();
        for (Index size = n_kept - 1; size > 0; --size) {  // repeatedly move the worst to the end
            std::swap(scores[0], scores[size]);
            std::swap(docs[0], docs[size]);
            sift_down(0, size);
        }
    }

private:
    // Whether the first ranks below the second: by score, then by place in the collection.
    static bool is_worse(double score, Doc doc, double other_score, Doc other_doc) {
        return score < other_score || (score == other_score && doc > other_doc);
    }

    void put(Index place, double score, Doc doc) {
        scores[place] = score;
        docs[place] = doc;
    }

    void make_heap() {
        for (Index start = n_kept / 2 - 1; start >= 0; --start) sift_down(start, n_kept);
    }

    void sift_down(Index start, Index size) {
        const double score = scores[start];
        const Doc doc = docs[start];
        Index hole = start;
        for (Index child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
            if (child + 1 < size && is_worse(scores[child + 1], docs[child + 1], scores[child], docs[child])) ++child;
            if (!is_worse(scores[child], docs[child], score, doc)) break;
            put(hole, scores[child], docs[child]);
            hole = child;
        }
        put(hole, score, doc);
    }
};

// The documents that contain a term of the query: a sum and a flag for every document, and a list of those met.
struct Met {
    View<double> sums;
    View<std::uint8_t> is_met;
    View<Doc> docs;
    Index n = 0;

    // Add the postings of a term and list the documents that are new.
    void meet(View<const Index> indptr, View<const Doc> postings, View<const double> values, Index term,
              double n_times) {
        const Index stop = indptr[term + 1];
        Index n_noted = n;
        for (Index place = indptr[term]; place < stop; ++place) {
            const Doc doc = postings[place];
            sums[doc] += n_times * values[place];
            docs[n_noted] = doc;
            n_noted += 1 - is_met[doc];  // the entry is kept only if the document is new
            is_met[doc] = 1;
        }
        n = n_noted;
    }

    // Add the postings of a term to the documents in the list only.
    void add(View<const Index> indptr, View<const Doc> postings, View<const double> values, Index term,
             double n_times) const {
        const Index start = indptr[term], stop = indptr[term + 1];
        if (n * LOOKUP < stop - start) {
            for (Index i = 0; i < n; ++i) {
                const Index found = find_doc(postings, start, stop, docs[i]);
                if (found >= 0) sums[docs[i]] += n_times * values[found];
            }
        } else {
            for (Index place = start; place < stop; ++place)
                if (is_met[postings[place]]) sums[postings[place]] += n_times * values[place];
        }
    }

    void best(const Scoring& score_of, Best& best) const {
        best.n_kept = 0;
        for (Index i = 0; i < n; ++i) {
            const double score = score_of(sums[docs[i]], docs[i]);
            if (!best.is_full() || score >= best.scores[0]) best.keep(score, docs[i]);
        }
    }

    // Remove the documents whose score is below the threshold.
    void drop_hopeless(const Scoring& score_of, double needed) {
        Index n_left = 0;
        for (Index i = 0; i < n; ++i) {
            const Doc doc = docs[i];
            if (score_of(sums[doc], doc) >= needed) {
                docs[n_left++] = doc;
            } else {
                sums[doc] = 0.0;
                is_met[doc] = 0;
            }
        }
        n = n_left;
    }

    void unmark() const {
        for (Index i = 0; i < n; ++i) is_met[docs[i]] = 0;
    }

    void clear() const {
        unmark();
        for (Index i = 0; i < n; ++i) sums[docs[i]] = 0.0;
    }
};

// The best of the documents with a sum above 0 and a score above `least`.
inline void best_of_all(View<const double> sums, double least, const Scoring& score_of, Best& best) {
    const auto [scale, base, prior, weight_of_prior] = score_of;
    for (Index start = 0; start < sums.size; start += BLOCK) {
        const View<const double> totals = sums.slice(start, std::min(start + BLOCK, sums.size));
        Index n_above = 0;  // counting has no branches and vectorises
        if (prior.size) {
            const View<const double> priors = prior.slice(start, start + totals.size);
            for (Index i = 0; i < totals.size; ++i)
                n_above += base + scale * totals[i] + weight_of_prior * priors[i] > least;
        } else {
            for (Index i = 0; i < totals.size; ++i) n_above += base + scale * totals[i] > least;
        }
        if (n_above == 0) continue;
        for (Index i = 0; i < totals.size; ++i) {
            if (!(totals[i] > 0.0)) continue;
            const double score = score_of(totals[i], start + i);
            if (score > least) {
                best.keep(score, static_cast<Doc>(start + i));
                if (best.is_full()) least = best.scores[0];  // documents ascend, so that a later equal score ranks lower
            }
        }
    }
}

// The documents with the highest scores among those that contain a term of the query. Return how many were found.
//
// Terms are ordered by ascending frequency, and sums are computed in this order. `highest` has the highest value of every
// term; if it is empty, values may be negative or 0. Otherwise the remaining terms may be too small to bring a new document
// into the result (the "MaxScore" of Turtle and Flood); their postings are then only added for the documents that can still
// be among the best.
//
// `sums` and `is_met` are zero on entry, one entry per document, and are zero again on return. `met_docs` has one more
// entry and need not be initialised. The result is in the arrays best_*, in descending order of scores, equal scores by
// place in the collection.
inline Index best(View<const Index> indptr, View<const Doc> docs, View<const double> values,
                  View<const double> highest, View<const Index> terms, View<const double> times, double scale,
                  double base, View<const double> prior, double weight_of_prior, double lowest_prior,
                  double highest_prior, View<double> sums, View<std::uint8_t> is_met, View<Doc> met_docs,
                  View<double> best_scores, View<Doc> best_docs) {
    const Scoring score_of{scale, base, prior, weight_of_prior};
    Best best{best_scores, best_docs};
    Met met{sums, is_met, met_docs};
    const Index k = best_scores.size;
    const double n_docs = static_cast<double>(sums.size);
    const bool is_positive = highest.size > 0;
    Index n_left = 0;      // postings not added yet
    double can_add = 0.0;  // upper bound of their sum
    for (Index q = 0; q < terms.size; ++q) {
        n_left += indptr[terms[q] + 1] - indptr[terms[q]];
        if (is_positive) can_add += times[q] * highest[terms[q]];
    }
    // upper bound of the rounding error of a score
    const double largest = std::abs(base) + scale * can_add +
                           weight_of_prior * std::max(std::abs(lowest_prior), std::abs(highest_prior));
    const double slack = 4.0e-16 * static_cast<double>(terms.size + 8) * largest;
    const bool is_wide = is_positive && static_cast<double>(n_left) > MANY * n_docs;
    bool is_closed = false;  // no other document can enter the result
    double least = -std::numeric_limits<double>::infinity();
    for (Index q = 0; q < terms.size; ++q) {
        if (is_positive && k <= met.n && met.n <= n_left) {
            met.best(score_of, best);
            least = best_scores[0];
            const double needed = least - scale * can_add - slack;
            is_closed = is_closed || base + weight_of_prior * highest_prior < needed;
            if (is_closed) met.drop_hopeless(score_of, needed);
        }
        const Index n_postings = indptr[terms[q] + 1] - indptr[terms[q]];
        if (is_closed) {
            met.add(indptr, docs, values, terms[q], times[q]);
        } else if (is_wide && static_cast<double>(met.n + n_postings) > FEW * n_docs) {
            met.unmark();
            add_postings(indptr, docs, values, terms.slice(q, terms.size), times.slice(q, terms.size), sums);
            // a document with exactly this score may be in the result: one step below it
            best.n_kept = 0;
            best_of_all(sums, std::nextafter(least, -std::numeric_limits<double>::infinity()), score_of, best);
            sums.fill(0.0);
            best.sort();
            return best.n_kept;
        } else {
            met.meet(indptr, docs, values, terms[q], times[q]);
        }
        n_left -= n_postings;
        if (is_positive) can_add -= times[q] * highest[terms[q]];
    }
    met.best(score_of, best);
    met.clear();
    best.sort();
    return best.n_kept;
}

}  // namespace plackett::text
