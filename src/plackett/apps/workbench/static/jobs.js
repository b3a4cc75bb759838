// Background jobs with a progress bar, and downloads.
import { $, complain, get, once, patiently, pause, plain, post } from "./common.js";

const EVERY = 400;  // polling interval in milliseconds

// Shows the progress of a job until it ends; `started` is disabled meanwhile
export async function followJob(id, started, words, done) {
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
  const ends = { cancelled: "Cancelled; nothing was saved.", failed: job.message, ...words };
  $("#progress-words").textContent = plain(ends[job.state] ?? job.message);
  if (job.state === "failed") complain(job.message);
  started.disabled = false;
  $("#cancel").hidden = true;
  if (job.state === "done") await done(job);
}

export const inWords = (act) => async (event) => {
  try {
    await act(event);
  } catch (error) {
    complain(error.message);
  }
};

export function cancelJob() {
  $("#cancel").addEventListener("click", inWords(() => patiently(() => post(`jobs/${$("#cancel").dataset.job}/cancel`, {}))));
}

// If a file cannot be made, show the error instead of downloading it
export function offerDownloads() {
  $("#content").addEventListener("click", inWords(async (event) => {
    const link = event.target.closest("a[download]");
    if (!link) return;
    event.preventDefault();
    const asked = new AbortController();
    await patiently(() => once(link.href, { signal: asked.signal }));
    asked.abort();  // the file can be made; the browser downloads it now
    location.assign(link.href);
  }));
}

// Resume showing a job of these kinds that was running when the page was left
export function resume(kinds, follow) {
  inWords(async () => {
    const { jobs } = await get("jobs?limit=1");
    if (jobs.length && !jobs[0].is_finished && kinds.includes(jobs[0].kind)) await follow(jobs[0].id);
  })();
}
