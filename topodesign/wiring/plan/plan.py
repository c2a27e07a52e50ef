"""Wiring plans: hosts of nodes, and cross-connects of links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from topodesign.base.declared import Declared, key, row_of
from topodesign.base.errors import InfeasibleError
from topodesign.base.records import Result, Table, shorten_text, table_of
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed, Lane, Mode, interface_name, split_name
from topodesign.wiring.inventory.inventory import (
    CableType,
    Inventory,
    format_metres,
    racks_without_place,
)
from topodesign.wiring.plan.cross_connects import CrossConnect, End, Spare
from topodesign.wiring.plan.losses import LossBudget, TableLike, circuit_losses, losses_of
from topodesign.wiring.plan.net import CableSize, CableUse, Net
from topodesign.wiring.plan.ring import find_ring


@dataclass(frozen=True, slots=True)
class Item:
    """Bill item."""

    use: CableUse  # what it is for: fixed cable or patch cord
    kind: CableType  # its type
    length: Fraction | None  # metres; None where they are not known
    count: int  # how many

    KEYS = "use type=kind length_m=length count"

    def __str__(self) -> str:
        size = "unknown length" if self.length is None else f"{format_metres(self.length)} m"
        return f"  {self.count:6} x {self.kind} {self.use}, {size}"


@dataclass(frozen=True, repr=False)
class Bill(Result):
    """Bill of materials."""

    items: tuple[Item, ...]  # what to buy, by type and length
    cabled: bool  # whether the fixed cabling exists, so that none is on the bill

    KEYS = "items metres cabled"
    ROWS = "items"

    @property
    def metres(self) -> Fraction | None:
        """Total metres of all cables; None if some are unknown."""
        if any(item.length is None for item in self.items):
            return None
        return sum((item.length * item.count for item in self.items if item.length is not None), Fraction(0))

    def heading(self) -> str:
        """Return the title of the bill."""
        return f"bill of materials{'; the fixed cabling exists' if self.cabled else ''}"

    def __str__(self) -> str:
        if not self.items:
            return self.heading().replace("materials", "materials: nothing", 1)
        lines = [f"{self.heading()}:", *map(str, self.items)]
        if self.metres is not None:
            lines.append(f"  {format_metres(self.metres)} m of cable in all")
        return "\n".join(lines)


_MAX_LISTED = 12  # hosts, spare lanes, trunks and racks that a summary names


_MAX_ROWS = 60  # cross-connects that a table shows; the records have them all


@dataclass(frozen=True, slots=True)
class PanelUse(Declared):
    """Panel and its ports."""

    panel: str  # its name
    ports: int  # ports
    cabled: int  # ports with a host behind
    patched: int  # ports that the plan uses
    blocked: int  # ports that the inventory excludes
    leading: int  # ports that lead to one of another panel

    KEYS = "panel ports cabled patched blocked leading"


@dataclass(frozen=True, slots=True)
class Parallel(Declared):
    """Parallel links between two hosts."""

    sender: str  # host
    receiver: str  # host
    links: int  # how many

    KEYS = "from=sender to=receiver links"
    SHARED = "trunk"


@dataclass(frozen=True, repr=False)
class WiringPlan(Result):
    """Wiring plan, as returned by :func:`topodesign.wiring.plan.wire.plan_wiring`.

    Attributes
    ----------
    inventory
        What it uses.
    topology
        What it makes, without switches.
    hosts
        The name of the host that is each node.
    mode
        Whether the two fibres of a lane are patched apart (``simplex``) or together (``duplex``).
    connects
        The cross-connects, by panel port.
    fixed
        The fixed cabling it rests on: that of the inventory, or as planned.
    """

    inventory: Inventory
    topology: Topology
    hosts: tuple[str, ...]
    mode: Mode
    connects: tuple[CrossConnect, ...]
    fixed: tuple[Fixed, ...]

    KEYS = (
        key("spec=topology.spec", "What names and rebuilds the topology; null for links that have no spec."),
        key("alias=topology.alias", "The short spec that it was asked for by, with the version of the catalog."),
        key("nodes=topology.nodes", "Nodes N."),
        "mode hosts",
        key("cross_connects=len(connects)", "Patches and circuits."),
        key("ring", "Hosts along the ring that all links make, in the order for ranks; null for other topologies."),
        "panels spare trunks",
        key("bill=bill.items", "Bill of materials."),
        key("cable_m=bill.metres", "Metres in all; null where they are not known."),
        "loss",
    )
    ROWS = "connects"

    def __post_init__(self) -> None:
        """Copy the sequences to tuples."""
        for name in ("hosts", "connects", "fixed"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    @cached_property
    def node(self) -> dict[str, int]:
        """Nodes by host name."""
        return {host: node for node, host in enumerate(self.hosts)}

    @cached_property
    def speed(self) -> Fraction:
        """Speed of each used lane, in bits per second."""
        return self.inventory.speeds[0]

    def interface(self, end: End | Lane) -> str:
        """Return a lane's interface name, such as ``p0/2``."""
        return interface_name(end.port, end.lane, self.inventory.port[end.socket].lanes)

    def split_name(self, end: End) -> str:
        """Return a lane's Linux interface name, such as ``p0s1``."""
        return split_name(end.port, end.lane, self.inventory.port[end.socket].lanes)

    def lane_name(self, end: End | Lane) -> str:
        """Return a lane's host and interface, such as ``h3 p0/2``."""
        return f"{end.host} {self.interface(end)}"

    @cached_property
    def spare(self) -> tuple[Spare, ...]:
        """Lanes of nodes with free fibres, including self-loops."""
        sending, receiving = self.net.sends, self.net.hears
        loops = {u: capacity for u, v, capacity in self.topology.links() if u == v}
        spare = []
        for end in self.fixed:
            transmit, receive = end.source not in sending, end.source not in receiving
            if end.host not in self.node or not (transmit or receive):
                continue
            node = self.node[end.host]
            self_loop = transmit and receive and loops.get(node, 0) > 0
            if self_loop:
                loops[node] -= 1
            spare.append(Spare(end, transmit, receive, self_loop))
        return tuple(spare)

    @cached_property
    def trunks(self) -> tuple[Parallel, ...]:
        """Parallel links between two hosts; duplex pairs once."""
        return tuple(
            Parallel(self.hosts[u], self.hosts[v], capacity)
            for u, v, capacity in self.topology.links()
            if capacity > 1 and (u < v if self.mode == "duplex" else u != v)
        )

    @cached_property
    def ring(self) -> tuple[str, ...] | None:
        """Hosts along the ring of all links, or None."""
        found = find_ring(self.topology)
        return None if found is None else tuple(self.hosts[node] for node in found)

    def _ring_words(self) -> str:
        """Return the rank order along the ring, with common ports."""
        if self.ring is None:
            return ""
        following = dict(zip(self.ring, (*self.ring[1:], self.ring[0]), strict=True))
        ports = set()
        for connect in self.connects:
            ahead = following.get(connect.a.host) == connect.b.host
            a, b = (connect.a, connect.b) if ahead else (connect.b, connect.a)
            ports.add((a.port, b.port))
        a_port, b_port = next(iter(ports), ("", ""))
        joins = f"; every cable from {a_port} to {b_port} of the next" if len(ports) == 1 and a_port != b_port else ""
        return f"ranks along the ring: {_join_entries(self.ring)}{joins}"

    @cached_property
    def one_way(self) -> tuple[CrossConnect, ...]:
        """Patches between lanes that no other patch joins in the other direction."""
        back = {(connect.b.place, connect.a.place) for connect in self.connects}
        some = self.connects if self.mode == "simplex" else ()
        return tuple(connect for connect in some if (connect.a.place, connect.b.place) not in back)

    @cached_property
    def net(self) -> Net:
        """Wires of the plan, and the optical paths."""
        return Net(self.inventory, self.mode, self.fixed, self.connects)

    def bill(self) -> Bill:
        """Return the cables to buy: patch cords and fixed cables.

        Fixed cables that exist are omitted.
        """
        return self._bill

    @cached_property
    def _bill(self) -> Bill:
        return Bill(items_of(self.net.cables()), cabled=bool(self.inventory.cabling))

    def loss_budget(self, tables: Mapping[str, TableLike] | None = None) -> LossBudget:
        """Return the known loss of every link against its budget.

        ``tables``: of circuit switches by name: what they lose from port to port, or the path of that file (CSV).
        """
        read = circuit_losses(self.inventory, tables or {})
        return losses_of(self.net, tables=read)

    @cached_property
    def loss(self) -> LossBudget | None:
        """Losses of links; None if no port has a budget."""
        if all(port.budget_db is None for host in self.inventory.hosts for port in host.ports):
            return None
        losses = self.loss_budget()
        return losses if losses.budgeted else None

    @property
    def job(self) -> str:
        """Short name of the topology; its number of nodes if it has none."""
        name = self.topology.alias or self.topology.spec
        return f"{self.topology.nodes} hosts" if name is None else shorten_text(str(name))

    def name_sheet(self, work: str) -> str:
        """Return the title of a sheet: the room, and the work."""
        return f"{self.inventory.name}: {work}" if self.inventory.name else work

    def heading(self) -> str:
        """Return a summary of the plan."""
        name = "" if self.topology.spec is None else f"{shorten_text(str(self.topology.spec))}, "
        return f"{name}{self.topology.nodes} nodes, {self.mode}: {len(self.connects)} cross-connects"

    def link_of(self, connect: CrossConnect) -> tuple[int, int]:
        """Return the nodes at the two ends of a cross-connect."""
        return self.node[connect.a.host], self.node[connect.b.host]

    def to_records(self) -> list[dict[str, Any]]:
        """Return one row per cross-connect, with the nodes at its ends."""
        rows = []
        for one in self.connects:
            u, v = self.link_of(one)
            rows.append({"cable": one.cable, "mode": one.mode, "from_node": u, "to_node": v} | row_of(one))
        return rows

    def table(self) -> Table:
        """Return the first cross-connects."""
        records = self.to_records()
        hidden = len(records) - _MAX_ROWS
        table = table_of(records[:_MAX_ROWS], self.heading())
        return replace(table, footnote=f"and {hidden} more") if hidden > 0 else table

    def __str__(self) -> str:
        name = self.topology.alias or self.topology.spec
        named = "" if name is None else f"{shorten_text(str(name))}: "
        lines = [f"{named}{self.topology.nodes} nodes, {self.mode}, {len(self.connects)} cross-connects, checked"]
        lines += [] if self.topology.alias is None else [f"{self.topology.alias}: {self.topology.spec}"]
        for one in self.panels:
            more = f", {one.blocked} blocked" if one.blocked else ""
            more += f", {one.leading} to other panels" if one.leading else ""
            lines.append(f"panel {one.panel}: {one.ports} ports, {one.cabled} cabled, {one.patched} patched{more}")
        arrow = "--" if self.mode == "duplex" else "->"
        trunks = [f"{one.sender} {arrow} {one.receiver} x{one.links}" for one in self.trunks]
        lines += [self._ring_words()] if self.ring is not None else []
        for name, entries in (("spare lanes", list(map(str, self.spare))), ("trunks", trunks)):
            lines += [f"{len(entries)} {name}: {_join_entries(entries)}"] if entries else []
        try:
            bill, losses = self.bill(), self.loss
        except InfeasibleError as error:
            return "\n".join([*lines, f"bill of materials: {error}"])
        lacking = racks_without_place(self.inventory) if bill.metres is None else []
        where = [f"  no coordinates in the inventory: {_join_entries([f'rack {rack}' for rack in lacking])}"]
        light = [] if losses is None else [losses.heading()]
        return "\n".join([*lines, str(bill), *(where if lacking else []), *light])

    @cached_property
    def panels(self) -> tuple[PanelUse, ...]:
        """Panels and switches, with their numbers of used ports."""
        ends = {end.place for connect in self.connects for end in (connect.a, connect.b)}
        patched = Counter(panel for panel, _ in ends)
        led = Counter(trunk.near for trunk in self.inventory.trunks)
        cabled = Counter(panel for places in self.net.places.values() for panel in dict(places))
        return tuple(
            PanelUse(
                panel.name,
                len(panel.ports),
                cabled[panel.name],
                patched[panel.name],
                sum(port.blocked for port in panel.ports),
                led[panel.name],
            )
            for panel in self.inventory.panels
        )


def items_of(count: Mapping[CableSize, int]) -> tuple[Item, ...]:
    """Return bill items from counts by use, type and length."""
    lines = sorted(count.items(), key=lambda line: (*line[0][:2], line[0][2] is None, line[0][2] or 0))
    return tuple(Item(*size, number) for size, number in lines)


def items_words(items: Iterable[Item]) -> str:
    """Return the items of a bill in one line."""
    return ", ".join(" ".join(str(item).split()) for item in items) or "nothing"


def list_hosts(hosts: Sequence[str]) -> str:
    """Return the first hosts of an order, and how many more there are."""
    more = len(hosts) - _MAX_LISTED
    return " ".join(hosts[:_MAX_LISTED]) + (f" and {more} more (all with --json)" if more > 0 else "")


def _join_entries(entries: Sequence[str]) -> str:
    more = f", and {len(entries) - _MAX_LISTED} more" if len(entries) > _MAX_LISTED else ""
    return ", ".join(entries[:_MAX_LISTED]) + more
