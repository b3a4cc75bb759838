// Impacts of postings, and sums over the postings of a query.
//
// A posting is a document that contains a term, and its count (tf). Its contribution to the score of the document has
// one of three forms, in a number of the term and a number of the document, which text/weighting.py computes. Postings
// are stored term by term: term t has the entries indptr[t] to indptr[t + 1] of docs, ascending, and of tf.
//
// All kernels, and numpy, compute the same score for a document: this folder is compiled without fused
// multiply-add (see CMakeLists.txt).
#pragma once
#include <cmath>

#include "core/arrays.hpp"

namespace plackett::text {

using Doc = std::int32_t;

enum class Form : Index {
    product = 0,    // tf · term · doc
    saturated = 1,  // term · tf / (tf + doc)
    logarithm = 2,  // log(1 + max(tf − discount, 0) · term · doc)
};

// Contribution of a posting to the score of its document.
template <Form form>
inline double impact(double tf, double of_term, double of_doc, double discount) {
    if constexpr (form == Form::product) return tf * of_term * of_doc;
    if constexpr (form == Form::saturated) return of_term * tf / (tf + of_doc);
    if constexpr (form == Form::logarithm) return std::log1p(std::max(tf - discount, 0.0) * of_term * of_doc);
}

// work.operator()<form>(), so that loops over postings do not branch on the form.
template <class Work>
inline void with_form(Index form, const Work& work) {
    switch (static_cast<Form>(form)) {
        case Form::product: return work.template operator()<Form::product>();
        case Form::saturated: return work.template operator()<Form::saturated>();
        case Form::logarithm: return work.template operator()<Form::logarithm>();
    }
}

// The impact of every posting of the terms first to last, written to its entry of `out`.
inline void impacts(Index form, double discount, View<const Index> indptr, View<const Doc> docs, View<const Doc> tf,
                    View<const double> of_term, View<const double> of_doc, Index first, Index last, View<double> out) {
    with_form(form, [&]<Form chosen>() {
        for (Index term = first; term < last; ++term)
            for (Index place = indptr[term]; place < indptr[term + 1]; ++place)
                out[place] = impact<chosen>(tf[place], of_term[term], of_doc[docs[place]], discount);
    });
}

// Add the values of the postings of the query's terms, `times` each, to sums, one number per document.
inline void add_postings(View<const Index> indptr, View<const Doc> docs, View<const double> values,
                         View<const Index> terms, View<const double> times, View<double> sums) {
    for (Index q = 0; q < terms.size; ++q) {
        const double n_times = times[q];
        const Index stop = indptr[terms[q] + 1];
        for (Index place = indptr[terms[q]]; place < stop; ++place) sums[docs[place]] += n_times * values[place];
    }
}

// The index of a document among the postings start to stop, or -1.
inline Index find_doc(View<const Doc> docs, Index start, Index stop, Doc doc) {
    if (start >= stop) return -1;
    Index first = start;
    for (Index size = stop - start; size > 1;) {  // a conditional move, because a branch would be mispredicted
        const Index half = size >> 1;
        first += docs[first + half - 1] < doc ? half : 0;
        size -= half;
    }
    return docs[first] == doc ? first : -1;
}

// Queries with their terms and documents: query q has terms[term_bounds[q]:term_bounds[q + 1]] and the documents
// pairs[pair_bounds[q]:...]; its counts begin at count_bounds[q], document by document, and term by term within.

// How often each document of a query contains each of the query's terms.
inline void pair_counts(View<const Index> indptr, View<const Doc> docs, View<const Doc> tf, View<const Index> terms,
                        View<const Index> term_bounds, View<const Doc> pairs, View<const Index> pair_bounds,
                        View<const Index> count_bounds, View<Doc> counts) {
    for (Index q = 0; q + 1 < term_bounds.size; ++q) {
        Index place = count_bounds[q];
        for (Index p = pair_bounds[q]; p < pair_bounds[q + 1]; ++p)
            for (Index t = term_bounds[q]; t < term_bounds[q + 1]; ++t) {
                const Index found = find_doc(docs, indptr[terms[t]], indptr[terms[t] + 1], pairs[p]);
                counts[place++] = found >= 0 ? tf[found] : 0;
            }
    }
}

// The sum of impacts over the terms of the query, for each of its documents.
inline void pair_sums(Index form, double discount, View<const double> of_term, View<const double> of_doc,
                      View<const Index> terms, View<const double> times, View<const Index> term_bounds,
                      View<const Doc> pairs, View<const Index> pair_bounds, View<const Index> count_bounds,
                      View<const Doc> counts, View<double> out) {
    with_form(form, [&]<Form chosen>() {
        for (Index q = 0; q + 1 < term_bounds.size; ++q) {
            Index place = count_bounds[q];
            for (Index p = pair_bounds[q]; p < pair_bounds[q + 1]; ++p) {
                double total = 0.0;
                for (Index t = term_bounds[q]; t < term_bounds[q + 1]; ++t, ++place)
                    if (counts[place])
                        total += times[t] *
                                 impact<chosen>(counts[place], of_term[terms[t]], of_doc[pairs[p]], discount);
                out[p] = total;
            }
        }
    });
}

}  // namespace plackett::text
