// A against B over all queries: the table beside the scatter, and the lists of the open query.
import { make, shown, decimal, signedDecimal, counted, tone } from "./dom.js";
import { mountTable } from "./table.js";
import { mountScatter } from "./scatter.js";
import { mountLists } from "./lists.js";

const QUERIES = ["query", "queries"];
const OUTCOMES = [["", "all queries"], ["up", "B better"], ["down", "B worse"], ["same", "no difference"]];

let comparisons = 0;

export function mountComparison(element, payload, options = {}) {
  const number = ++comparisons;
  const { rankers, values, columns, queries } = payload;
  const worst = payload.better > 0 ? "ascending" : "descending";  // the losses of B first
  let [a, b] = [options.a ?? payload.a, options.b ?? payload.b];
  let opened = null;
  let picked = null;  // the rows of a dot
  const menuA = menu("A", a), menuB = menu("B", b);
  const swap = make("button", { type: "button", "aria-label": "Swap A and B" }, "⇄");
  const outcome = make("select", { "aria-label": "Queries by outcome" }, ...OUTCOMES.map(([value, words]) => make("option", { value }, words)));
  if (Object.keys(payload.lists).length) outcome.append(make("option", { value: "lists" }, "with lists"));
  const every = make("input", { type: "checkbox", id: `pk-every-${number}` });
  const clear = make("button", { type: "button" });
  clear.hidden = true;
  const verdict = make("p", { class: "pk-verdict", role: "status" });
  const tablePlace = make("div", { class: "pk-table" }), scatterPlace = make("div", { class: "pk-card" });
  const listsPlace = make("div", { class: "pk-lists pk-card" });
  listsPlace.hidden = true;
  const all = rankers.length > 2 ? [make("span", { class: "pk-check" }, every, make("label", { for: every.id }, `all ${payload.kind}s`))] : [];
  element.replaceChildren(
    make("div", { class: "pk-tools pk-sides" }, labelled(menuA), labelled(menuB), swap, outcome, ...all, clear),
    verdict,
    make("div", { class: "pk-beside" }, tablePlace, scatterPlace),
    listsPlace,
  );
  if (payload.note) element.append(make("p", { class: "pk-quiet" }, shown(payload.note, 600)));

  const scatter = mountScatter(scatterPlace, scatterOf(), { open, pick });
  const table = mountTable(tablePlace, tableOf(), { noun: QUERIES, open, sort: { column: 1, direction: worst }, changed: describe });

  function menu(side, chosen) {
    const made = make("select", { id: `pk-${side}-${number}` }, ...rankers.map((name, place) => make("option", { value: place }, shown(name, 60))));
    made.value = chosen;
    made.dataset.side = side;
    made.addEventListener("change", choose);
    return made;
  }

  function labelled(made) {
    return make("span", { class: "pk-check" }, make("label", { for: made.id }, made.dataset.side), made);
  }

  function gap(row) {
    const [one, other] = [values[row][a], values[row][b]];
    return one === null || other === null ? null : other - one;
  }

  function tableOf() {
    const own = every.checked ? rankers.map((_, place) => place) : [a, b];
    const heading = (place) => (every.checked ? rankers[place] : `${place === a ? "A" : "B"}: ${rankers[place]}`);
    const numbers = own.map((place) => ({ name: heading(place), kind: "number", digits: 4, first: worst }));
    const difference = { name: "B − A", kind: "number", digits: 4, better: payload.better, first: worst };
    const [id, ...facts] = columns;
    return {
      caption: `${payload.metric} of every query: A is ${rankers[a]}, B is ${rankers[b]}`,
      columns: [id, difference, ...numbers, ...facts],
      rows: queries.map(([name, ...rest], row) => [name, gap(row), ...own.map((place) => values[row][place]), ...rest]),
    };
  }

  function scatterOf(rows) {
    const axis = (place) => ({ name: rankers[place], values: values.map((row) => row[place]) });
    return { x: axis(a), y: axis(b), names: queries.map(([name]) => name), floor: payload.floor, better: payload.better, tie: payload.tie, rows };
  }

  function outcomeOf(row) {
    const difference = gap(row);
    return difference === null ? null : tone(difference, payload.better, payload.tie) || "same";
  }

  function isKept() {
    const chosen = outcome.value;
    const isPicked = picked && new Set(picked);
    clear.hidden = !picked;
    clear.textContent = picked ? `${counted(picked.length, QUERIES)} at this dot ✕` : "";
    return (row) => {
      if (isPicked && !isPicked.has(row)) return false;
      return chosen === "" || (chosen === "lists" ? String(row) in payload.lists : outcomeOf(row) === chosen);
    };
  }

  function keep() {
    table.keep(isKept());
  }

  // the result over the queries that pass the filters; the interval and the p-value are those of all queries
  function describe(rows) {
    scatter.update(scatterOf(rows));
    const gaps = rows.map(gap).filter((difference) => difference !== null);
    const count = { up: 0, down: 0, "": 0 };
    for (const difference of gaps) count[tone(difference, payload.better, payload.tie)] += 1;
    const isAll = rows.length === queries.length;
    const pair = pairOf();
    const mean = isAll && pair ? pair.mean : gaps.length ? gaps.reduce((sum, one) => sum + one, 0) / gaps.length : null;
    const parts = [make("b", { class: mean === null || (isAll && pair && !pair.significant) ? "" : tone(mean, payload.better, payload.tie) }, signedDecimal(mean))];
    if (isAll && pair) {
      parts.push(` ${payload.metric}, B − A`);
      if (pair.low !== null && pair.low !== undefined) parts.push(`, interval ${signedDecimal(pair.low)} to ${signedDecimal(pair.high)}`);
      if (pair.p !== null && pair.p !== undefined) parts.push(`, corrected p ${pair.p < 0.0001 ? "< 0.0001" : decimal(pair.p, 4)}: ${pair.significant ? "significant" : "not significant"}`);
    } else {
      parts.push(isAll ? ` ${payload.metric}, B − A` : ` ${payload.metric}, B − A, mean of the ${counted(rows.length, QUERIES)} shown`);
    }
    parts.push(`. B is better on ${count.up}, equal on ${count[""]}, worse on ${count.down}.`);
    verdict.replaceChildren(...parts);
  }

  function pairOf() {
    const forward = payload.pairs[`${a},${b}`];
    if (forward) return forward;
    const back = payload.pairs[`${b},${a}`];
    if (!back) return null;
    const turned = (value) => (value === null || value === undefined ? null : -value);
    return { ...back, mean: turned(back.mean), low: turned(back.high), high: turned(back.low) };
  }

  function choose() {
    [a, b] = [Number(menuA.value), Number(menuB.value)];
    picked = null;
    table.update(tableOf(), isKept());
    if (opened !== null) open(opened, { moves: false });
  }

  function pick(rows) {
    picked = rows;
    keep();
  }

  async function open(row, { moves = true } = {}) {
    opened = row;
    table.select(row);
    scatter.select(row);
    const [one, other] = [a, b];
    const lists = options.lists ? await options.lists(row, one, other) : payload.lists[row];
    if (opened !== row || a !== one || b !== other) return;  // another query was opened meanwhile
    listsPlace.hidden = false;
    const facts = columns.slice(1).map((column, place) => `${shown(column.name, 60)} ${shown(queries[row][place + 1], 60)}`);
    const close = () => {
      opened = null;
      listsPlace.hidden = true;
      table.select(null);
      scatter.select(null);
      tablePlace.querySelector(`tr[data-row="${row}"] .pk-open`)?.focus();
    };
    let mounted;
    if (lists) {
      const sides = [one, other].map((ranker) => ({
        ranker, name: rankers[ranker], value: values[row][ranker], unexplained: payload.unexplained[ranker], length: lists.lengths?.[ranker] ?? lists.length,
      }));
      mounted = mountLists(listsPlace, { query: queries[row][0], lists, features: payload.features, sides }, { title: `Query ${shown(queries[row][0])}`, close });
    } else {
      const heading = make("h3", { tabindex: "-1" }, `Query ${shown(queries[row][0])}`);
      const button = make("button", { type: "button" }, "Close");
      button.addEventListener("click", close);
      const values_ = rankers.map((name, place) => make("li", {}, `${shown(name, 60)} ${decimal(values[row][place])}`));
      listsPlace.replaceChildren(make("div", { class: "pk-lists-head" }, heading, button), make("p", {}, "The lists of this query were left out of this file."), make("ul", { class: "pk-values" }, ...values_));
      mounted = { focus: () => heading.focus() };
    }
    if (facts.length) listsPlace.firstChild.after(make("p", { class: "pk-quiet" }, facts.join(" · ")));
    if (moves) {
      mounted.focus();
      listsPlace.scrollIntoView({ block: "nearest" });
    }
  }

  swap.addEventListener("click", () => {
    [menuA.value, menuB.value] = [menuB.value, menuA.value];
    choose();
  });
  outcome.addEventListener("change", keep);
  every.addEventListener("change", () => table.update(tableOf()));
  clear.addEventListener("click", () => { picked = null; keep(); outcome.focus(); });
  return { open };
}
