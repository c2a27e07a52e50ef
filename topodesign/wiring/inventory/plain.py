"""An inventory without particulars, for trying things out."""

from __future__ import annotations

from topodesign.base.arguments import as_choice, as_integer
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.wiring.inventory.inventory import (
    MODES,
    PANEL_KINDS,
    Host,
    Inventory,
    Mode,
    Panel,
    PanelKind,
    PanelPort,
    Port,
)

_MOST = 2**17


def plain_inventory(
    hosts: int,
    lanes: int,
    *,
    panels: int = 1,
    kind: PanelKind = "patch panel",
    mode: Mode = "simplex",
    speed: Quantity = "25Gbps",
) -> Inventory:
    """Return hosts ``h0``, ``h1``, ... in one rack, and panels ``P0``, ... that have a port for every lane each.

    Parameters
    ----------
    hosts
        How many.
    lanes
        Ports of each host, named ``eth0``, ``eth1``, ..., each one lane.
    panels
        How many.
    kind, mode
        Of the panels and of their ports.
    speed
        Of a lane: text such as ``25Gbps``, or bits per second.

    Raises
    ------
    ParameterError, UnitError
        If there are no hosts, lanes or panels, or the speed is none.

    Examples
    --------
    >>> plain_inventory(12, 4)
    Inventory('plain', 12 hosts with 48 lanes, 1 panel with 48 ports)
    """
    hosts, lanes, panels = (
        as_integer(name, value, 1, _MOST) for name, value in (("hosts", hosts), ("lanes", lanes), ("panels", panels))
    )
    kind, mode = as_choice("kind", kind, PANEL_KINDS), as_choice("mode", mode, MODES)
    ports = tuple(Port(f"eth{number}", "LC", as_bandwidth(speed)) for number in range(lanes))
    labels = tuple(PanelPort(str(number), mode) for number in range(1, hosts * lanes + 1))
    return Inventory(
        tuple(Host(f"h{number}", "", "r0", number + 1, ports) for number in range(hosts)),
        tuple(Panel(f"P{number}", "", "r0", 0, kind, labels, f"P{number}") for number in range(panels)),
        name="plain",
    )
