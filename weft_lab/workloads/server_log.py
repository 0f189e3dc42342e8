"""Server-log documents like those of Fig. 1 (004-36): logins, file accesses and messages of a company's servers.

The paper's own log is private. This one has what its experiments rest on: several kinds of documents with different
attributes, skewed users and files, values that hang together (a user's address and location, a message's severity), and
in every window values never seen before. Every document has Server, of five values.

`wide` documents have eight attributes instead of four or five. What is added follows from what is there (the rack from the
server, the group from the user, the volume from the file), so wide documents join exactly where narrow ones do.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

__all__ = ["ideal_windows", "log_windows", "server_log"]

_SEVERITY = ("Info", "Warning", "Error", "Critical")
_PLACES = ("Berlin", "Kaiserslautern", "Skopje", "Trier", "Mainz", "Bonn", "Ulm")


def server_log(
    n: int, *, window: int = 0, unseen: float = 0.1, users: int = 400, files: int = 4_000, seed: int = 7, wide: bool = False
) -> pa.Array:  # fmt: skip
    """Return the documents of one window as JSON text.

    A share `unseen` of the documents is about users, files and messages that no other window has.
    """
    draw = np.random.default_rng([seed, window])
    kind = draw.choice(3, n, p=[0.4, 0.4, 0.2])
    fresh = draw.random(n) < unseen
    user = np.minimum((draw.pareto(1.0, n) * 8).astype(np.int64), users - 1)
    file = np.minimum((draw.pareto(0.9, n) * 20).astype(np.int64), files - 1)
    message = np.minimum((draw.pareto(1.2, n) * 3).astype(np.int64), 199)
    few = max(1, n // 50)
    for column in (user, file, message):
        column[fresh] = 1_000_000 * (window + 1) + draw.integers(0, few, int(fresh.sum()))
    server, failed = draw.integers(0, 5, n), draw.random(n) < 0.2
    texts = []
    rows = zip(
        kind.tolist(), user.tolist(), file.tolist(), message.tolist(), server.tolist(), failed.tolist(), strict=True
    )
    for k, u, f, m, s, bad in rows:
        made: dict[str, object] = {"Server": f"srv{s}"}
        if k == 0:
            made |= {"User": f"u{u}", "IP": f"10.{u % 4}.{u // 250 % 250}.{u % 250}", "Location": _PLACES[u % 7],
                     "Login": "failed" if bad else "ok"}  # fmt: skip
        elif k == 1:
            made |= {"User": f"u{u}", "File": f"/share/{f % 50}/{f}", "Access": "denied" if bad else "read"}
        else:
            made |= {"MsgId": m, "Severity": _SEVERITY[m % 4], "Module": f"m{m % 30}"}
        if wide:
            made |= _more(k, u, f, m, s)
        texts.append(json.dumps(made))
    return pa.array(texts, pa.large_string())


def _more(kind: int, user: int, file: int, message: int, server: int) -> dict[str, object]:
    """Return the attributes that follow from those of a document."""
    made: dict[str, object] = {"Rack": server % 3 + 1}
    if kind == 2:
        return made | {"Source": f"service-{message % 11}", "Code": 1000 + message, "Audit": message % 2 == 0,
                       "Queue": f"q{message % 7}"}  # fmt: skip
    made |= {"Group": f"group-{user % 23}"}
    return made | (
        {"Device": f"pc-{user:05d}"} if kind == 0 else {"Volume": f"vol{file % 50}", "Size": file * 37 % 100_003}
    )


def log_windows(windows: int, size: int, *, unseen: float = 0.1, seed: int = 7) -> list[pa.Array]:
    """Return several windows of the log, each with its own unseen values."""
    return [server_log(size, window=window, unseen=unseen, seed=seed) for window in range(windows)]


def ideal_windows(windows: int, size: int, *, added: int = 20, seed: int = 7) -> list[pa.Array]:
    """Return the "ideal execution" of 004-40: one window repeated, each time with a few documents never seen before."""
    base = server_log(size, window=0, unseen=0.0, seed=seed)
    return [
        pa.concat_arrays([base, server_log(added, window=window, unseen=1.0, seed=seed)]) if window else base
        for window in range(windows)
    ]
