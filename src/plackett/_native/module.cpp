// The Python module: one submodule per folder, each filled by the bindings in that folder.
#include "core/bind.hpp"

namespace plackett {

void bind_data(const Module&);
void bind_text(const Module&);
void bind_metrics(const Module&);
void bind_listwise(const Module&);
void bind_pairwise(const Module&);
void bind_smooth(const Module&);
void bind_scorers(const Module&);
void bind_objective(const Module&);
void bind_solvers(const Module&);
void bind_rankers(const Module&);
void bind_linear(const Module&);
void bind_boosting(const Module&);
void bind_refinement(const Module&);
void bind_recommendation(const Module&);
void bind_trees(const Module&);
void bind_query_dependent(const Module&);
void bind_evaluation(const Module&);
void bind_click_log(const Module&);
void bind_click_models(const Module&);

static int fill(PyObject* object) {
    const Module module(object);
    bool is_checked = false;
#ifdef PLACKETT_CHECKED
    is_checked = true;
#endif
    module.set("is_checked", PyBool_FromLong(is_checked));
    const auto room = [&](const char* name, auto... bindings) {
        const Module submodule = module.submodule(name);
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
    return PyErr_Occurred() == nullptr ? 0 : -1;
}

}  // namespace plackett

#define JOIN(first, second) first##second
#define INIT(name) JOIN(PyInit_, name)
#define QUOTE(name) #name
#define NAME(name) QUOTE(name)

PyMODINIT_FUNC INIT(PLACKETT_MODULE)() {
    static PyModuleDef_Slot slots[] = {
        {Py_mod_exec, reinterpret_cast<void*>(&plackett::fill)},
#ifdef Py_mod_gil
        {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
        {0, nullptr}};
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT, NAME(PLACKETT_MODULE), nullptr, 0, nullptr, slots,
                                     nullptr, nullptr, nullptr};
    return PyModuleDef_Init(&definition);
}
