"use strict";
// The starting page: shows the progress, and reloads once the workbench has started.
const WAIT = 1000;  // milliseconds

async function follow() {
  try {
    // not this page's address: a search would be logged twice
    const answer = await fetch("/", { credentials: "same-origin", cache: "no-store" });
    if (!answer.headers.has("Retry-After")) return location.reload();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const selector of ["[role=status]", "progress"]) {
      const [old, now] = [document, page].map((one) => one.querySelector(selector));
      if (now && now.outerHTML !== old.outerHTML) {
        old.textContent = now.textContent;
        if (now.hasAttribute("value")) old.setAttribute("value", now.getAttribute("value"));
      }
    }
  } catch { /* the server is restarting */ }
  setTimeout(follow, WAIT);
}
setTimeout(follow, WAIT);
