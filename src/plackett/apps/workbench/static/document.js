// Judging on the page of a document, with the same buttons and keys as in a list.
import { $, $$, complain, isPressed, onKey, say } from "./common.js";
import { Outbox } from "./outbox.js";

const judge = $("#judge");
const { docid, query, base, back } = judge.dataset;
let written = null;  // the grade on disk
let given = judge.dataset.given === undefined ? null : Number(judge.dataset.given);
written = given;

const outbox = new Outbox(document.body.dataset.user, {
  view: () => null,
  saved(of, answer) {
    if (of !== query) return;
    if (answer?.event?.docid === docid) written = answer.event.grade;
    say("Saved.");
    draw();
  },
  failed(error) { given = written; complain(error.message); draw(); },
});

function draw() {
  const sent = outbox.last(query, docid);
  for (const button of $$("[data-grade]", judge)) {
    const grade = Number(button.dataset.grade);
    const mode = button.classList.contains("grade") ? "grades" : "thumbs";
    button.setAttribute("aria-pressed", String(isPressed(given, grade, mode)));
    button.toggleAttribute("data-sent", sent !== undefined && sent.pressed === grade);
  }
  const word = $$(".grade", judge).find((button) => Number(button.dataset.grade) === given);
  $('[data-part="word"]', judge).textContent = given === null ? "not judged" : word?.title ?? `grade ${given}`;
}

function give(grade, mode) {
  const isAgain = isPressed(given, grade, mode);
  const wanted = isAgain ? null : grade;
  given = wanted;
  outbox.add({ path: "judgements", query, body: { docid, grade: wanted, ...(base ? { base } : {}) }, pressed: grade });
  draw();
}

judge.addEventListener("click", (event) => {
  const button = event.target.closest("[data-grade]");
  if (button) give(Number(button.dataset.grade), button.classList.contains("grade") ? "grades" : "thumbs");
});
Object.assign(onKey, { y: () => give(1, "thumbs"), n: () => give(0, "thumbs"), b: () => location.assign(back) });
for (const button of $$(".grade", judge)) onKey[button.dataset.grade] = () => give(Number(button.dataset.grade), "grades");
draw();
outbox.run();
