// Bindings of the click models.
#include "clicks/models/cells.hpp"
#include "clicks/models/chain.hpp"
#include "core/bind.hpp"

namespace plackett {

void bind_click_models(const Module& module) {
    using namespace clicks;
    define<&order_by_query>(module, "order_by_query", "session_query bounds order");
    define<&collapse_cells>(module, "collapse_cells",
                            "session_indptr pair click bounds order first last first_pair by_last indptr cell clicks skips");
    define<&cells_pass>(module, "cells_pass",
                        "indptr cell clicks skips chance prior_yes prior_no moves attraction looks");
    define<&cells_marginal_pass>(module, "cells_marginal_pass",
                                 "indptr cell clicks skips chance prior_yes prior_no nodes log_weights attraction "
                                 "log_yes log_no looks");
    define<&cells_information>(module, "cells_information",
                               "indptr cell clicks skips chance prior_yes prior_no attraction free information coupling "
                               "schur");
    define<&cells_added_variance>(module, "cells_added_variance",
                                  "indptr cell free covariance information coupling added");
    define<&cells_chances>(module, "cells_chances",
                           "indptr pair click first last attraction chance n_ranks by_last is_conditional chances");
    define<&cells_simulate>(module, "cells_simulate",
                            "indptr pair first last attraction chance n_ranks by_last draws click");
    define<&collapse_lists>(module, "collapse_lists",
                            "session_indptr pair click bounds order first last first_pair indptr list_pair ends start "
                            "n_none query_lists clicks skips passed passed_at");
    constexpr auto words =
        "indptr pair ends start n_none query_lists query_pairs clicks skips passed prior_yes prior_no satisfaction_yes "
        "satisfaction_no globals n_ranks n_cycles tol attraction satisfaction totals";
    define<&chain_pass<DBN>>(module, "dbn_pass", words);
    define<&chain_pass<SDBN>>(module, "sdbn_pass", words);
    define<&chain_pass<CCM>>(module, "ccm_pass", words);
    define<&chain_pass<DCM>>(module, "dcm_pass", words);
    define<&hidden_looks>(module, "hidden_looks",
                          "indptr pair ends start n_none attraction look_on by_rank after_skip n_ranks looks squares");
    define<&chain_chances>(module, "chain_chances",
                           "indptr pair click first last attraction look_on by_rank after_skip is_conditional chances");
    define<&chain_simulate>(module, "chain_simulate",
                            "indptr pair first last attraction look_on by_rank after_skip draws click");
    define<&add_logarithms>(module, "add_logarithms", "indptr click first last chances sums counts");
}

}  // namespace plackett
