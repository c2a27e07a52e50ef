"""Fast plans over reconfigurable circuits, compared with bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import ClassVar, Literal, Unpack

from topodesign.base.arguments import as_choice, as_integer, as_path
from topodesign.base.atomic import write_directory
from topodesign.base.claims import Claim, Of, Proof, Scope
from topodesign.base.declared import Declared, Keys, key
from topodesign.base.errors import ParameterError
from topodesign.base.options import read, takes
from topodesign.base.progress import part
from topodesign.base.records import Result, Table, shorten_text
from topodesign.base.units import (
    Quantity,
    as_bandwidth,
    as_size,
    as_time,
    format_bandwidth,
    format_excess,
    format_size,
    format_time,
)
from topodesign.base.wording import count_noun
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective, as_collective
from topodesign.fabrics.groups import Groups, Placement, as_groups
from topodesign.fabrics.options import GroupOptions
from topodesign.fabrics.places import as_fabric
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.schedulers.circuits.bounds import Room, Work, bound
from topodesign.schedulers.circuits.published import Contender
from topodesign.schedulers.circuits.search import search
from topodesign.schedulers.circuits.together import iterate_groups, options_of
from topodesign.topology.files import write_links
from topodesign.topology.topology import Topology

COLLECTIVES = (ALL_TO_ALL, ALLGATHER, REDUCE_SCATTER, ALLREDUCE)
CABLINGS = ("simplex", "duplex")
DARK = ("all", "moved")
MAX_NODES, MAX_DEGREE = 256, 16
FOUND = "found by search"
_LONGEST = 35  # letters of a name in a table


@dataclass(frozen=True, slots=True)
class Phase(Declared):
    """Topology of a plan."""

    number: int  # from 0
    steps: int  # steps over it
    circuits: int  # circuits that it has, each direction counted
    changed: int  # those that the phase before had not; all of the first

    KEYS = "number steps circuits changed"


@dataclass(frozen=True, repr=False)
class Reconfiguration(Result):
    """Verified plans over reconfigurable circuits, with a lower bound."""

    nodes: int  # number of nodes N
    degree: int  # ports of a node
    collective: Collective  # what is done, of all nodes or in several groups
    cabling: Literal["simplex", "duplex"]  # whether a circuit leads one way or back as well
    dark: Literal["all", "moved"]  # which ports send nothing while circuits change
    work: Work  # what it is timed for
    size: Fraction  # bytes of the data M
    bandwidth: Fraction  # bits per second of all ports of a node
    contenders: tuple[Contender, ...]
    claim: Claim  # how near the fastest is to what no plan beats
    topologies: int | None  # with how many topologies the bound might be met; null where that is not known

    KEYS: ClassVar[Keys] = (
        "nodes degree",
        key("collective=collective.name", "What is done."),
        key("groups?", "The members of each group; omitted if all nodes are one."),
        key("cabling", "Whether a circuit leads one way or back as well.", kind=CABLINGS),
        key("dark", "Which ports send nothing while circuits change.", kind=DARK),
        key("alpha_s=float(work.alpha)", "Latency of a step, in seconds."),
        key("delay_s=float(work.delay)", "A change of circuits, in seconds."),
        key("size_bytes=number(size)", "Data M, in bytes."),
        key("bandwidth_bps=float(bandwidth)", "All ports of a node, in bits per second."),
        key("time_s=float(best.time)", "The fastest plan, in seconds."),
        key("bound_s=float(claim.bound)", "What no plan beats, in seconds."),
        key("static_s=float(static.time)", "The fastest plan of a topology that stays; null where there is none."),
        "topologies claim",
        key(
            "contenders",
            "Verified plans, the fastest first: what was found, what is published, and what never changes.",
        ),
        key("phases", "The topologies of the fastest plan, one after the other."),
    )
    ROWS = "contenders"

    @property
    def rooms(self) -> tuple[Room, ...]:
        """Concurrent groups by size, with the other nodes as relays."""
        return _rooms(self.nodes, self.degree, self.groups or (), duplex=self.cabling == "duplex")

    @property
    def groups(self) -> tuple[tuple[int, ...], ...] | None:
        """Members of each group; None if all nodes form one."""
        return None if self.collective.group is None else tuple(one.group or () for one in self.collective.single)

    @property
    def best(self) -> Contender:
        """Fastest verified plan."""
        return self.contenders[0]

    @property
    def plan(self) -> Plan:
        """Fastest plan."""
        return self.best.plan

    @property
    def static(self) -> Contender | None:
        """Fastest plan without changes of circuits."""
        return next((one for one in self.contenders if not one.changes), None)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Topologies of the fastest plan."""
        moved, circuits = self.plan.flow, self.plan.flow.switching
        found, before = [], set[tuple[int, ...]]()
        ends = [*circuits.begin.tolist()[1:], moved.steps]
        for number, (first, end) in enumerate(zip(circuits.begin.tolist(), ends, strict=True)):
            now = set(map(tuple, circuits.rows(number).tolist()))
            found.append(Phase(number, end - first, len(now), len(now - before)))
            before = now
        return tuple(found)

    def write_circuits(self, directory: str | Path) -> Path:
        """Write the links of every phase into a new directory.

        The files are ``phase_0.csv`` and so on, for the fastest plan.
        """
        circuits, where = self.plan.flow.switching, as_path(directory)
        graphs = {one.number: circuits.links(one.number, self.nodes) for one in self.phases}
        links = {f"phase_{number}.csv": write_links(graph, "csv") for number, graph in graphs.items()}
        write_directory(where, dict(links))
        return where

    def heading(self) -> str:
        """Return the conditions of the comparison as a title."""
        groups = " and ".join(f"{count_noun(room.groups, 'group')} of {room.nodes}" for room in self.rooms)
        among = f"in {groups} among" if self.groups else "among"
        nodes = f"{self.nodes} nodes of {count_noun(self.degree, 'port')}"
        what = f"{self.collective} of {format_size(self.size)} {among} {nodes}"
        how = f"{self.cabling} circuits, a change takes {format_time(self.work.delay)}"
        rest = f"alpha {format_time(self.work.alpha)}, {format_bandwidth(self.bandwidth)} per node"
        return f"{what}\n{how}, {self.dark} ports dark; {rest}"

    def table(self) -> Table:
        """Return a table of the plans, compared with the bound."""
        least = Fraction(self.claim.bound or 0)
        rows = tuple(
            (
                shorten_text(one.name) if len(one.name) <= _LONGEST else f"{one.name[: _LONGEST - 3]}...",
                str(one.steps),
                f"{float(one.bandwidth):.4f}",
                str(one.changes),
                format_time(one.time),
                format_excess(one.time / least) if least else "",
            )
            for one in self.contenders
        )
        columns = ("plan", "steps", "BW factor", "changes", "time", "over bound")
        foot = f"bound {format_time(least)}; {self.claim}."
        return Table(self.heading(), columns, rows, frozenset({"plan"}), footnote=foot)


@takes(GroupOptions)
def reconfigure(
    nodes: int,
    degree: int,
    collective: Collective | str = "all-to-all",
    *,
    delay: Quantity = "10us",
    size: Quantity = "1MiB",
    alpha: Quantity = "10us",
    bandwidth: Quantity = "100Gbps",
    cabling: str = "simplex",
    dark: str = "all",
    progress: Callable[[float], None] | None = None,
    **options: Unpack[GroupOptions],
) -> Reconfiguration:
    """Find a fast plan of a collective over reconfigurable circuits.

    Parameters
    ----------
    nodes, degree
        N nodes with so many ports each, every port joined to a circuit switch.
    collective
        all-to-all, allgather, reduce-scatter or allreduce.
    delay
        How long a change of circuits takes: seconds, or text with a unit.
    size
        Data M of a node in an all-to-all, and the whole data else: bytes, or text with a unit.
    alpha
        Latency of a step.
    bandwidth
        Bandwidth B of all ports of a node.
    cabling
        ``simplex``, where a circuit leads one way, or ``duplex``, where it leads back as well.
    dark
        Which ports are dark in a change: ``all``, or ``moved`` ones alone, while others send.
    progress
        Called with the share of the work that is done.
    **options
        Groups that do it at once, each for itself and with M of its own.

    Returns
    -------
    Reconfiguration
        Verified plans with their times, and what no plan beats.

    Raises
    ------
    ParameterError
        If a number is out of range, the collective is another, or groups overlap.

    Examples
    --------
    >>> from topodesign import reconfigure
    >>> found = reconfigure(9, 2, "all-to-all", delay="1us", size="64KiB")
    >>> found.best.changes, found.claim.proven
    (1, True)
    """
    what = as_collective(collective)
    if what not in COLLECTIVES:
        raise ParameterError(f"circuits change in {', '.join(map(str, COLLECTIVES))} of all nodes, not in {what!r}")
    whole = as_integer("nodes", nodes, 2, MAX_NODES)
    teams = _teams(whole, **read(GroupOptions, options, "reconfigure"))
    done = what.within(teams) if teams else what
    ports, duplex = as_integer("degree", degree, 1, MAX_DEGREE), as_choice("cabling", cabling, CABLINGS) == "duplex"
    rooms = _rooms(whole, ports, teams, duplex=duplex)
    if ports >= rooms[0].nodes:
        most = count_noun(rooms[0].nodes - 1, "port")
        raise ParameterError(f"{rooms[0].nodes} nodes require at most {most} each, not {ports}")
    moving = as_choice("dark", dark, DARK) == "moved"
    amount, rate = as_size(size), as_bandwidth(bandwidth)
    work = Work(as_time(alpha, latency=True), 8 * amount / rate, as_time(delay))
    least, topologies = bound(rooms, what, work, moving=moving)

    def timed(one: Contender) -> Contender:
        circuits = one.moved.switching._replace(delay=work.delay, moving=moving)
        now = replace(one.plan, movement=replace(one.moved, circuits=circuits))
        if moving:
            time = simulate(now, alpha=work.alpha, size=amount, bandwidth=rate).time
        else:  # which is the same, and quicker; tests hold one against the other
            claim = one.plan.claim
            time = work.time(int(claim["steps"]), claim["bandwidth"], int(claim["changes"]))
        return replace(one, plan=now, time=time)

    choices: list[list[Contender]] = []
    for at, room in enumerate(rooms):
        share = part(progress, at / len(rooms), (at + 1) / len(rooms))
        some = list(options_of(room, what, planes=moving))
        fastest = min(timed(one).time for one in some)
        found = search(room, what, work, fastest, progress=share)
        choices.append([*some, *(Contender(FOUND, None, plan) for plan in found[-1:])])
    known = [timed(one) for one in (iterate_groups(choices, done, whole, work) if teams else choices[0])]
    order = sorted(known, key=lambda one: (one.time, one.changes, one.name != FOUND, one.name))
    return Reconfiguration(
        nodes=whole,
        degree=ports,
        collective=done,
        cabling="duplex" if duplex else "simplex",
        dark="moved" if moving else "all",
        work=work,
        size=amount,
        bandwidth=rate,
        contenders=tuple(order),
        claim=claim_time(order[0].time, least),
        topologies=topologies,
    )


def _teams(nodes: int, group: Groups, placement: Placement | None) -> tuple[tuple[int, ...], ...]:
    """Return the groups, or none if all nodes form one."""
    if not group:
        if placement is not None:
            raise ParameterError("a placement is of ranks in groups; say these with --group SHAPE:AXIS")
        return ()
    teams = as_groups(as_fabric(Topology.from_links(nodes, [])), group, placement)
    if min(map(len, teams)) < 2:
        raise ParameterError("groups require two nodes or more; one sends nothing")
    return teams


def _rooms(nodes: int, degree: int, teams: tuple[tuple[int, ...], ...], *, duplex: bool) -> tuple[Room, ...]:
    """Return concurrent groups by size, the smallest first."""
    sizes = Counter(map(len, teams)) or Counter([nodes])
    return tuple(Room(size, degree, duplex, number, nodes - size * number) for size, number in sorted(sizes.items()))


def claim_time(time: Fraction, least: Fraction) -> Claim:
    """Return the claim of a time against a counting bound."""
    if time > least:
        return Claim(Of.TIME, time, Scope.CIRCUITS, Proof.NONE, least)
    by = "counting hops and what steps reach, for every number of topologies"
    return Claim(Of.TIME, time, Scope.CIRCUITS, Proof.BOUND, least, by)
