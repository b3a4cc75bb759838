// Bindings of measures.
#include "core/bind.hpp"
#include "metrics/binary.hpp"
#include "metrics/diversity.hpp"
#include "metrics/graded.hpp"
#include "metrics/incomplete.hpp"
#include "metrics/whole_order.hpp"
#include "metrics/ranking.hpp"

namespace plackett {

void bind_metrics(const Module& module) {
    using namespace metrics;
    module.set("COUNT_LIMIT", COUNT_LIMIT);
    define<&rank_labels>(module, "rank_labels",
                         "scores labels tie_keys indptr n_ranked long_order is_averaged first last ranked group_end");
    define<&top_labels>(module, "top_labels", "labels indptr top_indptr first last top");
    define<&append_rest>(module, "append_rest", "labels indptr n_ranked found_end first last ranked group_end");

    define<&dcg>(module, "dcg", "ranked group_end indptr n_ranked k is_linear discounts first last values");
    define<&ndcg>(module, "ndcg",
                  "ranked group_end indptr n_ranked ideal ideal_indptr k is_linear discounts zero_if_short first last "
                  "values");
    define<&mean_ndcg>(module, "mean_ndcg",
                       "ranked group_end indptr n_ranked ideal is_linear discounts first last values");
    define<&err>(module, "err", "ranked group_end indptr n_ranked best_labels k max_label first last values");
    define<&relative_gains>(module, "relative_gains", "ideal indptr is_linear first last worth");
    define<&level_means>(module, "level_means", "ideal indptr weights first last worth");
    define<&disagreement>(module, "disagreement",
                          "ranked group_end indptr ideal worth is_ratio normalize first last values");

    define<&count_relevant>(module, "count_relevant", "labels indptr relevant_from first last values");
    define<&hits>(module, "hits", "ranked group_end indptr n_ranked limits relevant_from first last values");
    define<&average_precision>(
        module, "average_precision",
        "ranked group_end indptr n_ranked n_relevant k relevant_from is_together first last values");
    define<&reciprocal_rank>(module, "reciprocal_rank",
                             "ranked group_end indptr n_ranked n_relevant k relevant_from first last values");
    define<&success>(module, "success",
                     "ranked group_end indptr n_ranked n_relevant k relevant_from first last values");
    define<&weighted_hits>(module, "weighted_hits",
                           "ranked group_end indptr n_ranked n_relevant weights relevant_from first last values");

    define<&misordered>(module, "misordered", "ranked group_end indptr first last values");
    define<&persistence>(module, "persistence", "ranked group_end indptr ideal k first last values");
    define<&exact>(module, "exact", "ranked group_end indptr first last values");
    define<&auc>(module, "auc", "ranked group_end indptr relevant_from first last values");
    define<&average_rank>(module, "average_rank", "ranked group_end indptr relevant_from first last values");

    module.set("RELEVANT", RELEVANT);
    module.set("NOT_RELEVANT", NOT_RELEVANT);
    module.set("NOT_JUDGED", NOT_JUDGED);
    module.set("NOT_POOLED", NOT_POOLED);
    define<&bpref>(module, "bpref", "codes ranked group_end indptr n_ranked first last values");
    define<&infap>(module, "infap", "codes ranked group_end indptr n_ranked first last values");

    define<&count_topics>(module, "count_topics", "indptr entries topics n_topics first last values");
    define<&cascade>(module, "cascade",
                     "rows group_end indptr n_ranked entries topics stops n_topics has_unit_worth discounts first last "
                     "values");
    define<&greedy_cascade>(module, "greedy_cascade",
                            "indptr entries topics n_topics alpha tie_keys discounts first last values");
    define<&shares>(module, "shares", "rows group_end indptr n_ranked weights first last values");
}

}  // namespace plackett
