"""TACCL-like baseline of TACOS, over quickest paths.

TACOS, section VII-C, for want of a TACCL to run: its own integer program, which ignores during synthesis that chunks
are in each other's way. Its optimum needs no program: a chunk is nowhere sooner than over quickest ways, and a tree of
those brings it to all at once. Chunks are sent in the order in which they would be if none waited.
"""

from __future__ import annotations

from topodesign.plans.plan import Plan
from topodesign.schedulers.demands import ONE_MOVEMENT, complete, lean, order_sends, setting_of, write_flow
from topodesign.schedulers.method import Method, Request, spec_of


def _make(request: Request) -> list[Plan]:
    where, setting = setting_of(request)
    alone = complete(setting, crowded=False)
    timed = write_flow(setting, lean(setting, order_sends(setting, alone)))
    made = {"method": "taccl-like", "uncrowded": str(setting.ending(alone) * setting.tick)}
    return [Plan(where, timed, {"time": timed.time}, spec_of(request), generator=made)]


_LINKS = frozenset({"link_table", "alpha", "bandwidth", "overlap", "ready", "unwind", "chunks"})
OPTIONS = _LINKS | {"root", "only", "without", "group", "placement"}
METHOD = Method("taccl-like", OPTIONS, ONE_MOVEMENT, _make, movement="sends", fabrics=True, auto=False)
