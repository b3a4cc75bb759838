// Bindings of ranking refinement.
#include "core/bind.hpp"
#include "rankers/refinement/base_pairs.hpp"
#include "rankers/refinement/boosting.hpp"
#include "rankers/refinement/stumps.hpp"

namespace plackett {

namespace {

std::tuple<double, double, double, double> weigh(View<double> up, View<double> down, View<double> base_up,
                                                 View<double> base_down, View<const Index> judged,
                                                 View<const Index> levels, View<const Index> better,
                                                 View<const Index> worse, double eta, double gamma,
                                                 View<double> pulls) {
    const auto [of_w, of_t, err_w, err_t] = refinement::weigh({up, down, base_up, base_down},
                                                              {judged, levels, better, worse}, eta, gamma, pulls);
    return {of_w, of_t, err_w, err_t};
}

std::tuple<Index, Index, double> best_stump(View<const double> pulls, Rows<const refinement::Place> order,
                                           Rows<const bool> is_step, View<double> largest) {
    const auto [feature, place, below] = refinement::best_stump(pulls, {order, is_step}, largest);
    return {feature, place, below};
}

std::tuple<double, double, double> boost(View<const bool> is_up, Rows<const double> powers, View<double> up,
                                         View<double> down, View<double> base_up, View<double> base_down,
                                         View<const Index> judged, View<const Index> levels,
                                         View<const Index> better, View<const Index> worse, double eta, double of_w,
                                         double of_t, Rows<double> parts) {
    const auto [mu, nu, alpha] = refinement::boost(is_up, powers, {up, down, base_up, base_down},
                                                   {judged, levels, better, worse}, eta, of_w, of_t, parts);
    return {mu, nu, alpha};
}

}  // namespace

void bind_refinement(const Module& module) {
    module.set("N_TERMS", refinement::N_TERMS);
    module.set("TIE", refinement::TIE);
    module.set("LARGEST_SUM", refinement::LARGEST_SUM);
    define<&refinement::fill_powers>(module, "fill_powers", "steps powers");
    define<&refinement::multiply>(module, "multiply_base_pairs", "powers first second of_first of_second");
    define<&weigh>(module, "weigh_documents",
                   "up down base_up base_down judged levels better worse eta gamma pulls");
    define<&boost>(module, "boost_refiner",
                   "is_up powers up down base_up base_down judged levels better worse eta of_w of_t parts");
    define<&refinement::mark_steps>(module, "mark_steps", "columns order is_step");
    define<&best_stump>(module, "best_stump", "pulls order is_step largest");
    define<&refinement::boost_stumps>(module, "boost_stumps",
                                      "n_rounds columns order is_step powers judged levels better worse eta gamma "
                                      "features thresholds is_above history scores");
    define<&refinement::add_stumps<float>, &refinement::add_stumps<double>>(
        module, "add_stumps", "X features thresholds is_above alphas first last scores");
}

}  // namespace plackett
