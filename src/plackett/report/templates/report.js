// Sorting: numbers by value, text in natural order; cells without a value stay at the end in both directions.
const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function sortBy(heading) {
  const table = heading.closest("table");
  const column = heading.cellIndex;
  const isNumber = heading.dataset.kind === "number";
  const first = heading.dataset.first || "ascending";
  const second = first === "ascending" ? "descending" : "ascending";
  const direction = heading.getAttribute("aria-sort") === first ? second : first;
  const sign = direction === "ascending" ? 1 : -1;
  const keyOf = (row) => {
    const cell = row.cells[column];
    if (!isNumber) return cell.textContent.trim();
    return cell.dataset.value === "" ? NaN : Number(cell.dataset.value);
  };
  const body = table.querySelector("tbody.rows");
  const rows = Array.from(body.rows, (row) => ({ row, key: keyOf(row) }));
  rows.sort((a, b) => {
    if (!isNumber) return sign * words.compare(a.key, b.key);
    if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number.isNaN(a.key) - Number.isNaN(b.key);
    return sign * (a.key - b.key);
  });
  body.append(...rows.map(({ row }) => row));
  for (const other of heading.parentElement.cells) {
    if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", other === heading ? direction : "none");
  }
}

for (const button of document.querySelectorAll("th[aria-sort] button")) {
  button.addEventListener("click", () => sortBy(button.closest("th")));
}

// The clipboard is missing on pages served without TLS.
for (const button of document.querySelectorAll(".command button")) {
  const code = button.previousElementSibling;
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(code);
    const isCopied = await navigator.clipboard?.writeText(code.textContent).then(() => true, () => false);
    button.textContent = isCopied || document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
  });
  button.addEventListener("blur", () => { button.textContent = label; });
}

// Closed details would be missing in print.
const folded = () => document.querySelectorAll("details:not([open])");
window.addEventListener("beforeprint", () => {
  for (const part of folded()) { part.open = true; part.dataset.folded = ""; }
});
window.addEventListener("afterprint", () => {
  for (const part of document.querySelectorAll("details[data-folded]")) { part.open = false; delete part.dataset.folded; }
});

const queries = document.getElementById("queries-data");
if (queries) {
  const payload = JSON.parse(queries.textContent);
  const view = mountComparison(document.getElementById("queries-view"), payload);
  document.querySelectorAll("#table-hardest tbody.rows th").forEach((cell, place) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "opens", textContent: cell.textContent });
    button.addEventListener("click", () => view.open(payload.hardest[place]));
    cell.replaceChildren(button);
  });
}
