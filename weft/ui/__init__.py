"""Pages about joins that run, or have run: read from their state paths, served to a browser, or written into one file.

`watcher` looks at state paths and knows what changed, `query` answers what a page asks, `server` serves it and `guard` says to
whom. `assets` is what the browser gets. Nothing here writes to a state path.
"""

from __future__ import annotations

from weft.ui.page import frozen_page
from weft.ui.query import QueryModel
from weft.ui.server import PORT, RunningUi, application, serve
from weft.ui.watcher import Watcher

__all__ = ["PORT", "QueryModel", "RunningUi", "Watcher", "application", "frozen_page", "serve"]
