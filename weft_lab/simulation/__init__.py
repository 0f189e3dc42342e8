"""Joins of many tasks on one machine: routing alone (`Simulation`), or one task after the other (`measure`)."""

from __future__ import annotations

from weft_lab.simulation.measures import Measures, measured
from weft_lab.simulation.routing import Arrival, Seen, Simulation, arrivals
from weft_lab.simulation.task_loads import BatchLoad, Measured, imbalance_of, measure

__all__ = [
    "Arrival", "BatchLoad", "Measured", "Measures", "Seen", "Simulation", "arrivals", "imbalance_of", "measure", "measured",
]  # fmt: skip
