"""Gather: the root gets the block of every member."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

GATHER = Collective("gather", (Movement("each", "root"),))
