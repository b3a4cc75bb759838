// Bindings of solvers.
#include "core/bind.hpp"
#include "solvers/logistic_prox.hpp"

namespace plackett {

void bind_solvers(const Module& module) { define<&logistic_prox>(module, "logistic_prox", "targets ratios margins"); }

}  // namespace plackett
