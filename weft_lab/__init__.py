"""The laboratory of Weft: benchmarks beside its peers, the figures of the papers measured again, and torture.

Nothing here is part of a join. `weft` does not know this package; this package may use all of `weft`, also what is not public.
"""

from __future__ import annotations

__all__: list[str] = []
