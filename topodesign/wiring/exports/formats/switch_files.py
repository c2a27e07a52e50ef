"""Files for circuit switches: what each kind of switch takes, for every switch of a plan, and read back."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from topodesign.base.atomic import file_name
from topodesign.base.errors import FileFormatError
from topodesign.base.file_kinds import FileKind
from topodesign.base.text_files import read_text
from topodesign.topology.topology import Topology
from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import Circuit, topology_of
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.switch import PLAIN, Driver, SwitchStyle, switches_of


def to_switches(plan: WiringPlan, style: SwitchStyle = PLAIN, *, driver: Driver) -> dict[str, str]:
    """Return the files of every circuit switch of a plan."""
    driver.check_style(style)
    files: dict[str, str] = {}
    for panel, pairs in switches_of(plan):
        files |= {panel.name + ending: text for ending, text in driver.files(plan, panel, pairs, style).items()}
    return files


def from_switches(path: Path, plan: WiringPlan, *, driver: Driver) -> Topology:
    """Return the links that the files of all switches in a directory make."""
    made: list[Circuit] = []
    for panel in plan.inventory.switches.values():
        file = path / file_name(panel.name + driver.ending)
        try:
            pairs = list(driver.circuits(read_text(file, (driver.ending,)), panel))
        except FileFormatError as error:
            raise FileFormatError(f"{file.name}: {error}") from None
        made += [Circuit((panel.name, a), (panel.name, b)) for a, b in pairs]
    return topology_of(made, plan)


def _idle(plan: WiringPlan) -> tuple[str, ...]:
    """Return, in words, which circuit switches get no circuit."""
    return tuple(
        f"switch '{panel.name}' gets no circuit: what is written for it is empty"
        for panel, made in switches_of(plan)
        if not made
    )


FORMATS = {
    name: Format(
        driver.summary,
        partial(to_switches, driver=driver),
        partial(from_switches, driver=driver),
        commands=partial(to_switches, driver=driver),
        notes=_idle,
        kind=FileKind.CIRCUITS,
    )
    for name, driver in DRIVERS.items()
}
