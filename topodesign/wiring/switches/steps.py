"""Commands of a change of circuit switches, a file for each stage and switch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.atomic import write_directory
from topodesign.base.errors import ParameterError
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling
from topodesign.wiring.switches.switch import Driver, Pair, pairs_of


def circuits_by_switch(plan: WiringPlan, connects: Iterable[CrossConnect]) -> dict[str, frozenset[Pair]]:
    """Return the circuits of cross-connects by their circuit switch, without those of patch panels."""
    found: dict[str, list[CrossConnect]] = {}
    for connect in connects:
        if connect.a.panel in plan.inventory.switches:
            found.setdefault(connect.a.panel, []).append(connect)
    return {name: frozenset(pairs_of(plan.inventory.panel[name], some)) for name, some in found.items()}


STAGE_FORMATS = tuple(DRIVERS)


def export_stages(
    change: Rewiring, file_format: str, path: str | Path, *, spelling: Spelling = "ocs"
) -> tuple[str, ...]:
    """Write the commands of a change of circuit switches: for every stage and switch, what goes and then what comes.

    Parameters
    ----------
    change
        What ``rewire`` returns.
    file_format
        ``sonic`` or ``scpi``.
    path
        A new directory; ``stage1-ocs1.sh`` in it has what is to be done in switch ``ocs1`` first.
    spelling
        Of SONiC's commands: ``ocs`` for ``config ocs cross-connect``, ``yang`` for ``config ocs-cross-connect``.

    Returns
    -------
    tuple of str
        The names of the files, in the order in which they are to be run.

    Raises
    ------
    ParameterError
        If nothing changes in a circuit switch, or its ports are not labelled by numbers.
    FileFormatError
        If it cannot be written, or there is a directory with something in it.

    Examples
    --------
    >>> from topodesign import plain_inventory, rewire, wire
    >>> change = rewire(wire("circulant(6,1,2)", plain_inventory(6, 4)), "circulant(6,1,3)")
    >>> export_stages(change, "scpi", "stages")
    Traceback (most recent call last):
    topodesign.base.errors.ParameterError: no circuit switch changes; patch panels are changed by hand
    """
    target = as_path(path)
    files = stage_files(change, file_format, spelling)
    write_directory(target, files)
    return tuple(files)


def stage_files(change: Rewiring, file_format: str, spelling: Spelling) -> dict[str, str]:
    """Return the commands of a change by the names of their files, in the order in which they are to be run."""
    driver = driver_of(file_format, spelling)
    files = dict[str, str]()
    for number, stage in enumerate(change.stages, start=1):
        files |= commands(driver, change.after, (stage.removed, stage.made), f"stage{number}", spelling)
    if not files:
        raise ParameterError("no circuit switch changes; patch panels are changed by hand")
    return files


def driver_of(file_format: str, spelling: Spelling) -> Driver:
    """Return what writes commands in a format; raises ParameterError if there is no such format or spelling."""
    as_choice("spelling", spelling, SPELLINGS)
    return DRIVERS[as_choice("format", file_format, STAGE_FORMATS)]


def commands(
    driver: Driver,
    plan: WiringPlan,
    change: tuple[Iterable[CrossConnect], Iterable[CrossConnect]],
    name: str,
    spelling: Spelling,
) -> dict[str, str]:
    """Return files of commands for each circuit switch of a plan: what goes and then what comes in it."""
    gone, come = (circuits_by_switch(plan, part) for part in change)
    files = {}
    for panel in plan.inventory.panels:
        remove, add = (sorted(part.get(panel.name, ())) for part in (gone, come))
        if remove or add:
            ending, text = driver.stage(panel, remove, add, spelling)
            files[f"{name}-{panel.name}{ending}"] = text
    return files
