"""The page and its answers over HTTP: the verbs of the service, behind a door."""

import asyncio
import json
import math
import mimetypes
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib.resources import files
from typing import Any, Final, Protocol

import structlog
from aiohttp import web

from bats.common.errors import BatsError, UsageError
from bats.common.wire.keys import write_private
from bats.master.service.api.answering import VERBS, Call, Service
from bats.master.service.home import Home
from bats.master.web.door import Door, keep_token
from bats.master.web.follow import Drawings, value_drawing
from bats.master.web.metrics import CONTENT_TYPE, metrics

ADDRESS: Final = "web.url"  # in the state folder: where the page is, token and all

_STATIC: Final = {
    "app.js": ("bats.master.web", "static/app.js"),
    "frontier.js": ("bats.master.web", "static/frontier.js"),
    "overview.js": ("bats.master.web", "static/overview.js"),
    "parts.js": ("bats.master.web", "static/parts.js"),
    "tasks.js": ("bats.master.web", "static/tasks.js"),
    "icon.svg": ("bats.master.web", "static/icon.svg"),
    "style.css": ("bats.master.web", "static/style.css"),
    "charts.css": ("bats.master.report", "charts.css"),
}
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_COOKIE_SECONDS: Final = 30 * 86400
_LONGEST_BODY: Final = 64 << 10
_BACKLOG: Final = 128  # connections that wait to be taken
_LAST_DECISIONS: Final = 200  # what a page that has just opened is given
_COMPRESSED: Final = 1 << 10  # bytes, from which on it pays
_HIGHEST_INTEGER: Final = 2**53  # what a browser counts exactly


log = structlog.get_logger()


class _Master(Service, Protocol):
    """The master, as far as the page needs it."""

    @property
    def home(self) -> Home: ...


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UsageError(
            f"The web page cannot listen on {host} port {port}: {error.strerror}. "
            "Choose another port, or 0 for any that is free."
        ) from error


class WebPage:
    """Answers from `start` to `close`; `url` is what its user opens, token included.

    It stands in the file `link`; `address`, without the token, may be told to anybody.
    """

    def __init__(self, master: _Master) -> None:
        options, home = master.options, master.home
        self._master = master
        self._drawings = Drawings(master)
        self._assets = {
            name: files(package).joinpath(path).read_bytes()
            for name, (package, path) in _STATIC.items()
        }
        self._page = files("bats.master.web").joinpath("static/index.html").read_text()
        token = keep_token(home.folder / "keys" / "web.json")
        host = options.web_bind
        self._socket = _listening(host, options.web_port or 0)
        port = self._socket.getsockname()[1]
        self._door = Door(token, port, loopback=host in _LOOPBACK)
        self._runner = web.AppRunner(self._app(), access_log=None, shutdown_timeout=1.0)
        shown = f"[{host}]" if ":" in host else host
        self.address = f"http://{shown}:{port}/"
        self.url = f"{self.address}?token={token}"
        self.link = home.folder / ADDRESS
        write_private(self.link, f"{self.url}\n")
        log.info("web page", address=self.address, link=str(self.link))
        if host not in _LOOPBACK:
            log.warning("the web page is not encrypted; let only a trusted network reach it")

    async def start(self) -> None:
        await self._runner.setup()
        await web.SockSite(self._runner, self._socket).start()

    async def close(self) -> None:
        await self._runner.cleanup()
        self._socket.close()
        with suppress(OSError):
            self.link.unlink()

    def _app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=_LONGEST_BODY)
        app.add_routes(
            [
                web.get("/", self._index),
                web.get("/static/{name}", self._static),
                web.get("/healthz", self._health),
                web.get("/metrics", self._metrics),
                web.get("/api/bags", self._bags),
                web.get("/api/bags/{bag}/live", self._live),
                web.get("/api/bags/{bag}/drawings", self._draw),
                web.get("/api/bags/{bag}/frontier", self._frontier),
                web.get("/api/bags/{bag}/tasks", self._tasks),
                web.get("/api/bags/{bag}/values", self._values),
                web.get("/api/bags/{bag}/tasks/{task}", self._task),
                web.get("/api/bags/{bag}/tasks/{task}/log", self._log),
                web.post("/api/bags/{bag}/{verb:choose|allow|cancel|retry|resume}", self._change),
            ]
        )
        return app

    # --- the door ---------------------------------------------------------------------------------

    @property
    def _guard(self) -> Any:
        @web.middleware
        async def guard(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            try:
                response = await self._answer(request, handler)
            except web.HTTPException as error:
                response = _json({"error": error.reason}, error.status)
            except BatsError as error:
                response = _json({"error": str(error)}, 400)
            except Exception as error:
                log.exception("page failed", path=request.path)
                response = _json({"error": f"The master failed: {type(error).__name__}."}, 500)
            response.headers.update(_HEADERS)
            return response

        return guard

    async def _answer(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if not self._door.knows_host(request.headers):
            return _json({"error": "Ask for this page as localhost or 127.0.0.1."}, 403)
        by_link = request.path == "/" and self._door.is_token(request.query.get("token", ""))
        if not by_link and not self._door.admits(request.cookies, request.headers):
            return _json(
                {"error": f"Open the link in {self._master.home.folder / ADDRESS}: its token "
                 "lets you in. Programs send it as `Authorization: Bearer TOKEN`."}, 401
            )  # fmt: skip
        if request.method not in ("GET", "HEAD") and not self._door.may_change(request.headers):
            return _json({"error": "Only the page itself may do this; reload it."}, 403)
        response = await handler(request)
        if by_link:
            response.set_cookie(
                self._door.cookie_name,
                self._door.cookie,
                max_age=_COOKIE_SECONDS,
                httponly=True,
                samesite="Strict",
            )
        return response

    # --- what is there ----------------------------------------------------------------------------

    async def _index(self, _: web.Request) -> web.Response:
        page = self._page.replace("{{csrf}}", self._door.csrf)
        return web.Response(text=page, content_type="text/html")

    async def _static(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if (data := self._assets.get(name)) is None:
            raise web.HTTPNotFound(reason="There is no such file.")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        response = web.Response(body=data, content_type=kind, charset="utf-8")
        response.enable_compression()
        return response

    async def _health(self, _: web.Request) -> web.Response:
        trouble = self._master.snapshot()["trouble"]
        return _json({"ok": not trouble, "trouble": trouble}, 503 if trouble else 200)

    async def _metrics(self, _: web.Request) -> web.Response:
        running = self._master.bags.running
        seen = {bag: one.engine.view(one.clock()) for bag, one in running.items()}
        text = metrics(self._master.snapshot(), seen)
        return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})

    async def _bags(self, _: web.Request) -> web.Response:
        return _json(await self._ask("bags", {}))

    async def _live(self, request: web.Request) -> web.Response:
        """The headline's numbers, the schedules while one may choose, decisions that are new."""
        body = {"bag": _bag(request)}
        since = _number(request, "decisions", 0)
        status, told = await asyncio.gather(
            self._ask("status", body), self._ask("decisions", {**body, "since": since})
        )
        machines = status.pop("machines", [])
        status["machines_alive"] = len(machines)
        status["decisions"] = told["decisions"][-_LAST_DECISIONS:]
        if status["bag"] in self._master.bags.loaded:
            offered = await self._ask("schedules", body)
            status["schedules"] = offered["schedules"]
            status["chosen"] = offered["chosen"]
        return _json(status)

    async def _frontier(self, request: web.Request) -> web.Response:
        return _json(await self._ask("frontier", {"bag": _bag(request)}))

    async def _draw(self, request: web.Request) -> web.Response:
        number = await Call(self._master, {}, _nothing).bag(_bag(request))
        width, narrow = _number(request, "width", 1000), _number(request, "scatter", 0)
        return _json(await self._drawings.of(number, width, narrow))

    async def _tasks(self, request: web.Request) -> web.Response:
        query = request.query
        body = {
            "bag": _bag(request),
            "filter": query.get("filter", "")[:200],
            "outcomes": [one for one in query.get("outcomes", "").split(",") if one],
            "sort": query.get("sort", "task"),
            "descending": query.get("descending") == "true",
            "offset": _number(request, "offset", 0),
            "limit": min(_number(request, "limit", 25), 200),
        }
        return _json(await self._ask("tasks", body))

    async def _values(self, request: web.Request) -> web.Response:
        """Values that tasks told, and a drawing of one of them against a parameter."""
        call = Call(self._master, {}, _nothing)
        number, query = await call.bag(_bag(request)), request.query
        draw = partial(
            value_drawing,
            number=number,
            value=query.get("value", ""),
            parameter=query.get("parameter", ""),
            width=_number(request, "width", 600),
        )
        return _json(await call.read(draw))

    async def _task(self, request: web.Request) -> web.Response:
        return _json(await self._ask("task", {"bag": _bag(request), "task": _task(request)}))

    async def _log(self, request: web.Request) -> web.Response:
        body = {
            "bag": _bag(request),
            "task": _task(request),
            "stream": request.query.get("stream", "out"),
            "attempt": _number(request, "attempt", 0),
            "offset": _number(request, "offset", 0),
        }
        answer = await self._ask("log", body)
        answer["size"] = len(answer["data"])
        answer["data"] = answer["data"].decode(errors="replace")
        return _json(answer)

    async def _change(self, request: web.Request) -> web.Response:
        try:
            body = await request.json()
        except ValueError:
            body = None
        if not isinstance(body, dict):
            raise UsageError("The body should be a table in JSON.")
        verb = request.match_info["verb"]
        log.info("asked by the web page", verb=verb, bag=_bag(request))
        return _json(await self._ask(verb, {**body, "bag": _bag(request)}))

    async def _ask(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return dict(await VERBS[verb](Call(self._master, body, _nothing)))


async def _nothing(_: Mapping[str, Any]) -> None:
    """Whole answers only: verbs that answer in parts are not asked for here."""


def _bag(request: web.Request) -> int | str:
    name = request.match_info["bag"]
    return int(name) if name.isascii() and name.isdigit() else name


def _task(request: web.Request) -> int:
    return _whole("task", request.match_info["task"])


def _number(request: web.Request, key: str, otherwise: int) -> int:
    given = request.query.get(key)
    return otherwise if given is None else _whole(key, given)


def _whole(key: str, given: str) -> int:
    if not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise UsageError(f"`{key}` should be a whole number, not {given[:40]!r}.")
    return int(given)


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    text = json.dumps(_tame(body), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    response = web.json_response(text=text, status=status)
    if len(text) > _COMPRESSED:
        response.enable_compression()
    return response


def _tame(value: Any) -> Any:
    """JSON has no infinity, and JavaScript no large integers."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _tame(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_tame(part) for part in value]
    if isinstance(value, int) and abs(value) > _HIGHEST_INTEGER:
        return float(value)
    return value
