// Ranks the sections of the site by BM25 (k1 = 1.2, b = 0.75) in the browser; headings count four times.
"use strict";
(() => {
  const K1 = 1.2, B = 0.75, HEADING = 4, SHOWN = 20, WORDS = 36;
  const STOP = new Set(("a an and are as at be but by for if in into is it no not of on or such that the their then there " +
    "these they this to was will with").split(" "));
  const WORD = /[\p{L}\p{N}\p{M}]+/gu;
  const singular = (word) => (word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word);
  const terms = (text) => (text.normalize("NFKC").toLowerCase().match(WORD) || []).filter((word) => !STOP.has(word)).map(singular);

  async function texts() {
    const bytes = Uint8Array.from(atob(window.siteTexts), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function indexOf(records) {
    const postings = new Map(), lengths = [];
    records.forEach(([, title, heading, text], section) => {
      const counts = new Map();
      const add = (word, times) => counts.set(word, (counts.get(word) || 0) + times);
      terms(title === heading ? heading : `${title} ${heading}`).forEach((word) => add(word, HEADING));
      terms(text).forEach((word) => add(word, 1));
      let length = 0;
      for (const [word, count] of counts) {
        length += count;
        if (!postings.has(word)) postings.set(word, []);
        postings.get(word).push([section, count]);
      }
      lengths.push(length);
    });
    return { postings, lengths, mean: lengths.reduce((sum, length) => sum + length, 0) / lengths.length };
  }

  function ranked(index, query) {
    const scores = new Map(), n = index.lengths.length;
    for (const word of terms(query)) {
      const found = index.postings.get(word) || [];
      const idf = Math.log(1 + (n - found.length + 0.5) / (found.length + 0.5));
      for (const [section, count] of found) {
        const relative = 1 - B + (B * index.lengths[section]) / index.mean;
        scores.set(section, (scores.get(section) || 0) + (idf * count * (K1 + 1)) / (count + K1 * relative));
      }
    }
    return [...scores].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  }

  // the words around the most different terms of the query, with these marked
  function excerpt(text, wanted) {
    const words = text.split(" ");
    const found = words.map((word) => terms(word).find((term) => wanted.has(term)));
    let start = 0, most = -1;
    for (let first = 0; first === 0 || first + WORDS / 2 < words.length; first += 6) {
      const n = new Set(found.slice(first, first + WORDS).filter(Boolean)).size;
      if (n > most) [start, most] = [first, n];
    }
    const part = document.createElement("p");
    if (start) part.append("… ");
    words.slice(start, start + WORDS).forEach((word, place) => {
      const node = found[start + place] ? document.createElement("mark") : document.createTextNode(`${word} `);
      if (found[start + place]) node.textContent = word;
      part.append(node, found[start + place] ? " " : "");
    });
    if (start + WORDS < words.length) part.append("…");
    return part;
  }

  const input = document.getElementById("search-words"), list = document.getElementById("search-results");
  const status = document.getElementById("search-status");
  input.value = new URLSearchParams(location.search).get("q") || "";
  const ready = texts().then((records) => ({ records, index: indexOf(records) }));

  async function show() {
    const query = input.value.trim(), { records, index } = await ready;
    if (query !== input.value.trim()) return;
    const found = ranked(index, query), wanted = new Set(terms(query));
    list.replaceChildren(...found.slice(0, SHOWN).map(([section]) => {
      const [address, title, heading, text] = records[section];
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = address;
      link.textContent = title === heading ? title : `${title} › ${heading}`;
      item.append(link, excerpt(text, wanted));
      return item;
    }));
    const number = found.length > SHOWN ? `the best ${SHOWN} of ${found.length} sections` : `${found.length} sections`;
    status.textContent = query ? `${number} for “${query}”` : "";
    history.replaceState(null, "", query ? `?q=${encodeURIComponent(query)}` : location.pathname);
  }
  input.addEventListener("input", show);
  document.getElementById("search-form").addEventListener("submit", (event) => { event.preventDefault(); show(); });
  window.searchSite = async (query) => { const { records, index } = await ready; return ranked(index, query).map(([section, score]) => [records[section][0], score]); };
  show();
  if (!input.value) input.focus();
})();
