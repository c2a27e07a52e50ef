"""Result of ``carry``: supported and unsupported topologies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from topodesign.base.arguments import as_path
from topodesign.base.atomic import write_directory
from topodesign.base.claims import Claim, Of, Proof, Scope, fastest_of
from topodesign.base.cost import Bounds as LowerBounds
from topodesign.base.declared import Declared, key
from topodesign.base.records import Table
from topodesign.base.units import format_bandwidth, format_excess, format_time
from topodesign.base.wording import count_noun
from topodesign.finder.answer import Answer
from topodesign.finder.candidate import Entry
from topodesign.finder.pareto import DEFERRED_NOTE
from topodesign.finder.question import Question
from topodesign.finder.runners_up import RunnersUp
from topodesign.topology.files import write_links
from topodesign.wiring.change.growth import GrowthOption
from topodesign.wiring.plan.files import plan_text
from topodesign.wiring.plan.plan import WiringPlan

if TYPE_CHECKING:
    pass

_LONGEST_TITLE = 80


@dataclass(frozen=True, repr=False)
class Carriage(Declared):
    """Topology, and whether the installation supports it."""

    entry: Entry  # the topology with its price and times
    plan: WiringPlan | None = None  # its circuits, checked; None if it is not carried
    not_carried_because: str | None = None  # why not; None where it is
    best: bool = False  # whether it is the first of those carried for the first question
    file: str | None = None  # the plan that was written, if any
    moved: GrowthOption | None = None  # patches that move, where a wiring to grow from was given and fields are found

    KEYS = (
        key("spec=entry.spec", "What names it; a spec rebuilds it."),
        key("found=entry.found", "Where it comes from."),
        key("steps=entry.mean.steps", "Steps of a reduce-scatter."),
        key("bandwidth=entry.mean.bandwidth", "Bandwidth factor y, the mean of reduce-scatter and allgather."),
        key("bandwidth_float=float(entry.mean.bandwidth)", "The same, rounded."),
        key("all_to_all=entry.all_to_all", "All-to-all."),
        key("link_load=float(link_load)", "Shards on the fullest link in all-to-all, by the flow that is known."),
        key("simplex=not(entry.duplex)", "Whether links go one way only."),
        key("times_s=float(entry.times)", "Seconds for each question."),
        "carried not_carried_because?",
        key("circuits", "Cross-connects of its plan; null where there is none."),
        key("plan=file", "The wiring plan that -o wrote, to be verified and applied by topodesign wire; null without."),
        key("deferred=entry.deferred", "Whether its price is that of a deferred schedule, which takes less than SPFF."),
        "best",
        key("moves?=moved.moves", "With --near: patches to move to get there."),
        key("bound?=moved.at_least", "With --near: patches that any change to it moves."),
    )

    @property
    def title(self) -> str:
        """Title in tables, shortened if long."""
        spec = self.entry.spec
        return f"{spec[:40]}... ({self.entry.found})" if len(spec) > _LONGEST_TITLE else spec

    @property
    def carried(self) -> bool:
        """Whether the installation supports it with a checked plan."""
        return self.plan is not None

    @property
    def circuits(self) -> int | None:
        """Number of cross-connects."""
        return None if self.plan is None else len(self.plan.connects)

    @property
    def link_load(self) -> Fraction | None:
        """Maximum shards per link in all-to-all (y * N/d), or None."""
        exchange = self.entry.all_to_all
        return None if exchange is None else exchange.upper * self.entry.nodes / self.entry.topology.degree


@dataclass(frozen=True, repr=False)
class Carried(Answer):
    """Topologies that an installation supports.

    * ``mode``: how its panels are patched.
    * ``hosts``: hosts that the plant has.
    * ``fields``: fields of panels that lanes end at.
    * ``entries``: the topologies that are carried, of which no other beats one, the first for the first question first.
    * ``refused``: topologies of the same size that would be better and are not carried, or not known to be.
    * ``looked_at``: how many topologies were made for the plant or tried on it; None if these are all that there are.
    """

    question: Question
    mode: str
    hosts: int
    fields: int
    entries: tuple[Carriage, ...]
    refused: tuple[Carriage, ...]
    looked_at: int | None
    runners_up: RunnersUp | None = None  # what comes next to the fastest, where that was asked for

    KEYS = (
        "nodes degree mode hosts fields *workload questions",
        key("lower_bound=lower_bounds", "Steps and bandwidth factors of which every topology has one or more."),
        key("lower_bound_s=float(question.least)", "What no topology beats, for each question."),
        "exhaustive gap verdict claims",
        key("topologies", "Those that are carried, then those that are not."),
        key("runners_up?=or_null(next_best)", "With --top: what comes next to the first."),
    )
    ROWS = "topologies"

    @property
    def topologies(self) -> tuple[Carriage, ...]:
        """Supported topologies, then unsupported ones."""
        return *self.entries, *self.refused

    @property
    def best(self) -> Carriage:
        """Best topology for the first question."""
        return self.entries[0]

    @property
    def fastest(self) -> Entry:
        """Entry of the best topology."""
        return self.best.entry

    @property
    def lower_bounds(self) -> LowerBounds:
        """Lower bounds of the size: pairs of steps and bandwidth factor."""
        return LowerBounds(self.question.bounds)

    @property
    def exhaustive(self) -> bool:
        """Whether all supported topologies were priced and the best is not deferred."""
        return self.looked_at is None and not self.best.entry.deferred

    @property
    def gap(self) -> float:
        """Time of the best over the lower bound, minus 1."""
        return float(self.best.entry.times[0] / self.question.least[0] - 1)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Optimality claim among supported topologies."""
        time, bound = self.best.entry.times[0], self.question.least[0]
        if time == bound:
            return (Claim(Of.TIME, time, Scope.CARRIED, Proof.BOUND, time, "it meets the bound of any topology"),)
        if self.exhaustive:
            return (Claim(Of.TIME, time, Scope.CARRIED, Proof.SEARCH, time, "all of them were priced, by SPFF"),)
        return (Claim(Of.TIME, time, Scope.CARRIED, Proof.NONE, bound),)

    @property
    def verdict(self) -> str:
        """Summary of the best topology, proof and gap."""
        name, over = self.best.title, format_excess(self.best.entry.times[0] / self.question.least[0])
        words = f"{name} is {fastest_of(Scope.CARRIED)}, {over} over the lower bound; {self.claims[0]}."
        better = min(self.refused, key=lambda one: one.entry.times[0], default=None)
        if better is None or better.entry.times[0] >= self.best.entry.times[0]:
            return f"{words} No topology known for this size is faster without this cabling."
        instead = f"{format_time(better.entry.times[0])} instead of {format_time(self.best.entry.times[0])}"
        return f"{words} {better.title}, which this cabling does not support, would take {instead}."

    def write(self, directory: str | Path) -> Carried:
        """Write plans and links of supported topologies.

        The directory must be new. Returns the answer with the names of the files.

        Of a topology with fixed links the plan has those of the switches alone.
        """
        target = as_path(directory)
        files: dict[str, str] = {}
        entries = []
        for place, one in enumerate(self.entries, start=1):
            if one.plan is not None:
                files[f"plan{place}.json"] = plan_text(one.plan)
                files[f"links{place}.csv"] = write_links(one.entry.topology, "csv")
            entries.append(replace(one, file=str(target / f"plan{place}.json")))
        write_directory(target, files)
        return replace(self, entries=tuple(entries))

    def heading(self) -> str:
        """Return the question."""
        work = self.workload
        return (
            f"{self.nodes} nodes of degree {self.degree} on {self.hosts} hosts and "
            f"{count_noun(self.fields, 'field')} of panels ({self.mode}); "
            f"alpha {format_time(work.alpha)}, {format_bandwidth(work.bandwidth)} per node; "
            f"{self.questions[0].words}"
        )

    def table(self) -> Table:
        """Return the topologies."""
        moving = any(one.moved is not None for one in self.entries)
        names = [one.words if len(one.shares) == 1 else one.name for one in self.questions]
        rows = []
        for one in self.topologies:
            pairs = zip(one.entry.times, self.question.least, strict=True)
            cells = [f"{format_time(time)} {format_excess(time / least):>7}" for time, least in pairs]
            exchange = "" if one.entry.all_to_all is None else one.entry.all_to_all.words
            found = f"{one.entry.found}, deferred" if one.entry.deferred else one.entry.found
            moves = ("" if one.moved is None else str(one.moved.moves),) if moving else ()
            factors = (*moves, str(one.entry.mean.steps), f"{float(one.entry.mean.bandwidth):.4f}", exchange)
            rows.append((*factors, *cells, "yes" if one.carried else "no", found, one.title))
        foot = [DEFERRED_NOTE] if any(one.entry.deferred for one in self.topologies) else []
        foot += [f"{one.title} cannot be wired: {one.not_carried_because}." for one in self.refused]
        return Table(
            self.heading(),
            (
                *("moves",) * moving,
                "steps",
                "BW factor",
                "all-to-all factor",
                *names,
                "wired",
                "found",
                "topology",
            ),
            tuple(rows),
            words=frozenset(("wired", "found", "topology")),
            spare=frozenset(("all-to-all factor", "found")),
            compared=len(self.entries) if self.refused else None,
            footnote="\n".join(["percentages are over the lower bound", self.verdict, *foot]),
        )
