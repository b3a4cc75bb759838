// A table that can be filtered and sorted; see the package's documentation for its payload.
import { make, shown, decimal, signedDecimal, counted, tone } from "./dom.js";

const PAGE = 50;  // rows in the document at any time: a click takes the same time for 50 rows and for thousands
const MOST_CHOICES = 40;  // of a facet's menu
const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

let tables = 0;

export function mountTable(element, table, options = {}) {
  const noun = options.noun ?? ["row", "rows"];
  const number = ++tables;
  const search = make("input", { type: "search", id: `pk-filter-${number}`, autocomplete: "off", spellcheck: "false" });
  const facets = make("span", { class: "pk-facets" });
  const found = make("output", { class: "pk-found", for: search.id });
  const head = make("thead");
  const body = make("tbody");
  const caption = make("caption", { class: "pk-hidden" });
  const region = make("div", { class: "pk-scroll", tabindex: "0", role: "region" }, make("table", {}, caption, head, body));
  const previous = make("button", { type: "button", class: "pk-turn" }, "Previous");
  const next = make("button", { type: "button", class: "pk-turn" }, "Next");
  const range = make("span", { class: "pk-quiet", role: "status" });
  const below = make("div", { class: "pk-below" }, previous, next, range);
  element.replaceChildren(
    make("div", { class: "pk-tools" }, make("label", { for: search.id }, "Filter"), search, facets, found), region, below,
  );

  let sort = options.sort ?? null;
  let test = () => true;
  let kept = [];  // row numbers that pass the filters, in order
  let first = 0;  // place in `kept` of the first row that is shown
  let selected = null;

  function matches() {
    const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const texts = table.columns.flatMap((column, place) => (column.kind === "text" ? [place] : []));
    const choices = [...facets.querySelectorAll("select")].filter((menu) => menu.value !== "");
    return (row, cells) =>
      choices.every((menu) => shown(cells[menu.dataset.column]) === menu.value) &&
      (!words.length || words.every((word) => texts.some((place) => String(cells[place]).toLocaleLowerCase().includes(word)))) &&
      test(row);
  }

  function order(rows) {
    if (!sort || !table.columns[sort.column]) return rows;
    const { column, direction } = sort;
    const sign = direction === "ascending" ? 1 : -1;
    const isNumber = table.columns[column].kind === "number";
    const key = (row) => table.rows[row][column];
    return rows.sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      if (a === null || b === null) return (a === null) - (b === null);  // missing values stay at the end
      return sign * (isNumber ? a - b : collator.compare(a, b)) || one - other;
    });
  }

  function cell(column, value, isFirst, row) {
    if (isFirst) {
      const name = shown(value);
      if (!options.open) return make("th", { scope: "row" }, name);
      const button = make("button", { type: "button", class: "pk-open" }, name);
      button.addEventListener("click", () => options.open(row));
      return make("th", { scope: "row" }, button);
    }
    if (column.kind !== "number") return make("td", {}, shown(value));
    if (!column.better) return make("td", { class: "pk-n" }, decimal(value, column.digits));
    return make("td", { class: `pk-n ${value === null ? "" : tone(value, column.better)}` }, signedDecimal(value, column.digits));
  }

  function line(row) {
    const made = make("tr", row === selected ? { "aria-current": "true" } : {});
    made.dataset.row = row;
    made.append(...table.columns.map((column, place) => cell(column, table.rows[row][place], place === 0, row)));
    return made;
  }

  function render() {
    if (first >= kept.length) first = 0;  // fewer rows pass the filters
    body.replaceChildren(...kept.slice(first, first + PAGE).map(line));
    if (!kept.length) {
      body.append(make("tr", {}, make("td", { colspan: table.columns.length, class: "pk-none" }, `No ${noun[0]} matches.`)));
    }
    found.textContent = kept.length === table.rows.length ? counted(kept.length, noun) : `${kept.length.toLocaleString("en")} of ${counted(table.rows.length, noun)}`;
    const end = Math.min(first + PAGE, kept.length);
    below.hidden = kept.length <= PAGE;
    // a disabled button would lose the focus
    previous.setAttribute("aria-disabled", first === 0);
    next.setAttribute("aria-disabled", end === kept.length);
    range.textContent = `${(first + 1).toLocaleString("en")} to ${end.toLocaleString("en")} of ${kept.length.toLocaleString("en")}`;
  }

  function turn(step) {
    if (first + step < 0 || first + step >= kept.length) return;
    first += step;
    region.scrollTop = 0;
    render();
  }

  function refresh({ keepsPlace = false } = {}) {
    const isKept = matches();
    kept = order(table.rows.map((_, row) => row).filter((row) => isKept(row, table.rows[row])));
    if (!keepsPlace) {
      first = 0;
      region.scrollTop = 0;
    }
    render();
    options.changed?.(kept);
  }

  function sortBy(column) {
    const first = table.columns[column].first ?? (table.columns[column].kind === "number" ? "descending" : "ascending");
    const second = first === "ascending" ? "descending" : "ascending";
    sort = { column, direction: sort?.column === column && sort.direction === first ? second : first };
    markSorted();
    refresh();
  }

  function markSorted() {
    [...head.rows[0].cells].forEach((heading, place) => {
      heading.setAttribute("aria-sort", place === sort?.column ? sort.direction : "none");
    });
  }

  function headings() {
    head.replaceChildren(make("tr", {}, ...table.columns.map((column, place) => {
      const button = make("button", { type: "button" }, shown(column.name, 60));
      button.addEventListener("click", () => sortBy(place));
      return make("th", { scope: "col", class: column.kind === "number" ? "pk-n" : "" }, button);
    })));
    markSorted();
  }

  function menus() {
    const before = new Map([...facets.querySelectorAll("select")].map((menu) => [menu.dataset.column, menu.value]));
    facets.replaceChildren();
    table.columns.forEach((column, place) => {
      const values = column.facet ? [...new Set(table.rows.map((row) => row[place]))].map((value) => shown(value)).sort(collator.compare) : [];
      if (values.length < 2 || values.length > MOST_CHOICES) return;
      const menu = make("select", { "aria-label": shown(column.name, 60) }, make("option", { value: "" }, `all: ${shown(column.name, 60)}`));
      menu.dataset.column = place;
      menu.append(...values.map((value) => make("option", { value }, value)));
      menu.value = values.includes(before.get(String(place))) ? before.get(String(place)) : "";
      menu.addEventListener("change", () => refresh());
      facets.append(menu);
    });
  }

  function update(replacement, newTest = test) {
    [table, test] = [replacement, newTest];
    caption.textContent = shown(table.caption);
    region.setAttribute("aria-label", shown(table.caption));
    headings();
    menus();
    refresh({ keepsPlace: true });
  }

  function select(row) {
    selected = row;
    const place = kept.indexOf(row);
    if (place >= 0 && (place < first || place >= first + PAGE)) {  // opened from its dot
      first = place - (place % PAGE);
      render();
    }
    for (const line of body.rows) {
      if (Number(line.dataset.row) === row) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
  }

  search.addEventListener("input", () => refresh());
  previous.addEventListener("click", () => turn(-PAGE));
  next.addEventListener("click", () => turn(PAGE));
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (options.open && row && !event.target.closest("button") && getSelection().isCollapsed) options.open(Number(row.dataset.row));
  });
  update(table);
  return { update, select, keep(newTest) { test = newTest; refresh(); }, rows: () => kept };
}
