// The information need of a query and the user's note: saved when the field is left.
import { $, inWords, onKey, patiently, post, say } from "./common.js";

export function listen(query, open = () => {}) {
  for (const [selector, name] of [["#need", "need"], ["#own-note", "note"]]) {
    $(selector).addEventListener("change", inWords(async (event) => {
      const found = await patiently(() => post("notes", { query, [name]: event.target.value }));
      if ($("#need-words")) $("#need-words").textContent = found.need || "not described yet";
      say(name === "need" ? "The information need is saved." : "Your note is saved.");
    }));
  }
  const focus = (selector) => () => { open(); $(selector).focus(); };
  Object.assign(onKey, { i: focus("#need"), m: focus("#own-note") });
}
