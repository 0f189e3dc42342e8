"""The figures of the STA paper (5, 6, 11-35), sized for one machine; claims are held against their shapes."""

from __future__ import annotations

__all__: list[str] = []
