"""A short campaign, and the seeds that once failed."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from weft_lab.cli import app
from weft_lab.torture import lives, local_campaign
from weft_lab.torture.draw import Seeded
from weft_lab.torture.local_campaign import local_life, run_local
from weft_lab.torture.spark_campaign import run_drivers, run_workers
from weft_lab.torture.spark_case import SparkCase

SEEDS = Path(__file__).with_name("torture_seeds.txt").read_text(encoding="utf-8").splitlines()
FAILED = [line.split()[:2] for line in SEEDS if not line.startswith("#")]


@pytest.mark.parametrize(("campaign", "seed"), [("local", "0"), *FAILED])  # one at least, while none has failed
def test_seeds_that_once_failed(campaign: str, seed: str) -> None:
    assert campaign == "local"
    assert local_life(int(seed)).pairs


@pytest.mark.slow
def test_a_short_campaign_loses_nothing() -> None:
    tally = run_local(range(30), enough=lambda _: False)
    assert tally.failures == {}
    assert tally.seeds == 30 and tally.deaths > 75 and tally.pairs > 500
    assert {"torn", "aside", "after", "crash", "full", "failing", "lost writes", "left unread", "replays"} <= set(
        tally.counts
    )


def test_a_lost_pair_is_a_failure_with_its_seed(monkeypatch) -> None:
    """The campaign can fail: a joiner that forgets a pair is found out."""
    seed = next(seed for seed in range(100) if local_life(seed).pairs)
    joined = lives._whole
    monkeypatch.setattr(lives, "_whole", lambda *given: Counter(list(joined(*given).elements())[1:]))
    tally = local_campaign.run_local([seed], enough=lambda _: False)
    assert list(tally.failures) == [seed]
    assert "pairs lost" in tally.failures[seed]


def test_the_command_replays_a_seed() -> None:
    done = CliRunner().invoke(app, ["torture", "local", "--seed", "7", "--seeds", "2", "--json"])
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["campaign"], said["first_seed"], said["seeds"], said["failures"]) == ("local", 7, 2, {})


def test_a_seed_gives_the_same_join_on_spark_every_time() -> None:
    assert repr(SparkCase.of(5).case) == repr(SparkCase.of(5).case)
    assert SparkCase.of(5).settings(1) == SparkCase.of(5).settings(1)
    assert len({SparkCase.of(seed).behind for seed in range(30)}) > 3
    assert Seeded(1).pick("abc") == Seeded(1).pick("abc")


@pytest.mark.crash
@pytest.mark.timeout(600)
def test_workers_killed_at_file_operations_and_at_random_moments() -> None:
    tally = run_workers((1, 2), enough=lambda _: False, faults=20_000)
    assert tally.failures == {}
    assert tally.seeds == 2 and tally.deaths >= 3


@pytest.mark.crash
@pytest.mark.timeout(600)
def test_drivers_killed_with_other_settings_in_every_life() -> None:
    # A seed whose streams are long enough for two kills: the last one must not come after the last batch.
    tally = run_drivers([24], enough=lambda _: False, lives=2)
    assert tally.failures == {}
    assert tally.deaths == 2
