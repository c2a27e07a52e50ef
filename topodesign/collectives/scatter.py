"""Scatter: the root has a block for every member, and each gets its own."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

SCATTER = Collective("scatter", (Movement("root", "each"),))
