"""What goes and what comes in each stage, between the circuits that switches have and those of a plan.

Circuits between ports that the plan cables to hosts are its own: what of them it does not want is stale, and goes.
Others stay, but for those in the way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from topodesign.base.arguments import as_choice, as_path
from topodesign.base.atomic import write_directory
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.wiring.change.patches import Change
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.change.stages import stages
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.switches.devices import sides
from topodesign.wiring.switches.drivers import DRIVERS
from topodesign.wiring.switches.kinds import SPELLINGS, Spelling
from topodesign.wiring.switches.switch import Driver, Pair, pair_name, pairs_of

Circuits = Mapping[str, frozenset[Pair]]  # circuits by the name of their switch
Names = Mapping[str, list[str]]  # the same by what they are called


@dataclass(frozen=True)
class Step:
    """A stage."""

    removed: Circuits  # what goes, by switch
    made: Circuits  # what comes then, by switch
    dark: int  # most links of a host, out or in, that are dark meanwhile

    KEYS = (
        key("dark", "Links that a host lacks meanwhile, at most."),
        key("remove", "Circuits that go, by switch.", kind=Names, value=lambda one: _named(one.removed)),
        key("add", "Circuits that come, by switch.", kind=Names, value=lambda one: _named(one.made)),
    )


@dataclass(frozen=True)
class Difference:
    """What has to change in a switch."""

    there: frozenset[Pair]  # circuits that there are
    wanted: frozenset[Pair]  # circuits of the plan
    stale: frozenset[Pair]  # what is there between its ports and is not wanted
    in_the_way: frozenset[Pair]  # what else takes a port that is wanted, or all else where only the plan's may stay
    left: frozenset[Pair]  # what else is there


def _named(circuits: Circuits) -> Names:
    return {name: list(map(pair_name, sorted(pairs))) for name, pairs in circuits.items()}


def wanted_circuits(plan: WiringPlan, names: Mapping[str, object]) -> dict[str, frozenset[Pair]]:
    """Return the circuits of a plan in the switches of these names."""
    found = circuits_by_switch(plan, (connect for connect in plan.connects if connect.a.panel in names))
    return {name: found.get(name, frozenset()) for name in names}


def difference(
    plan: WiringPlan, name: str, wanted: frozenset[Pair], there: frozenset[Pair], *, only: bool
) -> Difference:
    """Return what of the circuits that are in a switch is stale, in the way, and left alone."""
    cabled = {int(end.panel_port) for end in plan.end.values() if end.panel == name and end.panel_port.isdecimal()}
    others = there - wanted
    stale = frozenset(pair for pair in others if only or (pair[0] in cabled and pair[1] in cabled))
    needed = set(sides(wanted))
    blocking = frozenset(pair for pair in others - stale if needed.intersection(sides([pair])))
    return Difference(there, wanted, stale, blocking, others - stale - blocking)


def find_steps(plan: WiringPlan, differences: Mapping[str, Difference], *, most_dark: int | None) -> tuple[Step, ...]:
    """Split what has to change into stages that darken few links of a host and leave the fabric connected."""
    ends = {
        (end.panel, int(end.panel_port)): end
        for end in plan.end.values()
        if end.panel in differences and end.panel_port.isdecimal()
    }
    ours = {
        name: frozenset(pair for pair in found.stale if all((name, port) in ends for port in pair))
        for name, found in differences.items()
    }
    both_ways = plan.mode == "duplex" and all(
        (b, a) in pairs
        for name, found in differences.items()
        for pairs in (found.wanted & found.there, ours[name], found.wanted - found.there)
        for a, b in pairs
    )
    mode: Mode = "duplex" if both_ways else "simplex"
    number = itertools.count(1)

    def connects(name: str, pairs: frozenset[Pair]) -> list[CrossConnect]:
        """Return cross-connects between the ends of circuits: one for both ways, or one for each circuit."""
        chosen = (pair for pair in sorted(pairs) if not both_ways or pair[0] <= pair[1])
        return [CrossConnect(f"X{next(number)}", mode, (0, 0), ends[name, a], ends[name, b]) for a, b in chosen]

    kept, removed, made = [one for one in plan.connects if one.a.panel not in differences], [], []
    first: dict[str, frozenset[Pair]] = {}  # circuits that no stage of hosts knows
    for name, found in differences.items():
        kept += connects(name, found.wanted & found.there)
        removed += connects(name, ours[name])
        made += connects(name, found.wanted - found.there)
        first[name] = found.in_the_way | (found.stale - ours[name])
    before = replace(plan, connects=(*kept, *removed))
    split = stages(Change(before, plan, tuple(removed), tuple(made), 0), most_dark)
    found_steps = [
        Step(circuits_by_switch(plan, stage.removed), circuits_by_switch(plan, stage.made), stage.dark)
        for stage in split
    ]
    if any(first.values()):
        early = {name: pairs for name, pairs in first.items() if pairs}
        found_steps.insert(0, Step(early, {}, 0))
    return tuple(found_steps)


def circuits_by_switch(plan: WiringPlan, connects: Iterable[CrossConnect]) -> dict[str, frozenset[Pair]]:
    """Return the circuits of cross-connects by their circuit switch; those of patch panels are left out."""
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
    driver = driver_of(file_format, spelling)
    files = dict[str, str]()
    for number, stage in enumerate(change.stages, start=1):
        files |= commands(driver, change.after, (stage.removed, stage.made), f"stage{number}", spelling)
    if not files:
        raise ParameterError("no circuit switch changes; patch panels are changed by hand")
    write_directory(target, files)
    return tuple(files)


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
