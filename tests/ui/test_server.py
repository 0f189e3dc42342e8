"""The server: what it serves, to whom, and what a browser may do with it."""

from __future__ import annotations

import hmac
import http.client
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from tests.ui.states import HOSTILE, Ticks
from weft.errors import NoSuchState, SpecError
from weft.ui import RunningUi, Watcher, frozen_page, serve
from weft.ui.assets import SCRIPTS, STYLES, asset
from weft.ui.guard import COOKIE, Guard, check_address

TOKEN = "a-secret-of-nine-words"


@pytest.fixture(scope="module")
def watcher(tmp_path_factory: pytest.TempPathFactory) -> Watcher:
    home = tmp_path_factory.mktemp("state")
    (home / "outside.txt").write_text("not for you")
    Ticks(home / "state").feed(8)
    made = Watcher([str(home / "state")])
    made.look()
    return made


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode()

    def json(self) -> Any:
        return json.loads(self.content)


@dataclass(frozen=True)
class Client:
    """Asks a server for paths exactly as they are spelled, which browsers and most libraries do not."""

    running: RunningUi

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def ask(self, method: str, path: str, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", _port(self.running), timeout=30)
        try:
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()


def _port(running: RunningUi) -> int:
    return int(urlsplit(running.url).port or 0)


@pytest.fixture(scope="module")
def client(watcher: Watcher) -> Iterator[Client]:
    running = RunningUi(watcher, "127.0.0.1", 0, None).start()
    yield Client(running)
    running.stop()


@pytest.fixture(scope="module")
def locked(watcher: Watcher) -> Iterator[Client]:
    """Ask the server that wants a token."""
    running = RunningUi(Watcher([path for path, _ in watcher.paths]), "0.0.0.0", 0, TOKEN).start()
    yield Client(running)
    running.stop()


def test_the_pages_come_with_all_their_files(client: Client) -> None:
    page = client.get("/")
    assert page.status == 200 and page.headers["content-type"] == "text/html; charset=utf-8"
    named = re.findall(r'(?:src|href)="/assets/([^"]+)"', page.text)
    assert [name for name in named if name.endswith(".js")] == list(SCRIPTS)
    assert {*named} == {*SCRIPTS, *STYLES, "icon.svg"}
    for name in named:
        file = client.get(f"/assets/{name}")
        assert file.status == 200 and len(file.content) > 100


def test_nothing_is_loaded_from_elsewhere() -> None:
    for name in ("index.html", *SCRIPTS, *STYLES):
        text = (asset(name) or b"").decode().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|//cdn|@import|url\(", text), name
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            name
        )


def test_data_come_as_json(client: Client) -> None:
    (line,) = client.get("/api/queries").json()["queries"]
    body = client.get(f"/api/query/{line['key']}").json()
    assert [one["batch"] for one in body["batches"]] == list(range(8))
    assert [one["batch"] for one in client.get(f"/api/query/{line['key']}?since=5").json()["batches"]] == [6, 7]
    keys = client.get(f"/api/query/{line['key']}/keys").json()["keys"]
    assert keys[0]["label"] == HOSTILE
    assert client.get(f"/api/query/{line['key']}/plan?batch=0").json()["plan"]["batch"] == 0
    assert client.get(f"/api/query/{line['key']}/plan?batch=no").json()["plan"]["kind"] == "table"


def test_events_tell_of_what_is_new(tmp_path: Path) -> None:
    join = Ticks(tmp_path)
    join.feed(1)
    running = serve([str(tmp_path)], port=0, every=0.2)
    try:
        connection = http.client.HTTPConnection("127.0.0.1", _port(running), timeout=30)
        connection.request("GET", "/api/events")
        stream = connection.getresponse()
        told = (int(line.removeprefix(b"data:")) for line in iter(stream.readline, b"") if line.startswith(b"data:"))
        first = next(told)
        join.feed(1)
        assert any(version > first for version in told)
        connection.close()
        (line,) = Client(running).get("/api/queries").json()["queries"]
        assert line["batch"] in (0, 1)
    finally:
        running.stop()
    assert running.wait(5)


# Security


def test_every_answer_forbids_framing_foreign_content_and_guessing(client: Client) -> None:
    for path in ("/", "/assets/app.js", "/api/queries", "/api/query/none", "/nowhere", "/assets/none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert "http" not in policy
        assert headers["x-frame-options"] == "DENY" and headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer" and headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
def test_nothing_can_be_changed(client: Client, method: str) -> None:
    for path in ("/", "/api/queries", "/assets/app.js"):
        assert client.ask(method.upper(), path).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../server.py", "/assets/..%2fserver.py", "/assets/%2e%2e/server.py", "/assets/..%5cserver.py",
        "/assets/%2fetc%2fpasswd", "/assets/__init__.py", "/api/query/..%2f..%2foutside.txt", "/api/query/ticks",
        "/api/query/0-..", "/api/query/%2e%2e%2f%2e%2e/keys", "/outside.txt", "/state/ticks/spec.json",
    ],
)  # fmt: skip
def test_no_path_leads_out(client: Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 404
    assert "not for you" not in answer.text and "root:" not in answer.text and "import" not in answer.text


def test_hostile_values_are_text_in_the_file_too(watcher: Watcher) -> None:
    page = frozen_page(watcher)
    assert HOSTILE not in page
    data = re.search(r'<script type="application/json" id="weft-data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    found = json.loads(data[1])
    (key,) = found["queries"]
    assert found["keys"][key][0]["label"] == HOSTILE
    assert "script-src 'sha256-" in page and "unsafe" not in page.partition("</head>")[0].partition("<style>")[0]


def test_a_foreign_name_is_turned_away_on_loopback(client: Client) -> None:
    assert client.get("/api/queries", host="evil.example").status == 403
    for name in ("localhost:4141", "127.0.0.1", "[::1]:4141"):
        assert client.get("/api/queries", host=name).status == 200


def test_a_token_is_asked_for_and_kept_in_a_cookie(locked: Client) -> None:
    given = quote(TOKEN)
    for path in ("/", "/assets/app.js", "/api/queries", "/api/events", "/?token=wrong", f"/api/queries?token={given}"):
        assert locked.get(path).status == 401
    assert locked.get("/api/queries", authorization="Bearer wrong").status == 401
    assert locked.get("/api/queries", authorization=f"Bearer {TOKEN}").status == 200
    entered = locked.get(f"/?token={given}")
    assert (entered.status, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith(COOKIE) and "HttpOnly" in cookie and "SameSite=strict" in cookie
    assert locked.get("/api/queries", cookie=cookie.partition(";")[0]).status == 200
    assert locked.get("/api/queries", cookie=f"{COOKIE}=wrong").status == 401


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int]] = []
    whole = hmac.compare_digest

    def compared(one: bytes, two: bytes) -> bool:
        seen.append((len(one), len(two)))
        return whole(one, two)

    monkeypatch.setattr(hmac, "compare_digest", compared)
    guard = Guard(TOKEN)
    assert guard.knows(TOKEN) and not guard.knows("") and not guard.knows(TOKEN[:-1]) and not guard.knows("x" * 10_000)
    assert seen == [(32, 32)] * 4, "digests of one length, whatever was given"


def test_another_address_needs_a_token(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="can be reached from other machines, and there is no token"):
        serve([str(tmp_path)], host="0.0.0.0")
    with pytest.raises(SpecError, match="The token has 3 characters"):
        check_address("0.0.0.0", "abc")
    check_address("0.0.0.0", TOKEN)


def test_a_port_that_is_taken_and_a_path_that_is_none_are_told(tmp_path: Path) -> None:
    running = serve([str(tmp_path)], port=0)
    try:
        port = int(running.url.rstrip("/").rpartition(":")[2])
        with pytest.raises(SpecError, match=f"Nothing can listen at 127.0.0.1:{port}"):
            serve([str(tmp_path)], port=port)
    finally:
        running.stop()
    (tmp_path / "file").touch()
    with pytest.raises(NoSuchState, match="is a file"):
        serve([str(tmp_path / "file")], port=0)
