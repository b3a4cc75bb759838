// Bindings of feature ranking discovery, FeatureRank, DiffRank and RankBoost.
#include "core/bind.hpp"
#include "rankers/boosting/centres.hpp"
#include "rankers/boosting/diff_rank.hpp"
#include "rankers/boosting/feature_rank.hpp"
#include "rankers/boosting/feature_ranks.hpp"
#include "rankers/boosting/rankboost.hpp"

namespace plackett {

void bind_boosting(const Module& module) {
    using namespace boosting;
    define<&add_to_centres<float>, &add_to_centres<double>>(
        module, "add_to_centres", "X order level_start indptr weights centre first last totals rests sizes");
    define<&rank_features<float>, &rank_features<double>>(
        module, "rank_features",
        "X order indptr centres parts signs places n_centres is_counted level_start level_end first last ranks right "
        "wrong");
    define<&rank_step>(module, "rank_step",
                       "feature before is_mixture weight choices betas is_counted level_start level_end indptr first "
                       "last after right wrong");
    define<&add_feature>(module, "add_feature", "feature weight scores");
    define<&weigh_pairs>(module, "weigh_pairs", "scores level_start top n_pairs indptr first last totals net");
    define<&pull_feature>(module, "pull_feature", "feature net n_pairs indptr first last pulls");
    define<&count_wrong>(module, "count_wrong", "scores level_start level_end tops n_pairs indptr first last wrong");
    define<&potentials>(module, "rankboost_potentials",
                        "scores order indptr bounds of_queries weights up down pulls sums");
    define<&sweep>(module, "rankboost_sweep", "codes starts pulls first last edges");
    define<&first_of_size>(module, "first_of_size", "edges size");
    define<&split>(module, "rankboost_split", "code k order indptr bounds of_queries weights up down");
}

}  // namespace plackett
