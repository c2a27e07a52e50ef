"""Commands for optical circuit switches: SONiC's configuration and command line, and SCPI as Polatis switches take it.

Both know ports by number: side A of port 12 is ``12A`` to SONiC, and 12 in SCPI. Side B of port 12 is ``12B``, and in
SCPI 12 and the number of ports of the switch, for the ports that light leaves by follow those that it enters by.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from topodesign.base.atomic import file_name
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.inventory import Panel
from topodesign.wiring.plan.circuits import Circuit, circuits, topology_of
from topodesign.wiring.plan.plan import WiringPlan

TABLE = "OCS_CROSS_CONNECT"
CONFIG_ENDING, COMMANDS_ENDING, SCPI_ENDING = ".json", ".sh", ".scpi"
_PAIR = re.compile(r"([1-9][0-9]{0,8})A-([1-9][0-9]{0,8})B")
_LIST = r"\(@([0-9]{1,9}(?:,[0-9]{1,9})*)\)"
_ADD = re.compile(rf":?oxc:swit(?:ch)?:conn(?:ect)?:add\s+{_LIST}\s*,\s*{_LIST}\s*;?", re.IGNORECASE)


def to_sonic(plan: WiringPlan) -> dict[str, str]:
    """Return the files of every circuit switch: a table for CONFIG_DB, and the same as commands.

    ``NAME.json`` has ``{"OCS_CROSS_CONNECT": {"1A-2B": {"a_side": "1A", "b_side": "2B"}}}``, which ``config load``
    takes; ``NAME.sh`` a ``config ocs cross-connect add 1A-2B update`` for each, which moves ports that are in use. (So
    sonic-mgmt says it. Images whose commands are generated from the YANG model have others: load the table there.)

    Raises
    ------
    ParameterError
        If there is no circuit switch, or a port is not labelled by a number.
    """
    files = {}
    for panel, made in _switches(plan):
        pairs = [(f"{_number(panel, circuit.a[1])}A", f"{_number(panel, circuit.b[1])}B") for circuit in made]
        table = {f"{a}-{b}": {"a_side": a, "b_side": b} for a, b in pairs}
        commands = "".join(f"sudo config ocs cross-connect add {a}-{b} update\n" for a, b in pairs)
        files[panel.name + CONFIG_ENDING] = json.dumps({TABLE: table}, indent=4) + "\n"
        files[panel.name + COMMANDS_ENDING] = "#!/bin/sh -e\n" + commands
    return files


def to_scpi(plan: WiringPlan) -> dict[str, str]:
    """Return the commands of every circuit switch, one a circuit: ``:OXC:SWITch:CONNect:ADD (@1),(@18)``.

    Raises
    ------
    ParameterError
        If there is no circuit switch, or the labels of a switch's ports are not the numbers from 1 on.
    """
    files = {}
    for panel, made in _switches(plan):
        size = ports_of(panel)
        lines = [
            f":OXC:SWITch:CONNect:ADD (@{_number(panel, a)}),(@{size + _number(panel, b)})\n" for (_, a), (_, b) in made
        ]
        files[panel.name + SCPI_ENDING] = "".join(lines)
    return files


def from_sonic(path: Path, plan: WiringPlan) -> Topology:
    """Return the links that the tables of all switches in a directory make.

    Raises
    ------
    FileFormatError
        If it cannot be read; the message names the line.
    TopologyError, InventoryError
        If what it says cannot be cabled so.
    """
    made = []
    for panel, text in _switch_files(path, plan, CONFIG_ENDING):
        try:
            table = parse_json(text)[TABLE]
            pairs = {name: (entry["a_side"], entry["b_side"]) for name, entry in table.items()}
        except (TypeError, KeyError, AttributeError):
            raise FileFormatError(
                f'{panel}{CONFIG_ENDING}: expected {{"{TABLE}": {{"1A-2B": {{"a_side": ...}}}}}}'
            ) from None
        for name, (a, b) in pairs.items():
            match = _PAIR.fullmatch(name)
            if match is None or (f"{match[1]}A", f"{match[2]}B") != (a, b):
                raise FileFormatError(f"{panel}{CONFIG_ENDING}: {name[:40]!r} is not as 1A-2B, or joins other ports")
            made.append(Circuit((panel, match[1]), (panel, match[2])))
    return topology_of(made, plan)


def from_scpi(path: Path, plan: WiringPlan) -> Topology:
    """Return the links that the commands of all switches in a directory make.

    Raises
    ------
    FileFormatError
        If it cannot be read; the message names the line.
    TopologyError, InventoryError
        If what it says cannot be cabled so.
    """
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


def ports_of(panel: Panel) -> int:
    """Return the number of ports of a switch, all of which must be in the inventory to know it."""
    if sorted(_number(panel, port.label) for port in panel.ports) != list(range(1, len(panel.ports) + 1)):
        raise ParameterError(f"SCPI numbers all ports of a switch: those of '{panel.name}' must be labelled from 1 on")
    return len(panel.ports)


def idle(plan: WiringPlan) -> tuple[str, ...]:
    """Return, in words, which circuit switches get no circuit."""
    return tuple(
        f"switch '{panel.name}' gets no circuit: what is written for it is empty"
        for panel, made in _switches(plan)
        if not made
    )


def _switches(plan: WiringPlan) -> list[tuple[Panel, list[Circuit]]]:
    made: dict[str, list[Circuit]] = {panel.name: [] for panel in plan.inventory.panels if panel.kind == "ocs"}
    if not made:
        raise ParameterError("the inventory has no circuit switch (kind: ocs); patch panels need the patch list")
    for circuit in circuits(plan):
        if circuit.a[0] in made:
            made[circuit.a[0]].append(circuit)
    return [(plan.inventory.panel[name], found) for name, found in made.items()]


def _number(panel: Panel, label: str) -> int:
    if not (label.isascii() and label.isdecimal() and len(label) <= 9 and not label.startswith("0")):
        raise ParameterError(f"switches number their ports; '{label}' of '{panel.name}' is no number")
    return int(label)


def _switch_files(path: Path, plan: WiringPlan, ending: str) -> Iterator[tuple[str, str]]:
    """Yield name and text for every circuit switch."""
    for panel in plan.inventory.panels:
        if panel.kind == "ocs":
            file = path / file_name(panel.name + ending)
            try:
                yield panel.name, read_text(file, (ending,))
            except FileFormatError as error:
                raise FileFormatError(f"{file.name}: {error}") from None
