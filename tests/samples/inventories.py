"""Inventories that several tests use."""

from __future__ import annotations

from fractions import Fraction

from topodesign.wiring.inventory.devices import Host, Mode, Panel, PanelKind, PanelPort, Port
from topodesign.wiring.inventory.inventory import Inventory

SPEED = Fraction(25 * 10**9)
PER_RACK = 32


def inventory_of(
    hosts: int,
    lanes: int,
    panels: tuple[int, ...],
    *,
    mode: Mode = "simplex",
    kind: PanelKind = "ocs",
    field: str | None = None,
    racks: bool = False,
) -> Inventory:
    """Hosts h0, h1, ... with breakout ports where the lanes allow it, and panels P0, P1, ... of so many ports."""
    breakout = lanes % 4 == 0
    ports = tuple(Port(f"eth{i}", "MPO-12" if breakout else "LC", SPEED) for i in range(lanes // 4 or 1))
    if not breakout:
        ports = tuple(Port(f"eth{i}", "LC", SPEED) for i in range(lanes))
    machines = tuple(Host(f"h{i}", "s", f"r{i // PER_RACK}", 1 + i % PER_RACK, ports) for i in range(hosts))
    boards = tuple(
        Panel(f"P{i}", "s", f"r{i}", 40, kind, tuple(PanelPort(str(k + 1), mode) for k in range(n)), field or f"P{i}")
        for i, n in enumerate(panels)
    )
    count = max(hosts // PER_RACK + 1, len(panels))
    places = {f"r{i}": (Fraction(3 * (i % 8), 5), Fraction(2 * (i // 8))) for i in range(count)}
    return Inventory(machines, boards, racks={"s": places} if racks else {})


FIVE_HOSTS = """hosts:
  - {name: "h[1-5]", rack: r1, unit: "[1-5]",
     ports: [{name: "p1", connector: LC, speed: 100Gbps}, {name: "p2", connector: LC, speed: 100Gbps}]}
panels:
  - {name: "ocs[1-2]", kind: ocs, rack: r1, unit: "[11-12]", ports: [{label: "[1-5]", mode: duplex}]}
cabling:
  - {host: "h[1-5]", port: p1, panel: ocs1, panel_port: "[1-5]"}
  - {host: "h[1-5]", port: p2, panel: ocs2, panel_port: "[1-5]"}
"""
"""Five hosts with a lane on each of two circuit switches with duplex ports, as a file."""
