"""What a circuit switch can be asked, how that can fail, how its address is written, and what is known of its kind."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, NamedTuple, Protocol

from topodesign.base.errors import ParameterError, TopodesignError
from topodesign.wiring.inventory.devices import Panel, is_number
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import Circuit, circuits
from topodesign.wiring.switches.kinds import Spelling

PASSWORD = "TOPODESIGN_SWITCH_PASSWORD"  # noqa: S105  the name of a variable
"""Variable of the environment that a password is taken from where no key fits."""
Pair = tuple[int, int]
"""A circuit by the numbers of its ports: light enters by side A of the first and leaves by side B of the second."""


class SwitchError(TopodesignError):
    """A switch cannot be reached, or does not do what it is asked to."""


class NoAnswerError(SwitchError):
    """No answer, or none that makes sense: whether a command took effect is not known."""


class RefusedError(SwitchError):
    """The switch says that it does not do it; a part of it may have taken effect."""


class Reading(NamedTuple):
    """What circuits a switch has, and those of them that it says are not tuned, or not yet."""

    circuits: frozenset[Pair]
    unlit: frozenset[Pair] = frozenset()


class Switch(Protocol):
    """A connection to a circuit switch; every call raises NoAnswerError or RefusedError where it fails."""

    @property
    def portion(self) -> int:
        """Circuits that it takes in one command."""

    def connect(self) -> None:
        """Connect if there is no connection."""

    def read(self) -> Reading:
        """Return what circuits there are."""

    def remove(self, pairs: Collection[Pair]) -> None:
        """Remove circuits that are there, in one command."""

    def add(self, pairs: Collection[Pair]) -> None:
        """Make circuits between ports that are free, in one command."""

    def close(self) -> None:
        """End the connection, if there is one; never fails."""


@dataclass(frozen=True)
class Access:
    """How switches are reached: seconds to wait, spelling of SONiC's commands, file of host keys, where passwords are.

    Without ``known_hosts``, keys are those that the user's own file has.
    """

    timeout: float = 10.0
    spelling: Spelling = "ocs"
    known_hosts: Path | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)


@dataclass(frozen=True)
class Address:
    """Where a switch is: protocol, user, machine and port."""

    scheme: str
    user: str | None
    host: str
    port: int

    def __str__(self) -> str:
        user = "" if self.user is None else f"{self.user}@"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{user}{host}:{self.port}"


class SwitchStyle(NamedTuple):
    """How commands for switches are written."""

    only: bool = False  # remove what else is there
    batch: bool = False  # one command for all circuits of a switch, with lists and ranges
    labels: bool = False  # give ports the name of the lane that is cabled there
    spelling: Spelling = "ocs"  # of SONiC's commands


PLAIN = SwitchStyle()  # A command for each circuit, which leaves the others there


class Driver(ABC):
    """A kind of circuit switch; its name is that of a format, and begins its addresses."""

    name: ClassVar[str]
    summary: ClassVar[str]
    """What its format is, for the help text."""
    port: ClassVar[int]
    """Its usual one."""
    users: ClassVar[bool] = True
    """Whether one logs in."""
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

    @abstractmethod
    def connect(self, address: Address, access: Access) -> Switch:
        """Return a connection, which is not open yet."""


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
