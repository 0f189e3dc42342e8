"""The join step of one task: no clock on the wall, no file of its own, no Spark."""

from __future__ import annotations

from weft.engine.arrivals import Arrivals, Shipment, collect_arrivals, unpack
from weft.engine.clock import Header, watermark
from weft.engine.content_order import content_digest, in_content_order
from weft.engine.control import next_plan, pinned_for
from weft.engine.joiner import Job, Joiner, RowJoiner
from weft.engine.lookup import Lookup, TableLookup
from weft.engine.migrate import migrate
from weft.engine.pairs import TEXTS, Leaving, Pairs
from weft.engine.preserve import Accept
from weft.engine.route import Delivery, Inputs, Intake, Router
from weft.engine.row_ids import ROW_ID, identified
from weft.engine.ship import pack_delivery, pack_header
from weft.engine.sources import Sources
from weft.engine.step import Found, Step, step
from weft.engine.worker import Worker

__all__ = [
    "ROW_ID", "TEXTS", "Accept", "Arrivals", "Delivery", "Found", "Header", "Inputs", "Intake", "Job", "Joiner", "Leaving",
    "Lookup", "Pairs", "Router", "RowJoiner", "Shipment", "Sources", "Step", "TableLookup", "Worker", "collect_arrivals",
    "content_digest", "identified", "in_content_order", "migrate", "next_plan", "pack_delivery", "pack_header", "pinned_for",
    "step", "unpack", "watermark",
]  # fmt: skip
