"""Verdicts of what moves, with no plan around it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.samples.paths import Paths
from tests.samples.tree_tables import Trees
from topodesign.base.cost import Cost
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.plans.chunk_ops import count_shards
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.flow_ops import join_links
from topodesign.plans.verify.plans import check_movement
from topodesign.plans.verify.verdict import Verdict
from topodesign.topology.topology import Topology


def verify_rounds(topology: Topology, moved: Flow | Flows, claim: Cost | None = None) -> Verdict:
    """Return the verdict on steps, and on what they are claimed to cost."""
    found = check_movement(topology, moved)
    wrong = claim is not None and "steps" in found.figures and claim != found.cost
    return replace(found, problems=(*found.problems, *(["another cost is claimed"] if wrong else [])))


def replay_rounds(rounds: Flow) -> Verdict:
    """Return the verdict on steps over their own links."""
    return verify_rounds(rounds.topology, rounds)


def verify_timed(
    topology: Topology, timed: Flow, claim: Fraction | None = None, *, multicast: Collection[int] = ()
) -> Verdict:
    """Return the verdict on timed sends, where some switches copy."""
    moved = replace(timed, place=topology) if timed.fits(topology) else timed
    found = check_movement(topology, join_links(moved), multicast=multicast)
    wrong = claim is not None and claim != found.figures["time"]
    return replace(found, problems=(*found.problems, *([f"the claimed time is {claim}s"] if wrong else [])))


@dataclass(frozen=True)
class PipelinesVerdict:
    """A verdict on trees or paths, with 1/x in units of one over the unit of capacity."""

    ok: bool
    problems: tuple[str, ...]
    fullest: Fraction
    height: int
    trees: int
    inverse_rate: Fraction | None


def verify_trees(
    trees: Trees | Flow,
    claim: Fraction | None = None,
    names: Sequence[str] | None = None,
    *,
    multicast: Collection[int] = (),
    aggregation: Collection[int] = (),
) -> PipelinesVerdict:
    """Return the verdict on trees, where some switches copy and some add."""
    place, flow = Fabric.from_topology(trees.topology, NODE_BANDWIDTH), trees if isinstance(trees, Flow) else trees.flow
    found = check_movement(
        trees.topology if names is None else replace(place, names=tuple(names)),
        flow,
        multicast=multicast,
        aggregation=aggregation,
    )
    rate = found.figures.get("algorithmic_bandwidth")
    inverse = None if rate is None else count_shards(flow) * place.unit / rate
    problems = (*found.problems, *(["another 1/x is claimed"] if claim not in {None, inverse} else []))
    height = int(found.figures.get("height", 0))
    count = 0 if found.details is None else getattr(found.details, "trees", 0)
    return PipelinesVerdict(not problems, problems, found.fullest, height, count, inverse)


def verify_paths(paths: Paths) -> PipelinesVerdict:
    """Return the verdict on paths."""
    found = check_movement(paths.topology, paths.flow)
    rate, unit = found.figures.get("inv_x_star"), Fabric.from_topology(paths.topology, NODE_BANDWIDTH).unit
    height = int(found.figures.get("height", 0))
    inverse = None if rate is None else rate * unit
    return PipelinesVerdict(found.ok, found.problems, found.fullest, height, len(paths), inverse)
