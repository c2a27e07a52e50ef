"""Allgather: every member has a shard, and all get the shards of all."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

ALLGATHER = Collective("allgather", (Movement("each", "all"),))
