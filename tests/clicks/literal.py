"""Cleaning of click logs, rule by rule on plain lists and dicts: slow, and independent of the code under test."""

import json
import math
from collections import Counter, defaultdict

LONGEST = 1 << 20
BOTS = ("bot-", "Googlebot")


def whole(text):
    """None for a missing number, -2 for an invalid one."""
    if text is None or text == "":
        return None
    text = str(text)
    return int(text) if text.isdigit() and len(text) <= 9 else -2


def seconds(value):
    try:
        return float(value) / (1000 if float(value) >= 1e11 else 1)
    except (TypeError, ValueError):
        return math.nan


def earliest(times):
    return min((one for one in times if not math.isnan(one)), default=math.nan)


class Cleaner:
    """Lists are dicts with session, query, rows of (rank, document, clicked), time and client."""

    def __init__(self, k=None, max_sessions=None):
        self.k, self.max_sessions = k, max_sessions
        self.counts = Counter()

    def position_lists(self, rows):
        """Rows of (list, position, document, clicked) as sorted lists of (rank, document, clicked)."""
        of_list = defaultdict(list)
        for name, rank, doc, clicked in rows:
            of_list[name].append((rank, doc, clicked))
        firsts = [min(rank for rank, _, _ in own) for own in of_list.values()]
        first = 0 if firsts.count(0) > firsts.count(1) else 1
        answer = {}
        for name, own in of_list.items():
            if first == 1:
                self.counts["invalid position"] += sum(rank == 0 for rank, _, _ in own)
                own = [row for row in own if row[0] > 0]
            merged = defaultdict(bool)
            for rank, doc, clicked in own:
                merged[rank + 1 - first, doc] |= clicked
            self.counts["repeated row"] += len(own) - len(merged)
            answer[name] = sorted((rank, doc, clicked) for (rank, doc), clicked in merged.items())
        return answer

    def cut(self, rows):
        shown = []
        for place, (rank, doc, _) in enumerate(rows):
            reason = None
            if rank != place + 1:
                reason = "gap in positions"
            elif place + 1 < len(rows) and rows[place + 1][0] == rank:
                reason = "two documents at a position"
            elif doc is None:
                reason = "missing document"
            elif doc in shown:
                reason = "document shown twice"
            if reason is not None:
                self.counts[reason] += 1
                break
            shown.append(doc)
        kept = rows[: len(shown)]
        self.counts["click below a cut"] += sum(row[2] for row in rows) - sum(row[2] for row in kept)
        self.counts["empty list"] += not kept
        if self.k is not None and len(kept) > self.k:
            self.counts["list beyond the cut-off"] += 1
        return kept[: self.k]

    def finish(self, lists):
        """The sessions that are left, sorted: (session, query, documents, clicks, time)."""
        lists = [one for one in lists if one.update(rows=self.cut(one["rows"])) or one["rows"]]
        sessions = Counter(one["client"] for one in lists)
        kept = []
        for one in lists:
            client = one["client"]
            is_bot = client is not None and (client.startswith(BOTS) or sessions[client] > (self.max_sessions or 1e9))
            self.counts["bot"] += is_bot
            if not is_bot:
                kept.append(one)
        kept.sort(
            key=lambda one: (one["session"], one["time"] if not math.isnan(one["time"]) else math.inf, one["query"])
        )
        seen, answer = set(), []
        for one in kept:
            docs, clicks = [row[1] for row in one["rows"]], [row[2] for row in one["rows"]]
            key = (one["client"], one["query"], one["time"], tuple(docs))
            if one["client"] is not None and not math.isnan(one["time"]) and key in seen:
                self.counts["copied session"] += 1
                continue
            seen.add(key)
            answer.append((one["session"], one["query"], docs, clicks, one["time"]))
        self.counts = +self.counts
        return answer


def clean_rows(lines, **limits):
    """Lines of session, query, docid, rank, click, time and client, without the header."""
    cleaner = Cleaner(**limits)
    counts = cleaner.counts
    rows, times, clients, queries = [], defaultdict(list), defaultdict(list), defaultdict(set)
    for line in lines:
        fields = [field or None for field in line.split(",")]
        if len(fields) != 7 or line.startswith('"'):
            counts["damaged line"] += 1
            continue
        session, query, doc, rank, click, time, client = fields
        rank = whole(rank)
        clicks = {"true": 1, "no": 0}.get(click, whole(click))
        for name, is_wrong in (
            ("missing session", session is None),
            ("missing query", query is None),
            ("missing document", doc is None),
            ("missing position", rank is None),
            ("invalid position", rank == -2 or (rank or 0) >= LONGEST - 1),
            ("invalid click", clicks == -2),
        ):
            if is_wrong:
                counts[name] += 1
                break
        else:
            counts["missing click"] += clicks is None
            counts["repeated click"] += max((clicks or 0) - 1, 0)
            counts["invalid time"] += time is not None and math.isnan(seconds(time))
            name = session, query
            rows.append((name, rank, doc, bool(clicks)))
            times[name].append(seconds(time))
            clients[name].append(client or "")
            queries[session].add(query)
    counts["several queries in a session"] += sum(len(own) > 1 for own in queries.values())
    found = cleaner.position_lists(rows)
    lists = [
        {
            "session": name[0],
            "query": name[1],
            "rows": own,
            "time": earliest(times[name]),
            "client": max(clients[name]) or None,
        }
        for name, own in found.items()
    ]
    return cleaner.finish(lists), cleaner.counts


def clean_ubi(queries, events, **limits):
    """Lines of queries and of events, whose actions are impressions or clicks."""
    cleaner = Cleaner(**limits)
    counts = cleaner.counts
    records = defaultdict(list)
    for record in map(parsed, queries):
        if record is None:
            counts["damaged line"] += 1
        elif record.get("query_id") is None:
            counts["missing session"] += 1
        elif not (record.get("user_query") or "").strip():
            counts["missing query"] += 1
        else:
            time = record.get("timestamp")
            counts["invalid time"] += time is not None and math.isnan(seconds(time))
            records[record["query_id"]].append(record)
    lists = {}
    for name, same in records.items():
        shown = [one.get("query_response_hit_ids") or [] for one in same]
        longest = max(shown, key=len)
        is_one = len({one["user_query"] for one in same}) == 1 and all(longest[: len(one)] == one for one in shown)
        counts["repeated session" if is_one else "contradictory session"] += (
            len(same) - 1 if is_one else len(same) * (len(same) > 1)
        )
        if is_one:
            lists[name] = {
                "session": name,
                "query": same[0]["user_query"],
                "rows": [(place + 1, doc, False) for place, doc in enumerate(longest)],
                "time": earliest([seconds(one.get("timestamp")) for one in same]),
                "client": max(one.get("client_id") or "" for one in same) or None,
            }
    seen, clicks = [], []
    for event in map(parsed, events):
        if event is None:
            counts["damaged line"] += 1
            continue
        attributes = event["event_attributes"]
        rank = whole(attributes["position"].get("ordinal"))
        counts["invalid position"] += rank == -2
        (clicks if event["action_name"] == "click" else seen).append(
            (event.get("query_id"), rank, attributes["object"].get("object_id"))
        )
    rows = []
    for name, rank, doc in seen:
        if name in lists and not lists[name]["rows"]:
            if doc is None:
                counts["missing document"] += 1
            elif rank is None:
                counts["missing position"] += 1
            elif rank >= LONGEST - 1:
                counts["invalid position"] += 1
            elif rank >= 0:
                rows.append((name, rank, doc, False))
    for name, own in cleaner.position_lists(rows).items():
        lists[name]["rows"] = own

    def found(name, rank, doc, first):
        """The place of a click in its list, and what is wrong with it."""
        if name not in lists:
            return None, "click in an unknown session"
        docs = [row[1] for row in lists[name]["rows"]]
        place = None if rank is None or rank < 0 else rank - first
        is_inside = place is not None and 0 <= place < len(docs)
        if doc is None:
            if place is None:
                return None, "click without document and position"
            return (place, "click without a document") if is_inside else (None, "click on what was not shown")
        if doc not in docs:
            return None, "click on what was not shown"
        if is_inside and docs[place] == doc:
            return place, None
        return docs.index(doc), None if place is None else "click at another position"

    votes = Counter()
    for name, rank, doc in clicks:
        place, _ = found(name, rank, doc, 1)
        if place is not None and doc is not None and rank is not None and rank >= 0:
            votes[rank - place] += 1
    first = 0 if votes[0] > votes[1] else 1
    for name, rank, doc in clicks:
        place, damage = found(name, rank, doc, first)
        if damage is not None:
            counts[damage] += 1
        if place is not None:
            rank, doc, clicked = lists[name]["rows"][place]
            counts["repeated click"] += clicked
            lists[name]["rows"][place] = (rank, doc, True)
    return cleaner.finish(list(lists.values())), cleaner.counts


def parsed(line):
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
