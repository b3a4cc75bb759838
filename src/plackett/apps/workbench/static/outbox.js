// A queue of judgements that survives a reload; each stays until the server has written it to disk.
import { kept, newKey, patiently, post } from "./common.js";

export class Outbox {
  entries = [];
  #page;
  #name;
  #isWriting = false;

  // `page` has saved(query, response) and failed(error)
  constructor(user, page) {
    this.#page = page;
    this.#name = `waiting.${user}`;
    try { this.entries = JSON.parse(kept.get(this.#name, "[]")); } catch { /* not written by this page */ }
  }

  // The key of an entry lets the server write it once, even if a response is lost and it is sent again
  add(entry) {
    this.entries.push({ ...entry, key: newKey() });
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
      const { path, query, body, key } = this.entries[0];
      const send = () => post(path, { query, ...body, key, with_list: false });
      const [answer, problem] = await patiently(send).then((found) => [found], (error) => [null, error]);
      this.entries.shift();
      this.#keep();
      try {
        if (problem) throw problem;
        await this.#page.saved(query, answer);
      } catch (error) {
        this.#page.failed(error);
      }
    }
    this.#isWriting = false;
  }

  #keep() {
    kept.set(this.#name, this.entries.length ? JSON.stringify(this.entries) : null);
  }
}
