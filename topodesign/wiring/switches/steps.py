"""Circuit switch commands of a change, by stage and switch."""

from __future__ import annotations

from collections.abc import Iterable

from topodesign.base.arguments import as_choice
from topodesign.base.errors import ParameterError
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling
from topodesign.wiring.switches.switch import Driver, circuits_by_switch

STAGE_FORMATS = tuple(DRIVERS)


def stage_files(change: Rewiring, file_format: str, spelling: Spelling) -> dict[str, str]:
    """Return a change's commands by file name, in execution order."""
    driver = driver_of(file_format, spelling)
    files = dict[str, str]()
    for number, stage in enumerate(change.stages, start=1):
        files |= commands(driver, change.after, (stage.removed, stage.made), f"stage{number}", spelling)
    if not files:
        raise ParameterError("no circuit switch changes; patch panels are changed by hand")
    return files


def driver_of(file_format: str, spelling: Spelling) -> Driver:
    """Return the driver of a command format.

    Raises ParameterError if the format or the command syntax is unknown.
    """
    as_choice("spelling", spelling, SPELLINGS)
    return DRIVERS[as_choice("format", file_format, STAGE_FORMATS)]


def commands(
    driver: Driver,
    plan: WiringPlan,
    change: tuple[Iterable[CrossConnect], Iterable[CrossConnect]],
    name: str,
    spelling: Spelling,
) -> dict[str, str]:
    """Return a command file for each changed circuit switch.

    Each file removes circuits first and then adds the new ones.
    """
    gone, come = (circuits_by_switch(plan, part) for part in change)
    files = {}
    for panel in plan.inventory.panels:
        remove, add = (sorted(set(part.get(panel.name, ()))) for part in (gone, come))
        if remove or add:
            ending, text = driver.stage(panel, remove, add, spelling)
            files[f"{name}-{panel.name}{ending}"] = text
    return files
