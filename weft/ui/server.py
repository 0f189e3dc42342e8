"""The server: pages, data as JSON, and events that say when there is something new. Read-only; see `weft.ui.guard`."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from weft.errors import SpecError
from weft.ui.assets import TYPES, asset
from weft.ui.guard import COOKIE, HEADERS, Guard, check_address, is_loopback
from weft.ui.watcher import Watcher

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["PORT", "RunningUi", "application", "serve"]

PORT = 4141
_PULSE = 0.25
"""Seconds between two looks of a page's event stream at what is new."""
_ALIVE = 15.0
"""Seconds after which a silent event stream says that it is alive."""


def application(watcher: Watcher, token: str | None = None) -> Starlette:
    """Return the application over a watcher that somebody keeps looking."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
    from starlette.routing import Route

    guard = Guard(token)

    def page(request: Request) -> Response:
        given = request.query_params.get("token")
        if given is not None and guard.knows(given):  # keep it where no log and no history shows it
            moved = RedirectResponse("/", 303)
            moved.set_cookie(COOKIE, given, httponly=True, samesite="strict")
            return moved
        return Response(asset("index.html"), media_type=TYPES["html"])

    def file(request: Request) -> Response:
        name = str(request.path_params["name"])
        content = asset(name)
        if content is None:
            return JSONResponse({"error": "There is no such file."}, 404)
        return Response(content, media_type=TYPES[name.rpartition(".")[2]])

    def queries(_: Request) -> Response:
        return JSONResponse(watcher.lines())

    def query(request: Request) -> Response:
        with watcher.asked(request.path_params["key"]) as model:
            if model is None:
                return _unknown()
            return JSONResponse(model.body(watcher.now(), _number(request, "since", -1)))

    def plan(request: Request) -> Response:
        with watcher.asked(request.path_params["key"]) as model:
            if model is None:
                return _unknown()
            batch = _number(request, "batch", -1)
            return JSONResponse({"plan": model.plan(batch if batch >= 0 else None)})

    def keys(request: Request) -> Response:
        with watcher.asked(request.path_params["key"]) as model:
            return _unknown() if model is None else JSONResponse({"keys": model.keys()})

    def events(_: Request) -> Response:
        return StreamingResponse(_events(watcher), media_type="text/event-stream")

    def _unknown() -> Response:
        return JSONResponse({"error": "There is no such query, or it was removed."}, 404)

    routes = [
        Route("/", page), Route("/assets/{name}", file), Route("/api/queries", queries), Route("/api/query/{key}", query),
        Route("/api/query/{key}/plan", plan), Route("/api/query/{key}/keys", keys), Route("/api/events", events),
    ]  # fmt: skip
    return Starlette(routes=routes, middleware=[Middleware(_Guarded, guard=guard)])


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.lstrip("-").isdigit() and text.isascii() and len(text) < 18 else default


async def _events(watcher: Watcher) -> AsyncIterator[str]:
    """Send the version whenever it has grown."""
    import asyncio

    sent, told = -1, time.monotonic()
    while not watcher.stopped:
        if watcher.version != sent:
            sent, told = watcher.version, time.monotonic()
            yield f"data: {sent}\n\n"
        elif time.monotonic() - told > _ALIVE:
            told = time.monotonic()
            yield ": alive\n\n"
        await asyncio.sleep(_PULSE)


class _Guarded:
    """Turns strangers away, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self.app, self.guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.datastructures import Headers
        from starlette.requests import Request
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", []), *((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
                ]  # fmt: skip
            await send(message)

        headers = Headers(scope=scope)
        entering = scope["path"] == "/" and self.guard.knows(Request(scope).query_params.get("token", ""))
        if self.guard.admits(headers) or entering:
            await self.app(scope, receive, headed)
            return
        text = (
            "This page needs its token: open /?token=...\n"
            if self.guard.asks
            else "Ask for this page by a loopback name.\n"
        )
        await PlainTextResponse(text, 401 if self.guard.asks else 403)(scope, receive, headed)


class RunningUi:
    """A server in a thread of this process. `url` opens it in a browser; `stop()` ends it."""

    def __init__(self, watcher: Watcher, host: str, port: int, token: str | None) -> None:
        uvicorn = _uvicorn()
        check_address(host, token)
        self.watcher = watcher
        self._socket = _bound(host, port)
        at = self._socket.getsockname()
        shown = "127.0.0.1" if is_loopback(host) and ":" not in at[0] else host
        shown = f"[{shown}]" if ":" in shown else shown
        self.url = f"http://{shown}:{at[1]}/" + (f"?token={token}" if token else "")
        config = uvicorn.Config(
            application(watcher, token), log_level="error", access_log=False, lifespan="off", server_header=False, ws="none",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server: Any = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="weft-ui-server", daemon=True
        )

    def start(self) -> RunningUi:
        """Serve, and look at the state, until `stop()` or the end of the process."""
        self.watcher.start()
        self._thread.start()
        return self

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the server has ended; tell whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End the server and the watching."""
        self.watcher.stop()
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    def __repr__(self) -> str:
        return f"Weft at {self.url}"

    def _repr_html_(self) -> str:
        import html

        url = html.escape(self.url, quote=True)
        return f'<p>Weft is at <a href="{url}" target="_blank" rel="noopener">{url}</a></p>'


def serve(
    paths: Sequence[str], *, host: str = "127.0.0.1", port: int = PORT, token: str | None = None, every: float = 1.0
) -> RunningUi:
    """Start a server over state paths, in a thread."""
    return RunningUi(Watcher(paths, every=every), host, port, token).start()


def _uvicorn() -> Any:
    try:
        import starlette  # noqa: F401  the application needs it
        import uvicorn
    except ImportError as error:
        raise SpecError.of(
            f"The pages need {error.name}, which is not installed.", "It is part of the extra `ui`.", "pip install 'weft[ui]'",
        ) from None  # fmt: skip
    return uvicorn


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 takes any that is free."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, number)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)  # who asks before the server runs waits, and nobody else gets the port
    except (OSError, OverflowError) as error:
        raise SpecError.of(
            f"Nothing can listen at {host}:{port}: {error}.", "Another program may use this port.",
            "give another one: --port 0 takes any that is free.",
        ) from None  # fmt: skip
    return made
