// The page of queues: who judges what, and disagreements.
import { $, $$, calm, counted, make, onKey, patiently, plain, post, refresh, say } from "./common.js";
import { inWords } from "./jobs.js";

$("#assign")?.addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const form = event.target;
  const users = form.elements.people.value.split(",").map((name) => name.trim()).filter(Boolean);
  const found = await patiently(() => post("assignments", { queue: form.dataset.queue, users, per_query: Number(form.elements.per_query.value) || 1 }));
  const words = Object.entries(found.by_user).map(([name, n]) => `${plain(name, 40)}: ${n}`).join(", ");
  $("#assigned").replaceChildren(make("p", {}, words ? `${counted(found.n_queries, "query", "queries")} assigned. ${words}.` : "These queries are no longer assigned."));
  history.replaceState(null, "", `/judge?${new URLSearchParams({ queue: form.dataset.queue })}`);  // the default may be another one now
  await refresh("#queries");
}));

// Disagreements: pressing a grade settles it, pressing it again withdraws it
const rows = () => $$(".dispute");
function mark() {
  for (const row of rows()) {
    for (const button of $$("[data-grade]", row)) button.setAttribute("aria-pressed", String(row.dataset.given !== undefined && Number(row.dataset.given) === Number(button.dataset.grade)));
  }
}
async function settle(row, grade) {
  const { query, docid, given } = row.dataset;
  const isAgain = given !== undefined && Number(given) === grade;
  const place = rows().indexOf(row);
  await patiently(() => post("settlements", { query, docid, grade: isAgain ? null : grade }));
  await refresh("#disagreements");
  mark();
  say(isAgain ? "The settled grade was withdrawn." : `Settled as grade ${grade}.`);
  const open = rows().filter((one) => one.dataset.given === undefined);
  (open[Math.min(place, open.length - 1)] ?? rows()[0])?.focus();
}
$("#content").addEventListener("click", inWords(async (event) => {
  const button = event.target.closest(".dispute [data-grade]");
  if (button) await settle(button.closest(".dispute"), Number(button.dataset.grade));
}));

const current = () => document.activeElement?.closest?.(".dispute");
function step(by) {
  const all = rows();
  if (!all.length) return false;
  const now = current();
  const next = all[Math.max(0, Math.min(all.length - 1, now ? all.indexOf(now) + by : by > 0 ? 0 : all.length - 1))];
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}
Object.assign(onKey, { j: () => step(1), k: () => step(-1), g: () => { if (!$("#start")) return false; $("#start").click(); } });
for (const button of $$(".dispute:first-child [data-grade]")) {
  const grade = Number(button.dataset.grade);
  onKey[String(grade)] = inWords(() => (current() ? settle(current(), grade) : say("Select a disagreement first, with j or k.")));
}
mark();
