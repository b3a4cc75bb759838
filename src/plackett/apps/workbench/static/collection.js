// The collection page: training with a progress bar, trained rankers, import.
import { $, calm, counted, make, patiently, plain, post, refresh, remember, remove, say } from "./common.js";
import { cancelJob, followJob, inWords, offerDownloads, resume } from "./jobs.js";

const words = { done: "Done. The comparison is below.", interrupted: "The server was stopped. Train again." };
const follow = (id) => followJob(id, $("#train button.main"), words, () => refresh("#rankers"));

$("#train").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const form = event.target.elements;
  const job = await patiently(() => post("train", { base: form.base.value, name: form.namedItem("name").value.trim() || null, mine: form.mine.checked, annotator: Number(form.source?.value) || null }));
  await follow(job.id);
}));
cancelJob();

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
    say(isBase ? `${name} is now the base ranker.` : `${name} is no longer a base ranker.`);
  }
  await refresh("#rankers", "#train-base");
}));

$("#content").addEventListener("submit", inWords(async (event) => {
  if (!event.target.matches(".rename")) return;
  event.preventDefault();
  const card = event.target.closest(".trained");
  const newName = event.target.elements.new_name.value.trim();
  await patiently(() => post("rankers", { name: card.dataset.name, new_name: newName, is_base: $("[data-base=off]", card) !== null }));
  say(`${card.dataset.name} was renamed to ${newName}.`);
  await refresh("#rankers", "#train-base");
}));

$("#content").addEventListener("click", inWords(async (event) => {
  const { annotator } = event.target.dataset;
  if (!annotator) return;
  await patiently(() => remove(`annotators?${new URLSearchParams({ annotator })}`));
  await refresh("#annotators");
}));

offerDownloads();

$("#import").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  const [file] = $("#file").files;
  const most = Number($("#file").dataset.most);
  if (file.size > most) throw new Error(`${file.name} has ${counted(file.size, "byte")}; the limit is ${most.toLocaleString("en")}.`);
  const found = await patiently(async () => post("import", { text: await file.text(), annotator: $("#annotator").value.trim() || null }));
  $("#imported").replaceChildren(
    make("p", {}, `${counted(found.n_imported, "judgement")} imported.`),
    ...found.notes.map((note) => make("p", { class: "quiet" }, plain(note))),
  );
  await refresh("#judgements", "#annotators");
}));

resume(["train"], follow);
