"""Output of ``schedule`` and ``verify``, by type of plan."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from topodesign.base.cost import Cost
from topodesign.base.declared import Declared, Key, key, keys_of
from topodesign.base.records import shorten_text
from topodesign.base.units import format_factor, format_rate
from topodesign.base.wording import count_noun
from topodesign.collectives import Collective
from topodesign.optima.forest.describe import TreeFacts, tree_summary
from topodesign.plans.flow import Flow
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import Report
from topodesign.schedulers.method import cost_in


def _make_note_key(form: str, about: str, kind: Any, otherwise: Any = None) -> Key:
    """Return the key of a note from the plan's generator."""
    name = form.rstrip("?").split("=")[-1]
    return key(form.partition("=")[0], about, kind=kind, value=lambda one: one.plan.generator.get(name, otherwise))


def _make_claim_key(name: str, about: str) -> Key:
    return key(name, about, kind=Fraction, value=lambda one: one.plan.claim[name])


def groups_of(collective: Collective) -> list[list[int]] | None:
    """Return the members of each group; None for all nodes."""
    return None if collective.group is None else [list(one.group or ()) for one in collective.single]


_HEAD = (
    key("spec=plan.spec", "What names and rebuilds the place; null for links that have no spec."),
    _make_note_key(
        "alias", "The short spec that it was asked for by, with the version of the catalog; else null.", str | None
    ),
    key("nodes=plan.topology.nodes", "Nodes, with switches."),
    key("degree=plan.topology.degree", "Ports of a node, of the largest where they differ."),
    key("collective=plan.collective.name", "What is done."),
    key(
        "groups",
        "Members of each group; null for all nodes.",
        kind=list[list[int]] | None,
        value=lambda one: groups_of(one.plan.collective),
    ),
    _make_note_key("method", "How it was made.", str),
)
_PROVED = (
    _make_note_key("proof?", "Of exact methods: why nothing is better.", ("bound", "search", "none")),
    _make_note_key("bound?", "Of exact methods: what no plan beats.", Fraction),
)


@dataclass(frozen=True)
class Scheduled(Declared):
    """Plan to report."""

    plan: Plan

    def said(self, written: str) -> str:
        """Return a summary for readers, including the output file."""
        return f"{self.plan}\nverified, {written}"

    def checked(self, report: Report) -> dict[str, Any]:
        """Return the document of a check."""
        return report.record()

    def verdict(self, report: Report) -> str:
        """Return the result of a check for readers."""
        plan = self.plan
        if plan.topology.switches:
            return f"{plan.fabric}\n{report}"
        return f"{plan.spec or 'a topology without a spec'}, {plan.topology.nodes} nodes\n{report}"


@dataclass(frozen=True, slots=True)
class OtherMethod(Cost):
    """Method that is better in steps or bandwidth."""

    method: str  # its name

    KEYS = ("method", *keys_of(Cost.KEYS))


class InSteps(Scheduled):
    """Plan in steps, in any representation."""

    KEYS = (
        *_HEAD,
        *_PROVED,
        "*cost",
        key("bandwidth_float=float(cost.bandwidth)", "The same, rounded."),
        key("units_per_shard", "Parts that a shard is cut into.", kind=int, value=lambda one: one.plan.movement.units),
        key("sends=plan.movement.sends", "Sends."),
        _make_note_key("bandwidth_lost_by_chunks=lost", "What the number of units loses.", Fraction, "0"),
        _make_note_key("bandwidth_lost_at_most=lost_at_most", "What it could lose, by Theorem 21.", Fraction, "0"),
        _make_note_key("other_methods=others", "Methods that are better in steps or bandwidth.", list[OtherMethod], ()),
        _make_note_key(
            "least_bandwidth=least", "What no plan of so many steps beats; null if not known.", Fraction | None
        ),
        _make_note_key("more_steps", "What more steps would reach.", list[Cost], ()),
    )

    @property
    def cost(self) -> Cost:
        """Cost of the plan."""
        return cost_in(self.plan)


class InRounds(InSteps):
    """Plan in rounds."""

    def said(self, written: str) -> str:
        """Return steps, bandwidth and sends."""
        plan, cost, notes = self.plan, self.cost, list(self.plan.notes)
        lost = f", {notes.pop(0)}" if Fraction(plan.generator.get("lost", 0)) > 0 else ""
        nodes = len(plan.collective.members(plan.topology.nodes))
        groups = "" if plan.collective.groups is None else f" in {len(plan.collective.groups)} groups"
        where = "" if plan.spec is None else f"{shorten_text(str(plan.generator.get('alias') or plan.spec))}, "
        head = f"{plan.collective} on {where}{nodes} nodes{groups}: {cost.steps} steps, {format_factor(cost.bandwidth)}"
        moved = plan.flow
        sends = f"{moved.sends} sends"
        if moved.fold is not None:
            owners = count_noun(len(moved.fold.representatives), "node")
            sends += f", kept as {len(moved)}, those of the blocks of {owners}"
        size = f"{sends}, {count_noun(moved.units, 'unit')} per shard, method {plan.generator['method']}, verified"
        alias = plan.generator.get("alias")
        named = [] if alias is None else [f"{alias}: {plan.spec}"]
        return "\n".join([f"{head}{lost}", size, *named, written, *notes])


class OverTrees(Scheduled):
    """Plan over trees."""

    KEYS = (
        "*trees",
        _make_note_key("method", "How it was made.", str),
        key(
            "allreduce",
            "What is known of a better allreduce; null for other collectives.",
            kind=str | None,
            value=lambda one: one.plan.notes[0] if one.plan.notes and one.plan.collective.name == "allreduce" else None,
        ),
    )

    @property
    def trees(self) -> TreeFacts:
        """Figures of the trees."""
        return TreeFacts(self.plan.fabric, self.plan.flow)

    @property
    def summary(self) -> str:
        """Summary of the trees for readers."""
        return tree_summary(self.plan.fabric, self.plan.flow)

    def said(self, written: str) -> str:
        """Return the rates of the trees."""
        plan = self.plan
        return "\n".join([str(plan.fabric), f"{plan.collective}: {self.summary}", *plan.notes, f"verified, {written}"])

    def checked(self, report: Report) -> dict[str, Any]:
        """Return the document of a check, with the figures of valid trees."""
        return report.record() | (self.trees.record() if report.ok else {"fabric": self.plan.fabric.name})

    def verdict(self, report: Report) -> str:
        """Return the result of a check, with the rates of valid trees."""
        lines = [self.summary] if report.ok else [f"  {line}" for line in report.problems]
        head = f"{self.plan.collective}: {'ok' if report.ok else 'WRONG'}"
        return "\n".join([str(self.plan.fabric), head, *lines])


class OverPaths(Scheduled):
    """Plan over paths."""

    KEYS = (
        *_HEAD,
        _make_claim_key("height", "Links of the longest path."),
        _make_claim_key("inv_x_star", "Seconds that a byte of a shard takes at best: 1/x*."),
        _make_claim_key("algorithmic_bandwidth", "Whole data over the time, without latency, in bytes per second."),
    )

    def said(self, written: str) -> str:
        """Return the rate and height of the paths."""
        plan, many = self.plan, len(self.plan.collective.single)
        where = f"{plan.fabric}{f', {many} groups' if many > 1 else ''}"
        rate, paths = format_rate(plan.claim["algorithmic_bandwidth"]), len(plan.flow.block)
        summary = f"{plan.collective}: algorithmic bandwidth {rate}, {paths} paths of height {plan.claim['height']}"
        return "\n".join([where, summary, *plan.notes, f"verified, {written}"])


class InStages(Scheduled):
    """Plan in stages."""

    KEYS = (
        *_HEAD,
        key("stages", "Collectives of groups, one after the other.", kind=list[str], value=lambda one: one.stages),
        _make_claim_key("height", "Sends from node to node on the longest way."),
        _make_claim_key("algorithmic_bandwidth", "Whole data over the time, without latency, in bytes per second."),
    )

    @property
    def stages(self) -> list[str]:
        """Collectives, stage by stage."""
        return [flow.collective.name for flow in self.plan.flows]

    def said(self, written: str) -> str:
        """Return the rate and height of the stages."""
        plan = self.plan
        rate, height = format_rate(plan.claim["algorithmic_bandwidth"]), plan.claim["height"]
        summary = (
            f"{plan.collective}: algorithmic bandwidth {rate}, {count_noun(len(self.stages), 'stage')}, height {height}"
        )
        return "\n".join([str(plan.fabric), summary, *plan.notes, f"verified, {written}"])


class InTimedSends(Scheduled):
    """Timed schedule."""

    KEYS = (*_HEAD, *_PROVED, _make_claim_key("time", "Seconds until all have all."))


@dataclass(frozen=True, slots=True)
class PlannedStream(Declared):
    """One of several concurrent collectives."""

    sends: Flow

    @property
    def begin(self) -> Fraction:
        """Start time in seconds."""
        return self.sends.timing.begin * self.sends.timing.tick

    KEYS = (
        key("collective", "What is done.", kind=str, value=lambda one: one.sends.collective.name),
        key(
            "groups",
            "Members of each group; null for all.",
            kind=list[list[int]] | None,
            value=lambda one: groups_of(one.sends.collective),
        ),
        key("size_bytes", "Data that it is for, in bytes.", kind=Fraction, value=lambda one: one.sends.timing.size),
        "begin",
        key("time", "Seconds until all have all of it.", kind=Fraction, value=lambda one: one.sends.time),
    )


class InStreams(Scheduled):
    """Timed schedule of several collectives."""

    KEYS = (
        *_HEAD,
        _make_note_key("bound", "What no plan of them beats.", Fraction),
        _make_claim_key("time", "Seconds until all have all."),
        key(
            "streams",
            "The collectives.",
            kind=list[PlannedStream],
            value=lambda one: list(map(PlannedStream, one.plan.movement.each)),
        ),
    )


KINDS: dict[str, type[Scheduled]] = {
    "rounds": InRounds,
    "orbitrounds": InRounds,
    "trees": OverTrees,
    "orbittrees": OverTrees,
    "paths": OverPaths,
    "stages": InStages,
    "timed": InTimedSends,
    "together": InStreams,
}
"""By the kinds of plans; others are in steps."""


def make_report(plan: Plan) -> Scheduled:
    """Return the report on a plan."""
    return KINDS.get(plan.kind, InSteps)(plan)
