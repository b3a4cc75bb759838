// One result on the page. Text of documents is set as text nodes, never as markup.
import { $, $$, counted, make, plain, short, signed } from "./common.js";

// A row depends on the result, the list, the view, the judging mode and the first result of a pair.
export function fill(row, result, { place, isMain, list, view, mode, better, sent }) {
  const part = (name) => $(`[data-part="${name}"]`, row);
  const title = plain(result.title || result.docid, 300);
  part("place").textContent = place;
  part("title").textContent = title;
  part("title").href = `/document?${new URLSearchParams({ docid: result.docid, q: list.query, base: list.base })}`;
  const snippet = result.label === null ? result.snippet : [];  // in a judged list it would repeat the label
  part("snippet").replaceChildren(...snippet.map(({ text, is_term }) => (is_term ? make("mark", {}, plain(text)) : plain(text))));
  part("docid").textContent = result.docid === result.title ? "" : plain(result.docid, 120);
  part("score").textContent = `score ${short(isMain && view !== "before" ? result.score : result.base_score)}`;
  part("label").textContent = result.label === null ? "" : `label ${short(result.label)}`;
  part("label").className = result.label === null ? "" : `chip v${Math.trunc(Math.max(0, Math.min(4, result.label)))}`;
  const move = part("move");
  move.className = "move";
  let [arrow, words] = ["", ""];
  part("before").textContent = "";
  if (list.is_refined && isMain) {
    move.classList.add(result.moved > 0 ? "up" : result.moved < 0 ? "down" : "same");
    arrow = result.moved > 0 ? `▲ ${result.moved}` : result.moved < 0 ? `▼ ${-result.moved}` : "";
    words = arrow && `, ${result.moved > 0 ? "up" : "down"} ${counted(Math.abs(result.moved), "place")}`;
    part("before").textContent = view === "before" ? `after: place ${result.place}` : `before: place ${result.base_place}, score ${short(result.base_score)}`;
  }
  if (list.is_refined && !isMain) {
    const now = list.results.find(({ docid }) => docid === result.docid)?.place ?? result.place;
    arrow = now === place ? "" : `→ ${now}`;
    words = arrow && `, now at place ${now}`;
  }
  part("arrow").textContent = arrow;
  part("moved").textContent = words;
  row.classList.toggle("liked", result.grade !== null && result.grade >= 1);
  row.classList.toggle("disliked", result.grade !== null && result.grade < 1);
  row.classList.toggle("waiting", sent !== undefined);
  explain(part, result);
  controls(part("judge"), result, { title, mode, better, sent });
}

function explain(part, result) {
  part("why").hidden = result.why.length === 0;
  if (!result.why.length) return;
  const rest = result.why.length - 1;
  const first = result.why[0];
  const others = result.moved < 0 && first.amount > 0 ? "others gained more; " : "";
  part("first-reason").textContent = `${others}${plain(first.words, 80)} ${signed(first.amount)}${rest ? `, ${rest} more` : ""}`;
  const most = Math.max(...result.why.map(({ amount }) => Math.abs(amount))) || 1;
  part("reasons").replaceChildren(...result.why.map(({ text, words, amount }) => make(
    "li", {},
    make("span", {}, plain(words, 200), ...(words === text ? [] : [" ", make("code", {}, plain(text, 200))])),
    bar(Math.abs(amount) / most, amount < 0),
    make("span", { class: `amount ${amount > 0 ? "up" : "down"}` }, signed(amount)),
  )));
}

function bar(share, isLess) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  const box = document.createElementNS(space, "rect");
  drawing.setAttribute("viewBox", "0 0 200 8");  // negative amounts extend to the left
  drawing.setAttribute("preserveAspectRatio", "none");
  const width = Math.round(100 * share);
  box.setAttribute("x", String(isLess ? 100 - width : 100));
  box.setAttribute("width", String(width));
  box.setAttribute("height", "8");
  drawing.append(box);
  return make("span", { class: isLess ? "track less" : "track", "aria-hidden": "true" }, drawing);
}

// Whether the button of a grade is pressed; thumbs have two grades.
export function isPressed(given, grade, mode) {
  return given !== null && (mode === "thumbs" ? (given >= 1) === (grade >= 1) : given === grade);
}

function controls(judge, result, { title, mode, better, sent }) {
  judge.setAttribute("aria-label", `Judge ${title}`);
  for (const element of $$("[data-mode]", judge)) element.hidden = element.dataset.mode !== mode;
  for (const button of $$("[data-grade]", judge)) {
    const grade = Number(button.dataset.grade);
    button.setAttribute("aria-pressed", String(isPressed(result.grade, grade, mode)));
    button.toggleAttribute("data-sent", sent !== undefined && sent.pressed === grade);
  }
  $('[data-part="word"]', judge).textContent = mode === "grades" && result.grade !== null ? $$(".grade", judge)[result.grade]?.title ?? "" : "";
  const above = $("[data-above]", judge);
  above.setAttribute("aria-pressed", String(better === result.docid));
  above.textContent = better === null ? "This one…" : better === result.docid ? "…above which?" : "…above this";
}
