"""The plan: a collective, its place, movement and claimed cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topodesign.base.cost import Cost
from topodesign.base.entry_points import load
from topodesign.base.errors import InfeasibleError, ScheduleError
from topodesign.base.records import Result
from topodesign.base.units import format_time
from topodesign.collectives import Collective
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.plans.flow import Flow, Flows, Model
from topodesign.plans.step_ops import unfold_steps
from topodesign.topology.topology import Topology

_WORDS = MappingProxyType(
    {
        "routed": "routed rounds",
        "orbitrounds": "orbits",
        "orbittrees": "trees",
        "timed": "timed sends",
        "together": "timed sends of several collectives",
    }
)


@dataclass(frozen=True, repr=False)
class Plan(Result):
    """How a collective runs on a topology or fabric.

    ``verify``, ``simulate``, ``compile_plan`` and ``save_plan`` take any plan, whatever moves in it.
    """

    place: Topology | Fabric  # where it runs: a topology, or a fabric, which has names and bandwidths of its own
    # what moves when: a flow or several
    movement: Flow | Flows
    # its claimed cost, by name: exact numbers that the verifier finds out for itself and compares. Flow
    # claim ``steps`` and ``bandwidth`` (y), trees ``k``, ``height``, ``inv_x_star`` and ``algorithmic_bandwidth``,
    # timed sends ``time`` in seconds
    claim: Mapping[str, Fraction] = field(default_factory=dict)
    spec: str | None = None  # text that rebuilds the place
    generator: Mapping[str, Any] = field(default_factory=dict)  # what made it: method and options, as JSON holds them
    notes: tuple[str, ...] = ()  # what its maker has to say about it

    def __post_init__(self) -> None:
        """Check that the movement fits the place; adopt its spec."""
        if not isinstance(self.movement, Flow | Flows):
            raise ScheduleError(f"a plan is of flows, not of {self.movement!r:.60}")
        if not self.movement.fits(self.topology):
            raise ScheduleError(f"{self.movement!r} is for another topology than {self.topology!r}")
        if self.collective.several and self.kind != "together":
            raise ScheduleError(f"{self.kind} are of one collective; several have a stream each")
        if isinstance(self.movement, Flow) and self.movement.place is not self.place:
            object.__setattr__(self, "movement", replace(self.movement, place=self.place))
        if self.spec is None and self.topology.spec is not None:
            object.__setattr__(self, "spec", str(self.topology.spec))
        if self.topology.alias is not None and "alias" not in self.generator:
            object.__setattr__(self, "generator", {**self.generator, "alias": self.topology.alias})

    def __hash__(self) -> int:
        return hash((self.topology, self.movement))

    @property
    def collective(self) -> Collective:
        """What it is for."""
        return self.movement.collective

    @property
    def topology(self) -> Topology:
        """The links, without names and bandwidths."""
        return self.place.topology if isinstance(self.place, Fabric) else self.place

    @cached_property
    def fabric(self) -> Fabric:
        """The fabric; of a topology one with 100 Gbps nodes."""
        return self.place if isinstance(self.place, Fabric) else Fabric.from_topology(self.place, NODE_BANDWIDTH)

    @property
    def kind(self) -> str:
        """What sort of movement it has, in one word."""
        return self.movement.kind

    @property
    def words(self) -> str:
        """What its sends or pieces are called in sentences."""
        return _WORDS.get(self.kind, self.kind)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        """What moves: one flow, or stages or simultaneous collectives in their order.

        Shares of links are of the bandwidths of its fabric.
        """
        moved = self.movement
        each = moved.each if isinstance(moved, Flows) else (moved,)
        place = self.fabric if each[0].model == "chunks" else self.place
        return tuple(one if one.place is place else replace(one, place=place) for one in each)

    @property
    def flow(self) -> Flow:
        """The flow of the plan; InfeasibleError if it has several.

        Examples
        --------
        >>> from topodesign import schedule
        >>> schedule("biring(2,4)", "allgather").flow
        <Flow allgather in steps, 16 pieces, 16 sends>
        """
        if isinstance(self.movement, Flows):
            raise InfeasibleError(f"a plan in {self.kind} is {len(self.flows)} flows")
        return self.flows[0]

    @property
    def model(self) -> Model:
        """The timing model of its flows: ``steps``, ``chunks`` or ``clock``."""
        return self.movement.model

    @property
    def trees(self) -> Flow | None:
        """Its trees, if it has a flow of trees whose parts can follow one another."""
        return self.flow if isinstance(self.movement, Flow) and self.movement.rate is not None else None

    @property
    def paths(self) -> Flow | None:
        """Its pieces that each go from one node to another; None if there are none."""
        return self.flow if isinstance(self.movement, Flow) and self.model == "chunks" and self.trees is None else None

    @property
    def cost(self) -> Cost | None:
        """Its claimed steps and bandwidth factor.

        None if it costs anything else, as hops or changes of circuits.
        """
        if self.claim.keys() != {"steps", "bandwidth"}:
            return None
        return Cost(int(self.claim["steps"]), self.claim["bandwidth"])

    @property
    def size(self) -> Fraction | None:
        """Bytes of the data that its own times are for; None if it has none."""
        return sum((one.timing.size for one in self.flows), Fraction(0)) if self.model == "clock" else None

    @property
    def changes(self) -> tuple[int, ...]:
        """The steps after each of which circuits change; none if links stay."""
        circuits = self.flows[0].circuits
        return () if circuits is None else tuple(circuits.begin[1:].tolist())

    @property
    def rounds(self) -> Flow:
        """The unfolded sends in steps; InfeasibleError if it has no steps."""
        return unfold_steps(self.flow)

    def save(self, path: str | Path) -> Path:
        """Write it to a file, as :func:`~topodesign.plans.files.save_plan` does.

        Examples
        --------
        >>> from topodesign import schedule
        >>> schedule("biring(2,4)").save("ring.npz").name
        'ring.npz'
        """
        saved: Path = load("plans.files:save_plan")(path, self)
        return saved

    def saying(self, *notes: str) -> Plan:
        """Return the same with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def to_records(self) -> list[dict[str, Any]]:
        """Return a row for every send or tree."""
        columns = {name: column.tolist() for name, column in self.movement.table().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def heading(self) -> str:
        """Return what it is for, where, and what it claims."""
        nodes = len(self.collective.members(self.topology.nodes, self.topology.switches))
        groups = self.collective.groups
        who = f"{nodes} nodes" if groups is None else f"{nodes} nodes in {len(groups)} groups"
        claims = ", ".join(
            f"{name} {format_time(value) if name.startswith('time') else value}" for name, value in self.claim.items()
        )
        where = self.spec or (self.place.name if isinstance(self.place, Fabric) else "a topology without a spec")
        sent = {"timed": "timed sends", "together": "concurrent streams", "routed": "routes"}.get(self.kind, self.kind)
        return f"{self.collective} of {who} on {where} in {sent}{': ' + claims if claims else ''}"

    def __str__(self) -> str:
        """Return the heading and the notes, without the sends."""
        return "\n".join([self.heading(), *self.notes])

    def _repr_html_(self) -> str:
        """Return the heading and the notes for a notebook."""
        import html  # noqa: PLC0415  for notebooks alone

        return "".join(f"<p>{html.escape(line)}</p>" for line in str(self).splitlines())
