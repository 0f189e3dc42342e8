"""Joins in a notebook: a running query as a table that updates in place, and the pages of `weft ui` beside it."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from weft.errors import SpecError
from weft.observe.markup import html_table
from weft.observe.metrics import BatchReport, read_batch
from weft.state import open_folder

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from weft.ui import RunningUi

__all__ = ["ui", "watch"]

_SHOWN = 12


def ui(of: StreamingQuery | str, *, port: int = 0) -> RunningUi:
    """Serve the pages of `weft ui` about a running query, or about a state path, on this machine; needs `weft[ui]`.

    The result shows the address as a link; its `stop()` ends the server.
    """
    pages = import_module("weft.ui")  # the pages are made of what is here, so they are asked for when they are needed
    found: RunningUi = pages.serve([of] if isinstance(of, str) else _states(of), port=port)
    return found


def _states(query: StreamingQuery) -> list[str]:
    """Return where the joins of a query keep their state."""
    from weft.spark import state_paths

    found = state_paths(query)
    if not found:
        raise SpecError.of(
            f"No join of streams is known of query {getattr(query, 'name', None) or getattr(query, 'id', query)}.",
            "Weft knows the queries that this process has started.",
            "give the state path instead: weft.observe.ui('/var/weft').",
        )
    return list(found)


def watch(query: StreamingQuery, *, batches: int | None = None, poll: float = 0.3) -> None:
    """Show the batches of a running query, in place, until it ends, or so many have come.

    Interrupting it stops the watching, not the query. Outside a notebook the last batches are printed once, at the end.
    """
    folders = [open_folder(path) for path in _states(query)[:1]]
    shown: deque[BatchReport] = deque(maxlen=_SHOWN)
    screen = _Screen(str(query.name or query.id))
    seen, count = -1, 0
    try:
        while True:
            active = query.isActive
            for progress in list(query.recentProgress):
                data: dict[str, Any] = json.loads(progress.json)
                number = int(data["batchId"])
                if number > seen and "addBatch" in data.get("durationMs", {}):
                    seen, count = number, count + 1
                    shown.append(_report(data, folders[0]))
            screen.show(shown, active)
            if not active or (batches is not None and count >= batches):
                break
            time.sleep(poll)
    except KeyboardInterrupt:
        pass
    screen.close(shown)


def _report(data: dict[str, Any], folder: Any) -> BatchReport:
    metrics = read_batch(folder, int(data["batchId"]))
    counted = (data.get("observedMetrics") or {}).get("weft.pairs")
    pairs = int(counted["pairs"]) if isinstance(counted, dict) and counted.get("pairs") is not None else None
    seconds = float(data["durationMs"].get("triggerExecution", 0)) / 1000
    return BatchReport.of(int(data["batchId"]), seconds, int(data["numInputRows"]), metrics, pairs)


class _Screen:
    """A place on the page whose content is replaced, or the terminal."""

    def __init__(self, title: str) -> None:
        self.title, self.said = title, ""
        self._html: Any = None
        self._handle: Any = None
        try:
            shown: Any = import_module("IPython.display")
            inside = import_module("IPython").get_ipython() is not None
        except ImportError:
            return
        if inside:
            self._html, self._handle = shown.HTML, shown.display(shown.HTML(""), display_id=True)

    def show(self, reports: Sequence[BatchReport], active: bool) -> None:
        said = batches_html(self.title, reports, active)
        if self._handle is not None and said != self.said:
            self._handle.update(self._html(said))
        self.said = said

    def close(self, reports: Sequence[BatchReport]) -> None:
        if self._handle is None:
            for one in reports:
                print(one.to_dict())  # noqa: T201  a person asked to see it


def batches_html(title: str, reports: Sequence[BatchReport], active: bool) -> str:
    """Return batches as a table with what moved, for a notebook."""
    names = ("batch", "left in", "right in", "pairs out", "rows/s", "state rows", "late", "imbalance", "seconds", "")
    rows = [
        (
            one.batch, one.rows["left"], one.rows["right"], "?" if one.pairs is None else one.pairs, round(one.rate),
            one.state_rows, sum(one.late.values()), f"{one.imbalance:.2f}", f"{one.seconds:.2f}",
            "; ".join([*([str(one.migration)] if one.migration else []), *(["migrating"] if one.moving else [])]),
        )
        for one in reports
    ]  # fmt: skip
    state = "running" if active else "stopped"
    return html_table(names, rows, f"{title}, {state}{'' if reports else ', no batch yet'}")
