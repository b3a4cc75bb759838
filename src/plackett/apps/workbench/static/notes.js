// The information need of a query and the user's note: saved when the field is left.
import { $, complain, onKey, patiently, post, say } from "./common.js";

export function listen(query, open = () => {}) {
  for (const [selector, name] of [["#need", "need"], ["#own-note", "note"]]) {
    $(selector).addEventListener("change", async (event) => {
      try {
        const found = await patiently(() => post("notes", { query, [name]: event.target.value }));
        if ($("#need-words")) $("#need-words").textContent = found.need || "not described yet";
        say(name === "need" ? "The information need is saved." : "Your note is saved.");
      } catch (error) {
        complain(error.message);
      }
    });
  }
  const focus = (selector) => () => { open(); $(selector).focus(); };
  Object.assign(onKey, { i: focus("#need"), m: focus("#own-note") });
}
