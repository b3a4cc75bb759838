// The search page. The server draws the list and its measures; parts of its page replace ours after a judgement.
import { $, $$, calm, complain, isPressed, kept, newKey, onKey, pageAt, patiently, post, Refusal, remember, say } from "./common.js";
import * as notes from "./notes.js";

const form = $("#search");
const work = $("#work");
const MORE = 20;

if (matchMedia("(max-width: 40rem)").matches && work) $(".choices").open = false;

// Options that are kept for the next query
const chosen = (name) => $(`input[name="${name}"]:checked`).value;
function choose(name, value) {
  const input = $$(`input[name="${name}"]`).find((one) => one.value === value);
  if (input) input.checked = true;
}
choose("judging", kept.get("judging", "thumbs"));
for (const input of $$('input[name="judging"]')) {
  input.addEventListener("change", () => { kept.set("judging", input.value); better = null; mark(); });
}
$("#base").addEventListener("change", () => {
  remember("plackett_base", $("#base").value);
  if (form.elements.q.value.trim()) form.requestSubmit();
});

const { query, base } = work?.dataset ?? {};
let better = null;  // the document that was chosen as the better of two
let last = null;  // the rows before the last judgement
let turns = 0;  // pages requested
const rows = (where = "#results") => $$(`${where} .result`);
const isFrozen = () => $("#freeze").checked;

const modeOf = (button) => (button.classList.contains("grade") ? "grades" : "thumbs");
function gradeOf(row) {
  const [pressed] = [...$$(".grade[aria-pressed=true]", row), ...$$(".judge [aria-pressed=true]:not(.above)", row)];
  return pressed ? Number(pressed.dataset.grade) : null;
}

// What the server does not know: the mode of judging, and judgements that are not written yet
function mark() {
  const mode = chosen("judging");
  for (const element of $$(".judge [data-mode]")) element.hidden = element.dataset.mode !== mode;
  for (const row of rows()) {
    const sent = waiting.findLast((entry) => entry.query === query && entry.body.docid === row.dataset.docid);
    row.classList.toggle("waiting", sent !== undefined);
    for (const button of $$(".judge [data-grade]", row)) {
      const grade = Number(button.dataset.grade);
      if (sent?.path === "judgements") button.setAttribute("aria-pressed", String(isPressed(sent.body.grade, grade, modeOf(button))));
      button.toggleAttribute("data-sent", sent !== undefined && sent.pressed === grade);
    }
    const above = $("[data-above]", row);
    above.setAttribute("aria-pressed", String(better === row.dataset.docid));
    above.textContent = better === null ? "This one…" : better === row.dataset.docid ? "…above which?" : "…above this";
  }
  const first = rows().slice(0, 10);
  $("#first-judged").textContent = first.length ? `${first.filter((row) => gradeOf(row) !== null).length} of the first ${first.length} judged. ` : "";
  if (waiting.length) for (const button of $$("#undo, #reset")) button.disabled = false;
  $("#against").options[1].disabled = last === null;
}

function address(shown) {
  const values = { q: query, base, method: chosen("method"), view: chosen("order"), ...($("#pin-judged").checked ? { pin_judged: "true" } : {}) };
  return `/?${new URLSearchParams(shown ? { ...values, shown } : values)}`;
}

// Moves are animated unless the system asks for reduced motion
const isStill = matchMedia("(prefers-reduced-motion: reduce)");
function glide(tops) {
  const height = window.innerHeight;
  for (const row of rows()) {
    const now = row.getBoundingClientRect().top;
    const from = (tops.get(row.dataset.docid) ?? now + 24) - now;
    if (Math.abs(from) < 1 || (now > height && now + from > height) || now < -height) continue;
    row.animate([{ transform: `translateY(${Math.max(-height, Math.min(height, from))}px)` }, { transform: "none" }], { duration: 220, easing: "cubic-bezier(0.2, 0, 0.2, 1)" });
  }
}

// A row with its new content; its buttons stay, because one may have the focus
function renewed(row, fresh, isKept) {
  if (!row) return document.adoptNode(fresh);
  const isOpen = $(".why", row)?.open;
  for (const name of ["liked", "disliked"]) row.classList.toggle(name, fresh.classList.contains(name));
  const buttons = $$(".judge button", fresh);
  $$(".judge button", row).forEach((button, place) => button.setAttribute("aria-pressed", buttons[place].getAttribute("aria-pressed")));
  $(".judge .word", row).textContent = $(".judge .word", fresh).textContent;
  if (isKept) return row;
  for (const part of [".place", ".what"]) $(part, row).replaceWith(document.adoptNode($(part, fresh)));
  if (isOpen && $(".why", row)) $(".why", row).open = true;
  return row;
}

// Replaces the parts of the page; the rows stay where they are while the order is kept
async function load({ n = rows().length, isKept = false } = {}) {
  const turn = ++turns;
  const page = await pageAt(address(isKept ? work.dataset.k : Math.min(Math.max(n, MORE), Number(work.dataset.most))));
  if (turn !== turns) return false;
  const focused = document.activeElement;
  const [tops, against] = [new Map(rows().map((row) => [row.dataset.docid, row.getBoundingClientRect().top])), $("#against").value];
  const swap = (selector) => $(selector).replaceWith(document.adoptNode($(selector, page)));
  for (const selector of ["#counts", "#brief", "#note", "#pairs", "#on-labels"]) swap(selector);
  for (const name of ["undo", "reset"]) $(`#${name}`).disabled = $(`#${name}`, page).disabled;
  const [old, now] = [$("#measures"), $("#measures", page)];
  for (const name of ["queryId", "judged"]) if (name in now.dataset) old.dataset[name] = now.dataset[name]; else delete old.dataset[name];
  const drawn = new Map(rows().map((row) => [row.dataset.docid, row]));
  const fresh = $$("#results .result", page).map((row) => renewed(drawn.get(row.dataset.docid), row, isKept));
  if (!isKept) {
    $("#results").replaceChildren(...fresh);
    for (const selector of ["#before", "#more", "#h-right"]) swap(selector);
    const isSide = chosen("order") === "side";
    $("#left").hidden = !isSide;
    $("#columns").classList.toggle("pair", isSide);
    work.classList.toggle("wide", isSide);
    if (against === "last" && last) showLast();
  }
  $("#reorder").hidden = !(isKept || (isFrozen() && chosen("order") === "before" && !$("#reset").disabled));
  mark();
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
  if (!isKept && !isStill.matches) glide(tops);
  measure();
  return true;
}
const attempt = (act) => act().catch((error) => complain(error.message));
const reload = (options) => attempt(async () => {
  if (await load(options)) { calm(); history.replaceState(null, "", address()); }
});

// The measures are requested after the list, because they take longer; only the latest response is shown
let asked = 0;
async function measure() {
  const turn = ++asked;
  const { queryId, judged } = $("#measures").dataset;
  const annotator = $("#measure-on")?.value ?? "";  // judgements of people, unless an annotator is chosen
  if (queryId === undefined || (judged === undefined && !annotator)) {
    $("#measures").textContent = annotator ? "Judge a result to measure both orders." : "Judge a relevant result to see how the measures change.";
    return;
  }
  const values = new URLSearchParams({ base, method: chosen("method"), k: work.dataset.k, ...(annotator ? { annotator } : {}) });
  const page = await pageAt(`/measures/${queryId}?${values}`);
  if (turn !== asked) return;
  $("#measures").replaceChildren(...document.adoptNode($("#measures", page)).childNodes);
  if (!$("#brief").textContent) $("#brief").textContent = $("#gain")?.textContent ?? "";
}

// Judgements that are not written yet survive a reload. Each has a key, so that the server writes it once, even if a
// response is lost and it is sent again
const stored = `waiting.${document.body.dataset.user}`;
const waiting = JSON.parse(kept.get(stored, "[]"));
const keepWaiting = () => kept.set(stored, waiting.length ? JSON.stringify(waiting) : null);
let isWriting = false;

async function send() {
  if (isWriting) return;
  isWriting = true;
  while (waiting.length) {
    const { path, query: of, body, key } = waiting[0];
    const isWritten = () => { waiting.shift(); keepWaiting(); };
    try {
      await saved(of, await patiently(() => post(path, { query: of, ...body, key, with_list: false })).finally(isWritten));
    } catch (error) {
      complain(error instanceof Refusal ? error.message : `Something went wrong: ${error.message}`);
      if (work) reload({ isKept: isFrozen() });
    }
  }
  isWriting = false;
}

async function saved(of, answer) {
  if (!work || of !== query) return;
  const before = new Map(rows().map((row, place) => [row.dataset.docid, place]));
  last = rows().map((row) => row.cloneNode(true));
  const isKept = isFrozen();
  if (!await load({ isKept })) return;
  const place = rows().findIndex((row) => row.dataset.docid === answer?.event?.docid);
  const moved = rows().filter((row, now) => before.has(row.dataset.docid) && before.get(row.dataset.docid) !== now).length;
  const what = place >= 0 ? `${rows()[place].dataset.title} is at place ${place + 1}. ` : "";
  say(isKept ? `Saved. ${$("#first-judged").textContent}` : `Saved. ${what}${moved ? `${moved} ${moved === 1 ? "result" : "results"} moved.` : "Nothing moved."}`);
}

function write(path, body, pressed = null) {
  waiting.push({ path, query, body: { ...body, ...(base ? { base } : {}) }, pressed, key: newKey() });
  keepWaiting();
  send();
  mark();
}

function judge(row, grade) {
  const isAgain = isPressed(gradeOf(row), grade, chosen("judging"));
  write("judgements", { docid: row.dataset.docid, grade: isAgain ? null : grade }, grade);
  if (isAgain || !isFrozen()) return;
  const all = rows();  // the cursor goes to the next result without a judgement
  const from = all.indexOf(row);
  const next = [...all.slice(from + 1), ...all.slice(0, from)].find((one) => gradeOf(one) === null);
  if (next) focusOn(next);
}

function prefer(docid) {
  const preferred = better;
  better = preferred === null ? docid : null;
  if (preferred === null) say("Now choose the other result; Escape to cancel.");
  else if (preferred !== docid) write("preferences", { docid: preferred, other: docid });
  mark();
}

function showLast() {
  $("#before").replaceChildren(...last.map((row) => row.cloneNode(true)));
}

function look(order) {
  choose("order", order);
  $("#view").value = order;
  say({ refined: "The order after your judgements.", before: "The order of the base ranker.", side: "Both orders side by side." }[order]);
  return reload();
}
function reorder() {
  say("The results are in the order of your judgements.");
  return chosen("order") === "before" ? look("refined") : reload();
}

if (work) {
  $("#results").addEventListener("click", (event) => {
    const [button, row] = [event.target.closest("button"), event.target.closest(".result")];
    if (!button || !row) return;
    if ("above" in button.dataset) prefer(row.dataset.docid);
    else judge(row, Number(button.dataset.grade));
  });
  $("#against").addEventListener("change", () => ($("#against").value === "last" ? showLast() : reload()));
  for (const type of ["mouseover", "focusin"]) {
    work.addEventListener(type, (event) => {
      const docid = event.target.closest(".result")?.dataset.docid;
      for (const row of rows("#before")) row.classList.toggle("twin", row.dataset.docid === docid);
    });
  }
  $("#undo").addEventListener("click", () => write("undo", {}));
  $("#reset").addEventListener("click", () => write("reset", {}));
  work.addEventListener("click", (event) => { if (event.target.id === "more") reload({ n: rows().length + MORE }); });
  $("#reorder").addEventListener("click", reorder);
  $("#freeze").checked = kept.get("freeze", "on") === "on";
  $("#freeze").addEventListener("change", () => {
    kept.set("freeze", isFrozen() ? "on" : "off");
    if (!isFrozen() && !$("#reorder").hidden) reorder();
  });
  notes.listen(query);
  $("#measure-on")?.addEventListener("change", () => attempt(measure));
  for (const input of $$('input[name="order"]')) input.addEventListener("change", () => look(input.value));
  for (const input of [...$$('input[name="method"]'), $("#pin-judged")]) input.addEventListener("change", () => reload());
}

// Keys: the focus stays on a result when it moves
const current = () => document.activeElement?.closest?.("#results .result");
function step(by) {
  const all = rows();
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
  const row = work && (current() ?? rows().find((one) => gradeOf(one) === null));
  if (!row) { if (work) say("Select a result first, with j or k."); return; }
  row.focus({ preventScroll: true });
  act(row);
};
const press = (grade) => onCurrent((row) => judge(row, grade));
Object.assign(onKey, {
  j: () => work && step(1),
  k: () => work && step(-1),
  y: press(1),
  n: press(0),
  p: onCurrent((row) => { choose("judging", "pairs"); kept.set("judging", "pairs"); prefer(row.dataset.docid); }),
  w: onCurrent((row) => { const why = $(".why", row); if (why) why.open = !why.open; }),
  u: () => { if (work && !$("#undo").disabled) $("#undo").click(); },
  b: () => work && look(chosen("order") === "before" ? "refined" : "before"),
  s: () => work && look(chosen("order") === "side" ? "refined" : "side"),
  f: () => { if (work) $("#freeze").click(); },
  r: () => { if (work && !$("#reorder").hidden) reorder(); },
  Enter: (event) => { if (!event.target.matches(".result")) return false; $("a", event.target).click(); },
  Escape: () => { if (better === null) return false; better = null; mark(); },
});
for (const button of $$(".result:first-child .grade")) onKey[button.dataset.grade] = press(Number(button.dataset.grade));

if (work) {
  mark();
  attempt(measure);
}
send();
