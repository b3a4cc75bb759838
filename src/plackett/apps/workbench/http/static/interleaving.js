// The page of interleaved tests: start, stop and delete one; the figures of a running test are refreshed.
import { $, calm, patiently, post, refresh, remove, say } from "./common.js";
import { inWords } from "./jobs.js";

const EVERY = 15000;  // polling interval of a running test in milliseconds

$("#content").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  calm();
  const form = event.target.elements;
  await patiently(() => post("interleaving", {
    name: form.name.value.trim(), first: form.first.value, second: form.second.value, method: form.method.value,
    lists_per_user: Number(form.lists_per_user.value),
  }));
  await shown("The test has started.", "/interleaving");
}));

$("#content").addEventListener("click", inWords(async (event) => {
  const button = event.target.closest("button[data-stop], button[data-delete]");
  if (!button) return;
  calm();
  button.disabled = true;
  try {
    if ("stop" in button.dataset) {
      await patiently(() => post(`interleaving/${button.dataset.stop}/stop`, {}));
      await shown("The test was stopped.", location.href);
    } else {
      await patiently(() => remove(`interleaving?test_id=${button.dataset.delete}`));
      await shown("The test was deleted.", "/interleaving");
    }
  } finally {
    button.disabled = false;
  }
}));

// The buttons are replaced, so the focus moves to the heading of the changed part
async function shown(words, address) {
  history.replaceState(null, "", address);
  await refresh("#test", "#start", "#tests");
  $("#test").tabIndex = -1;
  $("#test").focus();
  say(words);
}

setInterval(inWords(async () => {
  if (document.hidden || !$("[data-stop]") || $("#test").contains(document.activeElement) || $("#test details[open]")) return;
  await refresh("#test");
}), EVERY);
