// The search page: results, judgements, and the list that follows them.
import { $, $$, complain, calm, counted, get, kept, make, onKey, patiently, plain, post, Refusal, remember, say, short, signed } from "./common.js";

const form = $("#search");
const MORE = 20;

if (matchMedia("(max-width: 40rem)").matches && $("#list-data")) $(".choices").open = false;

// Choices that hold for the next query too
const chosen = (name) => $(`input[name="${name}"]:checked`).value;
function choose(name, value) {
  const input = $$(`input[name="${name}"]`).find((one) => one.value === value);
  if (input) input.checked = true;
}
choose("judging", kept.get("judging", "thumbs"));
for (const input of $$('input[name="judging"]')) {
  input.addEventListener("change", () => { kept.set("judging", input.value); letGo(); draw(); });
}
$("#base").addEventListener("change", () => {
  remember("plackett_base", $("#base").value);
  if (form.elements.q.value.trim()) form.requestSubmit();
});

const data = $("#list-data");
let list = data ? JSON.parse(data.dataset.list) : null;
let last = null;  // the results before the last judgement
let better = null;  // the document that was chosen as the better of two
let measured = 0;  // the number of the last question for measures

const view = () => chosen("order");
const wanted = (shown = Math.max(list.results.length, MORE)) => ({
  base: list.base, method: list.method, keep: list.keep, k: list.k, shown: Math.min(shown, 200), side_by_side: view() !== "refined",
});

// Rows: made once from the page's own template, then only filled and moved
const rows = { results: new Map(), before: new Map() };

function rowOf(where, docid) {
  let row = rows[where].get(docid);
  if (!row) {
    const drawn = $$(".result", $(`#${where}`)).find((one) => one.dataset.docid === docid);
    row = drawn ?? $("#result-row").content.firstElementChild.cloneNode(true);
    row.dataset.docid = docid;
    rows[where].set(docid, row);
  }
  return row;
}

function fill(row, result, { place, isMain }) {
  const part = (name) => $(`[data-part="${name}"]`, row);
  const title = plain(result.title || result.docid, 300);
  part("place").textContent = place;
  part("title").textContent = title;
  part("title").href = `/document?${new URLSearchParams({ docid: result.docid, q: list.query, base: list.base })}`;
  const snippet = result.label === null ? result.snippet : [];  // of a judged list it would be the label once more
  part("snippet").replaceChildren(...snippet.map(({ text, is_term }) => (is_term ? make("mark", {}, plain(text)) : plain(text))));
  part("docid").textContent = result.docid === result.title ? "" : plain(result.docid, 120);
  part("score").textContent = `score ${short(isMain && view() !== "before" ? result.score : result.base_score)}`;
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
    part("before").textContent = view() === "before" ? `after: place ${result.place}` : `before: place ${result.base_place}, score ${short(result.base_score)}`;
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
  const sent = waiting.findLast((entry) => entry.query === list.query && entry.body.docid === result.docid);
  row.classList.toggle("waiting", sent !== undefined);
  explain(part, result);
  controls(part("judge"), result, title, sent);
}

function explain(part, result) {
  part("why").hidden = result.why.length === 0;
  if (!result.why.length) return;
  const rest = result.why.length - 1;
  const first = result.why[0];
  const others = result.moved < 0 && first.amount > 0 ? "others gained more; " : "";
  part("first-reason").textContent = `${others}${plain(first.text, 80)} ${signed(first.amount)}${rest ? `, ${rest} more` : ""}`;
  const most = Math.max(...result.why.map(({ amount }) => Math.abs(amount))) || 1;
  part("reasons").replaceChildren(...result.why.map(({ text, amount }) => make(
    "li", {},
    make("code", {}, plain(text, 200)),
    bar(Math.abs(amount) / most, amount < 0),
    make("span", { class: `amount ${amount > 0 ? "up" : "down"}` }, signed(amount)),
  )));
}

function bar(share, isLess) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  const box = document.createElementNS(space, "rect");
  drawing.setAttribute("viewBox", "0 0 100 8");
  drawing.setAttribute("preserveAspectRatio", "none");
  box.setAttribute("width", String(Math.round(100 * share)));
  box.setAttribute("height", "8");
  drawing.append(box);
  return make("span", { class: isLess ? "track less" : "track", "aria-hidden": "true" }, drawing);
}

function controls(judge, result, title, sent) {
  judge.setAttribute("aria-label", `Judge ${title}`);
  const mode = chosen("judging");
  for (const element of $$("[data-mode]", judge)) element.hidden = element.dataset.mode !== mode;
  for (const button of $$("[data-grade]", judge)) {
    const grade = Number(button.dataset.grade);
    const isOn = result.grade !== null && (mode === "thumbs" ? (result.grade >= 1) === (grade >= 1) : result.grade === grade);
    button.setAttribute("aria-pressed", String(isOn));
    button.toggleAttribute("data-sent", sent !== undefined && sent.pressed === grade);
  }
  const above = $("[data-above]", judge);
  above.setAttribute("aria-pressed", String(better === result.docid));
  above.textContent = better === null ? "This one…" : better === result.docid ? "…above which?" : "…above this";
}

// The whole list. Documents that moved glide to their new place, unless that is not wished.
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
function draw() {
  if (!list) return;
  const isSide = view() === "side";
  const main = view() === "before" ? list.base_results ?? list.results : list.results;
  const against = $("#against").value === "last" && last ? last : list.base_results ?? [];
  const ol = $("#results");
  const focused = document.activeElement;
  const tops = new Map($$(".result", ol).map((row) => [row, row.getBoundingClientRect().top]));
  place(ol, main, true);
  $("#left").hidden = !isSide;
  $("#h-right").textContent = isSide ? "After" : "Results";
  $("#work").classList.toggle("wide", isSide);
  $("#columns").classList.toggle("pair", isSide);
  if (isSide) place($("#before"), against, false);
  $("#against").options[1].disabled = last === null;
  if (focused && focused !== document.activeElement && ol.contains(focused)) focused.focus({ preventScroll: true });
  if (!isStill.matches) glide(ol, tops);
  tell();
}

function place(ol, results, isMain) {
  const wantedRows = results.map((result, number) => {
    const row = rowOf(ol.id, result.docid);
    fill(row, result, { place: number + 1, isMain });
    return row;
  });
  const keep = new Set(wantedRows);
  for (const row of $$(".result", ol)) if (!keep.has(row)) row.remove();
  wantedRows.forEach((row, number) => { if (ol.children[number] !== row) ol.insertBefore(row, ol.children[number] ?? null); });
  if (!results.length) ol.replaceChildren();
}

function glide(ol, tops) {
  const height = window.innerHeight;
  for (const row of $$(".result", ol)) {
    const now = row.getBoundingClientRect().top;
    const from = (tops.get(row) ?? now + 24) - now;
    if (Math.abs(from) < 1 || (now > height && now + from > height) || now < -height) continue;
    row.animate([{ transform: `translateY(${Math.max(-height, Math.min(height, from))}px)` }, { transform: "none" }], { duration: 220, easing: "cubic-bezier(0.2, 0, 0.2, 1)" });
  }
}

function tell() {
  const judged = [list.n_judged ? `${list.n_judged} judged` : "", list.n_pairs ? counted(list.n_pairs, "pair") : "", list.elsewhere.length ? `${list.elsewhere.length} of them elsewhere` : ""].filter(Boolean);
  $("#counts").textContent = [`${counted(list.n_found, "document")} by ${$("#base").selectedOptions[0]?.textContent ?? list.base}`, ...judged].join(", ");
  $("#note").hidden = !(list.note && list.is_refined);
  $("#note p").textContent = plain(list.note ?? "");
  $("#undo").disabled = !list.can_undo && waiting.length === 0;
  $("#reset").disabled = !(list.n_judged || list.n_pairs) && waiting.length === 0;
  $("#more").hidden = list.results.length >= Math.min(list.n_found, 200);
  $("#pairs").hidden = !list.pairs.length;
  $("#pair-list").replaceChildren(...list.pairs.map(({ preferred, other }) => make("li", {}, plain(`${preferred} above ${other}`, 200))));
}

// Measures, after the list: they take longer, and only the latest answer counts
async function measure() {
  const place = $("#measures");
  const turn = ++measured;
  $("#brief").textContent = "";
  if (list.query_id === null || list.n_judged < 2) {
    place.replaceChildren(make("p", { class: "quiet" }, "Judge a good and a bad result, and the two orders are measured here."));
    return;
  }
  const query = new URLSearchParams({ base: list.base, method: list.method, k: list.k });
  const found = await get(`lists/${list.query_id}/measures?${query}`);
  if (turn !== measured) return;
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

// What is to be written waits in line, also over a reload, until the server has said that it is on disk.
const LINE = `waiting.${document.body.dataset.user}`;
let waiting = [];
try { waiting = JSON.parse(kept.get(LINE, "[]")); } catch { /* not ours */ }
let isWriting = false;
const keepLine = () => kept.set(LINE, waiting.length ? JSON.stringify(waiting) : null);

// What the list knows of judgements: when an answer was lost on its way, this tells whether it was written.
const stateOf = (of) => JSON.stringify([of.n_judged, of.n_pairs, of.pairs, of.elsewhere, of.results.filter(({ grade }) => grade !== null).map(({ docid, grade }) => [docid, grade]).sort()]);

function write(path, body, pressed = null) {
  waiting.push({ path, query: list.query, body, pressed });
  keepLine();
  draw();
  return writeAll();
}

async function writeAll() {
  if (isWriting) return;
  isWriting = true;
  while (waiting.length) {
    const entry = waiting[0];
    const isHere = list !== null && entry.query === list.query;
    const options = isHere ? wanted() : {};
    try {
      const answer = await patiently(async (turn) => {
        if ((turn || entry.state) && isHere && await wasWritten(entry)) return null;
        if (isHere) { entry.state = stateOf(list); keepLine(); }
        return post(entry.path, { query: entry.query, ...entry.body, ...options, with_list: isHere });
      });
      waiting.shift();
      keepLine();
      if (isHere) show(answer?.list ?? await get(`search?${new URLSearchParams({ q: list.query, ...options })}`), answer);
    } catch (error) {
      waiting.shift();
      keepLine();
      complain(error instanceof Refusal ? error.message : `Something went wrong: ${error.message}`);
      draw();
    }
  }
  isWriting = false;
}

async function wasWritten(entry) {
  if (!entry.state) return false;
  const now = await get(`search?${new URLSearchParams({ q: entry.query, ...wanted() })}`);
  return stateOf(now) !== entry.state;
}

function show(found, saved) {
  const before = new Map(list.results.map((result) => [result.docid, result.place]));
  last = list.results;
  list = found;
  draw();
  measure().catch((error) => complain(error.message));
  const event = saved?.event;
  const moved = list.results.filter(({ docid, place: now }) => before.has(docid) && before.get(docid) !== now);
  const what = event?.docid ? list.results.find(({ docid }) => docid === event.docid) : null;
  const words = what ? `${plain(what.title || what.docid, 80)} is at place ${what.place}. ` : "";
  say(`Saved. ${words}${moved.length ? `${counted(moved.length, "result")} moved.` : "Nothing moved."}`);
}

// Judging
const resultOf = (docid) => [...list.results, ...(list.base_results ?? [])].find((result) => result.docid === docid);

function judge(docid, grade) {
  const result = resultOf(docid);
  const isAgain = result.grade !== null && (chosen("judging") === "thumbs" ? (result.grade >= 1) === (grade >= 1) : result.grade === grade);
  return write("judgements", { docid, grade: isAgain ? null : grade }, grade);
}

function letGo() {
  better = null;
}

function prefer(docid) {
  if (better === null) {
    better = docid;
    say("Now choose the result that it belongs above; Escape to let go.");
  } else if (better === docid) {
    letGo();
  } else {
    const preferred = better;
    letGo();
    write("preferences", { docid: preferred, other: docid });
  }
  draw();
}

if (list) {
  $("#results").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const row = event.target.closest(".result");
    if (!button || !row) return;
    if ("above" in button.dataset) prefer(row.dataset.docid);
    else judge(row.dataset.docid, Number(button.dataset.grade));
  });
  for (const type of ["mouseover", "focusin"]) {
    $("#columns").addEventListener(type, (event) => {
      const docid = event.target.closest(".result")?.dataset.docid;
      for (const row of $$(".result", $("#before"))) row.classList.toggle("twin", row.dataset.docid === docid);
    });
  }
  $("#undo").addEventListener("click", () => write("undo", {}));
  $("#reset").addEventListener("click", () => write("reset", {}));
  $("#more").addEventListener("click", () => reload(list.results.length + MORE));
  $("#against").addEventListener("change", draw);
  for (const input of $$('input[name="order"]')) input.addEventListener("change", () => look(input.value));
  for (const input of [...$$('input[name="method"]'), $("#keep")]) input.addEventListener("change", () => reload());
}

async function reload(shown) {
  list.method = chosen("method");
  list.keep = $("#keep").checked;
  const query = new URLSearchParams({ q: list.query, ...wanted(shown) });
  try {
    list = await get(`search?${query}`);
    calm();
    draw();
    await measure();
  } catch (error) {
    complain(error.message);
  }
  address();
}

function look(order) {
  choose("order", order);
  $("#view").value = order;
  say({ refined: "The order after your judgements.", before: "The order of the base ranker.", side: "Both orders side by side." }[order]);
  return reload();
}

function address() {
  const entries = { q: list.query, base: list.base, method: list.method, view: view(), ...(list.keep ? { keep: "true" } : {}) };
  history.replaceState(null, "", `/?${new URLSearchParams(entries)}`);
}

// Keys: the focus is on a result, and moves with it
const current = () => document.activeElement?.closest?.("#results .result");
function step(by) {
  const all = $$(".result", $("#results"));
  if (!all.length) return false;
  const now = current();
  const place = now ? all.indexOf(now) + by : by > 0 ? 0 : all.length - 1;
  if (place >= all.length && !$("#more").hidden) $("#more").click();
  const next = all[Math.max(0, Math.min(all.length - 1, place))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest", behavior: isStill.matches ? "instant" : "smooth" });
}
const onCurrent = (act) => () => {
  const row = current();
  if (!list || !row) { if (list) say("Go to a result first, with j or k."); return; }
  row.focus({ preventScroll: true });
  act(row);
};
const press = (grade) => onCurrent((row) => judge(row.dataset.docid, grade));
Object.assign(onKey, {
  j: () => list && step(1),
  k: () => list && step(-1),
  y: press(1),
  n: press(0),
  p: onCurrent((row) => { choose("judging", "pairs"); kept.set("judging", "pairs"); prefer(row.dataset.docid); }),
  w: onCurrent((row) => { const why = $(".why", row); if (!why.hidden) why.open = !why.open; }),
  u: () => { if (list && !$("#undo").disabled) $("#undo").click(); },
  b: () => list && look(view() === "before" ? "refined" : "before"),
  s: () => list && look(view() === "side" ? "refined" : "side"),
  Enter: (event) => { if (!event.target.matches(".result")) return false; $("a", event.target).click(); },
  Escape: () => { if (better === null) return false; letGo(); draw(); },
});
for (const grade of [0, 1, 2, 3, 4]) onKey[String(grade)] = press(grade);

if (list) {
  choose("order", $("#view").value);
  if (view() === "refined") draw();
  else reload();
  measure().catch((error) => complain(error.message));
}
writeAll();
