"""Nobody comes in without the token, and no other page can act in the user's name."""

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import aiohttp
import pytest
import structlog
from helpers.service import becomes, sweep

from bats.master.cli.commands.serving import _link, _page
from bats.master.client import Client
from bats.master.service.master import Master, serving
from bats.master.service.options import Options
from bats.master.web.door import CSRF_HEADER, Door, keep_token

PAGES = ("/", "/metrics", "/healthz", "/api/bags", "/static/app.js", "/nothing")


@pytest.fixture
async def http(master: Master) -> AsyncIterator[aiohttp.ClientSession]:
    """A browser's habits without a browser: cookies are kept, also those of addresses."""
    base = master.web.url.partition("?")[0]
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(base, cookie_jar=jar) as session:
        yield session


def token_of(master: Master) -> str:
    return master.web.url.rpartition("=")[2]


async def test_nothing_is_answered_without_the_token(http: aiohttp.ClientSession) -> None:
    for path in PAGES:
        async with http.get(path) as answer:
            assert answer.status == 401, path
            assert "Set-Cookie" not in answer.headers
            assert "web.url" in (await answer.json())["error"]


async def test_a_wrong_token_is_refused(http: aiohttp.ClientSession, master: Master) -> None:
    token = token_of(master)
    for wrong in ("", "x", token[:-1], token + "x", token.swapcase(), "ü" * 43):
        async with http.get("/", params={"token": wrong}) as answer:
            assert answer.status == 401
        async with http.get("/", cookies={http_cookie(master): "x"}) as answer:
            assert answer.status == 401
    async with http.get("/metrics", headers={"Authorization": "Bearer x"}) as answer:
        assert answer.status == 401
    async with http.get("/api/bags", params={"token": token}) as answer:
        assert answer.status == 401  # only the page takes it from the address


@pytest.mark.parametrize("header", ["Cookie: bats_{port}=", "Authorization: Bearer "])
async def test_bytes_that_are_no_text_are_refused_like_any_other_word(
    master: Master, header: str
) -> None:
    port = master.web.url.split(":")[2].split("/")[0]
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    line = header.format(port=port).encode() + b"\xff\xfe\xed\xa0\x80"
    host = f"Host: localhost:{port}".encode()
    writer.write(b"\r\n".join([b"GET / HTTP/1.1", host, line, b"Connection: close", b"", b""]))
    answer = await reader.readline()
    writer.close()
    assert answer.split()[1] in {b"400", b"401"}


def http_cookie(master: Master) -> str:
    return f"bats_{master.web.url.split(':')[2].split('/')[0]}"


async def test_the_token_is_needed_once_then_a_cookie_does(
    http: aiohttp.ClientSession, master: Master
) -> None:
    async with http.get("/", params={"token": token_of(master)}) as answer:
        assert answer.status == 200
        cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert token_of(master) not in cookie
    for path in PAGES[:-1]:
        async with http.get(path) as answer:
            assert answer.status == 200, path


async def test_every_answer_forbids_foreign_content_and_frames(
    http: aiohttp.ClientSession, master: Master
) -> None:
    for path in ("/", f"/?token={token_of(master)}", "/static/app.js", "/api/bags", "/nothing"):
        async with http.get(path) as answer:
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["Referrer-Policy"] == "no-referrer"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"


async def test_another_page_cannot_cancel_a_bag(
    http: aiohttp.ClientSession, master: Master, client: Client
) -> None:
    bag = (await client.ask("submit", sweep=sweep(2, "sleep 600")))["bag"]
    await becomes(client, bag, lambda status: status.get("running", 0) > 0)
    async with http.get("/", params={"token": token_of(master)}) as answer:
        text = await answer.text()
    word = text.partition('name="page-word" content="')[2].partition('"')[0]
    path = f"/api/bags/{bag}/cancel"
    for headers in (
        {},
        {CSRF_HEADER: "x"},
        {CSRF_HEADER: word, "Sec-Fetch-Site": "cross-site"},
        {CSRF_HEADER: word, "Sec-Fetch-Site": "same-site"},
    ):
        async with http.post(path, json={}, headers=headers) as answer:
            assert answer.status == 403
    async with http.get(path) as answer:
        assert answer.status == 405
    assert (await client.ask("status", bag=bag))["state"] == "running"
    async with http.post(path, json={}, headers={CSRF_HEADER: word}) as answer:
        assert answer.status == 200
    await becomes(client, bag, lambda status: status["over"])


async def test_another_name_for_this_computer_is_not_us(
    http: aiohttp.ClientSession, master: Master
) -> None:
    bearer = {"Authorization": f"Bearer {token_of(master)}"}
    async with http.get("/metrics", headers={**bearer, "Host": "evil.example"}) as answer:
        assert answer.status == 403
    for name in ("localhost:9999", "127.0.0.1", "[::1]:80"):  # a forwarded port is well
        async with http.get("/metrics", headers={**bearer, "Host": name}) as answer:
            assert answer.status == 200


async def test_what_is_wrong_is_said_in_a_sentence(
    http: aiohttp.ClientSession, master: Master
) -> None:
    bearer = {"Authorization": f"Bearer {token_of(master)}"}
    for path in (
        "/api/bags/7/live",
        "/api/bags/nonsense/tasks",
        "/api/bags/7/drawings?width=x",
        f"/api/bags/7/drawings?width={'9' * 5000}",
        "/api/bags/last/tasks/5/log?stream=none",
    ):
        async with http.get(path, headers=bearer) as answer:
            assert answer.status == 400, path
            assert (await answer.json())["error"].endswith(".")
    word = Door(token_of(master), 0, loopback=True).csrf
    for body in ("[]", "{", "x" * 100_000):
        headers = {**bearer, CSRF_HEADER: word}
        async with http.post("/api/bags/7/cancel", data=body, headers=headers) as answer:
            assert answer.status in (400, 413)
            assert (await answer.json())["error"]


async def test_the_token_stays_and_only_its_owner_can_read_it(master: Master) -> None:
    folder = master.home.folder
    for path in (folder / "keys" / "web.json", folder / "web.url"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (folder / "web.url").read_text().strip() == master.web.url
    assert keep_token(folder / "keys" / "web.json") == token_of(master)


async def test_metrics_tell_of_tasks_machines_and_money(
    http: aiohttp.ClientSession, master: Master, client: Client
) -> None:
    bag = (await client.ask("submit", sweep=sweep(40, "sleep 0.2"), budget=10**9))["bag"]
    await becomes(client, bag, lambda status: status.get("running", 0) > 0)
    bearer = {"Authorization": f"Bearer {token_of(master)}"}
    async with http.get("/metrics", headers=bearer) as answer:
        assert answer.content_type == "text/plain"
        lines = (await answer.text()).splitlines()
    values = {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")
    }
    assert values["bats_bags_running"] == 1
    of = f'bag="{bag}"'
    states = ("waiting", "running", "done", "failed", "dropped")
    assert sum(values[f'bats_tasks{{{of},state="{state}"}}'] for state in states) == 40
    assert values[f'bats_machines{{{of},cluster="here",state="up"}}'] == 1
    assert values[f"bats_money_limit{{{of}}}"] == 1
    assert values[f"bats_money_spent{{{of}}}"] == 0
    assert values["bats_loop_lag_seconds"] >= 0
    told = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {name.partition("{")[0] for name in values} == told
    await client.ask("cancel", bag=bag)
    await becomes(client, bag, lambda status: status["over"])


def test_the_token_is_told_to_a_terminal_and_to_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = SimpleNamespace(
        web=SimpleNamespace(
            url="http://127.0.0.1:1/?token=secret",
            address="http://127.0.0.1:1/",
            link=tmp_path / "web.url",
        )
    )
    said = _link(served)  # type: ignore[arg-type]
    assert "secret" not in said.replace("a secret", "")
    assert str(tmp_path / "web.url") in said
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert _link(served) == served.web.url  # type: ignore[arg-type]
    facts = _page(served)  # type: ignore[arg-type]
    assert facts == {"web": "http://127.0.0.1:1/", "web_link": str(tmp_path / "web.url")}


async def test_the_log_of_a_master_says_where_the_token_is_and_not_the_token(
    tmp_path: Path,
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with serving(Options(state=tmp_path, web_port=0)) as master:
            token = token_of(master)
    assert "web.url" in str(logs)
    assert token not in str(logs)
