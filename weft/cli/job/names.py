"""Names that only Spark knows for sure, judged by their form: masters, formats of sources and sinks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches

__all__ = ["FILES", "SINKS", "SOURCES", "format_trouble", "master_trouble"]

FILES = ("parquet", "json", "csv", "orc", "avro", "xml", "text")
"""Formats that are folders of files."""

_PACKAGED = ("kafka", "delta", "iceberg", "hudi", "pulsar", "kinesis", "eventhubs", "pubsub", "mongodb")
"""Formats that come with a package, and are often met."""

SOURCES = (*FILES, "binaryFile", "rate", "rate-micro-batch", "socket", *_PACKAGED)
SINKS = (*FILES, "console", "noop", "memory", "foreach", "foreachBatch", *_PACKAGED)

_NEAR = 0.75
"""How alike a format and a known one must be to be taken for a slip: json and jsn are, a package's own name is not."""

_MASTER = re.compile(
    r"local|local\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\]|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn"
    r"|spark://[^,:/\s]+:\d+(,[^,:/\s]+:\d+)*|k8s://\S+|(?!spark:|k8s:)[A-Za-z][A-Za-z0-9+.-]*://\S+"
)


def master_trouble(master: str) -> tuple[str, str] | None:
    """Return what is wrong with a master and what would be right, None if its form is sound.

    >>> master_trouble("local[2]"), master_trouble("lokal[2]")[1]
    (None, 'write "local[2]".')
    """
    if _MASTER.fullmatch(master.strip()):
        return None
    forms = "local, local[4], local[*], spark://host:7077, yarn, k8s://https://host:443"
    word, _, rest = master.partition("[") if "[" in master else master.partition("://")
    near = get_close_matches(word.strip().lower(), ("local", "spark", "yarn", "k8s"), n=1)
    right = f"write one such as {forms.split(', ')[1]!r}."
    if near:
        bracket = rest if re.fullmatch(r"(\*|[1-9]\d*)\]", rest) else "*]"
        host = rest.split("/")[0].split(":")[0] or "host"
        told = {
            "local": f"local[{bracket}",
            "spark": f"spark://{host}:7077",
            "yarn": "yarn",
            "k8s": "k8s://https://host:443",
        }
        right = f'write "{told[near[0]]}".'
    return f"{master!r} is not a master that Spark knows. Masters are: {forms}.", right


def format_trouble(name: str, known: Sequence[str], conf: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what is wrong with a format, and what would be right; None where only Spark can tell."""
    brought = any(key.startswith("spark.jars") for key in conf) or "." in name
    if brought or name.lower() in {one.lower() for one in known}:
        return None
    near = get_close_matches(name.lower(), known, n=1, cutoff=_NEAR)
    if not near:
        return None
    right = f'did you mean "{near[0]}"? A format of a package needs [spark].conf "spark.jars.packages", or its class.'
    return f"Spark has no format {name!r}. Formats are: {', '.join(known)}.", right
