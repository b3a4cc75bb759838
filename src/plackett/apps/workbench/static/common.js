// Code of every page: requests, messages, the user name, the colours, the help.
import { make } from "./components/dom.js";

export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

// Text without control characters and bidirectional overrides.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
const plain = (text) => text.replace(UNSEEN, "\ufffd");
// Whether the button of a grade is pressed; thumbs have two grades.
export const isPressed = (given, grade, mode) => given !== null && (mode === "thumbs" ? (given >= 1) === (grade >= 1) : given === grade);
// A random text, also without HTTPS, where there is no crypto.randomUUID
export const newKey = () => [...crypto.getRandomValues(new Uint32Array(4))].map((part) => part.toString(36)).join("-");
export const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

export const kept = {
  get(name, otherwise = null) {
    try { return localStorage.getItem(`plackett.${name}`) ?? otherwise; } catch { return otherwise; }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem(`plackett.${name}`);
      else localStorage.setItem(`plackett.${name}`, value);
    } catch { /* not stored: the value lasts as long as the page */ }
  },
};

// Messages: one at a time on the page, and others for screen readers only.
export function say(words) {
  $("#spoken").textContent = words;
}
export function complain(words) {
  const close = make("button", { type: "button", class: "plain", "aria-label": "Close this message" }, "✕");
  close.addEventListener("click", calm);
  const text = words.includes("\n") ? make("pre", {}, plain(words)) : make("p", {}, plain(words));
  $("#messages").replaceChildren(make("div", { class: "notice error" }, make("div", {}, text, close)));
}
export function calm() {
  $("#messages").replaceChildren();
}

export const inWords = (act) => async (event) => {
  try {
    await act(event);
  } catch (error) {
    complain(error.message);
  }
};

// Errors of the server, and a server that cannot be reached.
export class Refusal extends Error {}
export class Unreachable extends Error {}

const token = $('meta[name="csrf-token"]');

export async function once(path, options) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch {
    throw new Unreachable("The server is not responding.");
  }
  if (answer.ok) return answer;
  let problem = {};
  try { problem = await answer.json(); } catch { /* not JSON, such as the response of a proxy */ }
  const words = [problem.error ?? `The server responded with status ${answer.status}.`, problem.hint].filter(Boolean).join(" ");
  if ([408, 502, 503, 504].includes(answer.status)) throw new Unreachable(words);
  const refusal = new Refusal(words);
  refusal.status = answer.status;
  refusal.code = problem.code;
  throw refusal;
}

async function request(method, path, body) {
  const options = () => ({
    method,
    headers: { "X-CSRF-Token": token.content, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body,
  });
  try {
    return await (await once(`/api/v1/${path}`, options())).json();
  } catch (error) {
    if (error.code !== "csrf") throw error;
    token.content = (await (await once("/api/v1/session", {})).json()).csrf;  // the cookie was renewed
    return (await once(`/api/v1/${path}`, options())).json();
  }
}
export const post = (path, body) => request("POST", path, JSON.stringify(body));
export const remove = (path) => request("DELETE", path);

// Retries until there is a response: a server restarts within seconds.
const WAITS = [300, 600, 1000, 2000, 4000];
export async function patiently(ask) {
  for (let turn = 0; ; turn += 1) {
    try {
      const answer = await ask(turn);
      if (turn) calm();
      return answer;
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      complain(`${error.message} Trying again; nothing is lost.`);
      await pause(WAITS[Math.min(turn, WAITS.length - 1)]);
    }
  }
}
export const get = (path) => patiently(async () => (await once(`/api/v1/${path}`, {})).json());

// Another state of a page, drawn by the server.
export async function pageAt(address) {
  const answer = await patiently(() => once(address, {}));
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Reloads parts of this page.
export async function refresh(...selectors) {
  const page = await pageAt(location.href);
  for (const selector of selectors) $(selector).replaceWith(document.adoptNode($(selector, page)));
}

// Reloads parts of this page until the board on it is complete, whose lists are ranked in the background.
export async function complete(...selectors) {
  while ($("#board")?.dataset.complete === "false") {
    await pause(700);
    await refresh(...selectors);
  }
}

export function remember(name, value) {  // for the server, which draws the first list
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=31536000; SameSite=Strict`;
}

// The colours
const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function showTheme() {
  $("#theme").setAttribute("aria-pressed", String(isDark()));
}
$("#theme").addEventListener("click", () => {
  const wanted = isDark() ? "light" : "dark";
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  if (wanted === system) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = wanted;
  kept.set("theme", wanted === system ? null : wanted);
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
showTheme();

// The name
$("#who").addEventListener("click", async () => {
  $("#who-dialog").showModal();
  $("#name").select();
  const { users } = await get("collection");
  $("#names").replaceChildren(...users.map((user) => make("option", { value: user })));
});
$("#who-form").addEventListener("submit", inWords(async (event) => {
  event.preventDefault();
  $("#who-dialog").close();
  await patiently(() => post("session", { user: $("#name").value.trim() }));
  location.reload();
}));
for (const button of $$("[data-close]")) button.addEventListener("click", () => button.closest("dialog").close());

// The help, and one-letter keys, which can be switched off
const keysOn = $("#keys-on");
keysOn.checked = kept.get("keys", "on") === "on";
keysOn.addEventListener("change", () => kept.set("keys", keysOn.checked ? "on" : "off"));
$("#help").addEventListener("click", () => $("#help-dialog").showModal());

const TYPED = 'input:not([type="radio"], [type="checkbox"], [type="file"]), textarea, select, [contenteditable]';
export const onKey = {
  "?": () => $("#help-dialog").showModal(),
  "/": () => { const box = $("#q, #qid"); if (box) { box.focus(); box.select(); } },
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target.matches(TYPED)) { event.target.blur(); return; }
  if (event.target.matches(TYPED) || $("dialog[open]")) return;
  const isLetter = event.key.length === 1;
  if (isLetter && !keysOn.checked) return;
  const act = onKey[event.key];
  if (act && act(event) !== false) event.preventDefault();
});
