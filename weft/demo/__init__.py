"""What `weft demo` shows: a power plant that sends measurements, and the picture of the alarms."""

from __future__ import annotations

from weft.demo.plant import COLUMNS, Event, Feeder, Plant

__all__ = ["COLUMNS", "Event", "Feeder", "Plant"]
