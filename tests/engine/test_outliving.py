"""What a batch leaves behind: rows that no later batch can meet are not kept where they are many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import weft


@pytest.mark.parametrize(("rows", "kept"), [(1000, 11), (13, 13), (30, 11)])
def test_a_batch_longer_than_the_window_is_not_kept_whole(tmp_path, rows: int, kept: int) -> None:
    """Rows one second apart, a window of ten seconds: eleven of a long batch may still find partners."""

    def batch(number: int) -> pa.Table:
        at = np.arange(number * rows, (number + 1) * rows)
        return pa.table({"k": at % 5, "ts": pa.array(at * 1_000_000, pa.timestamp("us", "UTC"))})

    window = weft.within("10 seconds", on="ts", delay="0 seconds")
    join = weft.local.Join(
        batch(0).schema, batch(0).schema, on="l.k <= r.k AND l.k >= r.k", window=window, tasks=1, state=str(tmp_path)
    )
    found = sum(table.num_rows for number in range(3) for table in join.feed(batch(number), batch(number)))
    manifest = join.store.manifest(0, 2)
    assert manifest is not None
    assert {side: segments[-1].rows for side, segments in manifest.segments.items()} == {"left": kept, "right": kept}
    at = np.arange(3 * rows)
    near = (np.abs(at[:, None] - at[None, :]) <= 10) & (at[:, None] % 5 == at[None, :] % 5)
    assert found == near.sum()
