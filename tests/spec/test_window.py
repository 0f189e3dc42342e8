"""Windows and durations: what users write, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import weft
from weft.errors import SpecError
from weft.spec.options import microseconds, show_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10 seconds", 10), ("1 second", 1), ("5s", 5), ("100 ms", 0.1), ("1.5 minutes", 90), ("2 h", 7200),
        ("1 hour 30 minutes", 5400), ("1 day", 86400), ("2 weeks", 1209600), ("250 microseconds", 0.00025),
        ("3 µs", 0.000003), (timedelta(minutes=2), 120), ("0 seconds", 0),
    ],
)  # fmt: skip
def test_durations(text: str | timedelta, seconds: float) -> None:
    assert microseconds("within", text) == round(seconds * 1_000_000)


@pytest.mark.parametrize("text", ["", "ten seconds", "10", "10 parsecs", "seconds 10", "10 seconds and more"])
def test_what_is_no_duration_says_which_units_there_are(text: str) -> None:
    with pytest.raises(SpecError, match="not a duration") as caught:
        weft.within(text, on="ts")
    assert "Units are" in str(caught.value)
    assert "Hint:" in str(caught.value)


@pytest.mark.parametrize("duration", ["-1 second", timedelta(seconds=-1), -5])
def test_negative_durations_are_refused(duration: str | timedelta | int) -> None:
    with pytest.raises(SpecError, match="negative"):
        weft.within(duration, on="ts")
    with pytest.raises(SpecError, match="negative"):
        weft.within("1 second" if not isinstance(duration, int) else 1, on="ts", delay=duration)


def test_an_empty_tumbling_window_is_refused() -> None:
    with pytest.raises(SpecError, match="too short"):
        weft.tumbling("0 seconds", on="ts")


@pytest.mark.parametrize("make", [weft.last, weft.tumbling_rows])
@pytest.mark.parametrize("n", [0, -1, 1.5, True, "7"])
def test_counts_are_whole_and_positive(make: Callable[[Any], object], n: object) -> None:
    with pytest.raises(SpecError, match="whole number of at least 1"):
        make(n)


def test_a_time_window_needs_its_columns() -> None:
    with pytest.raises(SpecError, match="needs a time column for the left and right side"):
        weft.within("1 second")
    with pytest.raises(SpecError, match="needs a time column for the right side"):
        weft.tumbling("1 second", left="ts")
    with pytest.raises(SpecError, match="orders only one"):
        weft.last(5, left="ts")


def test_within_takes_a_span_or_two_lengths() -> None:
    with pytest.raises(SpecError, match="either one span or"):
        weft.within(on="ts")
    with pytest.raises(SpecError, match="either one span or"):
        weft.within("1 s", before="1 s", on="ts")
    window = weft.within(before="1 minute", left="a", right="b")
    assert (window.before, window.after, window.left, window.right) == (60_000_000, 0, "a", "b")


def test_numbers_and_durations_do_not_mix() -> None:
    with pytest.raises(SpecError, match="mixes plain numbers with durations"):
        weft.within(5, on="t", delay="1 second")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 seconds"),
        (1, "1 microseconds"),
        (1_000, "1 millisecond"),
        (90_000_000, "90 seconds"),
        (3_600_000_000, "1 hour"),
    ],
)
def test_durations_are_shown_in_the_largest_unit_that_fits(value: int, shown: str) -> None:
    assert show_duration(value) == shown
