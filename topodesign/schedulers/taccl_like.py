"""The TACCL-like baseline of TACOS: every chunk takes its quickest ways, whatever else is on them, and then waits.

TACOS, section VII-C, for want of a TACCL to run: its own integer program, which ignores during synthesis that chunks
are in each other's way. Without that its optimum needs no program: a chunk is nowhere sooner than over quickest ways,
and a tree of those brings it to all at once. What the links can do decides only when things happen: chunks are sent in
the order in which they would be if they did not wait for one another.
"""

from __future__ import annotations

from topodesign.plans.plan import Plan
from topodesign.schedulers.answers import spec_of
from topodesign.schedulers.demands import ONE_MOVEMENT, complete, lean, one_by_one, setting_of, written
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    where, setting = setting_of(request)
    alone = complete(setting, crowded=False)
    timed = written(setting, lean(setting, one_by_one(setting, alone)[0]))
    made = {"method": "taccl-like", "uncrowded": str(setting.ending(alone) * setting.tick)}
    return [Plan(where, timed, {"time": timed.time}, spec_of(request), generator=made)]


OPTIONS = frozenset(
    {
        *("root", "only", "without", "group", "placement", "chunks"),
        *("link_table", "alpha", "bandwidth", "overlap", "ready", "unwind"),
    }
)
METHOD = Method("taccl-like", OPTIONS, ONE_MOVEMENT, _make, movement="sends", fabrics=True, auto=False)
