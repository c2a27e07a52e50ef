"""Plans after failures that keep the surviving routes.

Trees and paths are repaired so. Rounds and timed sends depend on each other, and are made anew as trees or paths.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.deadline import Stopwatch
from topodesign.base.declared import key
from topodesign.base.errors import ParameterError
from topodesign.base.records import Result
from topodesign.base.units import format_rate
from topodesign.base.wording import count_noun, join_words
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import Some, select_part
from topodesign.fabrics.part import as_names as as_list
from topodesign.optima.forest.repair import remaining, repair_trees
from topodesign.optima.group_price import slowest_cut
from topodesign.optima.question import Question
from topodesign.optima.rerouting import node_bound, reroute_paths
from topodesign.optima.trees import bound_by_cuts
from topodesign.plans.chunk_ops import find_loads, unfold_pieces
from topodesign.plans.files import save_plan
from topodesign.plans.flow import Flow
from topodesign.plans.measure import flow_claim
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import verify_or_raise
from topodesign.schedulers.scheduling import schedule


@dataclass(frozen=True, repr=False)
class Replanned(Result):
    """Plan after a failure, compared with the previous one."""

    plan: Plan  # the plan of what is left, verified
    without: tuple[str, ...]  # what has failed
    before: Fraction  # algorithmic bandwidth of the plan before, bytes per second
    seconds: float  # seconds that making it took, without the replay
    kept: bool = True  # whether what survives was kept; else it was made anew

    KEYS = (
        key("place=plan.fabric.name", "What is left."),
        key("collective=plan.collective.name", "What it does."),
        "without",
        key("algorithmic_bandwidth=bandwidth", "Whole data over the time, without latency, in bytes per second."),
        key("algorithmic_bandwidth_GBps=gigabytes", "The same in GB/s."),
        key("before", "That of the plan before, in bytes per second; of timed sends with their latency."),
        key("bound", "What no plan on what is left exceeds, by the cuts around nodes, in bytes per second."),
        "claims",
        key("trees=tree_count", "How many different trees it has; paths, where these moved before."),
        key("kept", "Whether what survives was kept; else the plan was made anew."),
        key("made_in_s=seconds", "Seconds that making it took, without the replay."),
    )

    @property
    def bandwidth(self) -> Fraction:
        """Algorithmic bandwidth of the new plan, bytes per second."""
        return bandwidth_of(self.plan)

    @property
    def gigabytes(self) -> float:
        """Algorithmic bandwidth of the new plan, in GB/s."""
        return float(self.bandwidth / 10**9)

    @property
    def tree_count(self) -> int:
        """Number of different trees or paths."""
        return len(self.plan.flow.block)

    @cached_property
    def bound(self) -> Fraction:
        """Upper bound in bytes per second, whatever the remaining switches do."""
        fabric, paths = self.plan.fabric, self.plan.paths
        if paths is not None:
            return paths.collective.shards(len(paths.members)) * fabric.unit / node_bound(paths)
        if self.plan.collective.group is not None:
            return fabric.unit / slowest_cut(fabric.topology, self.plan.collective)
        return bound_by_cuts(Question(fabric, self.plan.collective))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Claims on the bandwidth."""
        missed = f"{self.plan.kind} that survive were kept" if self.kept else "by the cuts around nodes"
        return (Claim.to_bound(Of.RATE, self.bandwidth, Scope.SCHEDULES, self.bound, missed=missed),)

    def heading(self) -> str:
        """Return a one-sentence summary."""
        now, before = format_rate(self.bandwidth), format_rate(self.before)
        change = f"{100 * float(self.bandwidth / self.before - 1):+.1f}%"
        many = count_noun(self.tree_count, self.plan.kind.removesuffix("s"))
        what = f"{self.plan.collective} on {self.plan.fabric.name}, without {join_words(list(self.without))}"
        anew = "" if self.kept else f"; {self.plan.notes[0]}"
        return f"{what}: {now} in {many}, {before} before ({change}); {self.claims[0]}{anew}"

    def __str__(self) -> str:
        if not self.kept or self.bandwidth >= self.bound:
            return self.heading()
        failed = " ".join(f"--fail {one}" for one in self.without)
        return f"{self.heading()}\n'topodesign schedule' with {failed} keeps no {self.plan.kind} and may reach more"

    def save(self, path: str | Path) -> None:
        """Write the plan (.npz)."""
        save_plan(path, self.plan)


def repair_plan(plan: Plan, without: Some) -> Replanned:
    """Return a plan after a failure, for trees or paths.

    See :func:`topodesign.repair`.
    """
    begun, gone = Stopwatch(), tuple(map(str, as_list(without)))
    if not gone:
        raise ParameterError("say what has failed with --fail")
    if plan.collective.several:
        raise ParameterError(
            "concurrent collectives are not repaired; make a new plan: topodesign schedule NETWORK --traffic ... "
            f"{' '.join(f'--fail {one}' for one in gone)}"
        )
    fabric = plan.fabric
    left = select_part(fabric, without=without)
    place = {name: number for number, name in enumerate(left.names)}
    order = [place.get(name, -1) for name in fabric.names]
    if plan.trees is None and plan.paths is None:
        new = schedule(left, remaining(plan.collective, np.array(order, dtype=np.int64)))
        return _add_origin(
            plan, replace(new, notes=(f"made anew by --algorithm {new.generator['method']}",)), gone, begun
        )
    before = {(link.src, link.dst): link.bandwidth for link in fabric.links()}
    slower = {
        (place[link.src], place[link.dst]): link.bandwidth / before[link.src, link.dst]
        for link in left.links()
        if link.bandwidth != before[link.src, link.dst]
    }
    if plan.paths is not None:
        paths = reroute_paths(plan.paths, left, order, slower)
        return _add_origin(plan, Plan(left, paths, flow_claim(paths)), gone, begun)
    relays = left.aggregation, left.multicast
    flow = within_limits(left, repair_trees(unfold_pieces(plan.flow), left.topology, order, relays, slower))
    flow = replace(flow, place=left)
    return _add_origin(plan, Plan(left, flow, flow_claim(flow)), gone, begun)


def within_limits(fabric: Fabric, trees: Flow) -> Flow:
    """Return trees with their rate within shared link limits."""
    phases = find_loads(trees)
    rates = [
        limit.bandwidth / fabric.unit / most
        for limit, links in zip(fabric.shared, fabric.shared_links, strict=True)
        if (most := max(sum(phase[list(links)].tolist()) for phase in phases))
    ]
    return replace(trees, rate=min([trees.rate or rates[0], *rates])) if rates else trees


def bandwidth_of(plan: Plan) -> Fraction:
    """Return the algorithmic bandwidth, in bytes per second.

    That of timed sends includes their latency.
    """
    if "algorithmic_bandwidth" in plan.claim:
        return Fraction(plan.claim["algorithmic_bandwidth"])
    if "time" in plan.claim:
        return plan.flow.timing.size / Fraction(plan.claim["time"])
    return plan.fabric.unit * plan.topology.degree / Fraction(plan.claim["bandwidth"])


def _add_origin(before: Plan, new: Plan, gone: tuple[str, ...], begun: Stopwatch) -> Replanned:
    """Return the verified plan with notes on its origin."""
    kept = not new.notes
    made = {**(before if kept else new).generator, "repaired_without" if kept else "without": list(gone)}
    notes = ("repaired after a failure",) if kept else new.notes
    new, seconds = replace(new, generator=made, notes=notes), begun()
    return Replanned(verify_or_raise(new, "the repaired plan"), gone, bandwidth_of(before), seconds, kept)
