// The measures beside the list.
import { $, get, make } from "./common.js";

// Measures are requested after the list, because they take longer; only the latest response is shown
let asked = 0;
export async function measure(list) {
  const place = $("#measures");
  const turn = ++asked;
  $("#brief").textContent = "";
  const clickSet = $("#measure-on")?.value ?? "";  // judgements of people, unless a set from clicks is chosen
  if (list.query_id === null || (list.n_judged < 2 && !clickSet)) {
    const missing = clickSet ? "Judge a result to measure both orders on clicks." : "Judge a relevant and a non-relevant result to measure both orders.";
    place.replaceChildren(make("p", { class: "quiet" }, missing));
    return;
  }
  const query = new URLSearchParams({ base: list.base, method: list.method, k: list.k, ...(clickSet ? { click_set: clickSet } : {}) });
  const found = await get(`lists/${list.query_id}/measures?${query}`);
  if (turn !== asked) return;
  if (!found.metrics.length) {
    place.replaceChildren(make("p", { class: "quiet" }, found.note));
    return;
  }
  const names = [["base", "before"], ["refined", "after"], ["left_out", "left out"]].filter(([key]) => Object.keys(found[key]).length);
  const head = make("tr", {}, make("th", { scope: "col" }, make("span", { class: "hidden" }, "measure")), ...names.map(([, words]) => make("th", { scope: "col", class: "n" }, words)));
  const body = found.metrics.map((metric) => make(
    "tr", {}, make("th", { scope: "row" }, metric.toUpperCase()),
    ...names.map(([key]) => {
      const difference = key === "base" ? 0 : found[key][metric] - found.base[metric];
      return make("td", { class: `n ${difference > 1e-9 ? "up" : difference < -1e-9 ? "down" : ""}` }, found[key][metric].toFixed(2));
    }),
  ));
  const best = found.metrics.at(-1);
  $("#brief").textContent = `, ${best.toUpperCase()} ${found.base[best].toFixed(2)} → ${found.refined[best].toFixed(2)}`;
  place.replaceChildren(
    make("table", { class: "measures" }, make("caption", { class: "hidden" }, "Measures of the order before and after"), make("thead", {}, head), make("tbody", {}, ...body)),
    make("p", { class: "quiet" }, found.note),
  );
}
