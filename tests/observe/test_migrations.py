"""Each migration can be seen: in `weft state show`, in the progress of a run, and in the metrics behind both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from weft.cli.app import app
from weft.local import Join
from weft.observe import BatchReport, Summary, inspect_query
from weft.observe.metrics import read_batch
from weft.routing import FastJoin
from weft.state import StateStore, open_folder
from weft_lab.workloads import zipf_keys


def skewed_state(path: Path, batches: int = 8) -> tuple[Path, Join]:
    """Join Zipf keys with a state folder, eight tasks, until keys have moved."""
    rng = np.random.default_rng(1)
    schema = pa.schema({"id": pa.int64(), "key": pa.int64()})
    make: dict[str, Any] = {"on": "l.key = r.key", "scheme": FastJoin(split_hot=True), "tasks": 8}
    fingerprint = Join(schema, schema, **make).spec.fingerprint()
    join = Join(schema, schema, state=StateStore(open_folder(str(path)), "q", fingerprint), **make)
    for _ in range(batches):
        one, two = (pa.table({"id": np.arange(300), "key": zipf_keys(rng, 300, 500, 1.5)}) for _ in range(2))
        for _ in join.feed(one, two):
            pass
    return path / "q", join


@pytest.mark.paper("003-33")
def test_volume_duration_count_flag_and_reason_of_each_migration(tmp_path):
    folder, join = skewed_state(tmp_path)
    decided = {number: join.store.reason(number) for number in range(1, 9) if join.store.reason(number)}
    assert decided, "a migration was decided"
    summary = Summary()
    for batch in range(8):
        metrics = read_batch(open_folder(str(folder)), batch)
        assert metrics is not None
        report = BatchReport.of(batch, 1.0, 600, metrics, None)
        summary.add(report)
        assert (report.migration is not None) == (batch in decided)
        assert report.moving == decided.get(batch + 1, ""), "up from the decision until the batch that moves"
        assert report.to_dict()["moving"] is (batch + 1 in decided)
        if report.migration is not None:
            assert report.migration.reason == decided[batch]
            assert report.migration.rows > 0 and report.migration.seconds > 0
    done = [batch for batch in decided if batch < 8]
    assert [batch for batch, _ in summary.migrations] == done and len(summary.to_dict()["migrations"]) == len(done)
    view = inspect_query(str(folder))
    assert [batch for batch, _ in view.migrations] == done
    before = inspect_query(str(folder), done[0] - 1)
    assert before.moving == decided[done[0]]
    wide = {"COLUMNS": "400", "TERM": "dumb"}
    shown = CliRunner().invoke(app, ["state", "show", str(folder), "--batch", str(done[0] - 1)], env=wide).output
    assert f"{len(done)} in the batches kept" in shown and "rows moved in" in shown and "migrating" in shown
    asked = CliRunner().invoke(app, ["state", "show", str(folder), "--json"]).output
    assert [event["batch"] for event in json.loads(asked)["migrations"]] == done
