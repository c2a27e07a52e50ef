"""Wiring plans: which host is which node, and the cross-connects that make the links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.inventory import Fixed, Inventory, Mode


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cross-connect: the panel port, and the lane that the fixed cabling brings there."""

    host: str
    port: str
    lane: int
    panel: str
    panel_port: str


@dataclass(frozen=True, slots=True)
class CrossConnect:
    """One patch (or one circuit of a switch).

    Attributes
    ----------
    cable
        Its name, unique in the plan.
    mode
        ``simplex``: light goes from side A of the panel port of ``a`` to side B of that of ``b``, which makes the
        link u -> v. ``duplex``: both fibres, which makes the links u -> v and v -> u.
    link
        The nodes (u, v) that sit at ``a`` and ``b``.
    a, b
        The ends; their panels differ only within a field.
    """

    cable: str
    mode: Mode
    link: tuple[int, int]
    a: End
    b: End


@dataclass(frozen=True, slots=True)
class Spare:
    """A cabled lane of a node of which the transmitter, the receiver or both are free.

    Attributes
    ----------
    end
        The lane and its panel port.
    transmit, receive
        Whether the transmitter (side A) and the receiver (side B) are free.
    self_loop
        Whether the lane is free because of a self-loop, which uses up a port and is not patched.
    """

    end: End
    transmit: bool
    receive: bool
    self_loop: bool


@dataclass(frozen=True)
class Plan:
    """A wiring plan.

    Attributes
    ----------
    inventory
        What it uses.
    topology
        What it makes, without switches.
    hosts
        The name of the host that is each node, shape ``(nodes,)``.
    mode
        ``simplex`` or ``duplex``, of all cross-connects.
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

    @cached_property
    def node(self) -> dict[str, int]:
        """Nodes by the name of their host."""
        return {host: node for node, host in enumerate(self.hosts)}

    @cached_property
    def end(self) -> dict[tuple[str, str], End]:
        """What the fixed cabling brings to a panel port, by the panel's name and the label."""
        return {
            (fixed.panel, fixed.panel_port): End(fixed.host, fixed.port, fixed.lane, fixed.panel, fixed.panel_port)
            for fixed in self.fixed
        }

    @cached_property
    def spare(self) -> tuple[Spare, ...]:
        """Lanes of nodes that are not fully used; as many as a node has self-loops are put down to these."""
        sending = {(connect.a.panel, connect.a.panel_port) for connect in self.connects}
        receiving = {(connect.b.panel, connect.b.panel_port) for connect in self.connects}
        if self.mode == "duplex":
            sending = receiving = sending | receiving
        loops = {u: capacity for u, v, capacity in self.topology.links() if u == v}
        spare = []
        for key, end in self.end.items():
            transmit, receive = key not in sending, key not in receiving
            if end.host not in self.node or not (transmit or receive):
                continue
            node = self.node[end.host]
            self_loop = transmit and receive and loops.get(node, 0) > 0
            if self_loop:
                loops[node] -= 1
            spare.append(Spare(end, transmit, receive, self_loop))
        return tuple(spare)

    @cached_property
    def trunks(self) -> tuple[tuple[int, int, int], ...]:
        """Parallel links as (u, v, number), self-loops aside; of duplex ones, each pair once with u < v."""
        return tuple(
            (u, v, capacity)
            for u, v, capacity in self.topology.links()
            if capacity > 1 and (u < v if self.mode == "duplex" else u != v)
        )
