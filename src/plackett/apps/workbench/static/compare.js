// The page of comparisons: the shared table, scatter and lists, with the lists from the server.
import { $, calm, complain, complete, get, inWords } from "./common.js";
import { mountComparison } from "./components/comparison.js";

// The compared sides are in the address of the page; empty values mean the defaults
function wish() {
  const asked = new URLSearchParams(location.search);
  const kept = [...asked].filter(([, value]) => value !== "");
  if (!asked.has("set_id") && $("#set-id")) kept.push(["set_id", $("#set-id").value]);
  return new URLSearchParams(kept);
}

async function show() {
  await complete("#board");
  const data = $("#comparison-data");
  if (!data) return;
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

inWords(show)();
