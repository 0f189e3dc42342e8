"""The benchmark over numbers of tasks: its requests, which are the same on every machine, and a small run on Spark."""

from __future__ import annotations

import pytest

from weft_lab.bench.tasks import count, run


def test_requests_of_a_batch_grow_with_the_tasks_whether_it_migrates_or_not() -> None:
    found = {tasks: count(tasks, 500, 9) for tasks in (4, 12)}
    for tasks, (quiet, moving) in found.items():
        assert not quiet["migrates"] and moving["migrates"] and moving["moved"] > 0 == quiet["moved"]
        assert 0.02 < moving["moved"] / moving["held"] < 0.2
        asked = sum(quiet[name] for name in ("get", "put", "list", "head", "delete"))
        assert asked <= 4 * tasks + 10, quiet
        asked = sum(moving[name] for name in ("get", "put", "list", "head", "delete"))
        assert asked <= 8 * tasks + 10, moving
    assert found[12][1]["opened"] <= 4 * found[4][1]["opened"]


@pytest.mark.bench
@pytest.mark.timeout(600)
def test_times_are_measured_beside_a_null_join() -> None:
    results = run((2,), (2,), rows=2000, batches=6)
    (one, two) = (line for line in results if line["case"] == "times")
    assert (one["tasks"], one["partitions"], two["partitions"]) == (2, 1, 2)
    assert min(one["null_s"], one["quiet_s"], one["moving_s"]) > 0 and one["moved"] > 0 and one["pairs"] > 0
