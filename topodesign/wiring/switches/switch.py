"""Kinds of circuit switches: their commands, their files, and the circuits that they have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from topodesign.base.errors import ParameterError
from topodesign.wiring.inventory.devices import Panel, is_number
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import Circuit, circuits
from topodesign.wiring.switches.kinds import Spelling

Pair = tuple[int, int]
"""A circuit by the numbers of its ports: light enters by side A of the first and leaves by side B of the second."""


class SwitchStyle(NamedTuple):
    """How commands for switches are written."""

    only: bool = False  # remove what else is there
    batch: bool = False  # one command for all circuits of a switch, with lists and ranges
    labels: bool = False  # give ports the name of the lane that is cabled there
    spelling: Spelling = "ocs"  # of SONiC's commands


PLAIN = SwitchStyle()  # A command for each circuit, which leaves the others there


class Driver(ABC):
    """A kind of circuit switch; its name is that of its format."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What its format is, for the help text."""
    ending: ClassVar[str]
    """Of the files that say what circuits a switch has."""

    @abstractmethod
    def check_style(self, style: SwitchStyle) -> None:
        """Raise ParameterError if commands cannot be written so."""

    @abstractmethod
    def files(self, plan: WiringPlan, panel: Panel, pairs: list[Pair], style: SwitchStyle) -> dict[str, str]:
        """Return the files that make these circuits, by their endings."""

    @abstractmethod
    def stage(self, panel: Panel, remove: list[Pair], add: list[Pair], spelling: Spelling) -> tuple[str, str]:
        """Return the ending and the text of a file that removes circuits and then makes some."""

    @abstractmethod
    def circuits(self, text: str, panel: Panel) -> Iterator[tuple[str, str]]:
        """Yield the ports, by label, that light enters and leaves by, as a file says; raise FileFormatError."""


def port_number(panel: Panel, label: str) -> int:
    """Return the number of a port of a switch."""
    if not is_number(label) or label.startswith("0"):
        raise ParameterError(f"switches number their ports; '{label}' of '{panel.name}' is no number")
    return int(label)


def switches_of(plan: WiringPlan) -> list[tuple[Panel, list[Circuit]]]:
    """Return the circuit switches of a plan with the circuits in each."""
    made: dict[str, list[Circuit]] = {name: [] for name in plan.inventory.switches}
    if not made:
        raise ParameterError("the inventory has no circuit switch (kind: ocs); patch panels need the patch list")
    for circuit in circuits(plan):
        if circuit.a[0] in made:
            made[circuit.a[0]].append(circuit)
    return [(plan.inventory.panel[name], found) for name, found in made.items()]


def pairs_of(panel: Panel, connects: Iterable[CrossConnect]) -> Iterator[Pair]:
    """Yield the circuits of cross-connects in a switch by the numbers of its ports; a duplex one is two."""
    for a, b in (ends for connect in connects for ends in connect.ways):
        yield port_number(panel, a.panel_port), port_number(panel, b.panel_port)


def pair_name(pair: Pair) -> str:
    """Return a circuit as people and SONiC call it, such as ``1A-2B``."""
    return f"{pair[0]}A-{pair[1]}B"


def listed_pairs(pairs: Iterable[Pair]) -> str:
    """Return circuits as SONiC takes several: ``1A-5B,10A..12A-20B..22B``, in order of side A."""
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
