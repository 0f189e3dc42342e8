"""How far out of order results are: the bound holds on every small stream, and some stream reaches it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import weft
from weft.errors import SpecError, WeftWarning
from weft.spec import Delays, TimeOrder, Tumbling, Window, Within, lags_of, with_delays
from weft.types import SIDES, Side
from weft_lab import oracle
from weft_lab.oracle import Batch, Row

TIMED: dict[str, Window] = {
    "even": weft.within(2, on="t", delay=1),
    "no delay to wait for": weft.within(2, on="t", delay=0),
    "backward": weft.within(before=3, after=0, on="t", delay=1),
    "forward": weft.within(before=0, after=3, on="t", delay=1),
    "uneven": weft.within(before=1, after=2, on="t", delay=2),
    "slow left": weft.within(1, on="t", left_delay=4, right_delay=0),
    "slow right": weft.within(1, on="t", left_delay=0, right_delay=3),
    "tumbling": weft.tumbling(3, on="t", delay=0),
    "tumbling, delay within a window": weft.tumbling(3, on="t", delay=1),
    "tumbling, delay of a window": weft.tumbling(2, on="t", delay=2),
    "tumbling, slow left": weft.tumbling(3, on="t", left_delay=5, right_delay=0),
    "tumbling, slow right": weft.tumbling(3, on="t", left_delay=0, right_delay=4),
}


def lag_of(batches: list[Batch], window: Window, side: Side, *, itself: bool = False) -> int:
    """Return how far behind the greatest time that left in an earlier batch a time of one side leaves."""
    found = (oracle.self_joined if itself else oracle.joined)(batches, [], window)
    times = [
        (max(one["batch"], two["batch"]), (one if side == "left" else two)["t"]) for one, two in found.pairs
    ]  # a pair leaves with its later row
    lags = [before - t for batch, t in times for earlier, before in times if earlier < batch]
    return max(lags, default=0)


def row(batch: int, t: int) -> Row:
    return {"batch": batch, "t": t}


def small_streams(window: Window, *, itself: bool) -> Iterator[list[Batch]]:
    """Yield every stream of two or three rows in a first batch and one row in a second."""
    span = max(window.before, window.after) if isinstance(window, Within) else 2 * window.size  # type: ignore[union-attr]
    assert isinstance(window, (Within, Tumbling)) and window.delays.known is not None
    times = range(-span - max(window.delays.known.values()) - 1, span + 2)
    for first in (0, 1, 2) if isinstance(window, Tumbling) else (0,):  # where it lies in its window matters
        for old, ahead, new in itertools.product(times, times, times):
            if itself:
                yield [Batch([[row(0, old), row(0, ahead), row(0, first)]]), Batch([[row(1, new)]])]
            else:
                yield [Batch([[row(0, old), row(0, ahead)]], [[row(0, first)]]), Batch([], [[row(1, new)]])]
                yield [Batch([[row(0, first)]], [[row(0, old), row(0, ahead)]]), Batch([[row(1, new)]])]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", TIMED)
def test_the_bound_of_two_streams_is_reached_and_never_passed(name: str, side: Side) -> None:
    window = TIMED[name]
    found = max(lag_of(batches, window, side) for batches in small_streams(window, itself=False))
    assert found == lags_of(window).of(side)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", [name for name in TIMED if "slow" not in name])
def test_the_bound_of_one_stream_is_reached_and_never_passed(name: str, side: Side) -> None:
    window = TIMED[name]
    found = max(lag_of(batches, window, side, itself=True) for batches in small_streams(window, itself=True))
    assert found == lags_of(window, one_stream=True).of(side)


@st.composite
def timed_streams(draw: st.DrawFn) -> tuple[list[Batch], Within | Tumbling]:
    lengths = st.integers(0, 4)
    delays: dict[str, Any] = {"left_delay": draw(lengths), "right_delay": draw(lengths)}
    window: Within | Tumbling
    if draw(st.booleans()):
        window = weft.within(before=draw(lengths), after=draw(lengths), on="t", **delays)
    else:
        window = weft.tumbling(draw(st.integers(1, 5)), on="t", **delays)
    times = st.lists(st.integers(-12, 12), max_size=3)
    batches = [
        Batch([[row(b, t) for t in draw(times)]], [[row(b, t) for t in draw(times)]])
        for b in range(draw(st.integers(2, 4)))
    ]
    return batches, window


@given(timed_streams())
def test_no_stream_passes_the_bound(case: tuple[list[Batch], Within | Tumbling]) -> None:
    batches, window = case
    for side in SIDES:
        bound = lags_of(window).of(side)
        assert bound is not None and lag_of(batches, window, side) <= bound


@pytest.mark.parametrize(
    "window",
    [weft.within(2, on="t"), weft.within(2, on="t", left_delay=1), weft.last(3, order="t"), weft.tumbling_rows(3),
     weft.unbounded()],
    ids=str,
)  # fmt: skip
def test_without_delays_or_over_rows_there_is_no_bound(window: Window) -> None:
    assert lags_of(window) == Delays()


KNOWN: dict[Side, TimeOrder] = {"left": TimeOrder(lag=21), "right": TimeOrder(watermark=3)}


def test_what_is_not_given_comes_from_the_inputs() -> None:
    assert with_delays(weft.within(1, on="t"), KNOWN) == weft.within(1, on="t", left_delay=21, right_delay=3)
    assert with_delays(weft.within(1, on="t", delay=25), KNOWN) == weft.within(1, on="t", delay=25)


def test_a_watermark_behind_a_join_counts_if_it_is_longer() -> None:
    orders: dict[Side, TimeOrder] = {"left": TimeOrder(lag=21, watermark=30), "right": TimeOrder(lag=21, watermark=5)}
    assert with_delays(weft.tumbling(4, on="t"), orders) == weft.tumbling(4, on="t", left_delay=30, right_delay=21)


def test_a_delay_that_loses_pairs_of_a_join_is_refused_with_both_numbers() -> None:
    with pytest.raises(SpecError) as refused:
        with_delays(weft.within(1, left="ts", right="t", delay=5), KNOWN)
    assert str(refused.value).splitlines() == [
        "A delay of 5 is too short for the left side.",
        "Its 'ts' comes from a Weft join and can be 21 out of order; pairs would be lost.",
        "Hint: write left_delay=21, or leave it out: Weft knows the delay of the left side.",
    ]


def test_a_delay_shorter_than_the_users_own_watermark_is_taken_with_a_warning() -> None:
    orders: dict[Side, TimeOrder] = {"left": TimeOrder(), "right": TimeOrder(watermark=3_000_000)}
    with pytest.warns(WeftWarning, match=r"1 second is shorter than the 3 seconds of the watermark on 'ts'"):
        window = with_delays(weft.within("1 second", on="ts", delay="1 second"), orders)
    assert window == weft.within("1 second", on="ts", delay="1 second")


def test_a_delay_behind_a_join_without_bound_is_taken_with_a_warning() -> None:
    orders: dict[Side, TimeOrder] = {"left": TimeOrder(endless=True), "right": TimeOrder()}
    with pytest.warns(WeftWarning, match="does not know how far out of order"):
        with_delays(weft.within(1, on="t", delay=9), orders)


def test_a_watermark_behind_which_rows_were_mixed_anew_says_nothing() -> None:
    orders: dict[Side, TimeOrder] = {"left": TimeOrder(watermark=3, mixed="a union of streams"), "right": TimeOrder()}
    with pytest.raises(SpecError, match="has a watermark of 3, but comes through a union of streams"):
        with_delays(weft.within(1, on="t"), orders)
    assert with_delays(weft.within(1, on="t", delay=9), orders) == weft.within(1, on="t", delay=9)


def test_a_self_join_has_one_delay() -> None:
    orders: dict[Side, TimeOrder] = dict.fromkeys(SIDES, TimeOrder())
    assert with_delays(weft.within(1, on="t", left_delay=4), orders, one_stream=True) == weft.within(1, on="t", delay=4)
    with pytest.raises(SpecError, match="left_delay is 1 and right_delay 2"):
        with_delays(weft.within(1, on="t", left_delay=1, right_delay=2), orders, one_stream=True)


def test_delays_are_told_with_the_window() -> None:
    assert str(weft.within(1, on="t", left_delay=2, right_delay=3)).endswith(", delay 2 for l and 3 for r")
    assert str(weft.tumbling("1 minute", on="t", right_delay="3 s")).endswith(", delay 3 seconds for r")
    with pytest.raises(SpecError, match="got delay= together with left_delay= or right_delay="):
        weft.within(1, on="t", delay=1, left_delay=1)
