"""Reduce-scatter: every member has data for all shards, and gets the sum of one."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

REDUCE_SCATTER = Collective("reduce-scatter", (Movement("all", "each"),), labels=(("msccl", "reduce_scatter"),))
