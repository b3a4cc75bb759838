// Bindings of the many small problems of query-dependent SVMs.
#include "core/bind.hpp"

namespace plackett {

void bind_query_dependent([[maybe_unused]] nb::module_& module) {}

}  // namespace plackett
