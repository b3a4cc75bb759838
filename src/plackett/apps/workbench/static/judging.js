// The judging screen: one document at a time. A grade is written, then the next document replaces this one; on the page
// of a document, the new state of its buttons.
import { $, $$, complain, newKey, onKey, pageAt, patiently, post, say } from "./common.js";
import { listen } from "./notes.js";

const task = () => $("#task");
const given = [];  // queries and addresses of the judgements of this visit, for undo
let last = Promise.resolve();  // what is pressed while a document is being loaded waits for its turn

const inTurn = (act) => { last = last.then(act).catch((error) => complain(error.message)); };

async function show(address) {
  const page = await pageAt(address);
  task().replaceWith(document.adoptNode($("#task", page)));
  document.title = page.title;
  history.replaceState(null, "", address);
  ready();
}

function write(path, body) {
  const key = newKey();  // written once, even if it is sent again
  return patiently(() => post(path, { ...body, key, with_list: false }));
}

async function give(grade) {
  const { query, base, docid, next, given: before } = task().dataset;
  if (!docid) return;
  const isAgain = before !== undefined && Number(before) === grade;
  await write("judgements", { query, base, docid, grade: isAgain ? null : grade });
  const here = new URL(location.href);
  here.searchParams.delete("after");
  here.searchParams.set("q", query);
  here.searchParams.set("docid", docid);
  given.push({ query, address: here.pathname + here.search });
  await show(isAgain || !next ? here.pathname + here.search : next);
  say(isAgain ? "The grade was removed." : `Saved. ${next ? $(".progress-line b")?.textContent ?? "Everything is judged." : ""}`);
}

async function undo() {
  const judgement = given.pop();
  if (!judgement) { say("There is nothing to undo on this page."); return; }
  await write("undo", { query: judgement.query });
  await show(judgement.address);
  say("The last judgement was undone.");
}

const pressed = (act) => (event) => { if (!event?.repeat) inTurn(act); };
function ready() {
  for (const button of $$("[data-grade]")) button.addEventListener("click", pressed(() => give(Number(button.dataset.grade))));
  for (const link of $$("[data-key]")) {
    link.addEventListener("click", (event) => { event.preventDefault(); inTurn(() => show(link.getAttribute("href"))); });
  }
  $("#undo")?.addEventListener("click", pressed(undo));
  if ($("#need")) listen(task().dataset.query, () => { $("#need").closest("details").open = true; });
  $("#document").focus({ preventScroll: true });
  if (task().dataset.next) window.scrollTo(0, 0);
}

for (const button of $$("[data-grade]")) onKey[button.dataset.grade] = pressed(() => give(Number(button.dataset.grade)));
const follow = (key) => () => { const link = $(`[data-key="${key}"]`); if (link) link.click(); else say("There is none in this query."); };
Object.assign(onKey, {
  y: pressed(() => give(1)), n: pressed(() => give(0)), u: pressed(undo), j: follow("j"), k: follow("k"), g: follow("g"),
  b: () => $("#back")?.click(),
  Enter: (event) => { if (event.target.id !== "document") return false; $("#whole")?.click(); },
});
ready();
