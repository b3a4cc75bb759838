// The page of clicks: uploads, the workbench's own log, and judgements from clicks.
import { $, calm, patiently, post, refresh, remove, say, upload } from "./common.js";
import { cancelJob, followJob, inWords, offerDownloads, resume } from "./jobs.js";

const words = { done: "Done.", interrupted: "The server was stopped. Start again." };
const changing = ["#own", "#logs", "#sets", "#grades", "#log-choice"];
function follow(id, started = $("#upload button")) {
  (started.closest(".card") ?? $("#upload").closest(".card")).append($("#progress"));  // below the pressed button
  return followJob(id, started, words, () => refresh(...changing));
}

// The two files of UBI are sent one after the other
$("#upload").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const [first] = $("#log-file").files;
  const [events] = $("#events-file").files;
  const most = Number($("#log-file").dataset.most);
  const size = first.size + (events?.size ?? 0);
  if (size > most) throw new Error(`The log has ${size.toLocaleString("en")} bytes; the limit is ${most.toLocaleString("en")}.`);
  const query = new URLSearchParams({ name: first.name.slice(0, 100), ...(events ? { events_at: first.size } : {}) });
  $("#upload").after($("#progress"));
  $("#progress").hidden = false;
  $("#progress-bar").value = 0;
  $("#progress-words").textContent = "Uploading";
  try {
    const job = await patiently(() => upload(`clicks/logs?${query}`, new Blob(events ? [first, events] : [first])));
    await follow(job.id);
  } catch (error) {
    $("#progress").hidden = true;
    throw error;
  }
}));

$("#judge-clicks").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const form = event.target.elements;
  const wish = {
    log_id: Number(form.log.value), model: form.model.value, grades: Number(form.grades.value),
    min_impressions: Number(form.min_impressions.value), lower: form.lower.checked,
  };
  const job = await patiently(() => post("clicks/sets", wish));
  await follow(job.id, $("#judge-clicks button"));
}));

$("#content").addEventListener("click", inWords(async (event) => {
  const button = event.target.closest("button[data-own], button[data-log], button[data-set]");
  if (!button) return;
  calm();
  button.disabled = true;
  try {
    if ("own" in button.dataset) {
      const job = await patiently(() => post("clicks/logs/own", {}));
      await follow(job.id, button);
    } else {
      const [path, name] = "log" in button.dataset ? ["clicks/logs?log_id=", "log"] : ["clicks/sets?set_id=", "set"];
      await patiently(() => remove(path + button.dataset[name]));
      say("Deleted.");
      await refresh(...changing);
    }
  } finally {
    button.disabled = false;
  }
}));

cancelJob();
offerDownloads();
resume(["read log", "judge clicks"], follow);
