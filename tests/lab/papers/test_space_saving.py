"""Space-Saving, which the augmented sketch is compared with, against exact counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError
from weft_lab.papers.sta.space_saving import SpaceSaving
from weft_lab.workloads import scattered_keys

streams = st.lists(st.integers(-3, 12), max_size=120)


@pytest.mark.paper("Y04")
@given(streams, streams, st.integers(2, 6), st.booleans())
def test_space_saving_keeps_its_bound(one, two, size, merged):
    summary, other = SpaceSaving(size), SpaceSaving(size)
    for key in one:
        summary.add(key)
    if merged:
        other.update(np.array(two[: len(two) // 2], np.int64))
        for key in two[len(two) // 2 :]:
            other.add(key)
        summary = summary.merge(other)
    else:
        summary.update(np.array(two, np.int64))
    exact, n = Counter(one + two), len(one) + len(two)
    keys = np.array(range(-3, 13), np.int64)
    truth = np.array([exact[int(key)] for key in keys])
    over = summary.estimate(keys) - truth
    assert (over >= 0).all()
    assert (over <= n / size).all()
    assert set(np.array(keys)[truth > n / size].tolist()) <= set(summary.hottest()[0].tolist())


@pytest.mark.paper("Y04")
@pytest.mark.parametrize("z", [1.0, 1.5, 2.0])
def test_the_heaviest_keys_of_a_skewed_stream_are_found(z):
    stream = scattered_keys(np.random.default_rng(3), 60_000, 10_000, z)
    truth = [key for key, _ in Counter(stream.tolist()).most_common(16)]
    summary = SpaceSaving(32)
    summary.update(stream)
    assert len(set(truth) & set(summary.hottest()[0].tolist())) >= 15


def test_one_counter_is_refused():
    with pytest.raises(SpecError, match="at least two"):
        SpaceSaving(1)
