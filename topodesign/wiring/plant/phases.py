"""Circuits that change during a collective.

Every host is one node in all phases. The lanes that it may use are its ports, so that a plan comes back with its
circuits between the lanes that the wiring plan of each phase joins, and is replayed and timed once more: what moves is
what moves in the switches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_directory
from topodesign.base.declared import Declared, key, keys_of
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.progress import Progress, iterate_with_progress
from topodesign.base.records import Table
from topodesign.plans.flow import Circuits
from topodesign.plans.plan import Plan
from topodesign.plans.step_ops import unfold_steps
from topodesign.plans.time.simulate import simulate
from topodesign.schedulers.circuits.published import Contender
from topodesign.schedulers.circuits.reconfigure import Reconfiguration, claim_time
from topodesign.schedulers.circuits.sequence import PhaseRows, over_circuits, right
from topodesign.topology.topology import Topology
from topodesign.wiring.change.change import fewest_moves
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.files import InventoryLike, as_inventory
from topodesign.wiring.plan.cross_connects import fibres
from topodesign.wiring.plan.files import plan_text
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.planner import make_plan
from topodesign.wiring.plant.plant import Plant, explain_no_plan, plant_of
from topodesign.wiring.switches.kinds import Spelling
from topodesign.wiring.switches.steps import commands, driver_of

_ORDERS = 3  # orders of the hosts that are tried
_SECONDS = 5.0  # to look for the hosts of a phase


@dataclass(frozen=True, slots=True)
class NotCarried(Declared):
    """Faster plan that the installation does not support."""

    name: str  # what it is called
    time: Fraction  # seconds that it would take
    because: str  # which phase is in the way, and why

    KEYS = ("name", key("time_s=float(time)", "Seconds that it would take, rounded."), "because")


@dataclass(frozen=True, repr=False)
class CarriedPhases(Reconfiguration):
    """Reconfiguration result on the switches of an installation.

    Attributes
    ----------
    hosts
        The host that is each node, in all phases.
    wirings
        The wiring of each phase of the fastest plan.
    not_carried
        Faster plans that are not carried, the fastest first.
    """

    hosts: tuple[str, ...]
    wirings: tuple[WiringPlan, ...]
    not_carried: tuple[NotCarried, ...]

    KEYS = (
        *keys_of(Reconfiguration.KEYS),
        "hosts",
        key("moves", "Circuits that come in each phase of the fastest plan; all of the first."),
        "not_carried",
    )

    @property
    def moves(self) -> tuple[int, ...]:
        """New circuits in each phase; all in the first."""
        return tuple(len(come) for _, come in _iterate_changes(self.wirings))

    def table(self) -> Table:
        """Return the supported plans, with reasons for others."""
        table = super().table()
        lines = [f"{one.name} is not carried: {one.because}." for one in self.not_carried]
        moved = f"circuits that come in each phase: {', '.join(map(str, self.moves))}"
        return replace(table, footnote="\n".join([table.footnote, moved, *lines]))

    def write_commands(self, directory: str | Path, file_format: str, *, spelling: Spelling = "ocs") -> tuple[str, ...]:
        """Write switch commands and wiring plans of each phase.

        The directory must be new.

        ``phase1-ocs1.scpi`` in it has what goes and then what comes in switch ``ocs1`` before the second phase; those
        of phase 0 begin with no circuits. ``phase0.json`` is a plan as ``wire check`` takes it. Format and spelling are
        as :func:`topodesign.write_change` takes them. Returns the names of the files of commands, in the order in
        which they are to be run.
        """
        driver = driver_of(file_format, spelling)
        files = dict[str, str]()
        for number, (gone, come) in enumerate(_iterate_changes(self.wirings)):
            files |= commands(driver, self.wirings[number], (gone, come), f"phase{number}", spelling)
        if not files:
            raise ParameterError("no circuit switch requires commands; patch panels are patched by hand")
        plans = {f"phase{number}.json": plan_text(one) for number, one in enumerate(self.wirings)}
        write_directory(as_path(directory), {**plans, **files})
        return tuple(files)


def _iterate_changes(wirings: tuple[WiringPlan, ...]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the removed and new circuits of each phase."""
    before: dict[Any, Any] = {}
    for one in wirings:
        now = {fibres(connect): connect for connect in one.connects}
        yield [before[n] for n in before if n not in now], [now[n] for n in now if n not in before]
        before = now


def carry_phases(
    found: Reconfiguration, inventory: InventoryLike, *, progress: Progress | None = None
) -> CarriedPhases:
    """Map plans with changing circuits to existing switches.

    Parameters
    ----------
    found
        What :func:`topodesign.reconfigure` returns.
    inventory
        Hosts, panels and switches, and which lane ends where; or the path of its file. Without cabling, it is planned.
    progress
        Called with the share of the work that is done.

    Returns
    -------
    CarriedPhases
        The fastest plan that is carried, with the wiring of each phase, and the fastest of those that never change; and
        why faster ones are not carried.

    Raises
    ------
    InfeasibleError
        If the plant has too few hosts or lanes, or carries none of the plans.
    FileFormatError
        If the inventory cannot be read.

    Examples
    --------
    >>> from topodesign import carry_phases, plain_inventory, reconfigure
    >>> room = plain_inventory(6, 4, kind="ocs")
    >>> found = carry_phases(reconfigure(6, 4, size="64MiB"), room)
    >>> found.best.changes, found.moves
    (1, (24, 24))
    """
    if not isinstance(found, Reconfiguration):
        raise ParameterError(f"what topodesign.reconfigure returns is put on a plant, not {found!r:.60}")
    plant = _with_ports(plant_of(as_inventory(inventory), found.nodes, found.degree, found.cabling))
    carried: list[tuple[Contender, tuple[WiringPlan, ...]]] = []
    refused: list[NotCarried] = []
    for one in iterate_with_progress(found.contenders, progress):
        if carried and (one.changes or not all(other.changes for other, _ in carried)):
            continue
        try:
            wirings = _wire_phases(one.plan.flow.switching, plant)
        except InfeasibleError as error:
            refused += [] if carried else [NotCarried(one.name, one.time, str(error))]
            continue
        carried.append((_on_lanes(one, wirings, plant, found), wirings))
    if not carried:
        raise InfeasibleError(f"the plant carries none of these plans; of {refused[0].name}: {refused[0].because}")
    carried.sort(key=lambda one: one[0].time)
    (best, wirings), *_ = carried
    own: dict[str, Any] = {one.name: getattr(found, one.name) for one in fields(Reconfiguration)}
    own |= {
        "contenders": tuple(one for one, _ in carried),
        "claim": claim_time(best.time, Fraction(found.claim.bound or 0)),
    }
    return CarriedPhases(**own, hosts=wirings[0].hosts, wirings=wirings, not_carried=tuple(refused))


def _with_ports(plant: Plant) -> Plant:
    """Return an installation limited to the usable lanes."""
    room, number = plant.inventory, {host: node for node, host in enumerate(plant.hosts)}
    field = {panel.name: list(room.fields).index(panel.field) for panel in room.panels}
    left, rank = plant.lanes.copy(), Counter[tuple[str, int, str]]()
    order = list[tuple[int, Fixed]]()
    for one in plant.fixed:
        spot = one.host, field[one.panel], room.panel_port[one.place].side
        order.append((rank[spot], one))
        rank[spot] += 1
    kept = []
    for _, one in sorted(order, key=lambda each: each[0]):  # of two sides in turn
        node = number.get(one.host)
        if node is not None and left[node, field[one.panel]] > 0:
            left[node, field[one.panel]] -= 1
            kept.append(one)
    return replace(plant, inventory=replace(plant.inventory, cabling=tuple(kept)), fixed=tuple(kept))


def _wire_phases(circuits: Circuits, plant: Plant) -> tuple[WiringPlan, ...]:
    """Return the wiring of every phase, with few moves."""
    graphs = [circuits.links(number, len(plant.hosts)) for number in range(circuits.changes + 1)]
    for number, graph in enumerate(graphs):
        if (reason := explain_no_plan(graph, plant, lambda: None)) is not None:
            raise InfeasibleError(f"phase {number}: {reason}")
    orders = [plant.hosts]
    for order in orders:
        made: list[WiringPlan] = []
        try:
            for graph in graphs:
                made.append(_next(made, graph, order, plant))
        except InfeasibleError as error:
            failed, why = len(made), error
        else:
            return tuple(made)
        if len(orders) < _ORDERS:
            try:
                orders.append(make_plan(graphs[failed], plant.inventory, mode=plant.mode, seconds=_SECONDS).hosts)
            except InfeasibleError as error:
                raise InfeasibleError(f"phase {failed}: {error}") from None
    raise InfeasibleError(f"phase {failed}: {why}")


def _next(made: list[WiringPlan], graph: Topology, hosts: tuple[str, ...], plant: Plant) -> WiringPlan:
    """Return the wiring of the next phase."""
    plan = make_plan(graph, plant.inventory, mode=plant.mode, hosts=hosts)
    if not made:
        return plan
    plan = fewest_moves(made[-1], graph, hosts=hosts, own=plan).after
    for gone, come in list(_iterate_changes((made[-1], plan)))[1:]:
        fixed = next((one.a.panel for one in (*gone, *come) if plant.inventory.panel[one.a.panel].kind != "ocs"), None)
        if fixed is not None:
            raise InfeasibleError(f"circuits would change at panel {fixed}, which is patched by hand")
    return plan


def _on_lanes(one: Contender, wirings: tuple[WiringPlan, ...], plant: Plant, found: Reconfiguration) -> Contender:
    """Return a plan on connected lanes, replayed and timed."""
    port: dict[Fixed, int] = {}
    count = Counter[str]()
    for end in plant.fixed:
        port[end] = count[end.host]
        count[end.host] += 1
    circuits: PhaseRows = []
    for wiring in wirings:
        node = wiring.node
        rows = [(node[c.a.host], port[c.a], node[c.b.host], port[c.b]) for c in wiring.connects]
        rows += [(v, q, u, p) for u, p, v, q in rows] if plant.duplex else []
        circuits.append(np.array(rows, dtype=np.int64).reshape(-1, 4))
    before = one.plan.flow.switching
    how: Any = {name: getattr(before, name) for name in ("ports", "delay", "moving", "duplex")}
    moved = over_circuits(unfold_steps(one.plan.flow), Circuits.of(circuits, before.first_step, **how))
    plan: Plan = right(replace(one.plan, place=moved.place, movement=moved), one.name)
    work = found.work
    time = simulate(plan, alpha=work.alpha, size=found.size, bandwidth=found.bandwidth).time
    return replace(one, plan=plan, time=time)
