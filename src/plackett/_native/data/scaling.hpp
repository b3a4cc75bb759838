// Kernels that scale columns within queries. Callers have checked everything and own the outputs.
//
// `rows` lists the rows of X query by query; query q has rows[indptr[q]:indptr[q + 1]], at least one. A kernel handles
// queries first to last - 1 and writes their rows of `out`, which is filled with zeros on entry: a column that is constant
// within a query stays 0. Sums are float64 for all types of features.
#pragma once
#include <cmath>
#include <limits>

#include "core/arrays.hpp"

namespace plackett::normalize {

// The rows of X that belong to a query.
struct Groups {
    View<const Index> rows, indptr;
    View<const Index> operator[](Index query) const { return rows.slice(indptr[query], indptr[query + 1]); }
};

// Scale columns to 0 to 1 within a query. Halves are used because the difference of two finite numbers may be infinite;
// half of the smallest number may be 0.
template <class Real>
class Shares {
public:
    explicit Shares(Rows<const Real> X)
        : X(X), low(X.n_columns), high(X.n_columns), half_low(X.n_columns), half_span(X.n_columns) {}

    void set_query(View<const Index> docs) {
        const View<Real> low = this->low, high = this->high;
        std::copy(X[docs[0]].begin(), X[docs[0]].end(), low.begin());
        std::copy(low.begin(), low.end(), high.begin());
        for (const Index doc : docs) {
            const View<const Real> x = X[doc];
#pragma omp simd
            for (Index column = 0; column < x.size; ++column) {
                const Real value = x[column], least = low[column], most = high[column];
                low[column] = value < least ? value : least;
                high[column] = value > most ? value : most;
            }
        }
        for (Index column = 0; column < X.n_columns; ++column) {
            half_low[column] = 0.5 * low[column];
            const double span = 0.5 * high[column] - half_low[column];
            half_span[column] = span > 0.0 ? span : std::numeric_limits<double>::infinity();  // constant: all become 0
        }
    }

    // Write the scaled values of a row of X to a row of numbers.
    template <class To>
    void of_row(Index doc, View<To> shares) const {
        const View<const Real> x = X[doc];
        const View<double> low = half_low, span = half_span;
#pragma omp simd
        for (Index column = 0; column < x.size; ++column) {
            const double share = (0.5 * static_cast<double>(x[column]) - low[column]) / span[column];
            shares[column] = static_cast<To>(share < 1.0 ? share : 1.0);
        }
    }

private:
    Rows<const Real> X;
    Scratch<Real> low, high;
    Scratch<double> half_low, half_span;
};

template <class Real>
void min_max(Rows<const Real> X, View<const Index> rows, View<const Index> indptr, Index first, Index last,
             Rows<Real> out) {
    const Groups groups{rows, indptr};
    Shares<Real> shares(X);
    for (Index q = first; q < last; ++q) {
        const View<const Index> docs = groups[q];
        shares.set_query(docs);
        for (const Index doc : docs) shares.of_row(doc, out[doc]);
    }
}

// z-scores of the min_max values, which are the same; squares of these neither overflow nor underflow.
template <class Real>
void z_score(Rows<const Real> X, View<const Index> rows, View<const Index> indptr, Index first, Index last,
             Rows<Real> out) {
    const Groups groups{rows, indptr};
    Shares<Real> shares(X);
    const Scratch<double> mean_room(X.n_columns), variance_room(X.n_columns), share_room(X.n_columns);
    const View<double> mean = mean_room, variance = variance_room, share = share_room;
    for (Index q = first; q < last; ++q) {
        const View<const Index> docs = groups[q];
        const auto n = static_cast<double>(docs.size);
        shares.set_query(docs);
        mean.fill(0.0);
        variance.fill(0.0);
        for (const Index doc : docs) {
            shares.of_row(doc, share);
#pragma omp simd
            for (Index column = 0; column < share.size; ++column) mean[column] += share[column] / n;
        }
        for (const Index doc : docs) {
            shares.of_row(doc, share);
#pragma omp simd
            for (Index column = 0; column < share.size; ++column) {
                const double distance = share[column] - mean[column];
                variance[column] += distance * distance / n;
            }
        }
        for (double& value : variance) value = std::sqrt(value);
        for (const Index doc : docs) {
            const View<Real> y = out[doc];
            shares.of_row(doc, share);
#pragma omp simd
            for (Index column = 0; column < share.size; ++column) {
                const double score = (share[column] - mean[column]) / variance[column];
                y[column] = static_cast<Real>(variance[column] > 0.0 ? score : 0.0);
            }
        }
    }
}

template <class Real>
void unit_length(Rows<const Real> X, View<const Index> rows, View<const Index> indptr, Index first, Index last,
                 Rows<Real> out) {
    const Groups groups{rows, indptr};
    const Scratch<Real> unit_room(X.n_columns);
    const Scratch<double> total_room(X.n_columns);
    const View<Real> unit = unit_room;
    const View<double> total = total_room;
    for (Index q = first; q < last; ++q) {
        const View<const Index> docs = groups[q];
        unit.fill(0);
        total.fill(0.0);
        for (const Index doc : docs) {
            const View<const Real> x = X[doc];
#pragma omp simd
            for (Index column = 0; column < x.size; ++column) unit[column] = std::max(unit[column], std::abs(x[column]));
        }
        for (const Index doc : docs) {
            const View<const Real> x = X[doc];
#pragma omp simd
            for (Index column = 0; column < x.size; ++column) {
                const double part = static_cast<double>(x[column]) / static_cast<double>(unit[column]);
                total[column] += unit[column] > 0 ? part * part : 0.0;
            }
        }
        for (double& value : total) value = std::sqrt(value);
        for (const Index doc : docs) {
            const View<const Real> x = X[doc];
            const View<Real> y = out[doc];
#pragma omp simd
            for (Index column = 0; column < x.size; ++column) {
                const double part = static_cast<double>(x[column]) / static_cast<double>(unit[column]) / total[column];
                y[column] = static_cast<Real>(unit[column] > 0 ? part : 0.0);
            }
        }
    }
}

// As unit_length, for the stored values of a CSR matrix; only columns that occur in a query are visited.
template <class Real, class Place>
void unit_length_sparse(View<const Real> data, View<const Place> indices, View<const Place> row_bounds,
                        View<const Index> rows, View<const Index> indptr, Index first, Index last, Index n_columns,
                        View<Real> out) {
    const Groups groups{rows, indptr};
    const Scratch<double> unit(n_columns, 0.0), total(n_columns, 0.0);
    for (Index q = first; q < last; ++q) {
        const auto each_value = [&](auto visit) {  // visit(place, unit of its column, total of its column)
            for (const Index doc : groups[q])
                for (Index place = row_bounds[doc]; place < row_bounds[doc + 1]; ++place)
                    visit(place, unit[indices[place]], total[indices[place]]);
        };
        each_value([&](Index place, double& unit, double&) {
            unit = std::max(unit, std::abs(static_cast<double>(data[place])));
        });
        each_value([&](Index place, double& unit, double& total) {
            if (unit > 0.0) total += (data[place] / unit) * (data[place] / unit);
        });
        each_value([&](Index place, double& unit, double& total) {
            if (unit > 0.0) out[place] = static_cast<Real>(data[place] / unit / std::sqrt(total));
        });
        each_value([](Index, double& unit, double& total) { unit = total = 0.0; });
    }
}

// The share of the other documents with lower values, ties counting one half.
template <class Real>
void rank(Rows<const Real> X, View<const Index> rows, View<const Index> indptr, Index first, Index last, Rows<Real> out) {
    struct Entry {
        Real value;
        Index doc;
    };
    const Groups groups{rows, indptr};
    Index longest = 0;
    for (Index q = first; q < last; ++q) longest = std::max(longest, groups[q].size);
    const Scratch<Entry> room(longest);
    for (Index q = first; q < last; ++q) {
        const View<const Index> docs = groups[q];
        const View<Entry> entries = room.slice(0, docs.size);
        for (Index column = 0; column < X.n_columns; ++column) {
            for (Index place = 0; place < docs.size; ++place) entries[place] = {X(docs[place], column), docs[place]};
            std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.value < b.value; });
            if (docs.size == 0 || entries[0].value == entries[docs.size - 1].value) continue;
            for (Index start = 0, stop; start < docs.size; start = stop) {
                for (stop = start + 1; stop < docs.size && entries[stop].value == entries[start].value;) ++stop;
                // places start to stop - 1, counted from 0, share their mean
                const double share = 0.5 * static_cast<double>(start + stop - 1) / static_cast<double>(docs.size - 1);
                for (Index place = start; place < stop; ++place)
                    out(entries[place].doc, column) = static_cast<Real>(share);
            }
        }
    }
}

}  // namespace plackett::normalize
