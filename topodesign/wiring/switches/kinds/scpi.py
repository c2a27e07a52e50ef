"""Switches that take SCPI, as Polatis makes them: ports by number, a line for a command, a line for an answer.

Commands are ``:OXC:SWITch:CONNect:ADD``, ``:SUB`` and ``:ONLY`` with port lists, ``:OXC:SWITch:DISConnect:ALL``. Light
enters by ports 1 to N and leaves by those from N + 1 on: side B of port 12 is 12 and the number of ports of the switch.
They were read in programs that are used with such switches, whose manual is not public.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.wiring.inventory.devices import Panel
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.switch import (
    Driver,
    Pair,
    SwitchStyle,
    port_number,
)

_ADD, _REMOVE, _ONLY = (f":OXC:SWITch:CONNect:{word}" for word in ("ADD", "SUB", "ONLY"))
_NOTHING = ":OXC:SWITch:DISConnect:ALL"
_MAKES = re.compile(r":?oxc:swit(?:ch)?:conn(?:ect)?:(?:add|only)\s+", re.IGNORECASE)
_CLEARS = re.compile(r":?oxc:swit(?:ch)?:disc(?:onnect)?:all", re.IGNORECASE)
_NUMBERS = r"\(\s*@\s*((?:[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)?)\s*\)"
_LISTS = re.compile(rf"{_NUMBERS}\s*,\s*{_NUMBERS}")


class Scpi(Driver):
    """Switches as Polatis makes them."""

    name = "scpi"
    summary = "commands for circuit switches as Polatis makes them"
    ending = ".scpi"

    def check_style(self, style: SwitchStyle) -> None:
        """Refuse what only SONiC has."""
        if style.labels or style.spelling != "ocs":
            raise ParameterError("labels and another spelling are for format sonic; scpi has neither")

    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:  # noqa: ARG002
        """Return the commands, one a circuit: ``:OXC:SWITch:CONNect:ADD (@1),(@18)``."""
        size = ports_of(panel)
        if style.only:
            lines = [f"{_ONLY} {port_lists(pairs, size)}" if pairs else _NOTHING]
        else:
            lines = _commands(_ADD, pairs, size, batch=style.batch)
        return {self.ending: "".join(f"{line}\n" for line in lines)}

    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:  # noqa: ARG002
        """Return the commands, one for all circuits that go and one for all that come."""
        size = ports_of(panel)
        lines = [*_commands(_REMOVE, remove, size), *_commands(_ADD, add, size)]
        return self.ending, "".join(f"{line}\n" for line in lines)

    def circuits(self, text: str, panel: Panel) -> Iterator[tuple[str, str]]:
        """Yield what commands make, or what a switch answers when it is asked for its circuits."""
        size = ports_of(panel)
        for number, line in enumerate(text.splitlines(), start=1):
            said = line.strip().rstrip(";")
            if not said or _CLEARS.fullmatch(said):
                continue
            lists = _MAKES.sub("", said, count=1)
            found = _LISTS.findall(lists)
            if not found or _LISTS.sub("", lists).strip(" ,;"):
                raise FileFormatError(f"line {number}: expected port lists like (@1,2),(@18,17), or {_ADD} before them")
            for pair in found:
                entries, exits = map(_ports, pair)
                if len(entries) != len(exits):
                    raise FileFormatError(f"line {number}: {len(entries)} ports in and {len(exits)} ports out")
                if not all(0 < a <= size < b for a, b in zip(entries, exits, strict=True)):
                    raise FileFormatError(f"line {number}: not from ports 1 to {size} to those after")
                yield from ((str(a), str(b - size)) for a, b in zip(entries, exits, strict=True))


DRIVER = Scpi()


def ports_of(panel: Panel) -> int:
    """Return the number of ports of a switch, all of which must be in the inventory to know it."""
    if sorted(port_number(panel, port.label) for port in panel.ports) != list(range(1, len(panel.ports) + 1)):
        raise ParameterError(f"SCPI numbers all ports of a switch: those of '{panel.name}' must be labelled from 1 on")
    return len(panel.ports)


def port_lists(pairs: Iterable[Pair], size: int) -> str:
    """Return two port lists, ``(@1,2),(@18,17)``, for a switch with so many ports that light enters by."""
    ordered = sorted(pairs)
    entries, exits = (",".join(map(str, side)) for side in ([a for a, _ in ordered], [size + b for _, b in ordered]))
    return f"(@{entries}),(@{exits})"


def _ports(listed: str) -> list[int]:
    return [int(port) for port in listed.split(",")] if listed.strip() else []


def _commands(words: str, pairs: Collection[Pair], size: int, *, batch: bool = True) -> list[str]:
    """Return a command for all circuits, or one for each; none for none."""
    groups = [pairs] if batch and pairs else [[pair] for pair in pairs]
    return [f"{words} {port_lists(group, size)}" for group in groups]
