"""Exports read back, as they may come from other hands, and the links that what they say makes.

The patch list and the NetBox file say what is cabled to which panel port themselves; files for circuit switches rest on
the fixed cabling of the plan. All rest on it for the number of a host.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from topodesign.base.atomic import file_name
from topodesign.base.errors import FileFormatError, ParameterError, TopologyError
from topodesign.base.tables import named_columns
from topodesign.base.text_files import read_text
from topodesign.topology.files import read_topology
from topodesign.topology.topology import Topology
from topodesign.wiring.exports import netbox, patches
from topodesign.wiring.exports.switch import CONFIG_ENDING, SCPI_ENDING, TABLE, ports_of
from topodesign.wiring.inventory.inventory import Fixed, Inventory, lanes_of
from topodesign.wiring.plan.circuits import Circuit, topology_of
from topodesign.wiring.plan.plan import Plan

IMPORTS = ("patches", "netbox", "sonic", "scpi", "graphml", "json")
"""The formats of an export that can be read back."""

Link = tuple[int, int, int]
"""A link from and to these nodes, and how many there are of it."""

_PAIR = re.compile(r"([1-9][0-9]{0,8})A-([1-9][0-9]{0,8})B")
_LIST = r"\(@([0-9]{1,9}(?:,[0-9]{1,9})*)\)"
_ADD = re.compile(rf":?oxc:swit(?:ch)?:conn(?:ect)?:add\s+{_LIST}\s*,\s*{_LIST}\s*;?", re.IGNORECASE)


def read_export(path: Path, file_format: str, plan: Plan) -> Topology:
    """Return the links that an export makes, its nodes numbered as in the plan.

    Parameters
    ----------
    path
        A file, or for ``sonic`` and ``scpi`` the directory with those of all switches.
    file_format
        One of ``IMPORTS``.
    plan
        The hosts, and what is cabled to the ports of circuit switches.

    Raises
    ------
    FileFormatError
        If it cannot be read; the message names the file and the line.
    """
    try:
        return _READERS[file_format](path, plan)
    except (FileFormatError, ParameterError, TopologyError) as error:
        raise FileFormatError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None


def differences(plan: Plan, found: Topology) -> tuple[list[Link], list[Link]]:
    """Return the links of a plan that are missing, and those found beyond it, with how many of each; no self-loops."""
    want, have = (Counter({(u, v): c for u, v, c in topology.links() if u != v}) for topology in (plan.topology, found))
    missing, extra = want - have, have - want
    return [(u, v, c) for (u, v), c in sorted(missing.items())], [(u, v, c) for (u, v), c in sorted(extra.items())]


def _read_graph(path: Path, plan: Plan) -> Topology:
    topology = read_topology(path)
    if topology.nodes != len(plan.hosts):
        raise FileFormatError(f"there are {topology.nodes} nodes, and {len(plan.hosts)} in the plan")
    return topology


def _read_patches(path: Path, plan: Plan) -> Topology:
    fixed: list[Fixed] = []
    made: list[Circuit] = []
    for line, row in named_columns(read_text(path, (".csv",)), patches.COLUMNS):
        a, b = (row["a_device"], row["a_port"]), (row["b_device"], row["b_port"])
        sides = row["a_side"], row["b_side"]
        if row["kind"] == "fixed" and _is_number(row["a_lane"]):
            fixed.append(Fixed(*a, int(row["a_lane"]), *b))
        elif row["kind"] in {"patch", "circuit"} and sides == ("A", "B"):
            made.append(Circuit(a, b))
        elif row["kind"] in {"patch", "circuit"} and sides == ("A+B", "A+B"):
            made += [Circuit(a, b), Circuit(b, a)]
        else:
            what = f"kind {row['kind']!r}, lane {row['a_lane']!r}, sides {sides}"
            raise FileFormatError(f"line {line}: no cable has {what}")
    return topology_of(made, _cabled(plan, fixed))


def _read_netbox(path: Path, plan: Plan) -> Topology:
    fixed: list[Fixed] = []
    made: list[Circuit] = []
    lanes = {
        (host.name, netbox.interface_name(port.name, lane, port.lanes)): (port.name, lane)
        for host in plan.inventory.hosts
        for port, lane in lanes_of(host)
    }
    fibres = dict(_front_ports(plan.inventory))
    for line, row in named_columns(read_text(path, (".csv",)), netbox.COLUMNS):
        a, b = (row["side_a_device"], row["side_a_name"]), (row["side_b_device"], row["side_b_name"])
        types = row["side_a_type"], row["side_b_type"]
        if types == (netbox.INTERFACE, netbox.REAR) and a in lanes:
            fixed.append(Fixed(a[0], *lanes[a], *b))
        elif types == (netbox.FRONT, netbox.FRONT) and a in fibres and b in fibres:
            made += _circuits(fibres[a], fibres[b], line)
        else:
            raise FileFormatError(
                f"line {line}: {' '.join(a)} and {' '.join(b)} are no interface and rear port, or front ports"
            )
    return topology_of(made, _cabled(plan, fixed))


def _front_ports(inventory: Inventory) -> Iterator[tuple[tuple[str, str], tuple[str, str, str]]]:
    """Yield panel and name of every front port, with panel, label and sides."""
    for panel in inventory.panels:
        for port in panel.ports:
            if port.mode == "duplex":
                yield (panel.name, port.label), (panel.name, port.label, "AB")
            else:
                for side in "AB":
                    yield (panel.name, f"{port.label}{side}"), (panel.name, port.label, side)


def _circuits(a: tuple[str, str, str], b: tuple[str, str, str], line: int) -> list[Circuit]:
    """Return what a cable between front ports makes: it may have been plugged either way round."""
    there, back = Circuit(a[:2], b[:2]), Circuit(b[:2], a[:2])
    made = {("AB", "AB"): [there, back], ("A", "B"): [there], ("B", "A"): [back]}.get((a[2], b[2]))
    if made is None:
        raise FileFormatError(f"line {line}: a cable from side {a[2]} to side {b[2]} carries no light")
    return made


def _cabled(plan: Plan, fixed: list[Fixed]) -> Plan:
    """Return the plan with the fixed cabling of a file, which must make sense with the inventory."""
    inventory = plan.inventory
    Inventory(inventory.hosts, inventory.panels, tuple(fixed))
    return replace(plan, fixed=tuple(fixed), connects=())


def _read_sonic(path: Path, plan: Plan) -> Topology:
    made = []
    for panel, text in _switch_files(path, plan, CONFIG_ENDING):
        try:
            table = json.loads(text)[TABLE]
            pairs = {name: (entry["a_side"], entry["b_side"]) for name, entry in table.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise FileFormatError(
                f'{panel}{CONFIG_ENDING}: expected {{"{TABLE}": {{"1A-2B": {{"a_side": ...}}}}}}'
            ) from None
        for name, (a, b) in pairs.items():
            match = _PAIR.fullmatch(name)
            if match is None or (f"{match[1]}A", f"{match[2]}B") != (a, b):
                raise FileFormatError(f"{panel}{CONFIG_ENDING}: {name[:40]!r} is not as 1A-2B, or joins other ports")
            made.append(Circuit((panel, match[1]), (panel, match[2])))
    return topology_of(made, plan)


def _read_scpi(path: Path, plan: Plan) -> Topology:
    made = []
    for panel, text in _switch_files(path, plan, SCPI_ENDING):
        size = ports_of(plan.inventory.panel[panel])
        for number, line in enumerate(text.splitlines(), start=1):
            match = _ADD.fullmatch(line.strip())
            if line.strip() and match is None:
                raise FileFormatError(
                    f"{panel}{SCPI_ENDING}, line {number}: expected :OXC:SWITch:CONNect:ADD (@1),(@18)"
                )
            if match is None:
                continue
            ins, outs = ([int(port) for port in ports.split(",")] for ports in match.groups())
            if len(ins) != len(outs) or not all(0 < port <= size for port in ins) or min(outs) <= size:
                raise FileFormatError(f"{panel}{SCPI_ENDING}, line {number}: not from ports 1 to {size} to those after")
            made += [Circuit((panel, str(a)), (panel, str(b - size))) for a, b in zip(ins, outs, strict=True)]
    return topology_of(made, plan)


def _switch_files(path: Path, plan: Plan, ending: str) -> Iterator[tuple[str, str]]:
    """Yield name and text for every circuit switch."""
    for panel in plan.inventory.panels:
        if panel.kind == "ocs":
            file = path / file_name(panel.name + ending)
            try:
                yield panel.name, read_text(file, (ending,))
            except FileFormatError as error:
                raise FileFormatError(f"{file.name}: {error}") from None


def _is_number(cell: str) -> bool:
    return cell.isascii() and cell.isdecimal() and len(cell) <= 9


_READERS: Mapping[str, Callable[[Path, Plan], Topology]] = {
    "patches": _read_patches,
    "netbox": _read_netbox,
    "sonic": _read_sonic,
    "scpi": _read_scpi,
    "graphml": _read_graph,
    "json": _read_graph,
}
