"""Reports and their sum."""

from __future__ import annotations

import json

import pytest

from weft.observe import BatchMetrics, BatchReport, Migration, Summary


def metrics(batch: int, migrated: str = "") -> BatchMetrics:
    one = {
        "pairs": 5, "arrived": {"left": 6, "right": 4}, "held": {"left": 30, "right": 10}, "late": {"left": 1, "right": 0},
        "migrated": migrated, "gained": 3, "reason": "samples", "seconds": {"load": 0.05, "state": 0.1, "pairs": 0.2},
        "asked": 12, "routed": 15, "routed_bytes": 600,
    }  # fmt: skip
    other = {**one, "held": {"left": 5, "right": 5}}
    return BatchMetrics.of_tasks(batch, [one, other])


def test_tasks_add_up_and_the_fullest_counts() -> None:
    found = metrics(3)
    assert (found.pairs, found.arrived["left"], found.late["left"]) == (10, 12, 2)
    assert found.imbalance == 40 * 2 / 50


def test_a_report_takes_the_count_behind_a_residual() -> None:
    assert BatchReport.of(3, 2.0, 20, metrics(3), None).pairs == 10
    report = BatchReport.of(3, 2.0, 20, metrics(3), 7)
    assert (report.pairs, report.rate, report.state_rows) == (7, 10.0, 50)
    assert BatchReport.of(3, 0.0, 20, None, None).pairs is None
    assert json.loads(json.dumps(report.to_dict()))["late_left"] == 2


def test_a_summary_adds_batches_up() -> None:
    summary = Summary()
    summary.add(BatchReport.of(0, 1.0, 20, metrics(0), None))
    summary.add(BatchReport.of(1, 3.0, 20, metrics(1, "matrix x 2 -> range x 2"), None))
    assert (summary.batches, summary.pairs, summary.rate, summary.slowest) == (2, 20, 10.0, 3.0)
    assert summary.migrations == [(1, Migration("matrix x 2 -> range x 2", "samples", 6, 0.05))]
    assert summary.to_dict()["migrations"][0]["rows"] == 6


@pytest.mark.paper("001-44")
def test_the_papers_measures_stand_in_every_batch_and_in_the_run() -> None:
    summary = Summary()
    batches = [BatchReport.of(0, 1.0, 20, metrics(0), None), BatchReport.of(1, 3.0, 20, metrics(1, "a -> b"), None)]
    for report in batches:
        summary.add(report)
    one, run = batches[1].to_dict(), summary.to_dict()
    assert (one["active_tasks"], one["requests_per_task"], one["rows_routed"], one["bytes_routed"]) == (
        2,
        12.0,
        30,
        1200,
    )
    assert batches[1].cost == pytest.approx(
        2 * 3.0 + (30 + 6) / 1e6
    )  # tasks for as long as they were held, and bandwidth
    assert (run["active_tasks"], run["peak_tasks"], run["requests_per_task"]) == (2.0, 2, 12.0)
    assert (run["adjustments"], run["rows_migrated"], run["adjustment_seconds"], run["bytes_routed"]) == (
        1,
        6,
        0.05,
        2400,
    )
    assert summary.cost == pytest.approx(8.0 + 66 / 1e6)


def test_tasks_at_rest_do_not_count_as_active() -> None:
    resting = {
        "pairs": 0, "arrived": {"left": 0, "right": 0}, "held": {"left": 0, "right": 0}, "late": {"left": 0, "right": 0},
        "seconds": {},
    }  # fmt: skip
    assert BatchMetrics.of_tasks(0, [resting, {**resting, "asked": 1}]).active == 1
