"""Allreduce: all get the sum of what the members have, as a reduce-scatter and then an allgather."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

ALLREDUCE = Collective("allreduce", (Movement("all", "each"), Movement("each", "all")))
