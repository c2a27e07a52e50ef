"""Reduce: the root gets the sum of what the members have."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

REDUCE = Collective("reduce", (Movement("all", "root"),))
