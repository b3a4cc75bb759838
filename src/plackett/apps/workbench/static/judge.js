// The page of queues: keys for disagreements. Pressing a grade settles one, pressing it again withdraws it.
import { $, $$, onKey, say } from "./common.js";
import "./forms.js";

const rows = () => $$(".dispute");
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
for (const { dataset: { grade } } of $$(".dispute:first-child [data-grade]")) {
  onKey[grade] = () => (current() ? $(`[data-grade="${grade}"]`, current()).click() : say("Select a disagreement first, with j or k."));
}

// The next open disagreement has the cursor after one is settled
let place = 0;
$("#content").addEventListener("click", (event) => { place = Math.max(rows().indexOf(event.target.closest(".dispute")), 0); });
document.addEventListener("drawn", (event) => {
  if (event.detail !== "#disagreements") return;
  const open = rows().filter((row) => !("settled" in row.dataset));
  (open[Math.min(place, open.length - 1)] ?? rows()[0])?.focus();
});
