// The scoreboard: ranking in the background, and the fields of a new query set.
import { $, $$, complete, inWords } from "./common.js";
import "./forms.js";

const wait = inWords(() => complete("#board", "#history"));

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
