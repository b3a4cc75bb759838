// One dot for each query: A to the right, B upwards. Queries at the same place share a larger dot.
import { make, draw, shown, decimal, counted, tone } from "./dom.js";

const SIZE = 340;
const LEFT = 46, TOP = 12, RIGHT = 12, BOTTOM = 42;
const NEAR = 14;  // largest distance between a click and its dot, in pixels of the drawing

export function mountScatter(element, scatter, options = {}) {
  const svg = draw("svg", { class: "pk-scatter", viewBox: `0 0 ${SIZE} ${SIZE}`, role: "img" });
  const words = make("p", { class: "pk-hint", "aria-live": "off" });
  element.replaceChildren(svg, words);
  let dots = [];
  let selected = null;

  function scale() {
    const every = [...scatter.x.values, ...scatter.y.values].filter((value) => value !== null);
    let low = Math.min(0, ...every), high = Math.max(...every, 0);
    if (high === low) high = low + 1;
    if (low === 0 && high <= 1 && high > 0.5) high = 1;
    const span = SIZE - LEFT - RIGHT;
    const share = (value) => (value - low) / (high - low);
    return {
      low, high,
      x: (value) => LEFT + share(value) * span,
      y: (value) => SIZE - BOTTOM - share(value) * (SIZE - TOP - BOTTOM),
    };
  }

  function axes({ low, high, x, y }) {
    const parts = [];
    for (let step = 0; step <= 4; ++step) {
      const value = low + ((high - low) * step) / 4;
      const label = String(Number(value.toPrecision(3)));
      parts.push(
        draw("line", { class: "pk-grid", x1: x(low), x2: x(high), y1: y(value), y2: y(value) }),
        draw("line", { class: "pk-grid", x1: x(value), x2: x(value), y1: y(low), y2: y(high) }),
        draw("text", { class: "pk-tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, label),
        draw("text", { class: "pk-tick", x: x(value), y: SIZE - BOTTOM + 15, "text-anchor": "middle" }, label),
      );
    }
    for (const { value } of scatter.floor ?? []) {
      if (value === null || value < low || value > high) continue;
      parts.push(
        draw("line", { class: "pk-floor", x1: x(value), x2: x(value), y1: y(low), y2: y(high) }),
        draw("line", { class: "pk-floor", x1: x(low), x2: x(high), y1: y(value), y2: y(value) }),
      );
    }
    const middle = (LEFT + SIZE - RIGHT) / 2;
    parts.push(
      draw("line", { class: "pk-diagonal", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }),
      draw("text", { class: "pk-axis", x: middle, y: SIZE - 8, "text-anchor": "middle" }, `A: ${shown(scatter.x.name, 36)} →`),
      draw("text", { class: "pk-axis", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, `B: ${shown(scatter.y.name, 36)} →`),
    );
    return parts;
  }

  function gathered({ x, y }) {
    const places = new Map();
    for (const row of scatter.rows ?? scatter.x.values.keys()) {
      const [one, other] = [scatter.x.values[row], scatter.y.values[row]];
      if (one === null || other === null) continue;
      const [left, top] = [Math.round(x(one)), Math.round(y(other))];
      const key = `${left},${top}`;
      if (!places.has(key)) places.set(key, { left, top, rows: [], tone: tone(other - one, scatter.better, scatter.tie) });
      places.get(key).rows.push(row);
    }
    return [...places.values()];
  }

  function render() {
    const measure = scale();
    dots = gathered(measure);
    for (const dot of dots) {
      dot.circle = draw("circle", { class: `pk-dot ${dot.tone}`, cx: dot.left, cy: dot.top, r: 3.2 * Math.min(4, dot.rows.length ** 0.4) });
    }
    svg.replaceChildren(...axes(measure), ...dots.map((dot) => dot.circle));
    const n = dots.reduce((sum, dot) => sum + dot.rows.length, 0);
    const above = dots.filter((dot) => dot.tone === "up").reduce((sum, dot) => sum + dot.rows.length, 0);
    const below = dots.filter((dot) => dot.tone === "down").reduce((sum, dot) => sum + dot.rows.length, 0);
    svg.setAttribute("aria-label", `${shown(scatter.y.name)} against ${shown(scatter.x.name)}, ${counted(n, ["query", "queries"])}: B is better on ${above}, worse on ${below}. The table lists every query.`);
    const floor = (scatter.floor ?? []).filter(({ value }) => value !== null).map(({ name, value }) => `${shown(name, 40)} ${decimal(value, 3)}`);
    words.dataset.rest = `Above the diagonal B is better.${floor.length ? ` Dashed: mean of ${floor.join(", ")}.` : ""}`;
    words.textContent = words.dataset.rest;
    mark();
  }

  function mark() {
    for (const dot of dots) dot.circle.classList.toggle("pk-chosen", selected !== null && dot.rows.includes(selected));
  }

  function nearest(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = null, least = NEAR ** 2;
    for (const dot of dots) {
      const distance = (dot.left - point.x) ** 2 + (dot.top - point.y) ** 2;
      if (distance < least) [best, least] = [dot, distance];
    }
    return best;
  }

  svg.addEventListener("mousemove", (event) => {
    const dot = nearest(event);
    svg.classList.toggle("pk-over", dot !== null);
    if (dot === null) { words.textContent = words.dataset.rest; return; }
    const [row] = dot.rows;
    const name = dot.rows.length === 1 ? `Query ${shown(scatter.names[row], 40)}` : counted(dot.rows.length, ["query", "queries"]);
    words.textContent = `${name}: A ${decimal(scatter.x.values[row], 3)}, B ${decimal(scatter.y.values[row], 3)}`;
  });
  svg.addEventListener("mouseleave", () => { words.textContent = words.dataset.rest; });
  svg.addEventListener("click", (event) => {
    const dot = nearest(event);
    if (dot === null) return;
    if (dot.rows.length === 1) options.open?.(dot.rows[0]);
    else options.pick?.(dot.rows);
  });
  render();
  return {
    update(replacement) { scatter = replacement; render(); },
    select(row) { selected = row; mark(); },
  };
}
