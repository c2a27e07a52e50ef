"""Wiring plans that several tests draw, made here by hand and not by the planner."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed, Host, Mode, Panel, PanelKind, PanelPort, Port
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.cross_connects import CrossConnect, End
from topodesign.wiring.plan.plan import WiringPlan

SPEED = Fraction(25 * 10**9)


def plan_of(
    topology: Topology,
    mode: Mode = "simplex",
    *,
    kind: PanelKind = "patch panel",
    breakout: bool = False,
    hosts: tuple[str, ...] | None = None,
) -> WiringPlan:
    """One panel with a port for every lane; links take the lanes of their ends in order."""
    names = hosts or tuple(f"h{node}" for node in range(topology.nodes))
    lanes = topology.degree
    count = -(-lanes // 4) if breakout else lanes
    ports = tuple(Port(f"eth{i}", "MPO-12" if breakout else "LC", SPEED) for i in range(count))
    machines = tuple(Host(name, "east", f"R{node // 4 + 1}", node % 4 + 1, ports) for node, name in enumerate(names))
    labels = [str(number + 1) for number in range(topology.nodes * lanes)]
    panel = Panel("P1", "east", "R0", 40, kind, tuple(PanelPort(label, mode) for label in labels), "P1")
    fixed = tuple(
        Fixed(name, f"eth{lane // 4 if breakout else lane}", lane % 4 + 1 if breakout else 1, "P1", label)
        for (name, lane), label in zip(((name, lane) for name in names for lane in range(lanes)), labels, strict=True)
    )
    racks = {
        "east": {f"R{number}": (Fraction(3 * number, 2), Fraction(0)) for number in range(topology.nodes // 4 + 2)}
    }
    stock = {"LC simplex": (Fraction(5), Fraction(10)), "LC duplex": (Fraction(5), Fraction(21, 2))}
    inventory = Inventory(machines, (panel,), stock=stock, racks=racks, slack=Fraction(1, 2), name="a room")
    connects = _connects(topology, mode, WiringPlan(inventory, topology, names, mode, (), fixed))
    return WiringPlan(inventory, topology, names, mode, connects, fixed)


def _connects(topology: Topology, mode: Mode, plan: WiringPlan) -> tuple[CrossConnect, ...]:
    lanes: dict[int, list[End]] = {node: [] for node in range(topology.nodes)}
    for end in plan.net.end.values():
        lanes[plan.node[end.host]].append(end)
    sends = {node: iter(ends) for node, ends in lanes.items()}
    receives = sends if mode == "duplex" else {node: iter(ends) for node, ends in lanes.items()}
    links = [(u, v) for u, v, c in topology.links() if u < v or (mode == "simplex" and u != v) for _ in range(c)]
    return tuple(
        CrossConnect(f"C{number:04}", mode, next(sends[u]), next(receives[v]))
        for number, (u, v) in enumerate(links, start=1)
    )


@st.composite
def plans(draw: st.DrawFn, kind: PanelKind | None = None) -> WiringPlan:
    """Simplex and duplex plans with parallel links, self-loops and breakout ports, the hosts in any order."""
    topology = draw(regular_digraphs(9, 3))
    mode: Mode = draw(st.sampled_from(["simplex", "duplex"]))
    if mode == "duplex":
        topology = Topology.from_links(
            topology.nodes, [link for u, v, c in topology.links() for link in ((u, v, c), (v, u, c))]
        )
    names = draw(st.permutations([f"h{node}" for node in range(topology.nodes)]))
    kinds: list[PanelKind] = ["patch panel", "ocs"] if kind is None else [kind]
    panel = draw(st.sampled_from(kinds))
    return plan_of(topology, mode, kind=panel, breakout=draw(st.booleans()), hosts=tuple(names))
