// The top documents of two rankers for one query, side by side, with the reasons for their scores.
import { make, shown, brief, decimal, signedDecimal } from "./dom.js";

export function mountLists(element, { query, lists, features = [], sides }, options = {}) {
  const heading = make("h3", { tabindex: "-1" }, options.title ?? `Query ${shown(query)}`);
  const head = make("div", { class: "pk-lists-head" }, heading);
  const reasons = make("button", { type: "button" }, "Show all reasons");
  const close = make("button", { type: "button" }, "Close");
  close.addEventListener("click", () => options.close?.());
  const columns = sides.map((side, place) => column(side, sides[1 - place], place));
  const pair = make("div", { class: "pk-pair" }, ...columns);
  reasons.addEventListener("click", () => {
    const folded = [...pair.querySelectorAll("details")];
    const opens = folded.some((part) => !part.open);
    for (const part of folded) part.open = opens;
    reasons.textContent = opens ? "Hide all reasons" : "Show all reasons";
  });
  if (pair.querySelector("details")) head.append(reasons);
  if (options.close) head.append(close);
  element.replaceChildren(head, pair);
  return { focus: () => heading.focus() };

  function column(side, other, place) {
    const top = lists.lists[side.ranker] ?? [];
    const value = side.value === null || side.value === undefined ? "" : decimal(side.value);
    const title = make("h4", {}, make("span", { class: "pk-side" }, place ? "B" : "A"), ` ${shown(side.name, 80)} `, make("span", { class: "pk-quiet" }, value));
    const items = top.map(([doc, score, why], rank) => item(lists.documents[doc], rank + 1, score, why, other, place));
    const part = make("section", { "aria-label": `${place ? "B" : "A"}: ${shown(side.name, 80)}` }, title);
    if (items.length) part.append(make("ol", {}, ...items));
    else if (!side.unexplained) part.append(make("p", { class: "pk-quiet" }, "No documents."));
    const length = Math.max(0, ...lists.documents.map((document) => document.places[side.ranker] ?? 0), side.length ?? 0);
    if (length > items.length && items.length) part.append(make("p", { class: "pk-quiet" }, `The first ${items.length} of ${length} documents.`));
    if (side.unexplained) part.append(make("p", { class: "pk-quiet" }, shown(side.unexplained, 400)));
    return part;
  }

  function item(document, rank, score, why, other, place) {
    const there = document.places[other.ranker];
    const move = there === rank ? "=" : `${place ? "was" : "→"} ${there ?? "–"}`;
    // a link cannot be inside the summary, which is a button
    const name = document.href && !why.length ? make("a", { href: document.href }, shown(document.name)) : make("span", {}, shown(document.name));
    const label = document.label === "" ? make("span", { class: "pk-chip", title: "not judged" }, "–") : make("span", { class: `pk-chip pk-v${document.level}`, title: `label ${shown(document.label)}` }, shown(document.label, 12));
    const line = [
      make("span", { class: "pk-rank" }, String(rank)),
      label,
      make("span", { class: "pk-doc" }, name, ...(document.title ? [make("span", { class: "pk-title" }, shown(document.title))] : [])),
      make("span", { class: "pk-move", title: "rank in the other list" }, move),
    ];
    if (!why.length) return make("li", { class: "pk-line" }, ...line);
    const most = Math.max(...why.map(([, , amount]) => Math.abs(amount ?? 0))) || 1;
    const rows = why.map(([feature, value, amount]) => make(
      "tr", {},
      make("th", { scope: "row" }, shown(typeof feature === "number" ? features[feature] : feature, 60)),
      make("td", { class: "pk-n" }, brief(value)),
      make("td", { class: "pk-n" }, amount === null ? "–" : signedDecimal(amount, Math.abs(amount) >= 100 ? 0 : 3)),
      make("td", {}, bar(amount ?? 0, most)),
    ));
    const headings = ["feature", "value", "adds"].map((word) => make("th", { scope: "col", class: word === "feature" ? "" : "pk-n" }, word));
    const table = make("table", { class: "pk-why" }, make("caption", {}, `Score ${brief(score)}: the strongest contributions`), make("thead", {}, make("tr", {}, ...headings, make("td"))), make("tbody", {}, ...rows));
    return make("li", {}, make("details", {}, make("summary", { class: "pk-line" }, ...line), table, ...(document.href ? [make("p", { class: "pk-quiet" }, make("a", { href: document.href }, "Open the document"))] : [])));
  }

  // to the right what raises the score, to the left what lowers it
  function bar(amount, most) {
    const part = make("span", { class: `pk-bar ${amount < 0 ? "down" : "up"}` });
    const inner = make("span");
    inner.style.width = `${(50 * Math.abs(amount)) / most}%`;
    part.append(inner);
    return part;
  }
}
