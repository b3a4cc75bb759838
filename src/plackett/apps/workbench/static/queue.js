// A queue of queries on the search page: the progress and the next query.
import { $, complain, get, onKey, pause, say } from "./common.js";
import { inWords } from "./jobs.js";

const bar = $("#queue");
export const depth = bar ? Number(bar.dataset.depth) : Infinity;
export const queue = bar?.dataset.queue ?? "";

const go = (query, base) => location.assign(`/?${new URLSearchParams({ q: query, base, queue })}`);

// Goes to the next query with a result to judge, once everything is written
export async function goOn(base, outbox) {
  while (outbox.entries.length) await pause(30);
  const { query } = await get(`queue/next?${new URLSearchParams({ queue, base, after: bar.dataset.query })}`);
  if (query === bar.dataset.query) return;
  if (query === null) complain("All queries of this queue are judged.", { isError: false });
  else go(query, base);
}

export const isGoingOn = () => Boolean(bar) && $("#advance").checked;

export function showProgress(nJudged, nFirst) {
  if (bar) $("#queue-judged").textContent = `${nJudged} of the first ${nFirst} judged`;
}

export function listen(base, outbox) {
  if (!bar) return;
  const next = inWords(() => goOn(base(), outbox));
  $("#queue-next").addEventListener("click", next);
  Object.assign(onKey, {
    "[": () => $("#queue-previous")?.click() ?? say("This is the first query of the queue."),
    "]": () => $("#queue-following")?.click() ?? say("This is the last query of the queue."),
    g: next,
  });
}
