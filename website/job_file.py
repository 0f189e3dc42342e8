"""The reference of job files, and their schema for editors, made from the tables that `weft run --check` reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from weft.cli.job import job_schema as schema
from weft.cli.job.model import TABLES, WINDOWS, Field
from weft.cli.job.schema import KEYS, WINDOW_KEYS, WINDOW_KINDS

__all__ = ["job_file_page", "job_keys", "job_schema"]

_EXAMPLE = Path(__file__).parents[1] / "examples" / "sensors.toml"
_TYPES = {
    "text": "text", "texts": "list of texts", "switch": "true or false", "count": "whole number from 1",
    "duration": "duration, or a whole number in the units of the column", "table": "table",
}  # fmt: skip
_ABOUT = """# Job file

A job file describes a whole stream join in TOML: two sources, a join and a sink. `weft new` writes one,
`weft run job.toml --check` checks it without starting Spark, `weft explain job.toml` shows how it would run, and
`weft run job.toml` runs it. See [the command line](command-line.md).

```toml
{example}```

## Completion in your editor

Weft brings a [JSON Schema](job-file.schema.json) of job files. Editors with support for TOML schemas (Even Better TOML in
VS Code, or any editor with the Taplo language server) complete keys with it and mark mistakes while you type:

```sh
weft new --schema > weft-job.schema.json
```

Then name the schema in the first line of the job file; `weft new` does this if the file lies in the same folder:

```toml
#:schema ./weft-job.schema.json
```
"""


def job_schema() -> str:
    """Return the schema as the site serves it."""
    return json.dumps(schema(), indent=2) + "\n"


def job_keys() -> list[str]:
    """Return every key, such as `[join].on` or `[join].window.span`."""
    keys = [f"[{table}].{key}" if table else key for table, fields in TABLES.items() for key in fields]
    return [*keys, *sorted({f"[join].window.{key}" for fields in WINDOWS.values() for key in fields})]


def job_file_page() -> str:
    """Return the page: an example, then every table with its keys."""
    parts = [_ABOUT.format(example=_EXAMPLE.read_text(encoding="utf-8"))]
    parts.append("## The top of the file\n\n" + _rows(TABLES[""], KEYS[""]))
    same = "`[right]` and `[stream]` have the same keys. A self join has `[stream]` instead of `[left]` and `[right]`."
    parts.append(f"## `[left]`, `[right]`, `[stream]`\n\n{same}\n\n" + _rows(TABLES["left"], KEYS.get("left", {})))
    rest = [name for name in TABLES if name not in ("", "left", "right", "stream")]
    parts += [f"## `[{name}]`\n\n" + _rows(TABLES[name], KEYS.get(name, {})) for name in rest]
    parts.append(
        "## `[join].window`\n\nAn inline table. `kind` decides which other keys there are. "
        "[Choosing a window](../guide/windows.md) explains the kinds."
    )
    for kind, fields in WINDOWS.items():
        keys = {key: field for key, field in fields.items() if key != "kind"}
        table = "\n\n" + _rows(keys, WINDOW_KEYS.get(kind, {})) if keys else ""
        parts.append(f'### `kind = "{kind}"`\n\n{WINDOW_KINDS.get(kind, "")}{table}')
    return "\n\n".join(parts) + "\n"


def _rows(fields: Mapping[str, Field], about: Mapping[str, str]) -> str:
    rows = ["| key | value | meaning |", "|---|---|---|"]
    for key, field in fields.items():
        value = _TYPES[field.kind] + (", **required**" if field.required else "")
        if field.choices:
            value = "one of " + ", ".join(f"`{choice}`" for choice in field.choices)
        example = f" Example: `{field.example}`." if field.example else ""
        rows.append(f"| `{key}` | {value} | {about.get(key, '')}{example} |")
    return "\n".join(rows)
