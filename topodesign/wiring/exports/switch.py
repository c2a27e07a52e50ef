"""Commands for optical circuit switches: SONiC's configuration and command line, and SCPI as Polatis switches take it.

Both know ports by number: side A of port 12 is ``12A`` to SONiC, and 12 in SCPI. Side B of port 12 is ``12B``, and in
SCPI 12 and the number of ports of the switch, for the ports that light leaves by follow those that it enters by.
"""

from __future__ import annotations

import json

from topodesign.base.errors import ParameterError
from topodesign.wiring.inventory.inventory import Panel
from topodesign.wiring.plan.circuits import Circuit, circuits
from topodesign.wiring.plan.plan import Plan

TABLE = "OCS_CROSS_CONNECT"
CONFIG_ENDING, COMMANDS_ENDING, SCPI_ENDING = ".json", ".sh", ".scpi"


def to_sonic(plan: Plan) -> dict[str, str]:
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


def to_scpi(plan: Plan) -> dict[str, str]:
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


def ports_of(panel: Panel) -> int:
    """Return the number of ports of a switch, all of which must be in the inventory to know it."""
    if sorted(_number(panel, port.label) for port in panel.ports) != list(range(1, len(panel.ports) + 1)):
        raise ParameterError(f"SCPI numbers all ports of a switch: those of '{panel.name}' must be labelled from 1 on")
    return len(panel.ports)


def _switches(plan: Plan) -> list[tuple[Panel, list[Circuit]]]:
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
