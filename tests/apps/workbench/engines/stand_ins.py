"""Local stand-ins that answer as Elasticsearch, OpenSearch and Solr are documented to, and misbehave on request."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

SECRET = "s3cret-key"
PRODUCTS = {
    "p1": {"title": "Red bicycle", "description": "a bicycle for children, with a bell", "price": 120, "stock": True},
    "p2": {"title": "Bicycle bell", "description": "loud bell for any bicycle", "price": 9.5, "stock": False},
    "p3": {"title": "Road bicycle", "description": "a fast bicycle", "price": 900.0, "stock": True},
    "p4": {"title": "Helmet", "description": "<script>alert(1)</script> protects you on a bicycle", "price": 30},
    "p5": {"title": "Tent", "description": "sleeps two", "price": 80},
}


def found(query):
    """The products with a word of the query, by the number of occurrences."""
    words = query.lower().split()

    def count(product):
        return sum(f"{product['title']} {product['description']}".lower().count(word) for word in words)

    scored = [(docid, float(count(product)) / 2) for docid, product in PRODUCTS.items() if count(product)]
    return sorted(scored, key=lambda one: -one[1])


def elastic_hit(docid, score, query="", is_logging=False):
    hit = {"_index": "products", "_id": docid, "_score": score, "_source": PRODUCTS[docid]}
    if is_logging:  # as the LTR plugin logs; a query that does not match has no value
        matches = sum(word in PRODUCTS[docid]["title"].lower() for word in query.lower().split())
        title = {"name": "title_query"} | ({"value": matches + 0.5} if matches else {})
        hit["fields"] = {"_ltrlog": [{"log_entry1": [title, {"name": "body_query", "value": score}]}]}
    return hit


def elastic(body):
    query = body["query"]
    ids = query.get("ids", {}).get("values")
    text = query.get("multi_match", query.get("bool", {}).get("must", {}).get("match", {})).get("query", "")
    rows = [(one, 1.0) for one in ids if one in PRODUCTS] if ids is not None else found(text)
    hits = [elastic_hit(docid, score, text, "ext" in body) for docid, score in rows[: body.get("size", 10)]]
    total = {"value": len(rows), "relation": "eq"}
    shards = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}
    most = hits[0]["_score"] if hits else None
    return {"took": 5, "timed_out": False, "_shards": shards, "hits": {"total": total, "max_score": most, "hits": hits}}


def solr(parameters):
    if "docid" in parameters:
        rows = [(one, 1.0) for one in parameters["docid"] if one in PRODUCTS]
    else:
        rows = found(parameters["q"][0])
    docs = []
    for docid, score in rows[: int(parameters["rows"][0])]:
        product = {name: [value] if isinstance(value, str) else value for name, value in PRODUCTS[docid].items()}
        docs.append({"id": docid, **product, "_version_": 1_796_000_000_000, "score": score})
        if "[features]" in parameters["fl"][0]:
            docs[-1]["[features]"] = f"originalScore={score},isCheap={float(PRODUCTS[docid]['price'] < 100)}"
    head = {"status": 0, "QTime": 2, "params": {name: values[0] for name, values in parameters.items()}}
    return {
        "responseHeader": head,
        "response": {"numFound": len(rows), "start": 0, "maxScore": 1.0, "numFoundExact": True, "docs": docs},
    }


def shop(parameters):
    """An endpoint of one's own."""
    rows = found(parameters["q"][0]) if "q" in parameters else []
    items = [{"sku": docid, "text": PRODUCTS[docid], "rank.score": score} for docid, score in rows]
    return {"data": {"items": items[: int(parameters.get("n", ["10"])[0])]}}


class Handler(BaseHTTPRequestHandler):
    """Answers by path; ``server.mode`` makes it misbehave."""

    def do_GET(self):
        self.answer(b"")

    def do_POST(self):
        self.answer(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, content):
        self.server.asked.append((self.path, content, dict(self.headers)))
        mode, parts = self.server.mode, urlsplit(self.path)
        if mode == "slow":
            time.sleep(1.5)
        if mode == "redirect":
            return self.send(302, {}, Location=f"http://127.0.0.1:{self.server.other}/stolen")
        if mode == "large":
            return self.send(200, {"hits": "x" * (17 * 2**20)})
        if mode == "page":
            return self.send(200, b"<html>hello</html>")
        if mode == "other":
            return self.send(200, {"nothing": []})
        if self.server.secret and SECRET not in self.headers.get("Authorization", ""):
            return self.send(401, {"error": {"type": "security_exception", "reason": "missing credentials"}})
        if mode == "error":
            reason = f"failed to parse, header was {self.headers.get('Authorization')}"
            error = {"root_cause": [{"type": "parsing_exception", "reason": reason}], "reason": reason}
            return self.send(400, {"error": error, "status": 400})
        if parts.path.endswith("/_search"):
            return self.send(200, elastic(json.loads(content)))
        if parts.path.endswith("/select"):
            return self.send(200, solr(parse_qs(content.decode())))
        if parts.path == "/search":
            return self.send(200, shop(parse_qs(parts.query)))
        if parts.path == "/item":
            docid = parse_qs(parts.query)["sku"][0]
            return self.send(200, {"sku": docid, "text": PRODUCTS.get(docid)})
        return self.send(404, {"error": "no such path"})

    def send(self, status, content, **headers):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        try:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", "Content-Length": len(data), **headers}.items():
                self.send_header(name, str(value))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            pass  # the client has had enough

    def log_message(self, *_):
        pass


@contextmanager
def stand_in(secret=False):
    """A server on a free loopback port; ``asked`` has every request that it got."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.asked, server.mode, server.secret, server.other = True, [], "", secret, 0
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
