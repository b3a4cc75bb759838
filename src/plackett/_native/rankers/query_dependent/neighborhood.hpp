// The documents of a target's neighbours, copied into one small problem in float64.
#pragma once
#include "losses/pairwise/divide_and_conquer.hpp"

namespace plackett::query_dependent {

template <class Real>
struct TrainingLists {  // all training documents in label order within their queries, and the plan of their pairs
    Rows<const Real> X;
    View<const Index> indptr;
    View<const std::int32_t> run_end;
    Rows<const Index> steps;
    View<const Index> step_indptr;

    Index n_docs_of(View<const Index> queries) const {
        Index n = 0;
        for (const Index q : queries) n += indptr[q + 1] - indptr[q];
        return n;
    }
    Index n_steps_of(View<const Index> queries) const {
        Index n = 0;
        for (const Index q : queries) n += step_indptr[q + 1] - step_indptr[q];
        return n;
    }
};

class Neighborhood {
public:
    // `weights` has the weight of a pair of each of the queries.
    template <class Real>
    Neighborhood(const TrainingLists<Real>& lists, View<const Index> queries, View<const double> weights)
        : n_docs(lists.n_docs_of(queries)), n_features(lists.X.n_columns), weights(weights),
          values(n_docs * n_features), order(n_docs), indptr(queries.size + 1), step_indptr(queries.size + 1),
          steps(4 * lists.n_steps_of(queries)), run_end(n_docs) {
        indptr[0] = step_indptr[0] = 0;
        Index n_stored = 0;
        for (Index k = 0; k < queries.size; ++k) {
            const Index q = queries[k];
            copy_documents(lists, lists.indptr[q], lists.indptr[q + 1], indptr[k]);
            indptr[k + 1] = indptr[k] + lists.indptr[q + 1] - lists.indptr[q];
            Index at = step_indptr[k];
            for (Index s = lists.step_indptr[q]; s < lists.step_indptr[q + 1]; ++s, ++at) {
                const View<Index> step = steps.slice(4 * at, 4 * at + 4);
                std::copy_n(lists.steps[s].begin(), 3, step.begin());
                step[3] = n_stored;
                if (step[1] > step[0]) n_stored += step[2] - step[0];  // a crossing
            }
            step_indptr[k + 1] = at;
        }
        for (Index i = 0; i < n_docs; ++i) order[i] = i;
    }
    Neighborhood(const Neighborhood&) = delete;  // plans have views of its members
    Neighborhood& operator=(const Neighborhood&) = delete;

    Index n_docs, n_features;
    View<const double> weights;

    Index n_queries() const { return weights.size; }
    Rows<const double> X() const { return {values.view().data, n_docs, n_features}; }
    PairPlan plan() const {
        return {order, indptr, run_end, {steps.view().data, step_indptr[n_queries()], 4}, step_indptr};
    }

private:
    template <class Real>
    void copy_documents(const TrainingLists<Real>& lists, Index first, Index last, Index to) const {
        const View<const std::int32_t> ends = lists.run_end.slice(first, last);
        std::copy_n(ends.begin(), ends.size, run_end.slice(to, to + ends.size).begin());
        const Rows<const Real> rows = lists.X.slice(first, last);
        const View<double> out = values.slice(to * n_features, (to + rows.n_rows) * n_features);
        for (Index i = 0; i < out.size; ++i) out.data[i] = static_cast<double>(rows.data[i]);
    }

    Scratch<double> values;
    Scratch<Index> order, indptr, step_indptr, steps;
    Scratch<std::int32_t> run_end;
};

}  // namespace plackett::query_dependent
