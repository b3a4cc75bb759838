// The measures beside the list.
import { $, get, make, signed } from "./common.js";

// Measures are requested after the list, because they take longer; only the latest response is shown
let asked = 0;
export async function measure(list) {
  const place = $("#measures");
  const turn = ++asked;
  const onLabels = list.on_labels;  // those of the collection, which count without judgements of people
  const own = onLabels ? [make("h3", {}, "On the labels of the file"), ...gained(onLabels, "labelled", list.is_refined)] : [];
  $("#brief").textContent = onLabels ? `, NDCG@10 ${change(onLabels, list.is_refined)} on the labels` : "";
  const annotator = $("#measure-on")?.value ?? "";  // judgements of people, unless an annotator is chosen
  if (list.query_id === null || (list.n_judged < 1 && !annotator)) {
    const missing = annotator ? "Judge a result to measure both orders." : "Judge a relevant result to see how the measures change.";
    place.replaceChildren(...own, make("p", { class: "quiet" }, missing));
    return;
  }
  const query = new URLSearchParams({ base: list.base, method: list.method, k: list.k, ...(annotator ? { annotator } : {}) });
  const found = await get(`lists/${list.query_id}/measures?${query}`);
  if (turn !== asked) return;
  const gain = [...own, ...(own.length ? [make("h3", {}, "On your judgements")] : []), ...(found.visible ? gained(found.visible) : [])];
  if (found.visible && !onLabels) $("#brief").textContent = `, NDCG@10 ${change(found.visible)}, fitted to these judgements`;
  if (!found.metrics.length) {
    place.replaceChildren(...gain, make("p", { class: "quiet" }, found.note));
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
  place.replaceChildren(
    ...gain,
    make("h3", {}, "On the judged documents"),
    make("table", { class: "measures" }, make("caption", { class: "hidden" }, "Measures of the order before and after"), make("thead", {}, head), make("tbody", {}, ...body)),
    make("p", { class: "quiet" }, found.note),
  );
}

function change({ before, after }, isRefined = true) {
  const values = [before, after].map((of) => of["ndcg@10"].toFixed(2));
  return isRefined ? values.join(" → ") : values[0];
}

// The list as it is shown: what the judgements gained, and how much of the first page they cover
function gained({ n_first: n, judged_before: before, judged_after: after, before: old, after: now }, judged = "judged", isRefined = true) {
  const rows = [["NDCG@10", "ndcg@10"], ["MRR", "mrr"]].flatMap(([words, name]) => {
    const difference = now[name] - old[name];
    if (!isRefined) return [make("dt", {}, words), make("dd", {}, old[name].toFixed(2)), make("dd", {}, "")];
    return [
      make("dt", {}, words),
      make("dd", {}, `${old[name].toFixed(2)} → ${now[name].toFixed(2)}`),
      make("dd", { class: difference > 1e-9 ? "up" : difference < -1e-9 ? "down" : "" }, signed(difference)),
    ];
  });
  const covered = before === after ? `${after} of the first ${n} ${judged}.` : `${before} of the first ${n} ${judged} before, ${after} after.`;
  return [make("dl", { class: "gain" }, ...rows), make("p", { class: "quiet" }, `${covered} Other results count as not relevant.`)];
}
