"""STA, the stream-aware inequality join: hot keys get tasks of their own (000).

`scheme` decides which keys are hot, `plan` routes them. The paper's competitors are in the laboratory.
"""

from __future__ import annotations

from weft.routing.sta.plan import StaPlan
from weft.routing.sta.scheme import Sta, checkpoint_of, new_here, newest_of, newest_seen, two_choices

__all__ = ["Sta", "StaPlan", "checkpoint_of", "new_here", "newest_of", "newest_seen", "two_choices"]
