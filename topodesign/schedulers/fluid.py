"""Plans over paths of any fabric for what is neither copied nor added up, as fast as any for large sizes.

The fastest flow, of those the one over the fewest links, is taken apart into paths, source by source.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from topodesign.base.errors import TooLargeError
from topodesign.collectives import GATHER
from topodesign.expand.places import named_preset
from topodesign.plans.paths import MAX_WEIGHT, Paths
from topodesign.plans.plan import Plan
from topodesign.pricing.flows.flow_optimum import FLOWS, flow_optimum
from topodesign.pricing.flows.paths import taken_apart
from topodesign.schedulers.method import Method, Request


def _make(request: Request) -> list[Plan]:
    """Return the plan."""
    fabric = request.fabric
    best = flow_optimum(fabric, request.collective, root=request.root_name, costs={"*": 1})
    flow, turned = best.flow, request.collective.like(GATHER)
    amounts, whole = flow.flows()
    common = math.gcd(whole, *np.unique(amounts).tolist())
    units = whole // common
    if units > MAX_WEIGHT:
        raise TooLargeError(f"the fastest flow cuts blocks into {units} parts (at most {MAX_WEIGHT}); round bandwidths")
    collective = request.collective.at(None if request.root_name is None else fabric.number(request.root_name))
    nodes = fabric.topology.nodes
    rows: list[tuple[int, int]] = []
    hops: list[tuple[int, ...]] = []
    for at, source in enumerate(flow.sources.tolist()):
        wanted = {goal: units for goal in fabric.compute if goal != source}
        parts = (amounts[at] // common).tolist()
        for goal, paths in taken_apart(flow.topology, source, parts, wanted).items():
            block = source * nodes + goal if collective.pairwise else goal
            rows += [(block, part) for _, part in paths]
            hops += [path[::-1] if turned else path for path, _ in paths]
    block, weight = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    starts = np.cumsum([0, *map(len, hops)])
    movement = Paths(
        collective,
        fabric.topology,
        units,
        block.copy(),
        weight.copy(),
        starts.astype(np.int64),
        np.array([vertex for path in hops for vertex in path], dtype=np.int64),
    )
    claim = {
        "height": Fraction(movement.height),
        "inv_x_star": movement.inverse_rate / fabric.unit,
        "algorithmic_bandwidth": collective.shards(len(fabric.compute)) * fabric.unit / movement.inverse_rate,
    }
    spec = None if request.only or request.without else named_preset(request.place)
    return [Plan(fabric, movement, claim, spec, {"method": "fluid", "root": request.root_name})]


METHOD = Method(
    "fluid",
    frozenset({"root", "only", "without"}),
    FLOWS,
    _make,
    movement="paths",
    fabrics=True,
)
