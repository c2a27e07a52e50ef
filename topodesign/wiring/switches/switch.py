"""Circuit switch drivers: commands, files and reported circuits."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from topodesign.base.errors import FileFormatError, ParameterError
from topodesign.wiring.inventory.devices import Panel
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.kinds import Spelling

Pair = tuple[int, int]
"""A circuit by the numbers of its ports: light enters by side A of the first and leaves by side B of the second.

Side A of a switch with two sides is its side 1, side B its side 2, and light goes both ways.
"""
_LABEL = re.compile("([^0-9]*)([1-9][0-9]{0,8})")


class SwitchStyle(NamedTuple):
    """Command style: by default one per circuit, keeping all others."""

    only: bool = False  # remove what else is there
    batch: bool = False  # one command for all circuits of a switch, with lists and ranges
    labels: bool = False  # give ports the name of the lane that is cabled there
    spelling: Spelling = "ocs"  # of SONiC's commands


class Driver(ABC):
    """Driver of a kind of circuit switch, named after its format."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What its format is, for the help text."""
    ending: ClassVar[str]
    """Of its files that say what circuits a switch has."""
    answers: ClassVar[tuple[str, ...]]
    """Endings of all files that are read: its own, and answers as they were saved."""
    takes: ClassVar[tuple[str, ...]]
    """Parts of a :class:`SwitchStyle` that it understands."""

    @abstractmethod
    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:
        """Return the files that create circuits, by file ending."""

    @abstractmethod
    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:
        """Return the ending and text of a stage's command file.

        The commands remove circuits first and then add the new ones.
        """

    @abstractmethod
    def read_pairs(self, text: str, panel: Panel) -> Iterator[Pair]:
        """Yield the circuits of a command file or an answer.

        Raises FileFormatError if the text is invalid.
        """

    def circuits(self, text: str, panel: Panel) -> Iterator[tuple[str, str]]:
        """Yield the entry and exit port labels of a file's circuits.

        Raises FileFormatError if the file is invalid.

        A circuit of a switch with two sides goes both ways.
        """
        ports: dict[tuple[str, int], str] = {}
        sides = {port.label: port.side for port in panel.ports}
        for label, number in number_ports(panel).items():
            ports |= {(side, number): label for side in {"": "AB", "1": "A", "2": "B"}[sides[label]]}
        for a, b in self.read_pairs(text, panel):
            for side, number in (("A", a), ("B", b)):
                if (side, number) not in ports:
                    raise FileFormatError(f"switch '{panel.name}' has no port '{number}' on side {side}")
            ends = ports["A", a], ports["B", b]
            yield ends
            if sides[ends[0]]:
                yield ends[::-1]


def number_ports(panel: Panel, *, whole: bool = False) -> dict[str, int]:
    """Return the port numbers of a switch by label.

    Labels are numbers, or the same letters and a number, such as ``N1`` to ``N5``. Each side of a switch with two sides
    has ports from 1 on; where labels of its side 2 are numbers that go on from those of side 1 (1 to 5, then 6 to 10),
    they count from there. Blocked ports without a number are omitted.

    Parameters
    ----------
    panel
        A circuit switch.
    whole
        Whether all ports of each side have to be there.

    Raises
    ------
    ParameterError
        If a label has no number, or ports are lacking.
    """
    two_sided = any(port.side for port in panel.ports)
    sides: dict[str, dict[str, int]] = {}
    letters: dict[str, str] = {}
    for port in panel.ports:
        match = _LABEL.fullmatch(port.label)
        if match is None or letters.setdefault(port.side, match[1]) != match[1]:
            if port.blocked and not whole:
                continue
            words = f"switches number their ports; '{port.label}' of '{panel.name}' is not a number"
            raise ParameterError(f"{words}, such as 1 or N1 with the same letters for all")
        if two_sided and not port.side:
            if whole:
                raise ParameterError(f"port '{port.label}' of '{panel.name}' requires a side to be numbered")
            continue
        sides.setdefault(port.side, {})[port.label] = int(match[2])
    first, second = sides.get("1", {}), sides.get("2", {})
    if first and second and min(second.values()) > len(first) and letters["1"] == letters["2"]:
        whole = True
        second = {label: number - len(first) for label, number in second.items()}
    found = first | second if two_sided else sides.get("", {})
    for part in (first, second) if two_sided else (found,):
        if whole and sorted(part.values()) != list(range(1, len(part) + 1)):
            side = f"those of each side of '{panel.name}'" if two_sided else f"those of '{panel.name}'"
            raise ParameterError(f"all ports of a switch are numbered here: {side} must be labelled from 1 on")
    return found


def switches_of(plan: WiringPlan) -> list[tuple[Panel, list[Pair]]]:
    """Return the circuit switches of a plan with their circuits."""
    if not plan.inventory.switches:
        raise ParameterError("the inventory has no circuit switch (kind: ocs); patch panels require the patch list")
    made = circuits_by_switch(plan, plan.connects)
    return [(panel, made.get(name, [])) for name, panel in plan.inventory.switches.items()]


def circuits_by_switch(plan: WiringPlan, connects: Iterable[CrossConnect]) -> dict[str, list[Pair]]:
    """Return the circuits of cross-connects by circuit switch.

    Cross-connects of patch panels are omitted.
    """
    found: dict[str, list[CrossConnect]] = {}
    for connect in connects:
        if connect.a.panel in plan.inventory.switches:
            found.setdefault(connect.a.panel, []).append(connect)
    return {name: list(pairs_of(plan.inventory.panel[name], some)) for name, some in found.items()}


def pairs_of(panel: Panel, connects: Iterable[CrossConnect]) -> Iterator[Pair]:
    """Yield cross-connects of a switch as pairs of port numbers.

    A duplex cross-connect is two, but one in a switch with two sides, where light goes both ways in one fibre.
    """
    number = number_ports(panel)
    sides = {port.label: port.side for port in panel.ports}
    for connect in connects:
        a, b = connect.a.panel_port, connect.b.panel_port
        if sides[a]:
            yield (number[a], number[b]) if sides[a] == "1" else (number[b], number[a])
        else:
            yield from ((number[x.panel_port], number[y.panel_port]) for x, y in connect.ways)


def pair_name(pair: Pair) -> str:
    """Return a circuit's SONiC name, such as ``1A-2B``."""
    return f"{pair[0]}A-{pair[1]}B"


def format_pairs(pairs: Iterable[Pair]) -> str:
    """Return a SONiC list of circuits in order of side A.

    Runs become ranges: ``1A-5B,10A..12A-20B..22B``.
    """
    runs: list[list[Pair]] = []
    for pair in sorted(pairs):
        if runs and pair == (runs[-1][-1][0] + 1, runs[-1][-1][1] + 1):
            runs[-1].append(pair)
        else:
            runs.append([pair])
    return ",".join(
        pair_name(run[0]) if len(run) == 1 else f"{run[0][0]}A..{run[-1][0]}A-{run[0][1]}B..{run[-1][1]}B"
        for run in runs
    )
