"""Scheduler interface: requests, methods and helpers for plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from topodesign.base.arguments import as_integer
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError
from topodesign.base.latency import ALPHA
from topodesign.base.options import with_fields
from topodesign.base.units import Quantity, as_size
from topodesign.collectives import ALLREDUCE, Collective
from topodesign.fabrics.fabric import NODE_BANDWIDTH, OWN_LATENCIES, Fabric
from topodesign.fabrics.groups import group_collective
from topodesign.fabrics.node_values import as_ready
from topodesign.fabrics.part import as_names, select_nodes, select_part
from topodesign.fabrics.places import PlaceLike, as_fabric, as_place, get_preset_name, plain_fabric
from topodesign.fabrics.unwinding import replace_switches
from topodesign.plans.flow import Flow
from topodesign.plans.link_times import LinkTimes, link_times
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.time.ticks import time_rounds
from topodesign.schedulers.options import EVERYONES, OPTIONS, ScheduleOptions
from topodesign.topology.link_table import Link, LinkTable, read_link_table
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    from topodesign.schedulers.schedule_list import ScheduleList

Progress = Callable[[float], None]
MAX_WHOLE = 2**22  # sends up to which the plan of a symmetric topology is written out


@dataclass(frozen=True)
@with_fields(ScheduleOptions)
class Request:
    """Request to a scheduler, with the fields of ``ScheduleOptions``.

    * ``place``: where, as it was given.
    * ``collective``: what, of one movement unless the method says that it makes it otherwise.
    * ``auto_chunks``: whether the number of units per shard is looked for with which the plan is fastest; ``chunks`` is
      None then.
    * ``sized``: whether the size was given, so that ``auto`` makes an allreduce for it.
    * ``progress``: called with the share of the work that is done, or None.
    """

    place: PlaceLike
    collective: Collective
    auto_chunks: bool = False
    sized: bool = False
    progress: Progress | None = field(default=None, compare=False)

    if TYPE_CHECKING:

        def __init__(self, place: PlaceLike, collective: Collective, **options: Any) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __post_init__(self) -> None:
        """Normalise fields that accept one or several values, and ``chunks``."""
        if self.chunks == "auto":
            object.__setattr__(self, "chunks", None)
            object.__setattr__(self, "auto_chunks", True)
        object.__setattr__(self, "only", as_names(self.only))
        object.__setattr__(self, "without", as_names(self.without))
        if not isinstance(self.group, str | Path) and isinstance(self.group, Iterable):
            groups = (tuple(one) if isinstance(one, list) else one for one in self.group)
            object.__setattr__(self, "group", tuple(groups))

    @cached_property
    def among(self) -> Collective:
        """Collective with requested members, groups and roots, by node number."""
        collective = self.collective
        if self.group not in ("", ()) and (self.only or collective.group is not None):
            raise ParameterError("say who takes part with --members, or in which groups with --group, not both")
        if self.placement is not None and self.group in ("", ()):
            raise ParameterError("a placement is of ranks in groups; say these with --group SHAPE:AXIS")
        if self.group not in ("", ()):
            if collective.rooted and self.root is None:
                raise ParameterError(f"{collective} requires a root in each group; use --root A,B,... or put it first")
            return group_collective(self.called, collective, self.group, self.placement, self.root)
        if collective.groups is not None:
            return collective
        if self.only:
            names = select_nodes(self.called, self.only)
            collective = collective.among({self.called.number(name) for name in names})
        return collective if self.root_name is None else collective.at(self.called.number(self.root_name))

    @property
    def grouped(self) -> bool:
        """Whether only some nodes, or groups of them, take part."""
        return bool(self.only) or self.group not in ("", ()) or self.collective.group is not None

    @cached_property
    def found(self) -> Topology | Fabric:
        """Network as given, a topology or a fabric."""
        return as_place(self.place)

    @property
    def plain(self) -> bool:
        """Whether the network is a plain topology."""
        return isinstance(self.found, Topology)

    @cached_property
    def topology(self) -> Topology:
        """Network as a plain topology."""
        if isinstance(self.found, Topology):
            return self.found
        raise ParameterError(f"{self.found.name} is a fabric; this algorithm is for topologies, use --algorithm forest")

    @cached_property
    def whole(self) -> Fabric:
        """Network as a fabric."""
        return as_fabric(self.place, self.bandwidth)

    @cached_property
    def called(self) -> Fabric:
        """Network with vertex names; topology links need not be balanced here."""
        return plain_fabric(self.found) if isinstance(self.found, Topology) else self.whole

    @cached_property
    def fabric(self) -> Fabric:
        """Participating part of the network, as a fabric."""
        return select_part(self.whole, self.only, self.others, self.without)

    @cached_property
    def where(self) -> Topology | Fabric:
        """Participating topology, if whole and plain, otherwise a fabric."""
        return self.topology if self.plain and not (self.only or self.without) else self.fabric

    @cached_property
    def unwound(self) -> Topology | Fabric:
        """:attr:`where`, with its switches replaced by links if requested."""
        if self.unwind is None:
            return self.where
        if not isinstance(self.where, Fabric):
            raise ParameterError("--set unwind= is for fabrics with switches; remove it")
        if self.link_table is not None:
            raise ParameterError(
                "--link-table cannot be combined with --set unwind=: it has no rows for unwound switches; remove one"
            )
        degree = None if self.unwind in {"all", "ring"} else self.unwind
        if degree is not None and not degree.isdecimal():
            raise ParameterError(f"--set unwind= is a number of links, all, or ring, not {self.unwind!r:.30}")
        ring = self.unwind == "ring"
        return replace_switches(self.where, 1 if ring else None if degree is None else int(degree), both_ways=ring)

    @property
    def step_alpha(self) -> Fraction:
        """Latency of a step in seconds, equal for all steps."""
        if isinstance(self.alpha, str):
            raise ParameterError(f"a topology has no latencies of its links; give one in place of '{self.alpha}'")
        return ALPHA if self.alpha is None else self.alpha

    @cached_property
    def ready_times(self) -> tuple[Fraction, ...]:
        """Ready time in seconds by vertex of ``where``, zeros by default."""
        if self.ready is None:
            where = self.where
            return (Fraction(0),) * (where if isinstance(where, Topology) else where.topology).nodes
        return as_ready(self.fabric, self.ready)

    @cached_property
    def ready_unwound(self) -> tuple[Fraction, ...]:
        """Ready time in seconds of each vertex of :attr:`unwound`."""
        if self.unwind is None or isinstance(self.where, Topology):
            return self.ready_times
        gone = self.where.topology.switches
        return tuple(time for node, time in enumerate(self.ready_times) if node not in gone)

    def link_times(
        self, where: Topology | Fabric, collective: Collective, units: int, *, grain: Fraction | None = None
    ) -> LinkTimes:
        """Return the exact link times of ``where`` or ``unwound``."""
        rate = self.bandwidth
        topology = where if isinstance(where, Topology) else where.topology
        if isinstance(where, Fabric):
            if not self.plain:
                where.check_bandwidth(rate)
            rate = 8 * where.unit * max(1, topology.degree)
        links, own = self.links_there(where), self.alpha == OWN_LATENCIES
        if own and isinstance(where, Fabric):
            links = where.get_link_table(links)
        return link_times(
            topology,
            collective,
            units,
            size=self.size,
            alpha=ALPHA if own and isinstance(where, Fabric) else self.step_alpha,
            bandwidth=8 * NODE_BANDWIDTH if rate is None else rate,
            links=links,
            grain=grain,
        )

    def time_rounds(self, rounds: Flow) -> Flow:
        """Return rounds as timed sends at the times of links."""
        rate = 8 * NODE_BANDWIDTH if self.bandwidth is None else self.bandwidth
        given = {"size": self.size, "alpha": self.step_alpha, "bandwidth": rate, "overlap": bool(self.overlap)}
        return time_rounds(self.topology, rounds, links=self.links_there(self.topology), **given)

    def links_there(self, where: Topology | Fabric) -> LinkTable | None:
        """Return the link table of the participating network."""
        if self.link_table is None:
            return None
        table = self.link_table if isinstance(self.link_table, LinkTable) else read_link_table(self.link_table)
        if isinstance(where, Topology):
            return table.on(where)
        table = table.on(self.whole.topology)
        number = {self.whole.number(name): at for at, name in enumerate(where.names)}
        left = {(u, v) for u, v, _ in where.topology.links()}

        def there(link: Link) -> Link | None:
            pair = number.get(link[0], -1), number.get(link[1], -1)
            return pair if pair in left else None

        return table.rename(there)

    @cached_property
    def root_name(self) -> str | None:
        """Name of the root."""
        if self.root is None or isinstance(self.root, str):
            return self.root
        return self.called.names[as_integer("root", self.root, 0, len(self.called.names) - 1)]

    @cached_property
    def root_number(self) -> int | None:
        """Number of the root."""
        name = self.root_name
        return None if name is None else self.called.number(name)

    @cached_property
    def unequal(self) -> LinkTable | None:
        """Link table of the topology, if given."""
        return None if self.link_table is None else self.links_there(self.topology)

    def list_given(self) -> list[str]:
        """Return the names of options that differ from their defaults."""
        found = []
        for name in (*OPTIONS, "auto_chunks"):
            value, default = getattr(self, name), OPTIONS[name].default if name in OPTIONS else False
            nothing = value is None or value is default or (type(value) is type(default) and value == default)
            empty = name != "symmetric" and (value is False or (isinstance(value, tuple) and not value))
            if name not in EVERYONES and not nothing and not empty:
                found.append(name)
        return found

    def runtime(self, cost: Cost) -> Fraction:
        """Return the runtime of a cost in seconds."""
        rate = 8 * NODE_BANDWIDTH if self.bandwidth is None else self.bandwidth
        return cost.runtime(self.step_alpha, self.size, rate)

    def but(self, **changes: Any) -> Request:
        """Return a copy with changed fields."""
        return replace(self, **changes)

    def asking(self, collective: Collective) -> Request:
        """Return a copy for another collective."""
        other = self.but(collective=collective)
        other.__dict__.update({name: self.__dict__[name] for name in ("found", "topology") if name in self.__dict__})
        return other


_TIMED = frozenset({"link_table", "alpha", "bandwidth", "overlap", "ready", "unwind", "tick"})
"""Options that make timed sends of what could be rounds, too."""


class Listing(NamedTuple):
    """Schedule lister of a method, with its options."""

    options: frozenset[str]
    make: Callable[[Request], ScheduleList]


@dataclass(frozen=True)
class Method:
    """Scheduler with its options, collectives and plan function.

    * ``collectives``: what it makes. A collective of several movements that is not among them is made of its parts.
    * ``make``: returns plans that do what is asked, with their claims: several where none is better than all others,
      and none where the method does not apply to this place.
    * ``movement``: what moves: ``rounds``, ``trees`` or ``sends``. ``auto`` chooses among methods of one kind.
    * ``fabrics``: whether it takes fabrics with switches, names and bandwidths; it then makes a fabric of any place.
    * ``soon``: whether it answers what is asked soon enough for ``auto``; None if it always does.
    * ``in_groups``: what it makes in several groups at once, if it takes groups; None for all that it makes.
    * ``timed``: the same for timed sends, if it makes them, too: where an option about times asks for them, there are
      switches, or groups of a fabric.
    * ``listing``: what lists all that it has to choose from, if it can.
    """

    name: str  # as in ``--algorithm``
    options: frozenset[str]  # which of :data:`topodesign.schedulers.options.OPTIONS` it understands; others are refused
    collectives: tuple[Collective, ...]
    make: Callable[[Request], list[Plan]]
    movement: str = "rounds"
    fabrics: bool = False
    auto: bool = True  # whether ``auto`` asks it
    soon: Callable[[Request], bool] | None = None
    in_groups: tuple[Collective, ...] | None = None
    timed: Method | None = None
    listing: Listing | None = None

    def select_variant(self, request: Request) -> Method:
        """Return the method, or its variant for timed sends."""
        if self.timed is None:
            return self
        if not request.plain and (request.called.topology.switches or request.grouped):
            return self.timed
        return self.timed if _TIMED.intersection(request.list_given()) else self

    @property
    def grouped(self) -> tuple[Collective, ...]:
        """Collectives that it makes in several groups at once."""
        if "group" not in self.options:
            return ()
        return self.collectives if self.in_groups is None else self.in_groups

    def does(self, collective: Collective) -> bool:
        """Return whether it makes a collective, whole or in parts."""
        return _among(collective, self.collectives)

    def groups(self, collective: Collective) -> bool:
        """Return whether it makes a collective in several groups."""
        return _among(collective, self.grouped)


def _among(collective: Collective, known: tuple[Collective, ...]) -> bool:
    """Return whether a collective or all its halves are known."""
    halves = collective.like(ALLREDUCE) and all(one.like(*known) for one in collective.parts)
    return halves or collective.like(*known)


def plan_rounds(topology: Topology, movement: Flow, method: str, **more: Any) -> Plan:
    """Return the plan of rounds with its cost."""
    plan = Plan(topology, movement, {}, generator={"method": method, **more})
    return replace(plan, claim=flow_claim(plan.flow))


def folds(topology: Topology, sends: int) -> bool:
    """Return whether a plan of that many sends is stored folded."""
    symmetry = topology.symmetry
    return sends > MAX_WHOLE and symmetry is not None and symmetry.is_free and not topology.switches


def cost_in(plan: Plan) -> Cost:
    """Return the cost that a plan of rounds claims."""
    return Cost(int(plan.claim["steps"]), plan.claim["bandwidth"])


def spec_of(request: Request) -> str | None:
    """Return the spec that rebuilds the whole requested network."""
    return None if request.only or request.without or request.unwind else get_preset_name(request.place)


def sizes_of(sizes: Quantity | Iterable[Quantity]) -> tuple[Fraction, ...]:
    """Return one or several data sizes in bytes."""
    return tuple(map(as_size, [sizes] if isinstance(sizes, str | int | float | Fraction) else sizes))


def fabric_root(request: Request) -> int | None:
    """Return the root's number in the requested fabric."""
    from topodesign.fabrics.part import compute_node  # noqa: PLC0415  heavy

    return None if request.root_name is None else compute_node(request.fabric, request.root_name)


def tree_plan(request: Request, trees: Flow, made: Mapping[str, Any], *notes: str) -> Plan:
    """Return the plan over trees of the requested fabric."""
    flow = replace(trees, place=request.fabric)
    return Plan(request.fabric, flow, flow_claim(flow), spec_of(request), dict(made), notes)
