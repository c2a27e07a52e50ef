"""Broadcast: all get what the root has."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

BROADCAST = Collective("broadcast", (Movement("root", "all"),))
