"""What is claimed of fabrics, against mixtures of trees by another program, cuts by brute force, and all plans.

Random small fabrics: unlike links, switches that copy or add, links that fail one way, limits that links share, groups,
shards. Every claim of the optimum, of the fluid optimum, of flows and of groups is held against the oracle of its scope
(:mod:`tests.claims.trees_oracle`), and no plan of any method may beat a bound.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.claims.trees_oracle import Need, Net, into, least_cost, least_time, out_of, through
from tests.floors import reached
from topodesign.base.claims import Claim, Of, Scope
from topodesign.base.errors import InfeasibleError, TooLargeError
from topodesign.collectives import ALL_TO_ALL, GATHER, Collective, as_collective
from topodesign.fabrics.fabric import Fabric, FabricLink, Shared
from topodesign.fabrics.part import Others, select_part
from topodesign.optima.group_price import GroupPrice, price_groups
from topodesign.optima.optimum import optimum
from topodesign.optima.purchase import upgrade
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule

UNIT = Fraction(10**9)
TREES = ("allgather", "reduce-scatter", "broadcast", "reduce", "allreduce")
FLOWS = ("all-to-all", "scatter", "gather")
QUICK, THOROUGH = 6, 60


def random_fabric(seed: int, *, limits: bool = False) -> Fabric:
    """A fabric of 2 to 5 nodes and up to two switches, of which links may have failed in one direction."""
    draw = random.Random(seed)  # noqa: S311
    nodes = [f"n{at}" for at in range(draw.randint(2, 5))]
    switches = [f"s{at}" for at in range(draw.randint(0, 2))]
    names = nodes + switches
    pairs = [(names[draw.randrange(at)], names[at]) for at in range(1, len(names))]
    pairs += [tuple(draw.sample(names, 2)) for _ in range(draw.randint(0, 4))]  # type: ignore[misc]
    links = []
    for a, b in pairs:
        rate, kind = UNIT * draw.randint(1, 4), draw.choice("xy")
        links += [FabricLink(a, b, rate, kind), FabricLink(b, a, rate, kind)]
    if draw.random() < 0.4 and len(names) > 2:  # a circle that goes one way
        ring = draw.sample(names, draw.randint(3, len(names)))
        links += [FabricLink(a, b, UNIT, "x") for a, b in zip(ring, ring[1:] + ring[:1], strict=True)]
    able = [[name for name in switches if draw.random() < 0.5] for _ in range(2)]
    ends = sorted({(link.src, link.dst) for link in links})
    shared = []
    for at in range(draw.randint(0, 2) if limits else 0):
        some = draw.sample(ends, min(len(ends), draw.randint(2, 4)))
        shared.append(Shared(f"l{at}", UNIT * draw.randint(2, 9) / draw.randint(1, 3), tuple(some)))
    whole = Fabric.from_links(
        f"random{seed}",
        nodes,
        switches,
        links,
        multicast=able[0],
        aggregation=able[draw.random() < 0.4],
        memory=[name for name in switches if limits and draw.random() < 0.3],
        shared=shared,
    )
    gone = [f"{a}>{b}" for a, b in draw.sample(ends, draw.choice((0, 0, 1, 2)))]
    return select_part(whole, without=gone) if gone else whole


# -- oracles -----------------------------------------------------------------------------------------------------------


def scope(fabric: Fabric, among: Scope, members: frozenset[int]) -> tuple[frozenset[int], ...]:
    """Who copies, who adds, and where sums may be made, in a scope."""
    every = frozenset(range(len(fabric.names)))
    if among in {Scope.TREES, Scope.MEMBER_TREES, Scope.IN_TURN}:
        return members, members, members
    copies, adds = fabric.multicast | members, fabric.aggregation | members
    if among in {Scope.CAPABLE_TREES, Scope.CAPABLE_MEMBER_TREES}:
        return copies, adds, every  # what cannot add or copy has one way in or out there
    if among is Scope.STEADY_TREES:
        return copies, adds, copies & adds
    assert among in {Scope.SCHEDULES, Scope.FLOWS}
    return every, every, every


def needs_of(  # noqa: PLR0917  all that a scope depends on
    net: Net,
    fabric: Fabric,
    one: Collective,
    members: frozenset[int],
    among: Scope,
    sizes: dict[int, Fraction] | None = None,
    inside: frozenset[int] | None = None,
) -> list[Need]:
    """What one group has to send, of data of size one in all."""
    copies, adds, places = scope(fabric, among, members)
    share = sizes or dict.fromkeys(members, Fraction(1, len(members)))
    order = sorted(members)
    if one.name == "allreduce":
        return [through(net, members, copies, adds, places, 1, inside)]
    if one.name in {"allgather", "reduce-scatter"}:
        way = out_of if one.name == "allgather" else into
        able = copies if one.name == "allgather" else adds
        return [way(net, root, members, able, float(share[root]), inside) for root in order if share[root]]
    assert one.root is not None or one.like(ALL_TO_ALL)
    if one.name == "broadcast":
        return [out_of(net, one.root or 0, members, copies, 1, inside)]
    if one.name == "reduce":
        return [into(net, one.root or 0, members, adds, 1, inside)]
    starts = order if one.like(ALL_TO_ALL) else [one.root or 0]
    pairs = [(u, v) for u in starts for v in order if u != v]
    if one.like(GATHER):
        pairs = [(v, u) for u, v in pairs]
    return [out_of(net, u, [v], frozenset(), 1 / len(members), inside) for u, v in pairs]


def time_of(
    fabric: Fabric, kind: Collective, among: Scope, sizes: dict[int, Fraction] | None = None, *, inside: bool = False
) -> float:
    """The least time of one unit of data of each group, in units of the fabric's."""
    net = Net.of(fabric)
    if among is Scope.IN_TURN:
        halves = [time_of(fabric, part, Scope.TREES, sizes) for part in kind.parts]
        return sum(halves)
    needs = []
    for one in kind.single:
        members = frozenset(one.members(len(fabric.names), fabric.topology.switches).tolist())
        if len(members) > 1:
            own = members | fabric.topology.switches if inside else None
            needs += needs_of(net, fabric, one, members, among, sizes, own)
    return least_time(net, needs)


def hold(claim: Claim, true: float, *, reachable: bool = True) -> None:
    """Try to refute a claim by what is true of the best in its scope."""
    bound = claim.value if claim.proven else claim.bound
    assert bound is not None, str(claim)
    room = 1e-6 * max(1, abs(true))
    if claim.of is Of.RATE:
        assert true <= float(bound) + room, f"{claim}: {true} beats {float(bound)}"
        assert not reachable or float(claim.value) <= true + room, f"{claim}: {float(claim.value)} is out of reach"
    else:
        assert true >= float(bound) - room, f"{claim}: {true} beats {float(bound)}"
        assert not reachable or float(claim.value) >= true - room, f"{claim}: {float(claim.value)} is out of reach"
    reached("held")


# -- what is claimed ---------------------------------------------------------------------------------------------------


def check_optimum(seed: int) -> None:
    """The optimum over trees, with and without a proof, with and without shards."""
    draw, fabric = random.Random(seed), random_fabric(seed)  # noqa: S311
    for name in TREES:
        kind = as_collective(name)
        root = fabric.names[draw.choice(fabric.compute)] if kind.rooted else None
        sizes = [draw.randint(0, 3) for _ in fabric.compute] if root is None and draw.random() < 0.3 else None
        if sizes is not None and not any(sizes):
            sizes = None
        options: dict[str, Any] = {"shards": sizes, "proof": draw.random() < 0.8, "method": "forest"}
        try:
            found = optimum(fabric, kind, root=root, **options)
        except InfeasibleError:
            continue
        asked = kind if root is None else kind.at(fabric.number(root))
        share = (
            None if sizes is None else dict(zip(fabric.compute, (Fraction(s, sum(sizes)) for s in sizes), strict=True))
        )
        record = found.record()
        for claim in found.claims:
            rate = float(fabric.unit) / time_of(fabric, asked, claim.among, None if name == "allreduce" else share)
            hold(claim, rate, reachable=claim.among is not Scope.IN_TURN or sizes is None)
        assert record["proven"] == found.claims[0].proven
        assert Fraction(record["bound"]) == found.claims[0].bound
        if name == "allreduce" and not fabric.topology.switches and sizes is None and options["proof"]:
            assert found.best_allreduce is not None
            assert found.best_allreduce.proven


def check_fluid(seed: int) -> None:
    """The fluid optimum with shared limits, and its costs."""
    draw, fabric = random.Random(seed), random_fabric(seed, limits=True)  # noqa: S311
    net = Net.of(fabric)
    for name in (*TREES, *FLOWS):
        kind = as_collective(name)
        root = fabric.names[draw.choice(fabric.compute)] if kind.rooted else None
        classes = sorted(set(fabric.classes))
        costs = {word: draw.randint(0, 3) for word in classes} if draw.random() < 0.5 else {}
        try:
            found = optimum(fabric, kind, root=root, method="fluid", costs=costs)
        except InfeasibleError:
            continue
        asked = kind if root is None else kind.at(fabric.number(root))
        members = frozenset(fabric.compute)
        needs = needs_of(net, fabric, asked, members, found.claims[0].among)
        price = np.array([costs.get(word, 0) for word in fabric.classes], dtype=float)
        time, cost = least_cost(net, needs, price) if costs else (least_time(net, needs), 0.0)
        for claim in found.claims:
            if claim.of is Of.RATE:
                hold(claim, float(fabric.unit) / time)
            else:
                hold(claim, cost * asked.shards(len(members)))


def check_flows(seed: int) -> None:
    """The fastest flow and its cost, where nothing is shared."""
    draw, fabric = random.Random(seed), random_fabric(seed)  # noqa: S311
    net, members = Net.of(fabric), frozenset(fabric.compute)
    for name in FLOWS:
        kind = as_collective(name)
        root = fabric.names[draw.choice(fabric.compute)] if kind.rooted else None
        costs = {word: draw.randint(0, 3) for word in sorted(set(fabric.classes))}
        try:
            found = optimum(fabric, kind, root=root, method="forest", costs=costs)
        except InfeasibleError:
            continue
        asked = kind if root is None else kind.at(fabric.number(root))
        price = np.array([costs[word] for word in fabric.classes], dtype=float)
        time, cost = least_cost(net, needs_of(net, fabric, asked, members, Scope.FLOWS), price)
        rate, least = found.claims
        hold(rate, float(fabric.unit) / time)
        hold(least, cost * asked.shards(len(members)))


def random_groups(draw: random.Random, nodes: Iterable[int]) -> list[list[int]]:
    order = list(nodes)
    draw.shuffle(order)
    if draw.random() < 0.3 or len(order) < 3:
        return [sorted(order)]
    cut = draw.randint(1, len(order) - 1)
    groups = [sorted(order[:cut]), sorted(order[cut:])]
    return groups if draw.random() < 0.7 else groups[:1] if cut > 1 else groups[1:]


def most_ports(fabric: Fabric) -> int:
    """Ports of the node with most of them, spare ones too where there are no switches."""
    if not fabric.topology.switches:
        return fabric.topology.degree
    return max(int(fabric.topology.out_ports[node]) for node in fabric.compute)


def check_groups(seed: int) -> None:
    """Prices of groups that share links, of one group, and of all nodes."""
    draw, fabric = random.Random(seed), random_fabric(seed)  # noqa: S311
    groups = random_groups(draw, fabric.compute)
    ports = most_ports(fabric)
    for name in (*TREES, *FLOWS):
        kind = as_collective(name)
        roots = [draw.choice(group) for group in groups] if kind.rooted else None
        others: Others = "forward" if draw.random() < 0.5 else "vanish"
        try:
            found = price_groups(fabric, kind, groups, root=roots, others=others)
        except InfeasibleError:
            continue
        assert isinstance(found, GroupPrice)
        asked = kind.within(groups, roots)
        for claim in found.claims:
            inside = others == "vanish" and claim.among is not Scope.SCHEDULES
            if claim.among is Scope.IN_TURN:
                if inside and fabric.topology.nodes > len(groups[0]):
                    continue
                time = time_of(fabric, asked, claim.among)
            else:
                time = time_of(fabric, asked, claim.among, inside=inside)
            hold(claim, ports * time, reachable=claim.among is not Scope.SCHEDULES)


def check_plans(seed: int) -> None:
    """No verified plan of any method beats a proven bound, in a scope that the method keeps to."""
    draw, fabric = random.Random(seed), random_fabric(seed)  # noqa: S311
    for name in TREES:
        kind = as_collective(name)
        root = fabric.names[draw.choice(fabric.compute)] if kind.rooted else None
        try:
            found = optimum(fabric, kind, root=root, method="forest")
        except InfeasibleError:
            continue
        for method in ("forest", "in-network", "fluid"):
            try:
                plan = schedule(fabric, kind, root=root, method=method)
            except (InfeasibleError, TooLargeError):
                continue
            assert verify(plan).ok
            assert plan.claim["algorithmic_bandwidth"] <= found.bound, f"{method} beats {found.bound}"
            reached("held")


def brute_cuts(fabric: Fabric, more: dict[tuple[int, int], Fraction]) -> Fraction:
    """The allgather's throughput by all cuts, with more capacity on some links."""
    worst = Fraction(0)
    nodes = len(fabric.names)
    for size in range(1, nodes):
        for side in map(frozenset, itertools.combinations(range(nodes), size)):
            inside = [node for node in fabric.compute if node in side]
            if not inside or len(inside) == len(fabric.compute):
                continue
            out = sum(c + more.get((u, v), 0) for u, v, c in fabric.topology.links() if u in side and v not in side)
            worst = max(worst, len(inside) / Fraction(out))
    return len(fabric.compute) / worst


def check_purchase(seed: int) -> None:
    """What is bought, against all purchases that cost less, or that a budget allows."""
    draw = random.Random(seed)  # noqa: S311
    nodes = [f"n{at}" for at in range(draw.randint(3, 4))]
    pairs = [(nodes[draw.randrange(at)], nodes[at]) for at in range(1, len(nodes))] + [(nodes[0], nodes[-1])]
    links = []
    for a, b in dict.fromkeys(pairs):
        rate, kind = UNIT * draw.randint(1, 3), draw.choice("xy")
        links += [FabricLink(a, b, rate, kind), FabricLink(b, a, rate, kind)]
    fabric = Fabric.from_links(f"shop{seed}", nodes, [], links)
    kinds = sorted(set(fabric.classes))
    price = {kind: draw.randint(1, 3) for kind in kinds}
    step = {kind: f"{price[kind]}/1GB/s" for kind in kinds}
    items = [
        (u, v, price[kind]) for (u, v, _), kind in zip(fabric.topology.links(), fabric.classes, strict=True) if u < v
    ]
    unit = UNIT / fabric.unit
    if draw.random() < 0.5:
        want: dict[str, Any] = {"target": f"{draw.randint(2, 5)}GB/s"}
    else:
        want = {"budget": draw.randint(1, 6)}
    found = upgrade(fabric, step, "allgather", **want)
    cheap: list[tuple[int, Fraction]] = []
    most = int(found.cost) if found.budget is None else int(found.budget)
    for times in itertools.product(*(range(most // cost + 1) for _, _, cost in items)):
        cost = sum(number * one for number, (_, _, one) in zip(times, items, strict=True))
        if cost > most:
            continue
        more = {
            ends: number * unit for number, (u, v, _) in zip(times, items, strict=True) for ends in ((u, v), (v, u))
        }
        cheap.append((cost, brute_cuts(fabric, more) * fabric.unit))
    for claim in found.claims:
        if claim.of is Of.RATE:
            hold(claim, float(max(rate for _, rate in cheap)))
        else:
            hold(claim, min(cost for cost, rate in cheap if rate >= (found.target or found.after.bandwidth)))


CHECKS = {
    "optimum": check_optimum,
    "fluid": check_fluid,
    "flows": check_flows,
    "groups": check_groups,
    "plans": check_plans,
    "purchase": check_purchase,
}


@pytest.mark.dear("fluid", "groups", "optimum", "plans")
@pytest.mark.parametrize("what", CHECKS)
@pytest.mark.floor(held=6)
def test_no_claim_is_refuted(what: str) -> None:
    for seed in range(QUICK):
        CHECKS[what](seed)


@pytest.mark.thorough
@pytest.mark.parametrize("what", CHECKS)
@pytest.mark.floor(held=80)
def test_no_claim_is_refuted_on_more_fabrics(what: str) -> None:
    for seed in range(QUICK, QUICK + THOROUGH):
        CHECKS[what](seed)
