"""An S3 server for tests: `versitygw` (`tests/s3_program.py`), behind a proxy that counts, delays and fails.

Where the server cannot be built, tests that need it are skipped.
"""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.s3_program import WHY, built

__all__ = ["Proxy", "Served", "serving"]

KEY, SECRET, BUCKET = "weft", "weftweft", "bucket"


@dataclass
class Served:
    """A running server with one bucket, and the proxy before it."""

    root: Path
    port: int
    proxy: Proxy

    def uri(self, path: str = "state", *, direct: bool = False) -> str:
        """Return the URI of a folder, through the proxy unless it is to be `direct`."""
        port = self.port if direct else self.proxy.port
        return f"s3://{KEY}:{SECRET}@{BUCKET}/{path}?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"

    def files(self) -> list[str]:
        """Return the keys of all objects."""
        bucket = self.root / BUCKET
        return sorted(file.relative_to(bucket).as_posix() for file in bucket.rglob("*") if file.is_file())


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Run a server over a folder, or skip the test."""
    program = built()
    if program is None:
        pytest.skip(WHY)
    data, side = folder / "data", folder / "side"
    (data / BUCKET).mkdir(parents=True)
    side.mkdir()
    port = free_port()
    command = [
        str(program),
        "--port",
        f"127.0.0.1:{port}",
        "--quiet",
        "--keep-alive",
        "posix",
        "--sidecar",
        str(side),
        str(data),
    ]
    keys = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env={**os.environ, **keys}, stdout=log, stderr=log)
    try:
        _wait(port, server)
        with proxied(port) as proxy:
            yield Served(data, port, proxy)
    finally:
        server.kill()
        server.wait()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the S3 server does not answer")


Fault = Callable[[str, str, int], str]
"""From method, path and number of a request to what goes wrong: "", a status ("503"), the answer ("cut"), all ("refuse")."""


@dataclass
class Proxy:
    """Passes requests on, counts them, takes its time, and lets some of them fail."""

    port: int = 0
    delay: float = 0.0
    fault: Fault | None = None
    seen: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def forget(self) -> None:
        """Begin to count anew."""
        with self.lock:
            self.seen.clear()

    def kinds(self) -> Counter[str]:
        """Return how many requests of each kind there were: PUT, GET, HEAD, LIST, DELETE, POST."""
        with self.lock:
            return Counter(line.split()[0] for line in self.seen)


def _kind(method: str, path: str) -> str:
    return "LIST" if method == "GET" and "list-type=" in path else method


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients go away, and some are made to."""


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """Stand before a server on this machine."""
    proxy = Proxy()
    server = _Quiet(("127.0.0.1", 0), _handler(proxy, port))
    proxy.port = int(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(proxy: Proxy, port: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        upstream: http.client.HTTPConnection | None = None
        _headers_buffer: list[bytes]

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

        def _pass(self) -> None:
            body = self._body()
            with proxy.lock:
                proxy.seen.append(f"{_kind(self.command, self.path)} {self.path}")
                number = len(proxy.seen)
            fault = proxy.fault(self.command, self.path, number) if proxy.fault is not None else ""
            if proxy.delay:
                time.sleep(proxy.delay)
            if fault == "refuse":
                self.close_connection = True
                return
            if re.fullmatch(r"\d{3}", fault):
                self._answer(
                    int(fault),
                    b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>",
                    [],
                )
                return
            try:
                found = self._asked(body)
            except (OSError, http.client.HTTPException):  # it ended a connection that was kept
                self.upstream = None
                found = self._asked(body)
            self._answer(found.status, found.read(), found.getheaders(), cut=fault == "cut")

        def _asked(self, body: bytes) -> http.client.HTTPResponse:
            if self.upstream is None:
                self.upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            self.upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "expect":
                    self.upstream.putheader(name, value)
            self.upstream.endheaders(body or None)
            return self.upstream.getresponse()

        def _body(self) -> bytes:
            """Return what comes with a request as it travels: in chunks, if it does."""
            if "chunked" not in (self.headers.get("Transfer-Encoding") or ""):
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            parts = []
            while True:
                parts.append(self.rfile.readline())
                size = int(parts[-1].split(b";")[0], 16)
                parts.append(self.rfile.read(size) + self.rfile.readline())
                if not size:
                    return b"".join(parts)

        def _answer(self, status: int, body: bytes, headers: list[tuple[str, str]], *, cut: bool = False) -> None:
            self.send_response_only(status)
            known = [
                one for one in headers if one[0].lower() not in ("content-length", "transfer-encoding", "connection")
            ]
            length = {name.lower(): value for name, value in headers}.get("content-length", str(len(body)))
            for name, value in [*known, ("Content-Length", length if self.command == "HEAD" else str(len(body)))]:
                self.send_header(name, value)
            self._headers_buffer += [b"\r\n", body[: len(body) // 2] if cut else body]  # in one packet
            self.flush_headers()
            if cut:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass  # noqa: N815

    return Handler
