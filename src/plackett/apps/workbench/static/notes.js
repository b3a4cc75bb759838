// The information need of a query and the user's note: saved when the field is left.
import { $, complain, onKey, patiently, post, say } from "./common.js";

export function listen(query) {
  for (const [selector, name] of [["#need", "need"], ["#own-note", "note"]]) {
    $(selector).addEventListener("change", async (event) => {
      try {
        await patiently(() => post("notes", { query, [name]: event.target.value }));
        say(name === "need" ? "The information need is saved." : "Your note is saved.");
      } catch (error) {
        complain(error.message);
      }
    });
  }
  Object.assign(onKey, { i: () => $("#need").focus(), m: () => $("#own-note").focus() });
}
