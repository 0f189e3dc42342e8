"""What the server's workers are like: asked by one small job for each session, because nothing of it can be seen from the client.

The client may run anywhere. So the state folder is looked at where tasks will use it, and so is Weft itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from weft.errors import SpecError, StateError, WeftError
from weft.state import Care, open_folder

__all__ = ["checked_state", "cores"]

_MANY = 1 << 12
_CORES: dict[str, int] = {}
_STATES: dict[tuple[str, str], str] = {}


@dataclass(frozen=True)
class Asked:
    """Tells of the worker that it runs in; it travels to the server."""

    state: str = ""
    care: Care | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Answer once for each partition."""
        for _ in batches:
            pass
        yield pa.record_batch([pa.array([json.dumps(self._told())])], names=["told"])

    def _told(self) -> dict[str, str]:
        if not self.state:
            return {}
        try:
            folder = open_folder(self.state, self.care or Care())
            folder.check_writable()
        except WeftError as error:
            return {"refused": str(error)}
        return {"path": folder.path if folder.local else self.state}


def _ask(spark: SparkSession, asked: Asked, partitions: int | None) -> list[dict[str, str]]:
    slots = spark.range(_MANY) if partitions is None else spark.range(0, partitions, 1, partitions)
    try:
        found = slots.mapInArrow(asked, "told string").toArrow().column(0).to_pylist()
    except PySparkException as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        missing = next((line for line in lines if "ModuleNotFoundError" in line or "PYTHON_VERSION" in line), lines[0])
        raise WeftError.of(
            f"The server's Python workers cannot run Weft: {missing}",
            "On Spark Connect, joins run in the workers of the server.",
            "install the same version of weft there, for the same version of Python as here.",
        ) from None
    return [json.loads(told) for told in found]


def cores(spark: SparkSession) -> int:
    """Return the server's default parallelism; refuse one whose workers have no Weft."""
    session = str(spark.session_id)  # type: ignore[attr-defined]
    if session not in _CORES:
        _CORES[session] = max(1, len(_ask(spark, Asked(), None)))
    return _CORES[session]


def checked_state(spark: SparkSession, path: str, care: Care) -> str:
    """Return the state path as tasks will open it; refuse one that the server's workers cannot write."""
    if "://" not in path and not path.startswith(("/", "file:")):
        raise SpecError.of(
            f"state={path!r} is relative.",
            "The client and the workers of the server have different working directories.",
            "give an absolute path or a URI, such as 'file:///var/weft'.",
        )
    key = str(spark.session_id), path  # type: ignore[attr-defined]
    if key not in _STATES:
        (told,) = _ask(spark, Asked(path, care), 1)
        if "refused" in told:
            what, _, rest = told["refused"].partition("\n")
            raise StateError(f"{what}\n{rest}" if rest else what)
        _STATES[key] = told["path"]
    return _STATES[key]
