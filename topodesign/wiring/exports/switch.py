"""Files for optical circuit switches: SONiC's configuration and command line, and SCPI as Polatis switches take it.

Both know ports by number: side A of port 12 is ``12A`` to SONiC, and 12 in SCPI. Side B of port 12 is ``12B``, and in
SCPI 12 and the number of ports of the switch, for the ports that light leaves by follow those that it enters by.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from topodesign.base.atomic import file_name
from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import read_text
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.switch_commands import (
    Pair,
    Spelling,
    pair_name,
    read_scpi_lists,
    scpi_add,
    scpi_only,
    sonic_add,
    sonic_delete,
    sonic_label,
)
from topodesign.wiring.inventory.inventory import Panel
from topodesign.wiring.plan.circuits import Circuit, circuits, topology_of
from topodesign.wiring.plan.plan import WiringPlan

TABLE = "OCS_CROSS_CONNECT"
CONFIG_ENDING, COMMANDS_ENDING, SCPI_ENDING = ".json", ".sh", ".scpi"
_PAIR = re.compile(r"([1-9][0-9]{0,8})A-([1-9][0-9]{0,8})B")
_ADD = re.compile(r":?oxc:swit(?:ch)?:conn(?:ect)?:(?:add|only)\s+(.*)", re.IGNORECASE)
_NONE = re.compile(r":?oxc:swit(?:ch)?:disc(?:onnect)?:all", re.IGNORECASE)
_PORTS = "OCS_PORT"
_UNSAFE = re.compile(r"[^A-Za-z0-9_./:-]")


class SwitchStyle(NamedTuple):
    """How commands for switches are written.

    ``only``: remove what else is there. ``batch``: one command for all circuits of a switch, with lists and ranges.
    ``labels``: give ports of SONiC switches the name of the lane that is cabled there. ``spelling``: of SONiC's
    commands, see :mod:`topodesign.wiring.exports.switch_commands`.
    """

    only: bool = False
    batch: bool = False
    labels: bool = False
    spelling: Spelling = "ocs"


PLAIN = SwitchStyle()
"""A command for each circuit, which leaves the others there."""


def to_sonic(plan: WiringPlan, style: SwitchStyle = PLAIN) -> dict[str, str]:
    """Return the files of every circuit switch: a table for CONFIG_DB, and the same as commands.

    ``NAME.json`` has ``{"OCS_CROSS_CONNECT": {"1A-2B": {"a_side": "1A", "b_side": "2B"}}}``, which ``config load``
    takes, and which leaves there what else is; ``NAME.sh`` a ``config ocs cross-connect add 1A-2B update`` for each,
    which moves ports that are in use.
    """
    if style.batch and style.spelling == "yang":
        raise ParameterError("commands spelled as 'yang' take one circuit at a time; leave batch out")
    files = {}
    for panel, made in _switches(plan):
        pairs = pairs_of(panel, made)
        table: dict[str, dict[str, dict[str, str]]] = {
            TABLE: {pair_name((a, b)): {"a_side": f"{a}A", "b_side": f"{b}B"} for a, b in pairs}
        }
        commands = _sonic_commands(pairs, style)
        if style.labels:
            labels = _labels(plan, panel)
            table = {_PORTS: {side: {"label": label} for side, label in labels.items()}} | table
            commands = [*(sonic_label(side, label, style.spelling) for side, label in labels.items()), *commands]
        files[panel.name + CONFIG_ENDING] = json.dumps(table, indent=4) + "\n"
        files[panel.name + COMMANDS_ENDING] = shell_script(commands)
    return files


def shell_script(commands: Iterable[str]) -> str:
    """Return commands as a script for the shell of a switch, which stops at the first that fails."""
    return "#!/bin/sh -e\n" + "".join(f"{'' if line.startswith('for ') else 'sudo '}{line}\n" for line in commands)


def _sonic_commands(pairs: list[Pair], style: SwitchStyle) -> list[str]:
    if style.only and pairs and style.spelling == "ocs":
        return sonic_add(pairs, "ocs", mode="overwrite")
    adds = sonic_add(pairs, style.spelling, batch=style.batch)
    if not style.only:
        return adds
    delete = sonic_delete([(0, 0)], style.spelling)[0].replace(pair_name((0, 0)), '"${id#*|}"')
    wanted = "|".join([*map(pair_name, pairs), "-"])
    stale = f'case "${{id#*|}}" in {wanted}) ;; *) sudo {delete} ;; esac'
    return [f"for id in $(sonic-db-cli CONFIG_DB keys '{TABLE}|*'); do {stale}; done", *adds]


def _labels(plan: WiringPlan, panel: Panel) -> dict[str, str]:
    """Return a label for both sides of every port of a switch that a lane is cabled to."""
    found: dict[str, str] = {}
    for port in panel.ports:
        end = plan.end.get((panel.name, port.label))
        if end is not None:
            name = _UNSAFE.sub("_", f"{end.host}:{plan.interface(end)}")
            number = port_number(panel, port.label)
            found |= {f"{number}A": f"{name}:Tx", f"{number}B": f"{name}:Rx"}
    return found


def to_scpi(plan: WiringPlan, style: SwitchStyle = PLAIN) -> dict[str, str]:
    """Return the commands of every circuit switch, one a circuit: ``:OXC:SWITch:CONNect:ADD (@1),(@18)``."""
    if style.labels or style.spelling != "ocs":
        raise ParameterError("labels and another spelling are for format sonic; scpi has neither")
    files = {}
    for panel, made in _switches(plan):
        size, pairs = ports_of(panel), pairs_of(panel, made)
        lines = [scpi_only(pairs, size)] if style.only else scpi_add(pairs, size, batch=style.batch)
        files[panel.name + SCPI_ENDING] = "".join(f"{line}\n" for line in lines)
    return files


def pairs_of(panel: Panel, made: Iterable[Circuit]) -> list[Pair]:
    """Return circuits of a switch by the numbers of its ports."""
    return [(port_number(panel, circuit.a[1]), port_number(panel, circuit.b[1])) for circuit in made]


def from_sonic(path: Path, plan: WiringPlan) -> Topology:
    """Return the links that the tables of all switches in a directory make."""
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
    """Return the links that the commands of all switches in a directory make."""
    made = []
    for panel, text in _switch_files(path, plan, SCPI_ENDING):
        size = ports_of(plan.inventory.panel[panel])
        for number, line in enumerate(text.splitlines(), start=1):
            said = line.strip().rstrip(";")
            if not said or _NONE.fullmatch(said):
                continue
            match = _ADD.fullmatch(said)
            pairs = None if match is None else read_scpi_lists(match[1])
            if pairs is None:
                raise FileFormatError(
                    f"{panel}{SCPI_ENDING}, line {number}: expected :OXC:SWITch:CONNect:ADD (@1),(@18)"
                )
            if not all(0 < a <= size < b for a, b in pairs):
                raise FileFormatError(f"{panel}{SCPI_ENDING}, line {number}: not from ports 1 to {size} to those after")
            made += [Circuit((panel, str(a)), (panel, str(b - size))) for a, b in pairs]
    return topology_of(made, plan)


def ports_of(panel: Panel) -> int:
    """Return the number of ports of a switch, all of which must be in the inventory to know it."""
    if sorted(port_number(panel, port.label) for port in panel.ports) != list(range(1, len(panel.ports) + 1)):
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


def port_number(panel: Panel, label: str) -> int:
    """Return the number of a port of a switch."""
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
