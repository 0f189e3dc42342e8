"""Who may see the pages, and what a browser may do with them.

Nothing is loaded from elsewhere, nothing may frame a page, and nothing can be changed. On a loopback address the name that the
browser asked for must be a loopback name too, so that no web site can look in by pointing its own name there; on any other
address a token is needed, which is compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie

from weft.errors import SpecError

__all__ = ["COOKIE", "HEADERS", "Guard", "check_address", "is_loopback"]

COOKIE = "weft_token"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""Of every answer."""

_SHORTEST = 8


def is_loopback(host: str) -> bool:
    """Tell whether an address is reached from this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_address(host: str, token: str | None) -> None:
    """Refuse an address that others reach without a token."""
    if not is_loopback(host) and not token:
        raise SpecError.of(
            f"--host {host} can be reached from other machines, and there is no token.",
            "The pages show keys and conditions of your data.",
            "add --token with a secret of your own (or set WEFT_UI_TOKEN), or leave --host out.",
        )
    if token is not None and len(token) < _SHORTEST:
        raise SpecError.of(
            f"The token has {len(token)} characters.", f"It needs at least {_SHORTEST}.",
            "use the output of: python -c 'import secrets; print(secrets.token_urlsafe())'",
        )  # fmt: skip


class Guard:
    """Decides on one request by its headers."""

    def __init__(self, token: str | None) -> None:
        self._digest = hashlib.sha256(token.encode()).digest() if token else None

    def knows(self, token: str) -> bool:
        """Compare a token, in time that does not depend on where it differs."""
        return self._digest is not None and hmac.compare_digest(hashlib.sha256(token.encode()).digest(), self._digest)

    @property
    def asks(self) -> bool:
        """Tell whether a token is needed."""
        return self._digest is not None

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Tell whether a request may be answered: by its token, or on a loopback address by the name it asks for."""
        if not self.asks:
            return is_loopback(_name(headers.get("host", "")))
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.knows(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and self.knows(cookie.value)


def _name(host: str) -> str:
    """Return a Host header without its port.

    >>> _name("localhost:4141"), _name("[::1]:4141"), _name("evil.example")
    ('localhost', '::1', 'evil.example')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
