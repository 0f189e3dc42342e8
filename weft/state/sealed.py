"""Sealed files: JSON with a checksum, such as manifests and plans.

`{"checksum": ..., "body": ...}`; a torn, altered or foreign file is an error that names it, never a silent loss. What comes
damaged from a service is fetched again before it is called so: it may have been cut on its way.
"""

from __future__ import annotations

import json
from typing import Any

from weft.errors import StateError
from weft.kernels import checksum
from weft.state.failures import missing
from weft.state.folder import Folder

__all__ = ["FORMAT", "digest_of", "find_sealed", "open_sealed", "read_sealed", "sealed", "write_sealed"]

FORMAT = 2
"""The version of everything on disk that is written. 2 has histories (`weft.state.task`)."""
READ = (1, 2)
"""The versions that can be read. Others are refused."""

_AGAIN = 3
"""How often a damaged document is fetched from a service."""


def write_sealed(folder: Folder, name: str, body: dict[str, Any]) -> None:
    """Write a sealed file; the same body gives the same bytes."""
    folder.write(name, sealed(body))


def digest_of(body: dict[str, Any]) -> str:
    """Return a checksum of JSON data."""
    return checksum(_text(body))


def _text(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode()


def sealed(body: dict[str, Any]) -> bytes:
    """Return the content of a sealed file."""
    text = _text(body)
    return _head(checksum(text)) + text + b"}"


def _head(seal: str, version: int = FORMAT) -> bytes:
    return f'{{"format":{version},"checksum":"{seal}","body":'.encode()


def _whole(raw: bytes, seal: str, version: int) -> bool:
    """Tell whether the bytes of the body are those that were sealed; they are not encoded again, plans can be long."""
    head = _head(seal, version)
    return raw.startswith(head) and raw.endswith(b"}") and checksum(raw[len(head) : -1]) == seal


def read_sealed(folder: Folder, name: str) -> dict[str, Any]:
    """Read a sealed file and check that it is whole."""
    found = find_sealed(folder, name)
    if found is None:
        raise missing(folder.where(name))
    return found[0]


def find_sealed(folder: Folder, name: str) -> tuple[dict[str, Any], bytes] | None:
    """Return the body of a sealed file and its content, or None if there is no such file."""
    where, left = folder.where(name), 1 if folder.local else _AGAIN
    while True:
        found = folder.find(name)
        if found is None:
            return None
        raw, left = found.to_pybytes(), left - 1
        try:
            return open_sealed(raw, where), raw
        except StateError:
            if not left:
                raise


def open_sealed(raw: bytes, where: str) -> dict[str, Any]:
    """Return the body of a sealed file's content, which must be whole."""
    try:
        found = json.loads(raw)
        body, version = found["body"], found["format"]
    except (ValueError, KeyError, TypeError):
        raise StateError.torn(where, "it is not a complete Weft document") from None
    if version not in READ:
        raise StateError.of(
            f"{where} has state format {version}.",
            f"This Weft reads the formats {' and '.join(map(str, READ))}.",
            "use the Weft version that wrote it, or a new checkpoint.",
        )
    if not _whole(raw, str(found.get("checksum")), version):
        raise StateError.torn(where, "its checksum does not match its content")
    return dict(body)
