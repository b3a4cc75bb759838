// A queue of judgements that survives a reload; each stays until the server has written it to disk.
import { get, kept, patiently, post } from "./common.js";

export class Outbox {
  entries = [];
  #page;
  #name;
  #isWriting = false;

  // `page` has view(query), the list options or null; saved(query, response); failed(error)
  constructor(user, page) {
    this.#page = page;
    this.#name = `waiting.${user}`;
    try { this.entries = JSON.parse(kept.get(this.#name, "[]")); } catch { /* not written by this page */ }
  }

  add(entry) {
    this.entries.push(entry);
    this.#keep();
    this.run();
  }

  // The latest queued judgement of a document
  last(query, docid) {
    return this.entries.findLast((entry) => entry.query === query && entry.body.docid === docid);
  }

  async run() {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.entries.length) {
      const [entry] = this.entries;
      try {
        const answer = await patiently(() => this.#send(entry));
        this.#drop();
        await this.#page.saved(entry.query, answer);
      } catch (error) {
        if (this.entries[0] === entry) this.#drop();
        this.#page.failed(error);
      }
    }
    this.#isWriting = false;
  }

  // The server's response; null if an earlier response was lost but its judgement was written
  async #send(entry) {
    if (entry.isSent && await isDone(entry)) return null;
    if (entry.path === "undo") entry.before ??= await currentJudgements(entry.query);
    entry.isSent = true;
    this.#keep();
    const view = this.#page.view(entry.query);
    return post(entry.path, { query: entry.query, ...entry.body, ...view, with_list: view !== null });
  }

  #drop() {
    this.entries.shift();
    this.#keep();
  }

  #keep() {
    kept.set(this.#name, this.entries.length ? JSON.stringify(this.entries) : null);
  }
}

const MOST = 200;  // documents that a list can have

// The current judgements of a query: grades by document, and pairs
async function said(query) {
  const list = await get(`search?${new URLSearchParams({ q: query, k: MOST, shown: MOST })}`);
  const graded = [...list.results, ...list.elsewhere].filter(({ grade }) => grade !== null);
  return { grades: new Map(graded.map(({ docid, grade }) => [docid, grade])), pairs: list.pairs };
}

async function currentJudgements(query) {
  const { grades, pairs } = await said(query);
  return JSON.stringify([[...grades].sort(), pairs]);
}

async function isDone({ path, query, body, before }) {
  if (path === "reset") return false;  // clearing is idempotent
  if (path === "undo") return await currentJudgements(query) !== before;
  const { grades, pairs } = await said(query);
  if (path === "preferences") return pairs.some(({ preferred, other }) => preferred === body.docid && other === body.other);
  return (grades.get(body.docid) ?? null) === body.grade;
}
