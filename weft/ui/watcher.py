"""All queries under some state paths: found as they appear, looked at in turns by one thread."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from weft.errors import NoSuchState, WeftError
from weft.observe import find_query, is_query
from weft.state import Folder, open_folder
from weft.ui.query import QueryModel

__all__ = ["Watcher"]

_MOST = 1_000
"""Queries that are watched; a state path with more is listed in part."""


class Watcher:
    """Knows the queries under state paths, or those that the paths themselves are, and keeps looking at them.

    Only what lies under the paths is ever read, and pages name queries by keys that are made here.
    """

    def __init__(self, paths: Sequence[str], *, every: float = 1.0, now: Callable[[], float] = time.time) -> None:
        self.paths, self.every, self.now = [_opened(path) for path in paths], every, now
        self.trouble: dict[str, str] = {}
        self.version = 0
        """Grows whenever anything is new; pages wait for it."""
        self._models: dict[str, QueryModel] = {}
        self._lines: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    # Looking

    def look(self) -> bool:
        """Find new queries, and read what is new of each; tell whether anything is."""
        fresh = self._find()
        for model in self._known():
            fresh = self._look_at(model) or fresh
        return fresh

    def look_at_all(self) -> None:
        """Look until nothing is left that is to be read."""
        self.look()
        while any(model.history.pending for model in self._known()):
            self.look()

    def _known(self) -> list[QueryModel]:
        with self._lock:
            return list(self._models.values())

    def _look_at(self, model: QueryModel) -> bool:
        with model.lock:
            try:
                fresh = model.look()
            except (WeftError, OSError) as error:  # a file system that does not answer now may answer later
                fresh = self._complain(model.path, error)
            line = model.line(self.now())
        with self._lock:
            fresh = fresh or line != self._lines.get(model.key)
            if model.key in self._models:
                self._lines[model.key] = line
            self.version += fresh
        return fresh

    def _find(self) -> bool:
        fresh = False
        for number, (path, folder) in enumerate(self.paths):
            try:
                found = [(folder, folder.path.rpartition("/")[2])] if is_query(folder) else _below(folder)
            except (WeftError, OSError) as error:
                fresh = self._complain(path, error) or fresh
                continue
            for query, name in found:
                key = f"{number}-{_short(name)}"
                if key not in self._models and len(self._models) < _MOST:
                    with self._lock:
                        self._models[key] = QueryModel(query, key, path)
                    fresh = True
            here = {f"{number}-{_short(name)}" for _, name in found}
            gone = [key for key in self._models if key.startswith(f"{number}-") and key not in here]  # `weft state rm`
            with self._lock:
                for key in gone:
                    del self._models[key]
                    self._lines.pop(key, None)
                self.version += bool(gone)
            fresh = fresh or bool(gone)
        return fresh

    def _complain(self, path: str, error: Exception) -> bool:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        fresh = self.trouble.get(path) != why
        self.trouble[path] = why
        return fresh

    # Asking

    @contextlib.contextmanager
    def asked(self, key: str) -> Iterator[QueryModel | None]:
        """Hold a query while a page asks for it; None where there is none of that key."""
        with self._lock:
            model = self._models.get(key)
        if model is None:
            yield None
            return
        with model.lock:
            yield model

    def lines(self) -> dict[str, Any]:
        """Return all queries in a line each, those with the newest batch first."""
        with self._lock:
            lines = list(self._lines.values())
            trouble = [f"{path}: {why}" for path, why in self.trouble.items()]
        lines.sort(key=lambda line: (-(line["at"] or 0), line["query"]))
        paths = [path for path, _ in self.paths]
        return {
            "paths": paths,
            "queries": lines,
            "trouble": trouble,
            "version": self.version,
            "now": round(self.now() * 1000),
        }

    # Running

    def start(self) -> None:
        """Look again and again, in a thread that ends with the process."""
        self._thread = threading.Thread(target=self._run, name="weft-ui", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            self.look()
            # A look that takes long is followed by a long rest: watching must not cost what is watched.
            self._stop.wait(max(self.every, 10 * (time.monotonic() - began)))

    @property
    def stopped(self) -> bool:
        """Tell whether nobody looks any longer."""
        return self._stop.is_set()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=10)


def _opened(path: str) -> tuple[str, Folder]:
    """Open a state path, or the state of one query below it, given the start of its id; a path may come later."""
    folder = open_folder(path.rstrip("/") or path)
    if folder.is_file():
        hint = "give the join's state= path (conf spark.weft.state)."
        raise NoSuchState.of(f"{path} is a file.", "State is kept in a folder.", hint)
    if folder.exists(""):
        return path, folder
    try:
        return path, find_query(path)
    except NoSuchState:
        return path, folder


def _short(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:12]


def _below(folder: Folder) -> list[tuple[Folder, str]]:
    names = [name for name in folder.names() if not name.startswith(".") and name != "tables"]
    return [(folder / name, name) for name in names if is_query(folder / name)]
