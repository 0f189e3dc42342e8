"""One page in one file: the same views with everything that is known of some queries, and nothing that has to be fetched.

Scripts and style stand in the file; a policy in its head names them by their hashes, so that nothing else can run in it. Data
stand in a block that no browser executes, and hold no character that could end it.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from weft.ui.assets import SCRIPTS, STYLES, asset
from weft.ui.watcher import Watcher

__all__ = ["frozen_page"]


def frozen_page(watcher: Watcher) -> str:
    """Return the page of all queries of a watcher that has looked."""
    listed = watcher.lines()
    found: dict[str, Any] = {"list": listed, "queries": {}, "plans": {}, "keys": {}}
    for line in listed["queries"]:
        key = str(line["key"])
        with watcher.asked(key) as model:
            if model is None:
                continue
            found["keys"][key] = model.keys()  # first: it finds the values that reasons and pictures name
            found["queries"][key] = body = model.body(watcher.now())
            drawn = [plan["batch"] for plan in body["plans"] if plan["drawn"]]
            found["plans"][key] = {batch: model.plan(batch) for batch in drawn}
    return _html(json.dumps(found, separators=(",", ":"), allow_nan=False))


def _html(data: str) -> str:
    style, script = ("\n".join(_text(name) for name in names) for names in (STYLES, SCRIPTS))
    policy = (
        f"default-src 'none'; img-src data:; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    icon = base64.b64encode(asset("icon.svg") or b"").decode()
    safe = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Weft</title>
<link rel="icon" href="data:image/svg+xml;base64,{icon}">
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
<div id="app"><p class="quiet pad">Weft needs JavaScript to draw its pages.</p></div>
<script type="application/json" id="weft-data">{safe}</script>
<script>{script}</script>
</body>
</html>
"""


def _text(name: str) -> str:
    return (asset(name) or b"").decode()


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
