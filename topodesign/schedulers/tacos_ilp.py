"""TACOS-ILP: timed sends by integer programs over a time-expanded network (TACOS, section V).

Time is cut into steps, to which what links take is rounded up; the network is copied for every step, and a link goes
from its start at one step to its end at a later one. A program says which chunk goes over which link at which step, so
that as many as possible of the wanted ones are there after so many steps. That is tried for one number of steps after
the other, from a bound on, until all are there. In the end sends start as early as their order allows, with the exact
times of links.

Two ways make it fast. *Early termination*: when the time is over, the chunks that a program has not brought go over the
ways that are the quickest then. *Time clustering* (``--window``): programs of few steps follow one another, each
beginning with what the one before has brought.

The plan is never slower than that of TACOS-Greedy, which is the plan to beat. The solver, HiGHS, calculates in floats:
that it finds nothing in so many steps is reported as what it says, and only a bound (``least_time``) proves
that nothing is faster. ``--algorithm exact`` proves it by search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from topodesign.base.claims import Among, Claim, Of, Proof
from topodesign.base.deadline import Stopwatch
from topodesign.base.errors import ParameterError
from topodesign.base.units import format_time
from topodesign.plans.kinds import kind_of
from topodesign.plans.plan import Plan
from topodesign.plans.timed import Timed
from topodesign.plans.verify.plans import check_movement
from topodesign.schedulers import tacos
from topodesign.schedulers.demands import (
    ONE_MOVEMENT,
    SECONDS,
    Send,
    Setting,
    complete,
    lean,
    one_by_one,
    setting_of,
    written,
)
from topodesign.schedulers.exact_time import least_time
from topodesign.schedulers.method import Method, Request, spec_of
from topodesign.solve.program import Entries, Program

MOST_STEPS = 64
"""Steps until the end of the plan to beat, if the length of one is not given and exact times would need more."""
MOST_SENDS = 200_000  # largest product of chunks, links and steps of a program

Outcome = Literal["bound", "solver", "limit", "window", "greedy"]
"""Why it ended: nothing is faster, proven; the solver says so of these steps; no time was left; windows are done.

Or the plan to beat, which can send several chunks as one, was not beaten.
"""


@dataclass(frozen=True)
class _Steps:
    """The setting in steps: how many ticks one is, how many steps links take, open and shut, and when ports are used.

    A port is used from one step after the start of a chunk on, and free again from another.
    """

    setting: Setting
    length: int
    lasts: tuple[int, ...]
    opens: tuple[int, ...]
    shuts: tuple[int, ...]
    ports: tuple[tuple[tuple[int, int, int], ...], ...]

    @classmethod
    def of(cls, setting: Setting, length: int) -> _Steps:
        """Return the setting with times rounded up to steps of so many ticks."""
        lasts, opens, shuts = (
            tuple(-(-time // length) for time in times) for times in (setting.lasts, setting.opens, setting.shuts)
        )
        ports = tuple(
            tuple((port, offset // length, -(-(offset + hold) // length)) for port, offset, hold in own)
            for own in setting.ports
        )
        return cls(setting, length, lasts, opens, shuts, ports)


def synthesize_sends(
    setting: Setting,
    known: list[Send],
    *,
    length: int | None = None,
    window: int | None = None,
    seconds: float = SECONDS,
) -> tuple[list[Send], Outcome, int]:
    """Return the best sends found, why the search ended, and the ticks of a step.

    ``known`` are right sends, which are to be beaten. A step has so many ticks of ``length``: 1 if there are at most
    ``MOST_STEPS`` of them until the end, or else so many that there are. With a ``window`` programs have so many steps
    (time clustering), without one those of the whole time.
    """
    watch = Stopwatch()
    best = lean(setting, known)
    length = length or max(1, -(-setting.ending(best) // MOST_STEPS))
    steps = _Steps.of(setting, length)
    if window is not None and window < max(steps.lasts):
        raise ParameterError(f"a window needs at least {max(steps.lasts)} steps, which the slowest link takes")
    least = least_time(setting)
    if setting.ending(best) <= least:
        return best, "bound", length
    if window is not None:
        found = lean(setting, _in_windows(steps, window, lambda: seconds - watch()))
        best = min(best, found, key=setting.ending)
        return best, "bound" if setting.ending(best) <= least else "window", length
    outcome: Outcome = "solver"
    for layers in range(max(1, -(-least // length)), -(-setting.ending(best) // length) + 1):
        sends, status = _solve(steps, layers, setting.at_first(), lambda: seconds - watch())
        best = min(best, lean(setting, _recovered(steps, sends)), key=setting.ending)
        if status != "some":
            outcome = "limit" if status == "stopped" else outcome
            break
    return best, "bound" if setting.ending(best) <= least else outcome, length


def _recovered(steps: _Steps, sends: list[Send]) -> list[Send]:
    """Return sends, in exact times, with what they lack of the wanted chunks over the quickest ways."""
    done, held, free = one_by_one(steps.setting, sends)
    return done + complete(steps.setting, held, free)


def _in_windows(steps: _Steps, window: int, left: Callable[[], float]) -> list[Send]:
    """Return the sends of programs of a few steps that follow one another (section V-C)."""
    setting = steps.setting
    held, sends = setting.at_first(), list[Send]()
    while any(not set(one.goals) <= set(has) for one, has in zip(setting.demands, held, strict=True)):
        new, _ = _solve(steps, window, [dict.fromkeys(has, 0) for has in held], left, early=True)
        if not new:
            break
        after = max((one.start for one in sends), default=-1) + 1
        sends += [one._replace(start=one.start + after, end=one.end + after) for one in new]
        for one in new:
            held[one.demand][setting.dst[one.link]] = 0
    return _recovered(steps, sends)


@dataclass(frozen=True)
class _Expanded:
    """A program over the time-expanded network as it grows."""

    sends: list[tuple[int, int, int]]  # demand, link and first step of every column
    cost: list[int]  # of every column
    rows: list[tuple[list[tuple[int, int]], int]]  # columns with their factors, and what they are at most
    on_port: dict[tuple[int, int], list[int]]  # the columns that need a port at a step

    def add_chunk(self, steps: _Steps, number: int, layers: int, held: dict[int, int], *, early: bool) -> None:
        """Add the sends of a chunk: columns, and the rows that bind them."""
        setting, one = steps.setting, steps.setting.demands[number]
        apart = setting.heads
        tail = [-(-setting.tail(node, one) // steps.length) for node in range(setting.topology.nodes)]
        head = [min(-(-apart[node][other] // steps.length) for node in held) for other in range(setting.topology.nodes)]
        into: dict[int, list[tuple[int, int]]] = {}
        out: dict[int, list[tuple[int, int]]] = {}
        for link, (u, v, _) in enumerate(setting.topology.links()):
            slack = 0 if early else max(tail[v], steps.shuts[link])
            first = 0 if early else steps.opens[link]
            for start in range(max(head[u], first), layers - steps.lasts[link] - slack + 1):
                if u == v or v in held:
                    continue
                name, there = len(self.sends), start + steps.lasts[link]
                self.sends.append((number, link, start))
                gain = max(0, tail[u] - tail[v]) if early and len(one.goals) == 1 else 0
                at_goal = (layers - there + 1) * setting.topology.nodes if early else 1
                self.cost.append(-(at_goal if v in one.goals else gain))
                into.setdefault(v, []).append((there, name))
                out.setdefault(u, []).append((start, name))
                for port, begin, end in steps.ports[link]:
                    for at in range(start + begin, start + end):
                        self.on_port.setdefault((port, at), []).append(name)
        for node, come in into.items():
            self.rows.append(([(name, 1) for _, name in come], 1))
            for start, name in out.get(node, []):
                self.rows.append(([(name, 1), *((brings, -1) for there, brings in come if there <= start)], 0))


def _solve(
    steps: _Steps, layers: int, held: list[dict[int, int]], left: Callable[[], float], *, early: bool = False
) -> tuple[list[Send], Literal["all", "some", "stopped"]]:
    """Return sends within so many steps that bring as many wanted chunks as can be; and whether these are all.

    ``stopped`` says that there was no time to find out: ``left`` tells how many seconds there are. With ``early`` it
    counts for every step how many chunks have come, and how near others are to their only goals.
    """
    setting = steps.setting
    if len(setting.demands) * len(steps.lasts) * layers > MOST_SENDS or left() <= 0:
        return [], "stopped"
    program = Program()
    network = _Expanded([], [], [], {})
    wanted = []
    for number, one in enumerate(setting.demands):
        wanted += [(number, goal) for goal in one.goals if goal not in held[number]]
        network.add_chunk(steps, number, layers, held[number], early=early)
        if left() <= 0:
            return [], "stopped"
    if not network.sends:
        return [], "some"
    rows = [*network.rows, *(([(name, 1) for name in names], 1) for names in network.on_port.values())]
    program.add_columns(len(network.sends), cost=np.array(network.cost), upper=1, whole=True)
    row = [number for number, (terms, _) in enumerate(rows) for _ in terms]
    column = [name for terms, _ in rows for name, _ in terms]
    factor = [value for terms, _ in rows for _, value in terms]
    program.add_rows(len(rows), Entries(row, column, factor), upper=[most for _, most in rows])
    status = program.solve(seconds=max(0.0, left()))
    if not program.solved:
        return [], "stopped"
    taken = [network.sends[name] for name in np.flatnonzero(program.values()).tolist()]
    sends = [Send(number, link, start, start + steps.lasts[link]) for number, link, start in taken]
    sends = _sound(steps, sends, held)
    if {(one.demand, setting.dst[one.link]) for one in sends}.issuperset(wanted):
        return sends, "all"
    return sends, "some" if status == "optimal" else "stopped"


def _sound(steps: _Steps, sends: list[Send], held: list[dict[int, int]]) -> list[Send]:
    """Return those of the solver's sends that have their chunk when they start and their link alone."""
    has = [dict(one) for one in held]
    free: dict[int, int] = {}
    src, dst = steps.setting.src, steps.setting.dst
    kept = []
    for one in sorted(sends, key=lambda send: (send.start, send.link)):
        since = has[one.demand].get(src[one.link])
        taken = any(free.get(port, 0) > one.start + begin for port, begin, _ in steps.ports[one.link])
        if since is None or since > one.start or taken or dst[one.link] in has[one.demand]:
            continue
        kept.append(one)
        has[one.demand][dst[one.link]] = one.end
        for port, _, end in steps.ports[one.link]:
            free[port] = one.start + end
    return kept


def _make(request: Request) -> list[Plan]:
    watch = Stopwatch()
    limit = float(SECONDS if request.time_limit is None else request.time_limit)
    where, setting = setting_of(request)
    known, quick = greedy(request, setting)
    length = None
    if request.tick is not None:
        length = max(1, math.floor(request.tick / setting.tick))
    sends, outcome, ticks = synthesize_sends(
        setting,
        known,
        length=length,
        window=request.window,
        seconds=limit - watch(),  # what is known may take all of it, and is the plan then
    )
    timed = written(setting, sends)
    unit = setting.tick
    bound, step = least_time(setting) * unit, ticks * unit
    gap = f"at most {float(timed.time / bound - 1):.2%} slower than any of whole chunks can be"
    said = {
        "bound": str(Claim(Of.TIME, timed.time, Among.WHOLE, Proof.BOUND, bound)),
        "solver": f"in steps of {format_time(step)} HiGHS finds none faster, which is no proof; {gap}",
        "limit": f"the time was over, and what was missing went over the quickest ways; {gap}",
        "window": f"in windows of {request.window} steps of {format_time(step)}; {gap}",
    }[outcome]
    if quick is not None and quick.time < timed.time:
        timed, outcome = quick, "greedy"
        said = "TACOS-Greedy's plan, with sends of several chunks or stops in switches, is faster than what was found"
    made = {
        "method": "tacos-ilp",
        "proof": "bound" if outcome == "bound" else "none",
        "bound": str(bound),
        "step": str(step),
        "ended": outcome,
        "greedy": str(setting.ending(lean(setting, known)) * unit),
    }
    return [Plan(where, timed, {"time": timed.time}, spec_of(request), generator=made, notes=(said,))]


def greedy(request: Request, setting: Setting) -> tuple[list[Send], Timed | None]:
    """Return the sends of TACOS-Greedy, or those over the quickest ways where these are faster; and its plan.

    Where its plan sends several chunks as one it is not made of such sends, and may be faster than all that are. It is
    None if the verifier refuses it, as where partial sums overtake each other in a switch.
    """
    (plan,) = tacos.METHOD.make(request.but(tick=None, window=None, time_limit=None))
    quick = kind_of(plan).streams[0]
    found, other = lean(setting, complete(setting)), setting.sends(quick)
    found = found if other is None else min(found, lean(setting, other), key=setting.ending)
    return found, quick if check_movement(setting.place, quick).ok else None


OPTIONS = tacos.OPTIONS - {"auto_chunks", "symmetric", "traffic"} | {"window"}
METHOD = Method("tacos-ilp", OPTIONS, ONE_MOVEMENT, _make, movement="sends", fabrics=True, auto=False)


def _taccl_like(request: Request) -> list[Plan]:
    """Return the TACCL-like baseline of TACOS: every chunk takes its quickest ways, and then waits.

    TACOS, section VII-C, for want of a TACCL to run: its own integer program, which ignores during synthesis that
    chunks are in each other's way. Its optimum needs no program: a chunk is nowhere sooner than over quickest ways, and
    a tree of those brings it to all at once. Chunks are sent in the order in which they would be if none waited.
    """
    where, setting = setting_of(request)
    alone = complete(setting, crowded=False)
    timed = written(setting, lean(setting, one_by_one(setting, alone)[0]))
    made = {"method": "taccl-like", "uncrowded": str(setting.ending(alone) * setting.tick)}
    return [Plan(where, timed, {"time": timed.time}, spec_of(request), generator=made)]


_TACCL_OPTIONS = OPTIONS - tacos.SEARCH - {"tick", "window"}
TACCL_LIKE = Method("taccl-like", _TACCL_OPTIONS, ONE_MOVEMENT, _taccl_like, movement="sends", fabrics=True, auto=False)
