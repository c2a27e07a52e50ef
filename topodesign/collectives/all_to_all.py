"""All-to-all: every member has a block for every member."""

from __future__ import annotations

from topodesign.collectives.collective import Collective, Movement

ALL_TO_ALL = Collective("all-to-all", (Movement("each", "each"),))
