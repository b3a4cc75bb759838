// A button on each block of code, which copies the code without prompts and outputs.
"use strict";
function codeOf(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  if (!lines.some((line) => /^(>>>|\$) /.test(line))) return text.replace(/\n$/, "");
  const kept = [];
  let goesOn = false; // the line before ended with a backslash
  for (const line of lines) {
    if (/^(>>> |\.\.\. |\$ )/.test(line)) kept.push(line.replace(/^(>>> |\.\.\. |\$ )/, ""));
    else if (line === "...") kept.push("");
    else if (goesOn) kept.push(line.replace(/^> /, ""));
    else continue;
    goesOn = line.endsWith("\\");
  }
  return kept.join("\n");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("article div.highlight")) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(codeOf(block.querySelector("pre").textContent));
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    block.append(button);
  }
});
