// Bindings of search, weighting and text features.
#include "core/bind.hpp"
#include "text/checks.hpp"
#include "text/features.hpp"
#include "text/phrases.hpp"
#include "text/search.hpp"
#include "text/weighting.hpp"

namespace plackett {

void bind_text(const Module& module) {
    using namespace text;
    module.set("PRODUCT", static_cast<Index>(Form::product));
    module.set("SATURATED", static_cast<Index>(Form::saturated));
    module.set("LOGARITHM", static_cast<Index>(Form::logarithm));
    define<&impacts>(module, "impacts", "form discount indptr docs tf of_term of_doc first last out");
    define<&add_postings>(module, "add_postings", "indptr docs values terms times sums");
    define<&pair_counts>(module, "pair_counts",
                         "indptr docs tf terms term_bounds pairs pair_bounds count_bounds counts");
    define<&pair_sums>(module, "pair_sums",
                       "form discount of_term of_doc terms times term_bounds pairs pair_bounds count_bounds counts "
                       "out");
    define<&best>(module, "best",
                  "indptr docs values highest terms times scale base prior weight_of_prior lowest_prior highest_prior "
                  "sums is_met met best_scores best_docs");
    define<&hold_phrase>(module, "hold_phrase", "numbers bounds docs wanted answer");
    module.set("N_STATISTICS", N_STATISTICS);
    define<&term_statistics>(module, "term_statistics",
                             "idf lengths terms times term_bounds pairs pair_bounds count_bounds counts out");
    define<&count_sound_postings>(module, "count_sound_postings", "indptr docs tf n_docs");
}

}  // namespace plackett
