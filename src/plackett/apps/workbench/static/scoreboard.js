// The scoreboard: ranking in the background, and the fields of a new query set.
import { $, $$, inWords, pause, refresh } from "./common.js";
import "./forms.js";

const EVERY = 700;  // polling interval in milliseconds

// Shows the lists as they are ranked, and the whole board when all are
const wait = inWords(async () => {
  while ($("#board")?.dataset.complete === "false") {
    await pause(EVERY);
    await refresh("#board", "#history");
  }
});

// Fields that belong to another source are not shown, and not sent
function showFields() {
  for (const part of $$("[data-for]", $("#new-set"))) {
    part.hidden = !part.dataset.for.split(" ").includes($("#source").value);
    $("input, textarea", part).disabled = part.hidden;
  }
}
$("#source").addEventListener("change", showFields);
showFields();
document.addEventListener("drawn", wait);
wait();
