"""Wirings that several tests start from, made without the planner."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from topodesign.topology.topology import Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.exports.formats.switch_files import to_switches
from topodesign.wiring.inventory.devices import Fixed, Host, Mode, Panel, PanelKind, PanelPort, Port, Trunk
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS


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


def behind_trunks(plan: WiringPlan, pods: bool) -> WiringPlan:
    """The same with every panel reached through a patch panel of its own, or one a pod."""
    room, near, trunks = plan.inventory, [], []
    pod = {host.name: f"pod{number % 2}" if pods else "" for number, host in enumerate(room.hosts)}
    labels: dict[str, list[str]] = {}
    for panel in room.panels:
        for port in panel.ports:
            end = plan.net.end.get((panel.name, port.label))
            name = f"near{pod[end.host] if end is not None else ''}"
            labels.setdefault(name, []).append(str(len(labels.get(name, ())) + 1))
            trunks.append(Trunk(panel.name, port.label, name, labels[name][-1]))
    for row, (name, some) in enumerate(labels.items()):
        ports = tuple(PanelPort(label, plan.mode) for label in some)
        reach = (name.removeprefix("near"),) if pods else ()
        near.append(Panel(name, "lab", "r3", row + 1, "patch panel", ports, name, reach))
    hosts = tuple(replace(host, pod=pod[host.name]) for host in room.hosts)
    return replace(plan, inventory=replace(room, hosts=hosts, panels=(*room.panels, *near), trunks=tuple(trunks)))


def switch_files(name: str, plan: WiringPlan) -> dict[str, str]:
    """The files for circuit switches that an export of a plan has, by their names."""
    return to_switches(plan, driver=DRIVERS[name])[0]
