"""Circuit switch files of a plan, in each switch's format."""

from __future__ import annotations

from functools import partial
from typing import Any

from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.switch import Driver, SwitchStyle, switches_of


def to_switches(plan: WiringPlan, *, driver: Driver, **style: Any) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the files of all circuit switches, and notes.

    Notes name the switches that get no circuit.
    """
    files: dict[str, str] = {}
    notes: list[str] = []
    for panel, pairs in switches_of(plan):
        made = driver.files(plan, panel, pairs, SwitchStyle(**style))
        files |= {panel.name + ending: text for ending, text in made.items()}
        notes += [] if pairs else [f"switch '{panel.name}' gets no circuit: what is written for it is empty"]
    return files, tuple(notes)


FORMATS = {
    name: Format(driver.summary, partial(to_switches, driver=driver), driver.takes) for name, driver in DRIVERS.items()
}
