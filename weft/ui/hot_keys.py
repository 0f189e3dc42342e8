"""Hot keys by their values: which they are, what share they have, and where they live.

What tasks noted for control says how often each key came, by its word. The word of a text is a hash, so its text is looked up in
the segments of the tasks that keep it: a few columns of a few files, once per key. Nothing of it touches the join.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import WeftError
from weft.kernels import mix_words, words_of
from weft.routing import AsofPlan, FastJoinPlan, Plan, hash_home
from weft.routing.fastjoin import kept_counts, phi_counts
from weft.state import Folder, Manifest, content_of
from weft.types import SIDES, Side
from weft.ui.words import Column, SideWords

__all__ = ["KeyNames", "hot_keys", "key_columns"]

TOP = 12
"""Hot keys that are listed."""
_BUDGET = {True: 64 << 20, False: 8 << 20}
"""Bytes of segments that a look-up may read, on this machine and elsewhere."""
_LONGEST = 80


def key_columns(plan: Plan, words: Mapping[Side, SideWords]) -> dict[Side, tuple[Column, ...]]:
    """Return the columns that a plan routes by, per side; none where it routes by something else."""
    if not isinstance(plan, (FastJoinPlan, AsofPlan)):
        return {}
    numbers: dict[Side, tuple[int, ...]] = {"left": plan.left, "right": plan.right}
    return {
        side: tuple(words[side].column(number) for number in numbers[side]) for side in SIDES if words[side].columns
    }


@dataclass
class KeyNames:
    """The values of routing keys by their words; what was found once stays known."""

    query: Folder
    known: dict[int, str] = field(default_factory=dict)
    _asked: dict[int, int] = field(default_factory=dict)

    def name(self, key: int, columns: Sequence[Column]) -> str:
        """Write a key; by its word where nothing better is known."""
        if key in self.known:
            return self.known[key]
        if len(columns) == 1 and not columns[0].hashed:
            return columns[0].text(key)
        return Column("", "hash").text(key)

    def learn(
        self, keys: Mapping[int, int], columns: Mapping[Side, Sequence[Column]], manifests: Mapping[int, Manifest]
    ) -> None:  # fmt: skip
        """Look keys up, given the task that keeps each; a key that cannot be found is asked for three times."""
        alone = all(len(some) == 1 and not some[0].hashed for some in columns.values())
        wanted = {key for key in keys if key not in self.known and self._asked.get(key, 0) < 3}
        if alone or not wanted:
            return
        for key in wanted:
            self._asked[key] = self._asked.get(key, 0) + 1
        budget = _BUDGET[self.query.local]
        for task in sorted({keys[key] for key in wanted} & manifests.keys()):
            for side, some in columns.items():
                if not some or any(column.place < 0 for column in some):
                    continue
                for segment in reversed(manifests[task].segments[side]):
                    here = {key for key in wanted if keys[key] == task}
                    if not here or segment.bytes > budget:
                        break
                    budget -= segment.bytes
                    found = self._found(self.query / str(task), segment, some, here)
                    self.known |= found
                    wanted -= found.keys()

    def _found(self, folder: Folder, segment: Any, columns: Sequence[Column], keys: set[int]) -> dict[int, str]:
        try:
            with pa.ipc.open_file(content_of(folder, segment)) as reader:
                table = reader.read_all()
            values = [table.column(f"p{column.place}") for column in columns]
            words = [words_of(value, column.encode)[0] for value, column in zip(values, columns, strict=True)]
        except (WeftError, OSError, pa.ArrowException, KeyError):  # collected meanwhile, or damaged
            return {}
        word = words[0] if len(words) == 1 else mix_words(words)
        listed = np.array(sorted(keys), np.int64)
        place = np.minimum(np.searchsorted(listed, word), len(listed) - 1)
        rows = np.flatnonzero(listed[place] == word)
        which, first = np.unique(word[rows], return_index=True)
        return {
            int(key): " · ".join(_shown(value[int(rows[at])].as_py()) for value in values)
            for key, at in zip(which, first, strict=True)
        }


def _shown(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def hot_keys(plan: Plan, manifests: Mapping[int, Manifest]) -> list[dict[str, Any]]:
    """Return the most frequent keys as their words, with rows kept, arrivals, and the tasks that they live on."""
    notes = [(manifests[task].stats.get("notes", {}) if task in manifests else {}) for task in range(plan.tasks)]
    if isinstance(plan, FastJoinPlan):
        return _of_groups(plan, notes)
    return _of_asof(plan, notes) if isinstance(plan, AsofPlan) else []


@dataclass
class _Sum:
    keys: dict[int, float] = field(default_factory=dict)
    total: float = 0.0

    def add(self, keys: Iterable[int], counts: Iterable[float], total: float) -> None:
        for key, count in zip(keys, counts, strict=True):
            self.keys[key] = self.keys.get(key, 0.0) + count
        self.total += total

    def share(self, key: int) -> float:
        return self.keys.get(key, 0.0) / self.total if self.total else 0.0


def _of_groups(plan: FastJoinPlan, notes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    kept, asked = _Sum(), _Sum()
    try:
        for one in notes:
            for side in SIDES:
                for into, counts in ((kept, kept_counts(dict(one), side)), (asked, phi_counts(dict(one), side))):
                    into.add(counts.keys.tolist(), counts.sure(counts.keys).tolist(), counts.total)
    except (KeyError, TypeError, ValueError):
        return []
    split = {one.key: one for group in plan.split for one in group}
    ranked = sorted(kept.keys.keys() | asked.keys.keys(), key=lambda key: (-kept.share(key) - asked.share(key), key))
    found = []
    for key in ranked[:TOP]:
        word = np.array([key], np.int64)
        owners = sorted({int(plan.owner(group, word)[0]) for group in range(plan.groups)})
        cut = split.get(key)
        found.append({
            "id": str(key), "kept": round(kept.keys.get(key, 0.0)), "kept_share": round(kept.share(key), 5),
            "asked": round(asked.keys.get(key, 0.0)), "asked_share": round(asked.share(key), 5),
            "home": int(plan.home(0, word)[0]), "tasks": list(cut.tasks) if cut else owners,
            "split": f"{cut.shape.rows} × {cut.shape.columns}" if cut else "",
        })  # fmt: skip
    return found


def _of_asof(plan: AsofPlan, notes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    seen = _Sum()
    for one in notes:
        pairs = one.get("keys", [])
        if isinstance(pairs, list):
            seen.add((int(key) for key, _ in pairs), (float(count) for _, count in pairs), float(one.get("rows", 0)))
    if not plan.left:
        return []
    ranked = sorted(seen.keys, key=lambda key: (-seen.keys[key], key))[:TOP]
    homes: NDArray[np.int64] = hash_home(np.array(ranked, np.int64), plan.tasks) if ranked else np.zeros(0, np.int64)
    return [
        {
            "id": str(key), "kept": 0, "kept_share": 0.0, "asked": round(seen.keys[key]),
            "asked_share": round(seen.share(key), 5), "home": int(home),
            "tasks": list(range(plan.tasks)) if key in plan.hot and plan.length else [int(home)],
            "split": "slices of time" if key in plan.hot and plan.length else "",
        }
        for key, home in zip(ranked, homes, strict=True)
    ]  # fmt: skip
