// The scoreboard: ranking in the background, snapshots and query sets.
import { $, $$, calm, patiently, pause, post, refresh, remove, say } from "./common.js";
import { cancelJob, followJob, inWords, resume } from "./jobs.js";

const EVERY = 700;  // polling interval in milliseconds
const words = { done: "The snapshot is saved. After the next change, compare with it: the link is in History.", interrupted: "The server was stopped. Take it again." };

// Shows the lists as they are ranked, and the whole board when all are
async function wait() {
  while ($("#board")?.dataset.complete === "false") {
    await pause(EVERY);
    await refresh("#board", "#history");
  }
}

function chosen() {
  const form = new FormData($("#choose"));
  return {
    set_id: Number(form.get("set_id")), ranker: form.getAll("ranker"), measure: form.get("measure").trim(),
    convention: form.get("convention"), judgements: form.get("judgements"),
  };
}

const follow = (id) => followJob(id, $("#freeze button.main"), words, async () => {
  await refresh("#board", "#history");
  await wait();
});

$("#freeze")?.addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const job = await patiently(() => post("snapshots", { ...chosen(), name: $("#snapshot-name").value.trim() }));
  await follow(job.id);
}));

// Fields that belong to another source are not shown
function showFields() {
  const source = $("#source").value;
  for (const part of $$("[data-for]", $("#new-set"))) part.hidden = !part.dataset.for.split(" ").includes(source);
}
$("#source").addEventListener("change", showFields);
showFields();

$("#new-set").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const form = event.target.elements;
  const source = form.source.value;
  const wish = { name: form.name.value.trim(), source };
  if (["text", "judged-file"].includes(source)) {
    const [file] = $("#set-file").files;
    const most = Number($("#set-file").dataset.most);
    if (file && file.size > most) throw new Error(`${file.name} has ${file.size.toLocaleString("en")} bytes; the limit is ${most.toLocaleString("en")}.`);
    wish.text = file ? await file.text() : form.text.value;
    if (!wish.text.trim()) throw new Error(source === "text" ? "Enter at least one query, or choose a file." : "Choose a file.");
  }
  if (source !== "text") wish.limit = Number(form.limit.value);
  const made = await patiently(() => post("query-sets", wish));
  location.assign(`/scoreboard?set_id=${made.id}`);
}));

$("#content").addEventListener("click", inWords(async (event) => {
  const button = event.target.closest("button[data-set], button[data-snapshot]");
  if (!button) return;
  const isSet = "set" in button.dataset;
  if (!window.confirm(`${button.getAttribute("aria-label")}? This cannot be undone.`)) return;
  await patiently(() => remove(isSet ? `query-sets?set_id=${button.dataset.set}` : `snapshots?snapshot_id=${button.dataset.snapshot}`));
  if (isSet) location.assign("/scoreboard");
  else {
    say("Deleted.");
    await refresh("#board", "#history");
  }
}));

if ($("#cancel")) {
  cancelJob();
  resume(["snapshot"], follow);
}
inWords(wait)();
