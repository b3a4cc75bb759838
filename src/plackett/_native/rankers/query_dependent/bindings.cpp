// Bindings of the solver of query-dependent SVMs.
#include "core/bind.hpp"
#include "rankers/query_dependent/local_models.hpp"

namespace plackett {

namespace {

using namespace query_dependent;

constexpr const char* WORDS =
    "X indptr run_end steps step_indptr spread target_indptr queries weights strengths tol max_steps coef known";

template <class Loss, bool is_psi = false>
void define_local(const Module& module, const char* name) {
    define<&solve_targets<Loss, is_psi, float>, &solve_targets<Loss, is_psi, double>>(module, name, WORDS);
}

template <class Loss, bool is_psi = false>
void define_margins(const Module& module, const char* name) {
    define<&solve_margins<Loss, is_psi>>(module, name, "X weights strengths tol max_steps coef known");
}

}  // namespace

void bind_query_dependent(const Module& module) {
    define_local<LocalHinge>(module, "local_hinge");
    define_local<LocalLogistic>(module, "local_logistic");
    define_local<LocalHinge, true>(module, "local_psi");
    define_margins<MarginHinge>(module, "margins_hinge");
    define_margins<MarginLogistic>(module, "margins_logistic");
    define_margins<MarginHinge, true>(module, "margins_psi");
}

}  // namespace plackett
