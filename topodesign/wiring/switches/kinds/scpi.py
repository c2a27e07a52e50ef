"""Polatis circuit switches with SCPI: one line per command or answer.

Commands are ``:OXC:SWITch:CONNect:ADD``, ``:SUB`` and ``:ONLY`` with port lists, ``:OXC:SWITch:DISConnect:ALL``. Light
enters by ports 1 to N and leaves by those from N + 1 on: side B of port 12 is 12 and the number of ports of the switch.
They were read in programs that are used with such switches, whose manual is not public.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from topodesign.base.errors import FileFormatError
from topodesign.wiring.inventory.devices import Panel
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.switch import (
    Driver,
    Pair,
    SwitchStyle,
    number_ports,
)

_ADD, _REMOVE, _ONLY = (f":OXC:SWITch:CONNect:{word}" for word in ("ADD", "SUB", "ONLY"))
_NOTHING = ":OXC:SWITch:DISConnect:ALL"
_MAKES = re.compile(r":?oxc:swit(?:ch)?:conn(?:ect)?:(?:add|only)\s+", re.IGNORECASE)
_CLEARS = re.compile(r":?oxc:swit(?:ch)?:disc(?:onnect)?:all", re.IGNORECASE)
_NUMBERS = r"\(\s*@\s*((?:[0-9]{1,9}(?:\s*,\s*[0-9]{1,9})*)?)\s*\)"
_TL1 = re.compile(r"^M\s+\S+\s+(?:COMPLD|RTRV|DENY)", re.MULTILINE)
_TL1_HEADS = re.compile(
    r"M\s+\S+\s+(?:COMPLD|RTRV)|\S+\s+[0-9-]{8,10}\s+[0-9:]{8}|/\*.*\*/|RTRV-PATCH\S*", re.IGNORECASE
)
_TL1_PAIR = re.compile(r'"\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*"')
_LISTS = re.compile(rf"{_NUMBERS}\s*,\s*{_NUMBERS}")


class Scpi(Driver):
    """Driver of Polatis switches with SCPI commands."""

    name = "scpi"
    summary = "commands for circuit switches as Polatis makes them"
    ending = ".scpi"
    answers = (".scpi", ".tl1")
    takes = ("only", "batch")

    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:  # noqa: ARG002
        """Return commands such as ``:OXC:SWITch:CONNect:ADD (@1),(@18)``.

        There is one command per circuit unless the style sets ``only`` or ``batch``.
        """
        size = ports_of(panel)
        if style.only:
            lines = [f"{_ONLY} {port_lists(pairs, size)}" if pairs else _NOTHING]
        else:
            lines = _commands(_ADD, pairs, size, batch=style.batch)
        return {self.ending: "".join(f"{line}\n" for line in lines)}

    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:  # noqa: ARG002
        """Return one command for removals and one for additions."""
        size = ports_of(panel)
        lines = [*_commands(_REMOVE, remove, size), *_commands(_ADD, add, size)]
        return self.ending, "".join(f"{line}\n" for line in lines)

    def read_pairs(self, text: str, panel: Panel) -> Iterator[Pair]:
        """Yield the circuits of commands, SCPI answers or TL1 answers."""
        size = ports_of(panel)
        if _TL1.search(text):
            yield from _read_tl1(text, size)
            return
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
                yield from ((a, b - size) for a, b in zip(entries, exits, strict=True))


DRIVER = Scpi()


def ports_of(panel: Panel) -> int:
    """Return the number of input ports (side 1, if any).

    The inventory must list all ports.
    """
    number_ports(panel, whole=True)
    ones = sum(port.side == "1" for port in panel.ports)
    return ones or len(panel.ports)


def _read_tl1(text: str, size: int) -> Iterator[Pair]:
    """Yield the circuits of TL1 answers to ``RTRV-PATCH``."""
    for number, line in enumerate(text.splitlines(), start=1):
        said = line.strip().rstrip(";").strip()
        if not said or said == "<" or _TL1_HEADS.fullmatch(said):
            continue
        match = _TL1_PAIR.fullmatch(said)
        if match is None:
            raise FileFormatError(f'line {number}: expected ports such as "1,18", as RTRV-PATCH answers')
        a, b = sorted((int(match[1]), int(match[2])))
        if not 0 < a <= size < b:
            raise FileFormatError(f"line {number}: not from ports 1 to {size} to those after")
        yield a, b - size


def port_lists(pairs: Iterable[Pair], size: int) -> str:
    """Return two SCPI port lists, such as ``(@1,2),(@18,17)``.

    ``size`` is the number of input ports of the switch.
    """
    ordered = sorted(pairs)
    entries, exits = (",".join(map(str, side)) for side in ([a for a, _ in ordered], [size + b for _, b in ordered]))
    return f"(@{entries}),(@{exits})"


def _ports(listed: str) -> list[int]:
    return [int(port) for port in listed.split(",")] if listed.strip() else []


def _commands(words: str, pairs: Collection[Pair], size: int, *, batch: bool = True) -> list[str]:
    """Return one command for all circuits, or one for each."""
    groups = [pairs] if batch and pairs else [[pair] for pair in pairs]
    return [f"{words} {port_lists(group, size)}" for group in groups]
