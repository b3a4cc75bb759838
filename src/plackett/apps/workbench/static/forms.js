// Forms and buttons that write. A form with data-post sends its fields, a button its data-body; then the parts of the
// page in data-refresh are drawn again. A response that is a job is followed until it ends.
import { $, $$, calm, complain, get, inWords, once, patiently, pause, post, refresh, remember, remove, say } from "./common.js";

const EVERY = 400;  // polling interval in milliseconds

// The fields of a form as a request, without empty ones; a file is its text
async function valuesOf(form) {
  const values = {};
  for (const [name, value] of new FormData(form)) {
    if (name === form.dataset.list) (values[name] ??= []).push(...value.split(form.dataset.separator).map((part) => part.trim()).filter(Boolean));
    else if (typeof value === "string") values[name] ??= value.trim() || undefined;
    else if (value.size > form.dataset.most) throw new Error(`${value.name} has ${value.size.toLocaleString("en")} bytes; the limit is ${Number(form.dataset.most).toLocaleString("en")} bytes.`);
    else if (value.size) values[name] = await value.text();
  }
  return values;
}

// A button that was pressed waits for its answer
async function waiting(button, act) {
  button.disabled = true;
  try {
    return await act();
  } finally {
    button.disabled = false;
  }
}

async function drawn({ refresh: parts, said, here }) {
  if (here) history.replaceState(null, "", here);
  await refresh(...parts.split(", "));
  if (said) say(said);
  document.dispatchEvent(new CustomEvent("drawn", { detail: parts }));
}

// Shows the progress of the job that a form started until it ends
async function follow(form, id) {
  const [button, cancel, bar, words] = [$("button.main", form), $("#cancel"), $("#progress-bar"), $("#progress-words")];
  button.disabled = true;
  cancel.hidden = $("#progress").hidden = false;
  cancel.onclick = inWords(() => patiently(() => post(`jobs/${id}/cancel`, {})));
  let job = await get(`jobs/${id}`);
  for (; !job.is_finished; job = await get(`jobs/${id}`)) {
    bar.value = job.progress;
    if (words.textContent !== job.message) words.textContent = job.message;
    await pause(EVERY);
  }
  if (job.state === "done") bar.value = 1;
  const ends = { done: form.dataset.done, cancelled: "Cancelled; nothing was saved.", interrupted: "The server was stopped. Start it again." };
  words.textContent = ends[job.state] ?? job.message;
  if (job.state === "failed") complain(job.message);
  button.disabled = false;
  cancel.hidden = true;
  if (job.state === "done") await drawn(form.dataset);
}

$("#content").addEventListener("submit", inWords(async (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  calm();
  const values = await valuesOf(form);
  const answer = await waiting(event.submitter ?? {}, () => patiently(() => post(form.dataset.post, values)));
  if (form.dataset.job) { await follow(form, answer.id); return; }
  if (form.dataset.go) { location.assign(form.dataset.go + answer.id); return; }
  if ($("output", form)) $("output", form).textContent = answer.words;
  await drawn(form.dataset);
}));

$("#content").addEventListener("click", inWords(async (event) => {
  const button = event.target.closest("button[data-delete], button[data-post]");
  if (!button) return;
  const { delete: old, post: path, body, question, base, go } = button.dataset;
  if (question && !window.confirm(question)) return;
  await waiting(button, () => patiently(() => (old ? remove(old) : post(path, JSON.parse(body)))));
  if (base !== undefined) remember("plackett_base", base);
  if (go) location.assign(go);
  else await drawn(button.dataset);
}));

// If a file cannot be made, show the error instead of downloading it
$("#content").addEventListener("click", inWords(async (event) => {
  const link = event.target.closest("a[download]");
  if (!link) return;
  event.preventDefault();
  const asked = new AbortController();
  await patiently(() => once(link.href, { signal: asked.signal }));
  asked.abort();  // the file can be made; the browser downloads it now
  location.assign(link.href);
}));

// A job that was running when the page was left
inWords(async () => {
  if (!$("form[data-job]")) return;
  const { jobs: [job] } = await get("jobs?limit=1");
  const form = $$("form[data-job]").find((one) => one.dataset.job === job?.kind);
  if (form && !job.is_finished) await follow(form, job.id);
})();
