"""Access, refused requests, limits, and the headers of every response."""

import asyncio
import threading
import time
from urllib.parse import quote, unquote

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("sqlalchemy")

from plackett.apps.access import guard
from plackett.apps.workbench import middleware, tables
from plackett.apps.workbench.app import STATIC
from plackett.apps.workbench.settings import Settings
from tests.apps.workbench.serving import HOME, TOKEN, client_of, judgements_in, page_of

API = "/api/v1"
JUDGEMENT = {"query": "wings", "docid": "d1", "grade": 1}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def make(collection, kept):
    return lambda **settings: client_of(collection, kept, **settings)


@pytest.fixture
def page(make):
    return page_of(make())


def code_of(answer):
    return answer.status_code, answer.json()["code"]


def n_written(kept):
    return len(judgements_in(kept, "small"))


# writing


def test_a_page_of_ours_writes(page, kept):
    own = {"Origin": HOME, "Sec-Fetch-Site": "same-origin"}
    assert page.post(f"{API}/judgements", json=JUDGEMENT, headers=own).status_code == 200
    assert n_written(kept) == 1


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": HOME + ".evil.example"},
        {"Origin": "http://[broken"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": HOME, "Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
def test_a_foreign_page_cannot_write_even_with_our_token(page, kept, headers):
    for route in ("judgements", "preferences", "undo", "reset", "import", "train", "session", "rankers", "refine"):
        assert code_of(page.post(f"{API}/{route}", json=JUDGEMENT, headers=headers)) == (403, "origin")
    assert n_written(kept) == 0
    assert kept.value(tables.jobs.select()) is None


@pytest.mark.parametrize("sent", [None, "", "wrong", "ü" * 10, "x" * 43])
def test_a_write_without_the_pages_token_is_refused(make, kept, sent):
    client = make()
    client.get(f"{API}/session")
    headers = {} if sent is None else {"X-CSRF-Token": sent.encode()}
    assert code_of(client.post(f"{API}/judgements", json=JUDGEMENT, headers=headers)) == (403, "csrf")
    assert n_written(kept) == 0


def test_a_token_without_its_cookie_is_refused_and_so_is_a_made_up_pair(page, kept):
    token = page.headers["X-CSRF-Token"]
    page.cookies.clear()
    assert code_of(page.post(f"{API}/judgements", json=JUDGEMENT)) == (403, "csrf")
    page.cookies.clear()
    headers = {"X-CSRF-Token": "short", "Cookie": "plackett_csrf=short"}
    assert code_of(page.post(f"{API}/judgements", json=JUDGEMENT, headers=headers)) == (403, "csrf")
    # a page that is open during a restart keeps working
    headers = {"X-CSRF-Token": token, "Cookie": f"plackett_csrf={token}"}
    assert page.post(f"{API}/judgements", json=JUDGEMENT, headers=headers).status_code == 200


def test_a_deletion_is_a_write(make):
    assert code_of(make().request("DELETE", f"{API}/rankers", params={"name": "x"})) == (403, "csrf")


def test_a_program_with_the_token_needs_no_page(make):
    client = make(token=TOKEN)
    assert client.post(f"{API}/judgements", json=JUDGEMENT, headers=BEARER).status_code == 200


def test_refine_writes_nothing_and_needs_no_token_of_a_page(make):
    request = {"features": [[1], [2]], "base_scores": [1, 2]}
    assert make().post(f"{API}/refine", json=request).status_code == 200


def test_cookies_are_http_only_and_same_site(make):
    client = make(token=TOKEN)
    answer = client.get("/", params={"token": TOKEN})
    cookies = {one.split("=")[0]: one for one in answer.headers.get_list("set-cookie")}
    assert set(cookies) == {"plackett_csrf", "plackett_token"}
    assert all("httponly" in one.lower() and "path=/" in one.lower() for one in cookies.values())
    assert "SameSite=Strict" in cookies["plackett_csrf"]
    assert TOKEN not in cookies["plackett_token"]


@pytest.mark.parametrize("name", ["a\r\nSet-Cookie: x=1", "a; Path=/x", 'a"b', "名前", "a\x00"])
def test_a_users_name_cannot_become_a_header(page, name):
    answer = page.post(f"{API}/session", json={"user": name})
    cookies = answer.headers.get_list("set-cookie")
    if answer.status_code == 200:
        assert page.get(f"{API}/session").json()["user"] == name
        assert len(cookies) == 1
        value = cookies[0].split(";")[0].partition("=")[2]
        assert value.isascii()
        assert not set(value) & set('\r\n;" ,')
    else:
        assert answer.status_code == 422
        assert cookies == []


@pytest.mark.parametrize(
    ("given", "kept_as"),
    [("山田\u3000太郎", "山田 太郎"), ("Ann\xa0 B", "Ann B"), ("علی\u200cرضا", "علی\u200cرضا"), ("' OR 1=1; --", None)],
)
def test_a_name_that_is_taken_is_the_one_that_judgements_are_kept_under(page, given, kept_as):
    for user in (page.post(f"{API}/session", json={"user": given}), page.get(f"{API}/session")):
        assert user.json()["user"] == (kept_as or given)


@pytest.mark.parametrize("name", ["a\u202eb", "\u200b", "x" * 101])
def test_what_is_no_name_is_refused_and_not_taken_for_another_user(page, kept, name):
    assert page.post(f"{API}/session", json={"user": name}).status_code == 422
    said = {"query": "wings", "docid": "d1", "grade": 1}
    answer = page.post(f"{API}/judgements", json=said, headers={"X-Plackett-User": quote(name)})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert kept.users() == []
    page.cookies.set("plackett_user", quote(name))
    assert page.get(f"{API}/session").json()["user"] == "me"


# access


def test_a_server_with_a_token_refuses_requests_without_it(make):
    client = make(token=TOKEN)
    for path in ("/", f"{API}/session", f"{API}/openapi.json", "/static/x.css", f"{API}/search?q=wings"):
        answer = client.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"
    assert client.get(f"{API}/health").json()["status"] == "ok"
    for wrong in ("", "wrong", TOKEN[:-1], TOKEN + "x", "ü"):
        headers = {"Authorization": f"Bearer {wrong}".encode()}
        assert client.get(f"{API}/session", headers=headers).status_code == 401
        assert client.get("/", params={"token": wrong}).status_code == 401
        assert client.get(f"{API}/session", headers={"Cookie": f"plackett_token={wrong}".encode()}).status_code == 401
    assert client.get(f"{API}/session", headers=BEARER).status_code == 200


def test_the_address_with_the_token_leaves_a_cookie_and_no_token(make):
    client = make(token=TOKEN)
    answer = client.get("/collection", params={"token": TOKEN, "q": "a b"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/collection?q=a+b")
    client = page_of(client)
    assert client.post(f"{API}/judgements", json=JUDGEMENT).status_code == 200
    del client.headers["X-CSRF-Token"]
    assert code_of(client.post(f"{API}/judgements", json=JUDGEMENT)) == (403, "csrf")


def test_the_token_redirect_stays_on_this_server(make):
    answer = make(token=TOKEN).get(f"{HOME}//evil.example/%0d%0aX: 1", params={"token": TOKEN})
    assert answer.headers["location"] == "/evil.example/%0D%0AX%3A%201"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:8765", "", "a b", "10.0.0.1"]
)
def test_a_name_that_was_pointed_at_this_machine_is_refused(make, host):
    assert code_of(make().get(f"{API}/session", headers={"Host": host})) == (400, "host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9000", "127.0.0.1", "127.0.0.2:80", "[::1]:8765"])
def test_the_names_of_this_machine_are_answered(make, host):
    assert make().get(f"{API}/session", headers={"Host": host}).status_code == 200


def test_elsewhere_any_name_is_answered_for_the_token(make):
    client = make(host="0.0.0.0", token=TOKEN)
    assert client.get(f"{API}/session", headers={**BEARER, "Host": "search.example"}).status_code == 200


# headers of every response


@pytest.mark.parametrize(
    "path", ["/", f"{API}/session", "/nothing", f"{API}/nothing", "/static/nothing", f"{API}/lists/0"]
)
def test_every_answer_carries_the_headers_and_no_inline_script(make, path):
    headers = make().get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "camera=()" in headers["permissions-policy"]
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")
    assert "server" not in headers


def test_what_is_not_there_is_a_clean_error(make):
    client = make()
    assert client.get(f"{API}/nothing").json()["error"] == "there is no such page."
    answer = client.put(f"{API}/search", headers={"X-CSRF-Token": ""})
    assert answer.status_code == 403
    answer = page_of(client).put(f"{API}/search")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")
    assert "<script>alert" not in client.get("/<script>alert(1)</script>").text


def nothing_more():
    """Return the ``receive`` of a request without a body whose client stays connected."""
    to_come = [{"type": "http.request", "body": b""}]

    async def receive():
        return to_come.pop() if to_come else await asyncio.Future()

    return receive


def get_as_it_is(app, path):
    """Return the status and the body for a path that no client has normalised."""
    scope = {"type": "http", "method": "GET", "path": unquote(path), "raw_path": path.encode(), "query_string": b"",
             "headers": [(b"host", b"127.0.0.1")], "scheme": "http", "server": ("127.0.0.1", 80), "root_path": "",
             "http_version": "1.1", "client": None}  # fmt: skip
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, nothing_more(), send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


def test_only_the_static_folder_is_served(make):
    app = make().app
    name = next(path.name for path in STATIC.iterdir() if path.is_file())
    assert get_as_it_is(app, f"/static/{name}")[0] == 200
    ways = [
        "../app.py",
        "..%2fapp.py",
        "%2e%2e/app.py",
        "%2e%2e%2fapp.py",
        "..%5capp.py",
        "....//app.py",
        "/etc/passwd",
    ]
    ways += ["%2fetc%2fpasswd", "x/../../app.py", "..%252fapp.py", "%00", "app.py%00.css", ".", "", "..", "../static"]
    for way in ways:
        status, body = get_as_it_is(app, f"/static/{way}")
        assert status == 404, way
        assert b"import" not in body
        assert b"root:" not in body


# limits


def test_a_large_body_is_refused_by_its_length_and_while_it_arrives(make):
    client = page_of(make(max_body=10_000))
    headers = {"Content-Type": "application/json"}
    assert code_of(client.post(f"{API}/import", content=b"x" * 10_001, headers=headers)) == (413, "too-large")
    read = []

    def chunks():
        for number in range(100):
            read.append(number)
            yield b"x" * 1000

    assert code_of(client.post(f"{API}/import", content=chunks(), headers=headers)) == (413, "too-large")
    assert code_of(client.post(f"{API}/undo", json={}, headers={"Content-Length": "x"})) == (413, "too-large")


def slow_route(client):
    """Add a route that responds once the first event is set, and then sets the second."""
    let_go, ended = threading.Event(), threading.Event()

    def slow():
        let_go.wait(60)
        ended.set()
        return {"late": True}

    client.app.add_api_route(f"{API}/slow", slow)
    return let_go, ended


def test_a_slow_request_gets_503_and_its_response_is_dropped(make):
    client = make(seconds=0.5)
    let_go, ended = slow_route(client)
    with client:
        answer = client.get(f"{API}/slow")
        assert code_of(answer) == (503, "slow")
        assert answer.headers["retry-after"] == "1"
        assert not ended.is_set()
        let_go.set()
        assert ended.wait(60)
        assert client.get(f"{API}/health").status_code == 200


def test_an_answer_that_has_begun_is_sent_as_long_as_it_goes_on():
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(6):
            await asyncio.sleep(0.15)
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await send({"type": "http.response.body", "body": b"end"})

    async def send(message):
        sent.append(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [(b"host", b"localhost")]}
    asyncio.run(middleware.SafetyMiddleware(app, Settings(seconds=0.05))(scope, nothing_more(), send))
    assert b"".join(sent) == b"xxxxxxend"


def test_too_many_requests_get_503_until_one_ends(make, monkeypatch):
    monkeypatch.setattr(guard, "MAX_REQUESTS", 1)
    client = make(seconds=0.5)
    let_go, ended = slow_route(client)
    with client:
        assert code_of(client.get(f"{API}/slow")) == (503, "slow")
        assert code_of(client.get(f"{API}/health")) == (503, "busy")  # the slow one still runs
        let_go.set()
        assert ended.wait(60)
        deadline = time.monotonic() + 60
        while client.get(f"{API}/health").status_code != 200:
            assert time.monotonic() < deadline
