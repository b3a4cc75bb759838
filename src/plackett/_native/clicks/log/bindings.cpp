// Bindings of the reader of click logs and of the simulation.
#include "clicks/log/lines.hpp"
#include "clicks/log/lists.hpp"
#include "clicks/log/names.hpp"
#include "clicks/log/simulate.hpp"
#include "clicks/log/values.hpp"
#include "core/bind.hpp"

namespace plackett {

void bind_click_log(const Module& module) {
    using namespace click_log;
    define<&make_names>(module, "make_names", "");
    define<&add_names>(module, "add_names", "names buffer spans codes");
    define<&count_names>(module, "count_names", "names");
    define<&sort_names>(module, "sort_names", "names buffer bounds place");
    define<&measure_names>(module, "measure_names", "names codes bounds");
    define<&copy_names>(module, "copy_names", "names codes bounds buffer");
    define<&mark_changes>(module, "mark_changes", "buffer spans is_new");
    define<&copy_spans>(module, "copy_spans", "buffer spans texts");
    define<&make_numbers>(module, "make_numbers", "");
    define<&add_numbers>(module, "add_numbers", "numbers added codes");
    define<&copy_numbers>(module, "copy_numbers", "numbers different");
    define<&scan_json>(module, "scan_json", "buffer size keys list_key status spans list list_end");
    define<&scan_delimited>(module, "scan_delimited", "buffer size delimiter n_columns places status spans");
    define<&parse_whole>(module, "parse_whole", "buffer spans values");
    define<&parse_flags>(module, "parse_flags", "buffer spans values");
    define<&parse_times>(module, "parse_times", "buffer spans seconds");
    define<&cut_lists>(module, "cut_lists", "indptr rank doc n_kept why");
    define<&find_clicks>(module, "find_clicks", "indptr shown session doc ordinal first row outcome");
    define<&draw_sessions>(module, "draw_sessions",
                           "seed first list_ptr n_queries n_rankers random_share query ranker is_random length");
    define<&draw_clicks>(module, "draw_clicks",
                         "seed first list_ptr list_pair relevance n_queries n_rankers random_share user slope offset "
                         "browse indptr pair click");
}

}  // namespace plackett
