// The search page: results, judgements, and the refined list.
import { $, $$, calm, complain, counted, get, kept, make, onKey, patiently, plain, post, Refusal, remember, say } from "./common.js";
import { measure } from "./measures.js";
import * as notes from "./notes.js";
import { Outbox } from "./outbox.js";
import { fill, isPressed } from "./rows.js";

const form = $("#search");
const MORE = 20;

if (matchMedia("(max-width: 40rem)").matches && $("#list-data")) $(".choices").open = false;

// Options that are kept for the next query
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
let turns = 0;  // lists requested
let shows = 0;  // lists received after judgements were written

const view = () => chosen("order");
// The order is kept while judging, unless another choice was made
const isFrozen = () => $("#freeze").checked;
const wanted = (shown = Math.max(list.results.length, MORE)) => ({
  base: list.base, method: list.method, pin_judged: list.pin_judged, k: list.k, shown: Math.min(shown, 200), side_by_side: view() !== "refined",
});

// After a judgement all of a list whose order stays is needed, because any part may be shown
const wantedAfterJudging = () => (isFrozen() ? wanted(list.k) : wanted());

// The list as it came, in the order that is shown now
function held(found, n = list.results.length) {
  const place = new Map(list.results.map(({ docid }, number) => [docid, number]));
  const at = ({ docid }, number) => place.get(docid) ?? list.results.length + number;
  const order = found.results.map((result, number) => [at(result, number), result]).sort(([one], [two]) => one - two);
  return { ...found, results: order.slice(0, n).map(([, result]) => result), isHeld: true };
}

// Rows are created once from the template of the page, then filled and moved
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

// The whole list. Moves are animated unless the system asks for reduced motion.
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
  // moves, reasons and refined scores belong to an order that is not shown, and would bias judgements
  const isQuiet = list.isHeld || (isFrozen() && view() === "before");
  const shared = { list: isQuiet ? { ...list, is_refined: false } : list, view: isQuiet ? "before" : view(), mode: chosen("judging"), better };
  const wantedRows = results.map((result, number) => {
    const row = rowOf(ol.id, result.docid);
    fill(row, isQuiet ? { ...result, why: [] } : result, { ...shared, place: number + 1, isMain, sent: outbox.last(list.query, result.docid) });
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
  const judged = [list.n_judged ? `${list.n_judged} judged` : "", list.n_pairs ? counted(list.n_pairs, "pair") : "", list.elsewhere.length ? `${list.elsewhere.length} of them not in this list` : ""].filter(Boolean);
  $("#counts").textContent = [`${counted(list.n_found, "document")} by ${$("#base").selectedOptions[0]?.textContent ?? list.base}`, ...judged].join(", ");
  const note = [list.list_note, list.is_refined ? list.note : ""].filter(Boolean).join(" ");
  $("#note").hidden = !note;
  $("#note p").textContent = plain(note);
  $("#reorder").hidden = !(list.isHeld || (isFrozen() && view() === "before" && list.is_refined));
  const first = (view() === "before" ? list.base_results ?? list.results : list.results).slice(0, 10);
  const nFirst = first.filter(({ grade }) => grade !== null).length;
  $("#first-judged").textContent = first.length ? `${nFirst} of the first ${first.length} judged. ` : "";
  $("#undo").disabled = !list.can_undo && !outbox.entries.length;
  $("#reset").disabled = !(list.n_judged || list.n_pairs) && !outbox.entries.length;
  $("#more").hidden = list.results.length >= Math.min(list.n_found, 200);
  $("#pairs").hidden = !list.pairs.length;
  $("#pair-list").replaceChildren(...list.pairs.map(({ preferred, other }) => make("li", {}, plain(`${preferred} above ${other}`, 200))));
}

// Writing: rows show queued judgements; the list reflects those that are written
const outbox = new Outbox(document.body.dataset.user, {
  view: (query) => (list !== null && query === list.query ? wantedAfterJudging() : null),
  async saved(query, answer) {
    if (list === null || query !== list.query) return;
    show(answer?.list ?? await get(`search?${new URLSearchParams({ q: list.query, ...wantedAfterJudging() })}`), answer);
  },
  failed(error) {
    complain(error instanceof Refusal ? error.message : `Something went wrong: ${error.message}`);
    draw();
  },
});

function write(path, body, pressed = null) {
  outbox.add({ path, query: list.query, body, pressed });
  draw();
}

function show(found, saved) {
  const before = new Map(list.results.map((result) => [result.docid, result.place]));
  last = list.results;
  list = isFrozen() ? held(found) : found;
  if (isFrozen() && list.base_results) list.base_results = list.base_results.slice(0, list.results.length);
  shows += 1;
  draw();
  measure(list).catch((error) => complain(error.message));
  const event = saved?.event;
  const moved = list.results.filter(({ docid, place: now }) => before.has(docid) && before.get(docid) !== now);
  const what = event?.docid ? list.results.find(({ docid }) => docid === event.docid) : null;
  const words = what && !isFrozen() ? `${plain(what.title || what.docid, 80)} is at place ${what.place}. ` : "";
  if (isFrozen()) say(`Saved. ${$("#first-judged").textContent}`);
  else say(`Saved. ${words}${moved.length ? `${counted(moved.length, "result")} moved.` : "Nothing moved."}`);
}

// Judging
const resultOf = (docid) => [...list.results, ...(list.base_results ?? [])].find((result) => result.docid === docid);

function judge(docid, grade) {
  const result = resultOf(docid);
  const isAgain = isPressed(result.grade, grade, chosen("judging"));
  write("judgements", { docid, grade: isAgain ? null : grade }, grade);
  if (!isAgain) goOn(docid);
}

// The cursor goes to the next result without a judgement
const isOpen = (docid) => {
  const sent = outbox.last(list.query, docid);
  return (sent?.path === "judgements" ? sent.body.grade : resultOf(docid).grade) === null;
};
function goOn(docid) {
  const shown = $$(".result", $("#results"));
  const from = shown.findIndex((row) => row.dataset.docid === docid);
  const next = [...shown.slice(from + 1), ...shown.slice(0, from)].find((row) => isOpen(row.dataset.docid));
  if (next && isFrozen()) focusOn(next);
}

function letGo() {
  better = null;
}

function prefer(docid) {
  if (better === null) {
    better = docid;
    say("Now choose the other result; Escape to cancel.");
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
  $("#more").addEventListener("click", () => reload(list.results.length + MORE, true));
  $("#reorder").addEventListener("click", reorder);
  $("#freeze").checked = kept.get("freeze", "on") === "on";
  $("#freeze").addEventListener("change", () => {
    kept.set("freeze", isFrozen() ? "on" : "off");
    if (!isFrozen() && list.isHeld) reorder();
    else draw();
  });
  notes.listen(list.query);
  $("#against").addEventListener("change", draw);
  $("#measure-on")?.addEventListener("change", () => measure(list).catch((error) => complain(error.message)));
  for (const input of $$('input[name="order"]')) input.addEventListener("change", () => look(input.value));
  for (const input of [...$$('input[name="method"]'), $("#pin-judged")]) input.addEventListener("change", () => reload());
}

// The list for the current options. Responses to earlier requests are ignored: newer options send their own request,
// and a judgement requests the list again.
async function reload(shown, isMore = false) {
  const turn = ++turns;
  try {
    let judgements, found;
    do {
      judgements = shows;
      list.method = chosen("method");
      list.pin_judged = $("#pin-judged").checked;
      address();
      found = await get(`search?${new URLSearchParams({ q: list.query, ...wanted(isMore && list.isHeld ? list.k : shown) })}`);
    } while (turn === turns && judgements !== shows);
    if (turn !== turns) return;
    list = isMore && list.isHeld ? held(found, shown) : found;
    calm();
    draw();
    await measure(list);
  } catch (error) {
    complain(error.message);
  }
}

function look(order) {
  choose("order", order);
  $("#view").value = order;
  say({ refined: "The order after your judgements.", before: "The order of the base ranker.", side: "Both orders side by side." }[order]);
  return reload();
}

function reorder() {
  say("The results are in the order of your judgements.");
  return view() === "before" ? look("refined") : reload();
}

function address() {
  const entries = { q: list.query, base: list.base, method: list.method, view: view(), ...(list.pin_judged ? { pin_judged: "true" } : {}) };
  history.replaceState(null, "", `/?${new URLSearchParams(entries)}`);
}

// Keys: the focus stays on a result when it moves
const current = () => document.activeElement?.closest?.("#results .result");
function step(by) {
  const all = $$(".result", $("#results"));
  if (!all.length) return false;
  const now = current();
  const place = now ? all.indexOf(now) + by : by > 0 ? 0 : all.length - 1;
  if (place >= all.length && !$("#more").hidden) $("#more").click();
  focusOn(all[Math.max(0, Math.min(all.length - 1, place))]);
}
function focusOn(row) {
  row.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest", behavior: isStill.matches ? "instant" : "smooth" });
}
const onCurrent = (act) => () => {
  const row = current() ?? $$(".result", $("#results")).find((one) => isOpen(one.dataset.docid));
  if (!list || !row) { if (list) say("Select a result first, with j or k."); return; }
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
  f: () => { if (list) $("#freeze").click(); },
  r: () => { if (list && !$("#reorder").hidden) reorder(); },
  Enter: (event) => { if (!event.target.matches(".result")) return false; $("a", event.target).click(); },
  Escape: () => { if (better === null) return false; letGo(); draw(); },
});
for (const button of $$(".grade", $("#result-row")?.content ?? document)) {
  const grade = Number(button.dataset.grade);
  onKey[String(grade)] = press(grade);
}

if (list) {
  choose("order", $("#view").value);
  draw();
  if (view() === "refined") measure(list).catch((error) => complain(error.message));
  else reload();  // the base order is not in the page yet
}
outbox.run();
