"""Gather: the root gets the block of every member."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

_NONE = (("msccl", None), ("msccl-executor", None), ("rccl", None))  # their parsers know no such word

GATHER = Collective("gather", (Movement("each", "root"),), labels=_NONE)
