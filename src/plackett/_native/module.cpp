// The Python module: one submodule per folder, each filled by the bindings in that folder.
#include "core/bind.hpp"
#include "core/cpu.hpp"

namespace plackett {

void bind_data(nb::module_&);
void bind_text(nb::module_&);
void bind_metrics(nb::module_&);
void bind_listwise(nb::module_&);
void bind_pairwise(nb::module_&);
void bind_smooth(nb::module_&);
void bind_scorers(nb::module_&);
void bind_objective(nb::module_&);
void bind_solvers(nb::module_&);
void bind_rankers(nb::module_&);
void bind_linear(nb::module_&);
void bind_boosting(nb::module_&);
void bind_refinement(nb::module_&);
void bind_recommendation(nb::module_&);
void bind_trees(nb::module_&);
void bind_query_dependent(nb::module_&);
void bind_evaluation(nb::module_&);
void bind_click_log(nb::module_&);
void bind_click_models(nb::module_&);

}  // namespace plackett

NB_MODULE(PLACKETT_MODULE, module) {
    using namespace plackett;
    nb::set_leak_warnings(false);  // objects that live until the interpreter ends are not leaks of the user
    module.def("runs_v3", &runs_v3);
#ifdef PLACKETT_CHECKED
    module.attr("is_checked") = true;
#else
    module.attr("is_checked") = false;
#endif
    const auto room = [&](const char* name, auto... bindings) {
        nb::module_ submodule = module.def_submodule(name);
        (bindings(submodule), ...);
    };
    room("data", bind_data);
    room("text", bind_text);
    room("metrics", bind_metrics);
    room("losses", bind_listwise, bind_pairwise, bind_smooth);
    room("scorers", bind_scorers);
    room("objective", bind_objective);
    room("solvers", bind_solvers);
    room("rankers", bind_rankers, bind_linear, bind_boosting, bind_refinement, bind_recommendation, bind_trees,
         bind_query_dependent);
    room("evaluation", bind_evaluation);
    room("clicks", bind_click_log, bind_click_models);
}
