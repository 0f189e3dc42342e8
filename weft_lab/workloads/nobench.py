"""NoBench documents (004-39), and the capped ones that can join (004-38).

With only `num` removed, as the paper has it, no two NoBench objects join: str1, str2, dyn1 and nested_obj are in every object
and different in each. So `joinable` leaves these out, with dyn2, whose value is the seed itself in two objects of three, and
caps `thousandth`; what remains is bool, thousandth, nested_arr and the ten sparse attributes of a cluster.
"""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pyarrow as pa

__all__ = ["WORDS", "nobench", "nobench_object"]

WORDS = (
    "the", "of", "and", "a", "to", "in", "is", "you", "that", "it", "he", "was", "for", "on", "are", "as", "with", "his",
    "they", "I", "at", "be", "this", "have", "from",
)  # fmt: skip


def _b32(number: int) -> str:
    return base64.b32encode(f"{number:b}".encode()).decode()


def nobench_object(s: int, n: int, draw: random.Random) -> dict[str, Any]:
    """Return the object of seed `s` of `n`, as NoBench makes it."""
    half = (s + n // 2) % n
    first = s % 100 * 10
    made: dict[str, Any] = {
        "str1": _b32(s), "str2": _b32(half), "num": s, "bool": s % 2 == 1,
        "dyn1": _b32(s) if s % 20 == 0 else s,
        "dyn2": s if s % 3 == 0 else _b32(s) if s % 3 == 1 else s % 2 == 1,
        "nested_arr": [draw.choice(WORDS) for _ in range(s % 8)],
        "nested_obj": {"str": _b32(half), "num": half},
    }  # fmt: skip
    made.update({f"sparse_{first + k:03d}": _b32(s % 11) for k in range(10)})
    made["thousandth"] = s % 1000
    return made


def nobench(
    n: int, *, joinable: bool = True, start: int = 0, cap: int = 40, words: int = 2, seed: int = 42, unseen: float = 0.0
) -> pa.Array:  # fmt: skip
    """Return `n` objects from seed `start` on, in shuffled order, as JSON text.

    Joinable ones have `thousandth` capped to `s mod cap` and `nested_arr` to a set of at most `words` words from the first few
    of the list; without `joinable` only `num` is removed, as in the paper. Capped objects bring nothing new after a thousand or
    two, while in the paper every window has pairs never seen before: a share `unseen` of the objects has a `thousandth` that
    no other `start` has.
    """
    draw = random.Random(f"nobench {seed} {start}")
    rows = list(range(start, start + n))
    draw.shuffle(rows)
    texts = []
    for s in rows:
        made = nobench_object(s, max(n, 1), draw)
        del made["num"]
        if joinable:
            for name in ("str1", "str2", "dyn1", "dyn2", "nested_obj"):
                del made[name]
            fresh = unseen > 0 and draw.random() < unseen
            made["thousandth"] = 1000 + start + draw.randrange(max(1, n // 50)) if fresh else s % cap
            made["nested_arr"] = sorted(WORDS[: s % 8 % (words + 1)])
        texts.append(json.dumps(made))
    return pa.array(texts, pa.large_string())
