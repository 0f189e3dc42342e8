"""The join step of one task: no clock on the wall, no file of its own, no Spark."""

from __future__ import annotations

from weft.engine.clock import Header, watermark
from weft.engine.gather import Pairs
from weft.engine.migrate import migrate
from weft.engine.route import Delivery, Inputs, Router
from weft.engine.ship import Shipment, pack_delivery, pack_header, unpack
from weft.engine.step import Arrivals, Step, step
from weft.engine.worker import Job, Worker, collect_arrivals, pinned_for

__all__ = [
    "Arrivals", "Delivery", "Header", "Inputs", "Job", "Pairs", "Router", "Shipment", "Step", "Worker",
    "collect_arrivals", "migrate", "pack_delivery", "pack_header", "pinned_for", "step", "unpack", "watermark",
]  # fmt: skip
