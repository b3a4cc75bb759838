// Bindings of readers, writers, normalisers, pools of runs and the check of sparse matrices.
#include "core/bind.hpp"
#include "data/letor.hpp"
#include "data/letor_write.hpp"
#include "data/missing.hpp"
#include "data/pool.hpp"
#include "data/scaling.hpp"
#include "data/sparse_check.hpp"
#include "data/docids.hpp"

namespace plackett {

using std::int32_t;

static void bind_letor(const Module& module) {
    using namespace letor;
    define<&count_lines>(module, "count_lines", "text");
    define<&parse<float>, &parse<double>>(
        module, "parse",
        "text X labels qid qid_span index value row_end comments comment_end hard first_index end_index is_dense is_kept "
        "missing null overflow report");
    define<&scatter<float>, &scatter<double>>(module, "scatter", "row_end index value X missing");
    define<&drop_zeros<float>, &drop_zeros<double>>(module, "drop_zeros", "row_end index value");
    define<&change_width<float>, &change_width<double>>(module, "change_width", "cells n_rows old_width new_width missing");
    define<&id_runs>(module, "id_runs", "text qid qid_span starts");
    define<&decimals<float>, &decimals<double>>(module, "decimals", "numbers digits places");
    define<&write_lines<float>, &write_lines<double>>(
        module, "write_lines",
        "label_numbers label_digits label_places label_texts label_bounds numbers digits places texts bounds pair_ptr index "
        "query ids id_bounds notes note_bounds out");
}

static void bind_normalize(const Module& module) {
    using namespace normalize;
    constexpr const char* words = "X rows indptr first last out";
    define<&min_max<float>, &min_max<double>>(module, "min_max", words);
    define<&z_score<float>, &z_score<double>>(module, "z_score", words);
    define<&unit_length<float>, &unit_length<double>>(module, "unit_length", words);
    define<&rank<float>, &rank<double>>(module, "rank", words);
    define<&unit_length_sparse<float, int32_t>, &unit_length_sparse<double, int32_t>, &unit_length_sparse<float, Index>,
           &unit_length_sparse<double, Index>>(module, "unit_length_sparse",
                                               "data indices row_bounds rows indptr first last n_columns out");
}

void bind_data(const Module& module) {
    bind_letor(module);
    bind_normalize(module);
    define<&missing::fill_query_medians<float>, &missing::fill_query_medians<double>>(
        module, "fill_query_medians", "X indptr first last fallback");
    define<&pool::number_texts>(module, "number_texts", "texts order indptr number first bounds");
    define<&pool::order_rows>(module, "order_rows", "scores texts indptr order");
    define<&text_column::docid_spans>(module, "docid_spans", "buffer bounds spans");
    define<&text_column::copy_spans>(module, "copy_spans", "buffer spans characters");
    define<&sparse_check::is_rising<int32_t>, &sparse_check::is_rising<Index>>(module, "is_rising", "indptr");
    define<&sparse_check::bounds<int32_t>, &sparse_check::bounds<Index>>(module, "bounds", "indices");
}

}  // namespace plackett
