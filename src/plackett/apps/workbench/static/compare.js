// The page of comparisons: the shared table, scatter and lists, with the lists from the server.
import { $, calm, complain, get, inWords, pause } from "./common.js";
import { mountComparison } from "./components/comparison.js";

const EVERY = 700;  // polling interval in milliseconds

// The compared sides are in the address of the page; empty values mean the defaults
function wish() {
  const asked = new URLSearchParams(location.search);
  const kept = [...asked].filter(([, value]) => value !== "");
  if (!asked.has("set_id") && $("#set-id")) kept.push(["set_id", $("#set-id").value]);
  return new URLSearchParams(kept);
}

async function wait() {
  for (;;) {
    await pause(EVERY);
    const found = await get(`comparison?${wish()}`);
    if (found.is_complete) break;
    $("#ranking").value = found.n_ready;
    $("#ranking-words").textContent = `Ranking: ${found.n_ready} of ${found.n_needed} lists`;
  }
  location.reload();
}

function show() {
  const data = $("#comparison-data");
  const payload = JSON.parse(data.dataset.payload);
  const queries = payload.queries.map(([query]) => query);
  async function lists(row) {
    const query = wish();
    query.set("q", queries[row]);
    try {
      const found = await get(`comparison/lists?${query}`);
      for (const one of found.documents) one.href = `/document?${new URLSearchParams({ docid: one.name, q: queries[row] })}`;
      return found;
    } catch (error) {
      complain(error.message);
      return undefined;
    }
  }
  const { open } = mountComparison($("#comparison"), payload, { lists });
  $("#changed")?.addEventListener("click", inWords(async (event) => {
    const button = event.target.closest("button[data-query]");
    if (!button) return;
    calm();
    await open(queries.indexOf(button.dataset.query));
  }));
}

if ($("#waiting")) inWords(wait)();
if ($("#comparison-data")) show();
