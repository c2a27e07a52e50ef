"""The answer to what a plant can carry: topologies with their circuits, and others with what is in their way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_directory
from topodesign.base.claims import Among, Claim, Of, Proof, fastest_of
from topodesign.base.cost import Bounds as LowerBounds
from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, key
from topodesign.base.records import Result, Table
from topodesign.base.units import format_bandwidth, format_excess, format_time
from topodesign.base.wording import counted
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.frontier import DEFERRED_NOTE
from topodesign.pricing.mix import Mix
from topodesign.pricing.workload import Workload
from topodesign.topology.files import write_links
from topodesign.topology.topology import Topology
from topodesign.wiring.plan.files import plan_text
from topodesign.wiring.plan.plan import WiringPlan

_LONGEST_TITLE = 80


@dataclass(frozen=True, repr=False)
class Carriage(Declared):
    """A topology, and whether the plant carries it."""

    label: str  # its spec, or what it is called where that would be too long
    topology: Topology  # all its links
    found: str  # where it comes from
    reduce_scatter: Cost  # its price by SPFF, or of a deferred row of the catalog
    allgather: Cost  # likewise
    all_to_all: Bounds  # proven bounds on what all-to-all takes
    times: tuple[Fraction, ...]  # seconds for each question
    plan: WiringPlan | None  # its circuits, checked; None if it is not carried
    not_carried_because: str | None = None  # why not; None where it is
    best: bool = False  # whether it is the first of those carried for the first question
    file: str | None = None  # the plan that was written, if any
    deferred: bool = False  # whether the prices are those of a deferred row

    KEYS = (
        key("spec=label", "What names it; a spec rebuilds it."),
        "found",
        key("steps=mean.steps", "Steps of a reduce-scatter."),
        key("bandwidth=mean.bandwidth", "Bandwidth factor y, the mean of reduce-scatter and allgather."),
        key("bandwidth_float=float(mean.bandwidth)", "The same, rounded."),
        "all_to_all",
        key("link_load=float(link_load)", "Shards on the fullest link in all-to-all, by the flow that is known."),
        key("simplex=not(topology.is_duplex)", "Whether links go one way only."),
        key("times_s=float(times)", "Seconds for each question."),
        "carried not_carried_because?",
        key("circuits", "Cross-connects of its plan; null where there is none."),
        key("plan=file", "The wiring plan that -o wrote, to be verified and applied by topodesign wire; null without."),
        key("deferred", "Whether its price is that of a deferred schedule, which takes less than SPFF."),
        "best",
    )

    @property
    def mean(self) -> Cost:
        """The mean of reduce-scatter and allgather, twice which an allreduce takes."""
        return self.reduce_scatter.averaged(self.allgather)

    @property
    def title(self) -> str:
        """What tables call it: the spec, or its beginning and where it comes from if that is long."""
        return self.label if len(self.label) <= _LONGEST_TITLE else f"{self.label[:40]}... ({self.found})"

    @property
    def carried(self) -> bool:
        """Whether the plant carries it: there is a plan, which was checked."""
        return self.plan is not None

    @property
    def circuits(self) -> int | None:
        """Number of cross-connects."""
        return None if self.plan is None else len(self.plan.connects)

    @property
    def link_load(self) -> Fraction:
        """Shards that the fullest link carries in all-to-all: y * N/d."""
        return self.all_to_all.upper * self.topology.nodes / self.topology.degree


@dataclass(frozen=True, repr=False)
class Carried(Result):
    """What a plant can carry.

    * ``nodes``, ``degree``: N and d.
    * ``mode``: how its panels are patched.
    * ``hosts``: hosts that the plant has.
    * ``fields``: fields of panels that lanes end at.
    * ``questions``: what the times are for: each size, or a training step.
    * ``workload``: latency and bandwidth.
    * ``bounds``: costs of which every topology of the size has at least one or more.
    * ``least``: seconds that no topology of the size undercuts, for each question.
    * ``entries``: the topologies that are carried, of which no other beats one, the first for the first question first.
    * ``refused``: topologies of the same size that would be better and are not carried, or not known to be.
    * ``looked_at``: how many topologies were made for the plant or tried on it; None if these are all that there are.
    """

    nodes: int
    degree: int
    mode: str
    hosts: int
    fields: int
    questions: tuple[Mix, ...]
    workload: Workload
    bounds: tuple[Cost, ...]
    least: tuple[Fraction, ...]
    entries: tuple[Carriage, ...]
    refused: tuple[Carriage, ...]
    looked_at: int | None

    KEYS = (
        key("nodes", "Nodes N."),
        key("degree", "Ports d out of, and into, a node."),
        "mode hosts fields *workload questions",
        key("lower_bound=lower_bounds", "Steps and bandwidth factors of which every topology has one or more."),
        key("lower_bound_s=float(least)", "What no topology beats, for each question."),
        "exhaustive gap verdict claims",
        key("topologies", "Those that are carried, then those that are not."),
    )
    ROWS = "topologies"

    @property
    def topologies(self) -> tuple[Carriage, ...]:
        """Those that are carried, then those that are not."""
        return *self.entries, *self.refused

    @property
    def best(self) -> Carriage:
        """The first for the first question."""
        return self.entries[0]

    @property
    def lower_bounds(self) -> LowerBounds:
        """Steps and bandwidth factors of which every topology of the size has one or more."""
        return LowerBounds(self.bounds)

    @property
    def exhaustive(self) -> bool:
        """Whether all that this cabling carries was priced, and none takes less by a deferred schedule, as is known."""
        return self.looked_at is None and not self.best.deferred

    @property
    def gap(self) -> float:
        """Time of the best over the bound that holds for every topology of the size, less 1."""
        return float(self.best.times[0] / self.least[0] - 1)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """That the best takes the least time of all that the plant carries, or how near to the bound of any it is."""
        time, bound = self.best.times[0], self.least[0]
        if time == bound:
            return (Claim(Of.TIME, time, Among.CARRIED, Proof.BOUND, time, "it meets the bound of any topology"),)
        if self.exhaustive:
            return (Claim(Of.TIME, time, Among.CARRIED, Proof.SEARCH, time, "all of them were priced, by SPFF"),)
        return (Claim(Of.TIME, time, Among.CARRIED, Proof.NONE, bound),)

    @property
    def verdict(self) -> str:
        """What is carried, how sure it is, and how far it is from what is known of the size without the plant."""
        name, over = self.best.title, format_excess(self.best.times[0] / self.least[0])
        words = f"Of those carried {name} is {fastest_of(Among.FOUND)}, {over} over the lower bound; {self.claims[0]}."
        better = min(self.refused, key=lambda one: one.times[0], default=None)
        if better is None or better.times[0] >= self.best.times[0]:
            return f"{words} What is known of this size without the plant does not take less."
        instead = f"{format_time(better.times[0])} instead of {format_time(self.best.times[0])}"
        return f"{words} {better.title}, which is not carried, would take {instead}."

    def write(self, directory: str | Path) -> Carried:
        """Write the plans of what is carried, and all its links, into a new directory; return it with their names."""
        target = as_path(directory)
        files: dict[str, str] = {}
        entries = []
        for place, one in enumerate(self.entries, start=1):
            if one.plan is not None:
                files[f"plan{place}.json"] = plan_text(one.plan)
                files[f"links{place}.csv"] = write_links(one.topology, "csv")
            entries.append(replace(one, file=str(target / f"plan{place}.json")))
        write_directory(target, files)
        return replace(self, entries=tuple(entries))

    def heading(self) -> str:
        """Return the question."""
        work = self.workload
        return (
            f"{self.nodes} nodes of degree {self.degree} on {self.hosts} hosts and "
            f"{counted(self.fields, 'field')} of panels ({self.mode}); "
            f"alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per node; "
            f"{self.questions[0].words}"
        )

    def table(self) -> Table:
        """Return the topologies."""
        names = [one.words if len(one.shares) == 1 else one.name for one in self.questions]
        rows = []
        for one in self.topologies:
            cells = [
                f"{format_time(time)} {format_excess(time / least):>7}"
                for time, least in zip(one.times, self.least, strict=True)
            ]
            factors = (str(one.mean.steps), f"{float(one.mean.bandwidth):.4f}", one.all_to_all.words)
            found = f"{one.found}, deferred" if one.deferred else one.found
            rows.append((*factors, *cells, "yes" if one.carried else "no", found, one.title))
        foot = [DEFERRED_NOTE] if any(one.deferred for one in self.topologies) else []
        foot += [f"{one.title} is not carried: {one.not_carried_because}." for one in self.refused]
        return Table(
            self.heading(),
            ("steps", "y", "all-to-all y", *names, "carried", "found", "topology"),
            tuple(rows),
            words=frozenset(("carried", "found", "topology")),
            spare=frozenset(("all-to-all y", "found")),
            compared=len(self.entries) if self.refused else None,
            footnote="\n".join(["percentages are over the lower bound", self.verdict, *foot]),
        )
