"""Wirings that several tests start from, made without the planner."""

from __future__ import annotations

from fractions import Fraction

from topodesign.topology.topology import Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.inventory.inventory import Fixed, Host, Inventory, Mode, Panel, PanelKind, PanelPort, Port
from topodesign.wiring.plan.plan import WiringPlan


def bare(
    hosts: int, lanes: int, panels: int = 1, mode: Mode = "simplex", kind: PanelKind = "patch panel"
) -> WiringPlan:
    """Hosts h0, h1, ... with breakout ports p0, p1, ... whose lanes are cabled to the panels in turn, and no patch."""
    ports = tuple(Port(f"p{number}", "MPO-12", Fraction(25 * 10**9)) for number in range(-(-lanes // 4)))
    devices = tuple(Host(f"h{number}", "lab", "r1", number + 1, ports) for number in range(hosts))
    fixed, labels = [], [0] * panels
    for host in devices:
        for lane in range(lanes):
            panel = lane % panels
            labels[panel] += 1
            fixed.append(Fixed(host.name, f"p{lane // 4}", lane % 4 + 1, f"panel{panel}", str(labels[panel])))
    boards = tuple(
        Panel(f"panel{i}", "lab", "r2", i + 1, kind, tuple(PanelPort(str(k + 1), mode) for k in range(n)), f"panel{i}")
        for i, n in enumerate(labels)
    )
    names = tuple(host.name for host in devices)
    return WiringPlan(Inventory(devices, boards), Topology.from_links(hosts, []), names, mode, (), tuple(fixed))


def wired(topology: Topology, lanes: int, panels: int = 1, mode: Mode = "simplex", **kind: PanelKind) -> WiringPlan:
    """A wiring of a topology, node i on host i."""
    plan = bare(topology.nodes, lanes, panels, mode, **kind)
    return fewest_moves(plan, topology, hosts=plan.hosts).after
