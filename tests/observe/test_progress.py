"""Reports and their sum."""

from __future__ import annotations

import json

from weft.observe import BatchMetrics, BatchReport, Migration, Summary


def metrics(batch: int, migrated: str = "") -> BatchMetrics:
    one = {
        "pairs": 5, "arrived": {"left": 6, "right": 4}, "held": {"left": 30, "right": 10}, "late": {"left": 1, "right": 0},
        "migrated": migrated, "gained": 3, "reason": "samples", "seconds": {"load": 0.05, "state": 0.1, "pairs": 0.2},
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
