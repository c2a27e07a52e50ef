"""Staged change from existing wiring to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from topodesign.base.arguments import as_integer, as_seed
from topodesign.base.claims import Claim, Scope, fastest_of
from topodesign.base.declared import key
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.progress import iterate_with_progress
from topodesign.base.records import Result
from topodesign.base.units import format_factor
from topodesign.base.wording import count_noun, join_words
from topodesign.fabrics.places import as_topology
from topodesign.topology.library import TopologyLike
from topodesign.topology.topology import Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.change.grow import MovedWiring, in_room, with_cables_moved, with_names_of
from topodesign.wiring.change.patches import Change, as_simplex
from topodesign.wiring.change.stages import Stage, stages, with_less_way
from topodesign.wiring.change.strength import is_told
from topodesign.wiring.inventory.answers import extend_room
from topodesign.wiring.inventory.devices import Fixed, interface_name
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.inventory.inventory import FIXED, Inventory, format_metres
from topodesign.wiring.plan.files import WiringLike, as_wiring, load_wiring, names_wiring
from topodesign.wiring.plan.net import CableSize, Net, Wire
from topodesign.wiring.plan.plan import Bill, WiringPlan, items_of, list_hosts

Cord: TypeAlias = tuple[Wire, Fraction | None]  # a patch cord and its metres, None if unknown

_ORDERS = 4  # orders of the hosts that are tried to walk less
_MAX_ORDERED = 256  # hosts for which there is time to
_MAX_NAMED = 3  # racks that are named


@dataclass(frozen=True, repr=False)
class Rewiring(Result):
    """Staged change of a wiring.

    * ``laid``, ``drawn``: fixed cables that have to come before, and that go.
    * ``cables``: fixed cables that move, from where to where, since no way was found that leaves all where they are.
    """

    change: Change  # the wiring before and after, and the patches to move
    stages: tuple[Stage, ...]  # what is moved together, in this order; none if nothing has to move
    laid: tuple[Fixed, ...] = ()
    drawn: tuple[Fixed, ...] = ()
    cables: tuple[tuple[Fixed, Fixed], ...] = ()
    target: str = ""  # what was found for a number of hosts, in words; empty if a topology was given
    renamed: tuple[tuple[str, str], ...] = ()  # names of the inventory, and those of the plan that are meant
    start: str = ""  # the topology of the existing wiring; empty if it is that of the change
    moved_racks: tuple[str, ...] = ()  # racks that stand elsewhere in the inventory than in the plan

    KEYS = (
        key("target?=or_null(target)", "With a number of hosts as target: what was found for it."),
        "moves",
        key("new=change.new", "Moves that are new patches: no patch that exists goes there."),
        key("gone=change.gone", "Patches that are taken out, and plugged in nowhere."),
        key("proven_fewest=change.fewest", "Whether no order of the hosts needs fewer."),
        key("at_least=change.at_least", "What any order needs."),
        key("bound=change.at_least", "The same: moves that no change does without."),
        key("bound_so=change.least_so", "Moves that no change to the same hosts as nodes does without."),
        key("kept=change.kept", "Patches that stay."),
        "claims",
        key("hosts=after.hosts", "The host that is each node afterwards."),
        "stages",
        key(
            "cables_laid",
            "Fixed cables that have to be laid before: host, port, lane, panel and its port.",
            kind=tuple[tuple[str, str, int, str, str], ...],
            value=lambda one: [(*cable.source, *cable.place) for cable in one.laid],
        ),
        key(
            "cables_drawn",
            "Fixed cables that go, the same way.",
            kind=tuple[tuple[str, str, int, str, str], ...],
            value=lambda one: [(*cable.source, *cable.place) for cable in one.drawn],
        ),
        key(
            "cables_moved",
            "Fixed cables that move: host, port, lane, and panel and port from and to.",
            kind=tuple[tuple[str, str, int, str, str, str, str], ...],
            value=lambda one: [(*old.source, *old.place, *new.place) for old, new in one.cables],
        ),
        key("renamed?=or_null(renamed)", "Names of the inventory that differ by zeros, and those of the plan instead."),
        key("moved_racks", "Racks that stand elsewhere in the inventory than in the plan."),
        key("buy=bill.items", "What has to be bought in addition."),
        key("left_over=left.items", "Patch cords that are left over."),
    )

    @property
    def after(self) -> WiringPlan:
        """Plan of the new wiring."""
        return self.change.after

    @property
    def moves(self) -> int:
        """Number of patches to move, plug in or remove."""
        return self.change.moves

    @cached_property
    def cords_after(self) -> tuple[Cord, ...]:
        """Patch cords of the new wiring, with their metres."""
        net = self.after.net
        return tuple((wire, net.length(wire)) for wire in net.crosses if wire.sort is not None)

    @cached_property
    def cords_before(self) -> tuple[Cord, ...]:
        """Patch cords of the existing wiring, on remaining panels."""
        room, before = self.after.inventory, self.change.before
        stay = [c for c in before.connects if {c.a.place, c.b.place} <= room.panel_port.keys()]
        net = Net(room, before.mode, [*before.fixed, *self.drawn], stay)
        return tuple((wire, net.length(wire)) for wire in net.crosses if wire.sort is not None)

    @cached_property
    def laid_lengths(self) -> dict[tuple[str, str], Fraction | None]:
        """Metres of new fixed cables, by host and port."""
        room = self.after.inventory
        there = {*room.cabling, *self.drawn, *(one for one in self.after.fixed if one not in set(self.laid))}
        sockets = {one.socket for one in there}
        come = [one for one in self.laid if one.socket not in sockets]
        return Net(replace(room, cabling=()), self.after.mode, come).metres

    @property
    def bill(self) -> Bill:
        """Bill of additional cables."""
        port = self.after.inventory.port
        laid: Counter[CableSize] = Counter(
            ("fixed cable", FIXED[port[socket].connector], metres) for socket, metres in self.laid_lengths.items()
        )
        return Bill(items_of(laid + (_by_size(self.cords_after) - _by_size(self.cords_before))), cabled=False)

    @property
    def left(self) -> Bill:
        """Unused patch cords."""
        return Bill(items_of(_by_size(self.cords_before) - _by_size(self.cords_after)), cabled=False)

    @property
    def metres(self) -> Fraction | None:
        """Metres walked in all stages; None if unknown."""
        ways = [stage.walk.metres for stage in self.stages if stage.walk.metres is not None]
        return sum(ways, Fraction(0)) if len(ways) == len(self.stages) else None

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row per line of work, in order."""
        return [
            {"stage": number, "dark": one.dark, "panel": panel, "instruction": line}
            for number, one in enumerate(self.stages, start=1)
            for panel, lines in one.walk.visits
            for line in lines
        ]

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Whether fewer moves suffice."""
        return (self.change.claim,)

    @property
    def names(self) -> str:
        """The two topologies."""
        return f"{self.start or self.change.before.job} to {self.after.job}"

    def heading(self) -> str:
        """Return the two topologies, and the numbers of moved and kept patches."""
        change = self.change
        if not change.moves:
            return f"{self.names}: nothing has to move"
        stay = f"{count_noun(change.kept, 'patch', 'patches')} of {len(change.before.connects)} stay"
        kinds = ((len(change.made) - change.new, "moved"), (change.new, "new"), (change.gone, "taken out"))
        split = ", ".join(f"{count} {words}" for count, words in kinds if count)
        move = count_noun(change.moves, "move") + (f" ({split})" if change.new or change.gone else "")
        of = ""
        if change.claim.gap:
            so = change.least_so
            least = "fewest" if so == change.moves else f"at least {so}"
            of = f" of {change.at_least}" + ("" if change.placed else f"; {least} with these hosts as nodes")
        return f"{self.names}: {move}; {stay}; {change.claim.verdict}{of}"

    def __str__(self) -> str:
        lines = [self.heading(), *filter(None, [self.target])]
        if self.renamed:
            (there, here), more = self.renamed[0], len(self.renamed) - 1
            others = f", and {more} more alike" if more else ""
            lines.append(f"names are those of the plan: {there} of the inventory is {here}{others}")
        if self.moved_racks:
            racks = f"{count_noun(len(self.moved_racks), 'rack')} elsewhere than in the plan: {_some(self.moved_racks)}"
            lines.append(f"the inventory has {racks}; fixed cables that stay would need other lengths: correct racks:")
        if self.after.hosts != self.change.before.hosts:
            lines.append(f"hosts in node order: {list_hosts(self.after.hosts)}")
        for words, cables in (("lay", self.laid), ("no longer needed:", self.drawn)):
            lines += ["", f"{words} {count_noun(len(cables), 'fixed cable')}"] if cables else []
            lines += [f"  {self._describe_fixed(fixed)}" for fixed in cables]
        if self.cables:
            count = count_noun(len(self.cables), "fixed cable")
            lines += ["", f"move {count}, as no change was found that leaves all in place; each after its patch"]
        lines += [
            f"  {old.host} {old.port}/{old.lane}: {old.panel} {old.panel_port} -> {new.panel} {new.panel_port}"
            for old, new in self.cables
        ]
        try:
            for words, bill in (("buy in addition:", self.bill), ("cords left over:", self.left)):
                lines += ["", words, *map(str, bill.items)] if bill.items else []
        except InfeasibleError as error:
            lines += ["", f"buy in addition: {error}"]
        grows = len(set(self.after.hosts) - set(self.change.before.hosts)) > 0
        for number, stage in enumerate(self.stages, start=1):
            walk = stage.walk
            count = count_noun(max(len(stage.removed), len(stage.made)), "move")
            dark = f"up to {count_noun(stage.dark, 'link')} of a host down"
            joined = f"{stage.after.nodes} hosts, " if grows else ""
            way = f"; {format_metres(walk.metres)} m to walk" if walk.metres else ""
            lines += ["", f"stage {number} of {len(self.stages)}: {count}; {dark}{way}"]
            lines += (
                [f"  during: {stage.lit_during}", f"  after: {joined}{stage.lit_after}"] if stage.lit_during else []
            )
            if len(walk.visits) == 1:
                lines += [f"  {line}" for line in walk.lines]
            else:
                lines += [line for visit in walk.visits for line in self._at_panel(*visit)]
        return "\n".join(lines)

    def _describe_fixed(self, fixed: Fixed) -> str:
        """Return a fixed cable's ends, with metres if new."""
        port = self.after.inventory.port.get(fixed.socket)
        name = f"{fixed.port}/{fixed.lane}" if port is None else interface_name(fixed.port, fixed.lane, port.lanes)
        metres = self.laid_lengths.get(fixed.socket)
        size = "" if metres is None else f" ({format_metres(metres)} m)"
        return f"{fixed.host} {name} - {fixed.panel} {fixed.panel_port}{size}"

    def _at_panel(self, panel: str, lines: Sequence[str]) -> list[str]:
        if panel not in self.after.inventory.panel:
            return [f"  at panel {panel}, which goes:", *(f"    {line}" for line in lines)]
        site, rack, unit = self.after.inventory.place(panel)
        return [f"  at panel {panel} ({site}, rack {rack}, unit {unit}):", *(f"    {line}" for line in lines)]


def _some(names: Sequence[str]) -> str:
    return join_words([*names[:_MAX_NAMED], *(["..."] if len(names) > _MAX_NAMED else [])])


def _find_moved_racks(plan: Inventory, room: Inventory) -> tuple[str, ...]:
    """Return racks of a plan that stand elsewhere in a room."""
    there = ((site, rack, place) for site, places in plan.racks.items() for rack, place in places.items())
    return tuple(rack for site, rack, place in there if room.racks.get(site, {}).get(rack, place) != place)


def _by_size(cords: Iterable[Cord]) -> Counter[CableSize]:
    return Counter(("patch cord", wire.sort, length) for wire, length in cords if wire.sort is not None)


def change_wiring(
    plan: WiringLike,
    wanted: TopologyLike | WiringPlan | int,
    *,
    inventory: InventoryLike | None = None,
    most_dark: int = 1,
    downtime: bool = False,
    keep_hosts: bool = False,
    walk: bool = False,
    throughput: bool | None = None,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Rewiring:
    """Change a wiring in stages, with few moves.

    Hosts may become other nodes than before: that moves no cable.

    Parameters
    ----------
    plan
        The wiring that exists, or the path of its file.
    wanted
        The topology that it is to be: a topology, a spec, a path of a file of links or a networkx graph; or another
        plan or the path of one, of which the topology counts. Or a larger number of hosts: then the topology that moves
        the fewest patches of those that :func:`topodesign.grow` finds.
    inventory
        The room as it will be, or the path of its file, where hosts, panels or switches come or go: fixed cables stay
        where both ends do, and hosts that have too few get more. Names that differ from those of the plan by zeros
        alone, such as host001 and host01, are taken for those. None for the room of the plan. Where no
        way is found so, and the room does not say how it is cabled, some fixed cables move.
    most_dark
        Links of a host, out and in counted apart, that may be dark at a time.
    downtime
        Move everything in one stage, whatever is dark meanwhile: some changes, as of a ring, cannot be made otherwise.
    keep_hosts
        Leave every host the node that it is, or is in the plan that is wanted.
    walk
        Of changes with as few moves, take one for which little is walked: other fibres of the same hosts, and other
        orders of the hosts. It needs the coordinates of racks.
    throughput
        Find connectivity and the best throughput of every stage, which takes long on large fabrics; None for up to
        4096 nodes.
    seed
        Of the search.
    progress
        Told the share that is done.

    Raises
    ------
    InfeasibleError
        If there are too few lanes at the panels, or no order of the stages is found.
    ParameterError
        If the topology has switches or more nodes than there are hosts, or hosts are to be kept and their number is
        another.
    SpecError, FileFormatError
        If the plan or what is wanted cannot be read.

    Examples
    --------
    >>> from topodesign import plain_inventory, plan_wiring
    >>> plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4), mode="simplex")
    >>> found = change_wiring(plan, "degree(biring(2,6),2)", most_dark=2)
    >>> found
    <Rewiring: circulant(12,2,3) to degree(biring(2,6),2): 12 moves; 36 patches of 48 stay; optimal (proven)>
    >>> found.after
    <WiringPlan: degree(biring(2,6),2), 12 nodes, simplex: 48 cross-connects>
    """
    seed, most_dark = as_seed(seed), as_integer("most_dark", most_dark, 1)
    before = as_wiring(plan)
    start = before.job
    target, own = "", None
    if isinstance(wanted, int):
        target, topology = _grow_topology(before, wanted, None if inventory is None else as_inventory(inventory))
    else:
        own = _get_wanted_plan(wanted)
        topology = as_topology(wanted) if own is None else own.topology
    before = before if topology.is_duplex else as_simplex(before)
    own = own if own is None or topology.is_duplex else as_simplex(own)
    room = None if inventory is None else as_inventory(inventory)
    room, renamed = (None, {}) if room is None else with_names_of(before.inventory, room)
    elsewhere = () if room is None else _find_moved_racks(before.inventory, room)
    moved = MovedWiring(before, (), (), ())
    try:
        if room is not None or topology.nodes > len({fixed.host for fixed in before.fixed}):
            moved = in_room(before, before.inventory if room is None else room, topology, own)
        kept = _list_kept_hosts(moved, topology.nodes, own) if keep_hosts else None
        change = moved.with_lost(fewest_moves(moved.plan, topology, hosts=kept, seed=seed, own=own))
    except InfeasibleError as error:
        if room is None or room.cabling:
            raise
        try:
            moved, own = with_cables_moved(before, room, topology, seed=seed)
        except InfeasibleError:
            raise error from None
        kept = _list_kept_hosts(moved, topology.nodes, None) if keep_hosts else None
        change = moved.with_lost(fewest_moves(moved.plan, topology, hosts=kept, seed=seed, own=own))
    before = moved.plan
    most = None if downtime else most_dark
    found = stages(change, most)
    if walk:
        change, found = _shorten_walks(moved, change, found, kept, own=own, most_dark=most, seed=seed)
    if is_told(throughput, topology.nodes):
        found = tuple(stage.with_strengths(before.speed) for stage in iterate_with_progress(found, progress))
    names = tuple(renamed.items())
    return Rewiring(change, found, moved.laid, moved.drawn, moved.moved, target, names, start, elsewhere)


def _grow_topology(plan: WiringPlan, nodes: int, inventory: Inventory | None) -> tuple[str, Topology]:
    """Return the topology with the fewest moves, and its description."""
    from topodesign.wiring.change.growth import grow  # noqa: PLC0415  the finder and the catalog

    room = plan.inventory if inventory is None else inventory
    if nodes > len(room.hosts):
        needs = extend_room(room, nodes, plan.topology.degree)
        raise InfeasibleError(f"{needs}; add them to an inventory, and pass it with --inventory")
    found = grow(plan, nodes, plan.topology.degree, bidirectional=plan.mode == "duplex")
    nearest, fastest = found.topologies[0], found.fastest
    cost = nearest.entry.cost
    words = f"{nodes} hosts: {nearest.name}, {count_noun(cost.steps, 'step')}, {format_factor(cost.bandwidth)}"
    if fastest.spec != nearest.name:
        other = next(one for one in found.topologies if one.entry is fastest)
        words += f"; {fastest_of(Scope.FOUND)}, {other.name}, needs {count_noun(other.moves, 'move')} ('pareto --near')"
    return words, nearest.topology


def _list_kept_hosts(moved: MovedWiring, nodes: int, own: WiringPlan | None) -> tuple[str, ...]:
    """Return the hosts to keep as nodes."""
    if own is not None:
        return own.hosts
    before = moved.plan
    coming = dict.fromkeys(fixed.host for fixed in moved.laid if fixed.host not in before.node)
    hosts = (*before.hosts, *coming)
    if len(hosts) != nodes:
        raise ParameterError(f"hosts cannot be kept: {nodes} nodes are wanted, and {len(hosts)} wired")
    return hosts


def _shorten_walks(
    moved: MovedWiring,
    change: Change,
    found: tuple[Stage, ...],
    hosts: Sequence[str] | None,
    *,
    own: WiringPlan | None,
    most_dark: int | None,
    seed: int,
) -> tuple[Change, tuple[Stage, ...]]:
    """Return a change and stages with less walking, if found."""
    best = Rewiring(change, found)
    if best.metres is None:
        raise ParameterError("to walk less, the inventory requires the coordinates of the racks of all panels (racks:)")
    orders = _ORDERS if hosts is None and len(change.after.hosts) <= _MAX_ORDERED else 1
    for other_seed in range(seed, seed + orders):
        wanted, other = change.after.topology, change
        if other_seed != seed:
            other = moved.with_lost(fewest_moves(moved.plan, wanted, hosts=hosts, seed=other_seed, own=own))
        for one in (other, with_less_way(other)):
            try:
                split = stages(one, most_dark)
            except InfeasibleError:
                continue
            candidate = Rewiring(one, split)
            metres = candidate.metres
            if metres is not None and best.metres is not None and (one.moves, metres) < (best.moves, best.metres):
                best = candidate
    return replace(best.change, at_least=max(change.at_least, best.change.at_least)), best.stages


def _get_wanted_plan(wanted: TopologyLike | WiringPlan) -> WiringPlan | None:
    """Return the wanted plan; None for a topology."""
    if isinstance(wanted, str | Path) and names_wiring(Path(wanted)):
        return load_wiring(wanted)
    return wanted if isinstance(wanted, WiringPlan) else None
