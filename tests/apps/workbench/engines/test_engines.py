"""Live engines: what they are asked, what is read from their answers, and what happens if they misbehave."""

import logging

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett import LinearRanker, Queries
from plackett.apps.workbench.collections.text import TextCollection
from plackett.apps.workbench.engines.answers import Engine, scores_of, value_at
from plackett.apps.workbench.engines.client import EngineError
from plackett.apps.workbench.engines.collection import EngineCollection
from plackett.apps.workbench.engines.settings import EngineSettings, engine_at, read_engine
from plackett.text import build_index
from tests.apps.workbench.engines.stand_ins import PRODUCTS, SECRET, found, stand_in
from tests.apps.workbench.serving import client_of, page_of, small_collection

QUERY = "bicycle bell"


@pytest.fixture(scope="module")
def running():
    with stand_in() as server:
        yield server


@pytest.fixture
def server(running):
    running.mode, running.secret, running.asked = "", False, []
    return running


def settings_of(server, kind, **more):
    url = {"solr": "/solr/products", "json": "/search?q={query}&n={size}"}.get(kind, "/products")
    if kind == "json":
        more = {"id": "sku", "score": "rank.score", "hits": "data.items", "title": "text.title", **more}
        more = {"fields": ["text.description"], **more}
    return EngineSettings(name=kind, kind=kind, url=server.url + url, **more)


@pytest.mark.parametrize("kind", ["elasticsearch", "opensearch", "solr", "json"])
def test_documented_answers_are_read(server, kind):
    hits = Engine(settings_of(server, kind)).search(QUERY)
    assert [(hit.docid, hit.score) for hit in hits] == found(QUERY)
    assert hits[0].title == PRODUCTS[hits[0].docid]["title"]
    text = " ".join(hits[0].fields.values())
    assert PRODUCTS[hits[0].docid]["description"] in text


@pytest.mark.parametrize("kind", ["elasticsearch", "solr", "json"])
def test_one_document_is_found_by_its_id(server, kind):
    more = {"document": f"{server.url}/item?sku={{id}}"} if kind == "json" else {}
    engine = Engine(settings_of(server, kind, **more))
    hit = engine.document("p5")
    assert (hit.docid, hit.title) == ("p5", "Tent")
    assert kind == "json" or engine.document("p9") is None


def test_features_logged_by_the_plugin_are_read_and_those_without_a_value_are_zero(server):
    request = {"query": {"bool": {"must": {"match": {"query": "{query}"}}}}, "ext": {"ltr_log": {}}}
    collection = EngineCollection(
        [settings_of(server, "elasticsearch", request=request, features=["title_query", "score", "price"])]
    )
    hits = collection.search("bell")
    assert hits.feature_names == ["title_query", "score", "price"]
    expected = [[1.5 if "bell" in PRODUCTS[one]["title"].lower() else 0.0, score, PRODUCTS[one]["price"]]
                for one, score in found("bell")]  # fmt: skip
    assert hits.X.tolist() == expected


def test_features_of_solr_are_read(server):
    request = {"q": "{query}", "fl": "*,score,[features]"}
    collection = EngineCollection([settings_of(server, "solr", request=request, features=["isCheap", "originalScore"])])
    hits = collection.search(QUERY)
    assert hits.X.tolist() == [[float(PRODUCTS[one]["price"] < 100), score] for one, score in found(QUERY)]


def test_a_feature_that_no_hit_has_is_named(server):
    collection = EngineCollection([settings_of(server, "solr", features=["pagerank"])])
    with pytest.raises(EngineError, match="no hit of solr has the feature 'pagerank'"):
        collection.search(QUERY)


def test_text_features_are_those_of_the_returned_documents(server):
    collection = EngineCollection([settings_of(server, "elasticsearch", fields=["description"], title="title")])
    hits = collection.search(QUERY)
    title = hits.X[:, hits.feature_names.index("covered_terms_title")].tolist()
    expected = [sum(word in PRODUCTS[one]["title"].lower() for word in QUERY.split()) for one in hits.docid]
    assert title == expected


@pytest.mark.parametrize("kind", ["elasticsearch", "solr", "json"])
def test_a_query_stays_a_value(server, kind):
    query = 'x"}}, {"a": {"b&wt=xml&q=*:*#/../'
    Engine(settings_of(server, kind)).search(query)
    path, content, _ = server.asked[-1]
    if kind == "json":
        assert path.count("&") == 1
        assert path.startswith("/search?q=x%22%7D")
    else:
        assert path in ("/products/_search", "/solr/products/select")
        assert content.count(b"&wt=") <= 1


def test_the_order_of_an_engine_is_kept_whatever_its_scores(server):
    settings = settings_of(server, "json", score="nowhere")
    hits = Engine(settings).search(QUERY)
    assert scores_of(hits).tolist() == list(range(len(hits), 0, -1))
    assert EngineCollection([settings]).search(QUERY).docid == [one for one, _ in found(QUERY)]


def test_lists_are_asked_for_once_a_minute(server):
    collection = EngineCollection([settings_of(server, "elasticsearch")])
    for _ in range(3):
        collection.search(QUERY)
        collection.document("p1")
    assert len(server.asked) == 1


def test_a_saved_ranker_orders_what_the_engine_found(server):
    collection = EngineCollection([settings_of(server, "elasticsearch", features=["price", "score"])])
    ranker = LinearRanker().fit(Queries([[1.0, 0], [2, 0], [3, 0]], [0, 1, 2], [1, 1, 1]))
    collection.add_ranker("dear", ranker)
    docid = collection.search(QUERY, "dear").docid
    assert docid == sorted(docid, key=lambda one: -PRODUCTS[one]["price"])
    assert sorted(docid) == sorted(collection.search(QUERY).docid)
    scored = collection.score(QUERY, ["p5", "p3", "p1"], "dear")
    assert scored.docid == ["p3", "p1"]  # the engine does not return p5 for this query


def test_two_engines_are_compared_on_the_features_of_the_first(server):
    price = {"request": {"query": {"multi_match": {"query": "{query}"}}}, "features": ["price"]}
    first, second = settings_of(server, "elasticsearch", **price), settings_of(server, "solr")
    collection = EngineCollection([first, second])
    assert collection.own_rankers() == ["elasticsearch", "solr"]
    hits = collection.score(QUERY, ["p1", "p2"], "solr")
    assert hits.X.tolist() == [[PRODUCTS[one]["price"]] for one in hits.docid]
    logged = {"query": {"bool": {"must": {"match": {"query": "{query}"}}}}, "ext": {"ltr_log": {}}}
    plugin = settings_of(server, "elasticsearch", request=logged, features=["title_query"])
    both = EngineCollection([plugin, second])
    assert both.search(QUERY).note == ""
    assert both.search(QUERY, "solr").note == "solr does not return title_query, which count as 0."


def test_an_engine_stands_beside_an_index(server):
    own = {docid: one for docid, one in PRODUCTS.items() if docid != "p4"}
    texts = {name: [str(one[name]) for one in own.values()] for name in ("title", "description")}
    collection = TextCollection(build_index(texts, docid=list(own), positions=True), "shop", "shop")
    collection.add_engine(Engine(settings_of(server, "solr")))
    hits = collection.search(QUERY, "solr")
    assert list(zip(hits.docid, hits.scores.tolist(), strict=True)) == [one for one in found(QUERY) if one[0] != "p4"]
    assert hits.note == "1 document that it found is not in shop and left out."
    by_index = collection.score(QUERY, hits.docid)
    assert hits.X.tolist() == [by_index.X[by_index.docid.index(one)].tolist() for one in hits.docid]
    other = small_collection()
    other.add_engine(Engine(settings_of(server, "solr")))
    with pytest.raises(EngineError, match="small has none of the 4 documents that solr found, such as 'p2'"):
        other.search(QUERY, "solr")


# misbehaviour


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("slow", "did not answer within 0.2 s"),
        ("redirect", r"redirects \(status 302\); redirects are not followed"),
        ("large", "sent more than 16 MB"),
        ("page", "did not return JSON"),
        ("other", "has no list at 'hits.hits'"),
        ("error", "answers with status 400: failed to parse"),
    ],
)
def test_misbehaviour_is_said_in_words(server, mode, words):
    with stand_in() as other:
        server.mode, server.other = mode, other.server_address[1]
        with pytest.raises(EngineError, match=words):
            Engine(settings_of(server, "elasticsearch", timeout=0.2 if mode == "slow" else 5.0)).search("x")
        assert other.asked == []  # a redirect to another host is not followed


def test_secrets_reach_the_engine_and_nobody_else(server, kept, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    server.secret = True
    settings = settings_of(server, "elasticsearch", headers={"Authorization": f"ApiKey {SECRET}"})
    client = page_of(client_of(EngineCollection([settings]), kept))
    answers = [client.get("/", params={"q": QUERY}), client.get("/collection"), client.get("/api/v1/collection")]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert server.asked[-1][2]["Authorization"] == f"ApiKey {SECRET}"
    server.mode = "error"  # it repeats the header in its message
    failed = client.get("/", params={"q": "other"})
    assert failed.status_code == 502
    assert "failed to parse, header was …" in failed.text
    shown = "".join(answer.text for answer in (*answers, failed)) + caplog.text + "".join(capfd.readouterr())
    assert SECRET not in shown + repr(settings)
    server.mode, server.secret = "", True
    with pytest.raises(EngineError, match=r"rejects the credentials \(status 401\)"):
        Engine(settings_of(server, "elasticsearch")).search("x")


def test_the_workbench_stays_up_while_an_engine_is_down(kept):
    with stand_in() as server:
        collection = EngineCollection([settings_of(server, "elasticsearch")])
        client = page_of(client_of(collection, kept))
        judged = client.post("/api/v1/judgements", json={"query": QUERY, "docid": "p3", "grade": 1})
        assert judged.status_code == 200
        hostile = client.get("/document", params={"docid": "p4"})
        assert "&lt;script&gt;alert(1)" in hostile.text
    page = client.get("/", params={"q": "tent"})
    assert page.status_code == 502
    assert "cannot be reached" in page.text
    assert client.get("/").status_code == 200
    assert client.get("/collection").status_code == 200
    assert client.get("/api/v1/export", params={"format": "qrels"}).text == "bicycle%20bell 0 p3 1\n"
    # a list that is still cached can be judged
    assert client.post("/api/v1/judgements", json={"query": QUERY, "docid": "p1", "grade": 0}).status_code == 200


# settings


def write(tmp_path, text):
    path = tmp_path / "engine.toml"
    path.write_text(text)
    return path


def test_settings_are_read_from_a_file_with_secrets_of_the_environment(tmp_path):
    path = write(tmp_path, 'kind = "solr"\nurl = "http://127.0.0.1:8983/solr/shop"\nfields = ["title", "body"]\n'
                 'headers = { Authorization = "Basic ${KEY}" }\nsize = 20\n')  # fmt: skip
    settings = read_engine(path, {"KEY": "abc"})
    assert (settings.name, settings.fields, settings.size) == ("solr", ["title", "body"], 20)
    assert settings.headers == {"Authorization": "Basic abc"}
    with pytest.raises(ValueError, match="the environment variable KEY is not set"):
        read_engine(path, {})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind", "is not a TOML file"),
        ('kind = "solr"', "url is missing"),
        ('kind = "sphinx"\nurl = "http://a/b"', "kind: Input should be 'elasticsearch', "),
        ('kind = "solr"\nurl = "file:///etc/passwd"', "must begin with http"),
        ('kind = "solr"\nurl = "http://me:pass@a/b"', "contains a user name or password"),
        ('kind = "json"\nurl = "http://{query}/b"\nhits = "a"', "in its query string only"),
        ('kind = "json"\nurl = "http://a/{query}"\nhits = "a"', "in its query string only"),
        ('kind = "json"\nurl = "http://a/b"\nhits = "a"', "every search would be the same"),
        ('kind = "json"\nurl = "http://a/b?q={query}"', "hits is missing"),
        ('kind = "json"\nurl = "http://a/b?q={query}"\nhits = "a"\ndocument = "http://c/d?i={id}"', "be on one host"),
        ('kind = "solr"\nurl = "http://a/b"\nsize = 5000', "size: Input should be less than or equal to 200"),
        ('kind = "solr"\nurl = "http://a/b"\ncolour = 1', "unknown setting 'colour'"),
        ('kind = "solr"\nurl = "http://a/b"\nfeatures = "text"', "features: Input should be a valid list"),
        ('kind = "solr"\nurl = "http://a/b"\nheaders = { "a b" = "c" }', "cannot be sent"),
    ],
)
def test_wrong_settings_are_refused_in_words(tmp_path, text, words):
    with pytest.raises(ValueError, match=words) as refused:
        read_engine(write(tmp_path, text), {})
    assert "pass@" not in str(refused.value)


def test_an_address_alone_takes_its_credentials_from_the_environment():
    settings = engine_at("solr", "http://127.0.0.1:1/solr/a/", {"PLACKETT_ENGINE_AUTHORIZATION": "Basic x"})
    assert (settings.url, settings.headers) == ("http://127.0.0.1:1/solr/a", {"Authorization": "Basic x"})


@pytest.mark.parametrize(
    ("content", "path", "value"),
    [
        ({"a": {"b": [10, 20]}}, "a.b.1", 20),
        ({"a.b": 1, "a": {"b": 2}}, "a.b", 1),
        ({"a": 1}, "a.b", None),
        ([1, 2], "5", None),
        ({"a": 1}, "", {"a": 1}),
    ],
)
def test_paths_lead_to_values(content, path, value):
    assert value_at(content, path) == value


def test_scores_of_places_are_numbers():
    assert scores_of([]).dtype == np.float64
