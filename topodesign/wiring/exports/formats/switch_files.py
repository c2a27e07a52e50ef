"""Files for circuit switches: what each kind of switch takes, for every switch of a plan."""

from __future__ import annotations

from functools import partial

from topodesign.wiring.exports.format import Format
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.switch import PLAIN, Driver, SwitchStyle, switches_of


def to_switches(plan: WiringPlan, style: SwitchStyle = PLAIN, *, driver: Driver) -> dict[str, str]:
    """Return the files of every circuit switch of a plan."""
    driver.check_style(style)
    files: dict[str, str] = {}
    for panel, pairs in switches_of(plan):
        files |= {panel.name + ending: text for ending, text in driver.files(plan, panel, pairs, style).items()}
    return files


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
        commands=partial(to_switches, driver=driver),
        notes=_idle,
    )
    for name, driver in DRIVERS.items()
}
