"""The clock on the wall may go back: no file of the state is taken for another, and nothing that is in use goes."""

from __future__ import annotations

import os
import re
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.state.test_segments import _run
from weft.errors import StateError
from weft.observe.leftovers import stale_queries
from weft.state import open_folder
from weft.state.cache import Cache
from weft.state.contents import read_segment
from weft.state.segments import write_segment

ROOT = Path(__file__).parents[2] / "weft"
CLOCKS = re.compile(r"time\.time\(|time_ns|st_[acm]time|\.mtime|datetime\.now|utcnow|\btoday\(|fromtimestamp")
KNOWN = {
    "state/cache.py": "copies of remote segments go after an hour; one that is missing is fetched again",
    "state/contents.py": "tells a file from one put in its place, together with its number and the time of its last change",
    "state/reports.py": "which of several reports of a task is shown to people; what tells attempts apart is in their names",
    "observe/listing.py": "shown to people, and asked by `weft state rm`",
    "cli/state.py": "`weft state rm` keeps what was written lately, or in the future",
    "cli/rollback.py": "`weft state rollback` takes a query that wrote lately for one that runs; its time names the copies",
    "observe/rollback.py": "the same",
    "spark/journal.py": "when a query ended, shown to people",
    "kernels/jit.py": "the oldest compiled kernels go",
}


def test_every_use_of_the_clock_is_known() -> None:
    """A new one needs a reason why no pair depends on it, and a test below."""
    files = [file for file in ROOT.rglob("*.py") if file.relative_to(ROOT).parts[0] != "demo"]
    assert len(files) > 200, "the search has gone blind"
    found = {str(file.relative_to(ROOT)) for file in files if CLOCKS.search(file.read_text(encoding="utf-8"))}
    assert found == set(KNOWN)


def test_a_file_of_the_same_age_and_size_is_looked_at_again(tmp_path: Path) -> None:
    """What was verified once is known by more than its age: the clock went back, or a copy kept the time."""
    folder = open_folder(str(tmp_path))
    table = pa.table({"p0": pa.array(np.arange(50))})
    entry = write_segment(folder, "4-0.arrow", _run(table))
    read_segment(folder, entry, table.schema)
    file = tmp_path / "4-0.arrow"
    before, raw = file.stat(), bytearray(file.read_bytes())
    raw[raw.index(np.arange(50).tobytes())] ^= 1
    aside = tmp_path / "aside"
    aside.write_bytes(raw)
    os.utime(aside, ns=(before.st_atime_ns, before.st_mtime_ns))
    aside.replace(file)
    assert file.stat().st_mtime_ns == before.st_mtime_ns and file.stat().st_size == before.st_size
    with pytest.raises(StateError, match="its checksum does not match"):
        read_segment(folder, entry, table.schema)


@pytest.mark.parametrize("shift", [-86_400, 86_400], ids=["back", "ahead"])
def test_copies_are_fetched_again_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    """A clock that jumps may keep copies for longer, or sweep those in use: what is mapped stays, the rest is fetched."""
    handle = os.open(tmp_path, os.O_RDONLY)
    cache = Cache(str(tmp_path), handle)
    try:
        name = f"{'a' * 16}-4.arrow"
        assert cache.keep(name, pa.py_buffer(b"weft"))
        held = cache.mapped(name)
        now = time.time()
        monkeypatch.setattr("weft.state.cache.time.time", lambda: now + shift)
        cache.sweep(1 << 30)
        assert held is not None and held.to_pybytes() == b"weft"
        assert (cache.mapped(name) is None) == (shift > 0)
    finally:
        os.close(handle)


def test_a_query_that_wrote_in_the_future_is_not_stale(tmp_path: Path) -> None:
    """`weft state rm` goes by age only where there is no checkpoint, and a negative age is young."""
    query = tmp_path / "00000000-0000-0000-0000-000000000001"
    (query / "plans").mkdir(parents=True)
    (query / "0").mkdir()
    (query / "spec.json").write_text("{}")
    now = datetime.now(timezone.utc)
    go, stay = stale_queries(open_folder(str(tmp_path)), timedelta(hours=1), now - timedelta(days=3))
    assert not go and len(stay) == 1
