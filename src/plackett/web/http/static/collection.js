// The collection page: training with a progress bar, trained rankers, import.
import { $, calm, complain, counted, get, make, once, patiently, pause, plain, post, refresh, remember, remove, say } from "./common.js";

const EVERY = 400;  // milliseconds between two looks at a job

async function follow(id) {
  const started = $("#train button.main");
  started.disabled = true;
  $("#cancel").hidden = false;
  $("#cancel").dataset.job = id;
  $("#progress").hidden = false;
  let job = await get(`jobs/${id}`);
  for (; !job.is_finished; job = await get(`jobs/${id}`)) {
    $("#progress-bar").value = job.progress;
    if ($("#progress-words").textContent !== job.message) $("#progress-words").textContent = plain(job.message);
    await pause(EVERY);
  }
  $("#progress-bar").value = job.state === "done" ? 1 : job.progress;
  const words = {
    done: "Done. The comparison is below.",
    cancelled: "Cancelled; nothing was saved.",
    interrupted: "The server was stopped. Train again.",
    failed: job.message,
  };
  $("#progress-words").textContent = plain(words[job.state] ?? job.message);
  if (job.state === "failed") complain(job.message);
  started.disabled = false;
  $("#cancel").hidden = true;
  if (job.state === "done") await refresh("#rankers");
}

const inWords = (act) => async (event) => {
  try {
    await act(event);
  } catch (error) {
    complain(error.message);
  }
};

$("#train").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const form = event.target.elements;
  const job = await patiently(() => post("train", { base: form.base.value, mine: form.mine.checked }));
  await follow(job.id);
}));
$("#cancel").addEventListener("click", inWords(() => patiently(() => post(`jobs/${$("#cancel").dataset.job}/cancel`, {}))));

$("#content").addEventListener("click", inWords(async (event) => {
  const button = event.target.closest(".trained button");
  if (!button) return;
  const { name } = button.closest(".trained").dataset;
  button.disabled = true;
  if ("delete" in button.dataset) {
    await patiently(() => remove(`rankers?${new URLSearchParams({ name })}`));
    say(`${name} was deleted.`);
  } else {
    const isBase = button.dataset.base === "on";
    await patiently(() => post("rankers", { name, is_base: isBase }));
    remember("plackett_base", isBase ? name : "");
    say(isBase ? `${name} is the base ranker now.` : `${name} is no base ranker any more.`);
  }
  await refresh("#rankers", "#train-base");
}));

// If a file cannot be made, show the error instead of downloading it
$("#content").addEventListener("click", inWords(async (event) => {
  const link = event.target.closest("a[download]");
  if (!link) return;
  event.preventDefault();
  const asked = new AbortController();
  await patiently(() => once(link.href, { signal: asked.signal }));
  asked.abort();  // that it can be made is known; the browser keeps what comes now
  location.assign(link.href);
}));

$("#import").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  const [file] = $("#file").files;
  const most = Number($("#file").dataset.most);
  if (file.size > most) throw new Error(`${file.name} has ${counted(file.size, "byte")}; ${most.toLocaleString("en")} are the most that can be imported at once.`);
  const found = await patiently(async () => post("import", { text: await file.text() }));
  $("#imported").replaceChildren(
    make("p", {}, `${counted(found.n_imported, "judgement")} imported.`),
    ...found.notes.map((note) => make("p", { class: "quiet" }, plain(note))),
  );
  await refresh("#judgements");
}));

// Resume showing a training that was running when the page was left
inWords(async () => {
  const { jobs } = await get("jobs?limit=1");
  if (jobs.length && !jobs[0].is_finished) await follow(jobs[0].id);
})();
