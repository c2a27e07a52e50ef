"""Scatter: the root has a block for every member, and each gets its own."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

_NONE = (("msccl", None), ("msccl-executor", None), ("rccl", None))  # their parsers know no such word

SCATTER = Collective("scatter", (Movement("root", "each"),), labels=_NONE)
