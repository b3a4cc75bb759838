// Elements and text. All data are inserted as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LONGEST = 200;

export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

export function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

// Data as text, without control characters and bidirectional overrides, shortened if it is long.
export function shown(value, most = LONGEST) {
  if (value === null || value === undefined) return "–";
  const text = String(value).replace(UNSEEN, "\ufffd");
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

const formats = new Map();  // making one takes longer than using it for a whole table

export function decimal(value, digits = 4) {
  if (value === null) return "–";
  if (!formats.has(digits)) formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  return formats.get(digits).format(value).replace("-", "−");
}

export function signedDecimal(value, digits = 4) {
  if (value === null) return "–";
  return (Number(value.toFixed(digits)) > 0 ? "+" : "") + decimal(value, digits).replace(/^−(?=0\.?0*$)/, "");
}

// A feature value with few digits.
export function brief(value) {
  if (typeof value !== "number") return shown(value, 60);
  return String(Number(value.toPrecision(4))).replace("-", "−");
}

export const counted = (n, [one, many]) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const tone = (difference, better, tie = 0) => (Math.abs(difference) <= tie ? "" : difference * better > 0 ? "up" : "down");
