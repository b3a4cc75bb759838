// Bindings of tree traversal.
#include "core/bind.hpp"
#include "rankers/trees/bitmaps.hpp"
#include "rankers/trees/scores.hpp"

namespace plackett {

void bind_trees(const Module& module) {
    using namespace trees;
    using std::int32_t, std::int64_t;
    define<&tree_scores<float, float>, &tree_scores<float, double>,
           &tree_scores<double, float>, &tree_scores<double, double>>(
        module, "tree_scores",
        "X starts features thresholds left right values missing_left scores");
    define<&tree_scores_sparse<float, int32_t, float>, &tree_scores_sparse<float, int32_t, double>,
           &tree_scores_sparse<float, int64_t, float>, &tree_scores_sparse<float, int64_t, double>,
           &tree_scores_sparse<double, int32_t, float>, &tree_scores_sparse<double, int32_t, double>,
           &tree_scores_sparse<double, int64_t, float>, &tree_scores_sparse<double, int64_t, double>>(
        module, "tree_scores_sparse",
        "data indices indptr n_features starts features thresholds left right values missing_left scores");
    define<&any_tree_scores<float, float>, &any_tree_scores<float, double>,
           &any_tree_scores<double, float>, &any_tree_scores<double, double>>(
        module, "any_tree_scores",
        "X starts features thresholds left right values missing_left kinds set_starts sets zero_width scores");
    define<&any_tree_scores_sparse<float, int32_t, float>, &any_tree_scores_sparse<float, int32_t, double>,
           &any_tree_scores_sparse<float, int64_t, float>, &any_tree_scores_sparse<float, int64_t, double>,
           &any_tree_scores_sparse<double, int32_t, float>, &any_tree_scores_sparse<double, int32_t, double>,
           &any_tree_scores_sparse<double, int64_t, float>, &any_tree_scores_sparse<double, int64_t, double>>(
        module, "any_tree_scores_sparse",
        "data indices indptr n_features starts features thresholds left right values missing_left kinds set_starts "
        "sets zero_width scores");
    define<&exported_tree_scores<float>, &exported_tree_scores<double>>(
        module, "exported_tree_scores",
        "X starts features thresholds left right values missing_left is_strict scores");
    define<&tree_bitmap_scores<float, float>, &tree_bitmap_scores<float, double>, &tree_bitmap_scores<double, float>,
           &tree_bitmap_scores<double, double>>(
        module, "tree_bitmap_scores",
        "X group_features group_kinds group_starts thresholds missing_left set_starts sets zero_width node_starts slots left "
        "right leaf_starts values n_places scores");
    define<&tree_depths>(module, "tree_depths", "features left right depths visits");
}

}  // namespace plackett
