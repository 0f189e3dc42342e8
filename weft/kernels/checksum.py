"""A checksum that runs at memory speed: four independent multiply-rotate lanes over 64-bit words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.kernels.jit import kernel

__all__ = ["checksum"]


@kernel
def _lanes(words: NDArray[np.uint64]) -> np.uint64:
    prime = np.uint64(0x9E3779B185EBCA87)
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    whole = len(words) // 4 * 4
    for i in range(0, whole, 4):
        a = (a ^ words[i]) * prime
        a ^= a >> np.uint64(29)
        b = (b ^ words[i + 1]) * prime
        b ^= b >> np.uint64(29)
        c = (c ^ words[i + 2]) * prime
        c ^= c >> np.uint64(29)
        d = (d ^ words[i + 3]) * prime
        d ^= d >> np.uint64(29)
    for i in range(whole, len(words)):
        a = (a ^ words[i]) * prime
        a ^= a >> np.uint64(29)
    return (a * np.uint64(3)) ^ (b * np.uint64(5)) ^ (c * np.uint64(7)) ^ (d * np.uint64(11))


def checksum(data: bytes | memoryview) -> str:
    """Return 16 hex digits that change with any byte, and with the length.

    >>> checksum(b"weft") == checksum(b"weft"), checksum(b"weft") == checksum(b"wefT")
    (True, False)
    """
    content = np.frombuffer(data, np.uint8)
    whole = len(content) // 8 * 8
    tail = np.zeros(8, np.uint8)
    tail[: len(content) - whole] = content[whole:]
    words = content[:whole].view(np.uint64)
    state = int(_lanes(words)) ^ int(tail.view(np.uint64)[0]) * 0x9E3779B97F4A7C15 ^ len(content) * 0xC2B2AE3D27D4EB4F
    return f"{state & 0xFFFF_FFFF_FFFF_FFFF:016x}"
