"""Baselines: published formulas where they hold, right plans on all topologies, and figures that others print."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.graphs.test_graphs import SAMPLES
from tests.samples.verdicts import verify_rounds
from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, InfeasibleError, ParameterError, TooLargeError
from topodesign.base.units import as_size
from topodesign.collectives import ALLGATHER, ALLREDUCE, BROADCAST, COLLECTIVES, GATHER, REDUCE
from topodesign.fabrics.contraction import boxes_of
from topodesign.fabrics.places import as_fabric
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.pricing.baselines import baselines, double_binary_tree
from topodesign.pricing.workload import as_workload
from topodesign.schedulers.baselines import BASELINES
from topodesign.schedulers.baselines.cycles import link_disjoint_cycles, shortest_tour
from topodesign.schedulers.baselines.messages import MAX_NODES, Router, deliveries, queue_messages
from topodesign.schedulers.baselines.rings import around, factorings, rows, sides_of
from topodesign.schedulers.baselines.trees import two_trees
from topodesign.schedulers.method import cost_in
from topodesign.schedulers.scheduling import METHODS, schedule
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

SMALL = [text for text in SAMPLES if build(text).nodes <= 32]
QUICK = ["complete(7)", "debruijn(2,3)", "genkautz(2,11)", "hypercube(3)", "odd(3)", "uniring(2,5)", "cocktailparty(5)"]


def log2(nodes: int) -> int:
    return (nodes - 1).bit_length()


def times(count: int, nodes: int) -> tuple[int, Fraction]:
    """N - 1 of N blocks in so many steps."""
    return count, Fraction(nodes - 1, nodes)


# Steps and data over one link in units of M, as published, for N nodes; of reductions and gathers that of their duals.
PUBLISHED: dict[tuple[str, str], Callable[[int], tuple[int, Fraction]]] = {
    ("ring", "allgather"): lambda n: times(n - 1, n),
    ("direct", "allgather"): lambda n: (1, Fraction(1, n)),
    ("direct", "broadcast"): lambda n: (1, Fraction(n, n)),
    ("direct", "scatter"): lambda n: (1, Fraction(1, n)),
    ("direct", "all-to-all"): lambda n: (1, Fraction(1, n)),
    ("spread-out", "all-to-all"): lambda n: (1, Fraction(1, n)),
    ("pairwise", "allgather"): lambda n: times(n - 1, n),
    ("pairwise", "all-to-all"): lambda n: times(n - 1, n),
    ("linear", "broadcast"): lambda n: (n - 1, Fraction(n - 1)),
    ("linear", "scatter"): lambda n: times(n - 1, n),
    ("binomial", "broadcast"): lambda n: (log2(n), Fraction(log2(n))),
    ("binomial", "scatter"): lambda n: times(log2(n), n),
    ("bruck", "allgather"): lambda n: times(log2(n), n),
    ("bruck", "all-to-all"): lambda n: (log2(n), Fraction(sum(i.bit_count() for i in range(n)), n)),
    ("halving-doubling", "allgather"): lambda n: times(log2(n), n),
    ("scatter-allgather", "broadcast"): lambda n: (log2(n) + n - 1, Fraction(2 * (n - 1), n)),
}
DUALS = {"allgather": ("reduce-scatter", "allreduce"), "broadcast": ("reduce",), "scatter": ("gather",)}


@pytest.mark.parametrize(("method", "collective"), PUBLISHED)
def test_published_formulas_hold_where_every_message_has_a_link(method: str, collective: str) -> None:
    """On a complete graph they do for every baseline; rings use all links there, each of them one."""
    for nodes in (2, 5, 8) if method != "halving-doubling" else (2, 4, 8):
        topology = build(f"complete({nodes})")
        steps, volume = PUBLISHED[method, collective](nodes)
        rings = len(link_disjoint_cycles(topology)) if method == "ring" else 1
        for name in (collective, *DUALS.get(collective, ())):
            if not METHODS[method].does(COLLECTIVES[name]):
                continue
            root = nodes - 1 if COLLECTIVES[name].rooted else None
            plan = schedule(topology, name, method=method, root=root)
            twice = 2 if name == "allreduce" else 1
            assert cost_in(plan) == Cost(twice * steps, twice * topology.degree * volume / rings)
            assert verify(plan).ok


@pytest.mark.parametrize("place", ["uniring(1,7)", "biring(2,8)", "torus(3,4)", "torus(8,8)", "torus(3,3,3)",
                                   "hypercube(4)", "complete(9)", "genkautz(4,15)", "circulant(12,2,3)"])  # fmt: skip
def test_rings_use_every_port(place: str) -> None:
    """As many rings as ports is optimal in bandwidth, (N-1)/N; these topologies have a Hamiltonian decomposition."""
    nodes = build(place).nodes
    for name in ("allgather", "reduce-scatter"):
        assert cost_in(schedule(place, name, method="ring")) == Cost(nodes - 1, Fraction(nodes - 1, nodes))


@pytest.mark.parametrize("dimension", [1, 3, 5])
def test_halving_and_doubling_and_binomial_trees_are_at_home_on_hypercubes(dimension: int) -> None:
    nodes = 2**dimension
    share = Fraction(nodes - 1, nodes)
    place = f"hypercube({dimension})"
    assert cost_in(schedule(place, method="halving-doubling")) == Cost(2 * dimension, 2 * dimension * share)
    for root in (0, nodes - 1):
        assert cost_in(schedule(place, "scatter", method="binomial", root=root)) == Cost(dimension, dimension * share)
        assert cost_in(schedule(place, "reduce", method="binomial", root=root)) == Cost(
            dimension, Fraction(dimension**2)
        )


# Steps and data over one link for the sides of a grid; along a side of more than two there are two rings.
GRIDS = {
    "torus(3,4)": (5, Fraction(2 * 4 + 3, 2 * 12)),
    "torus(3,3,3)": (6, Fraction(2 * (9 + 3 + 1), 2 * 27)),
    "hypercube(4)": (4, Fraction(8 + 4 + 2 + 1, 16)),
    "hamming(2,5)": (8, Fraction(4 * 5 + 4, 4 * 25)),
    "product(uniring(1,3),uniring(1,5))": (6, Fraction(2 * 5 + 4, 15)),
}


@pytest.mark.parametrize("place", GRIDS)
def test_blueconnect_costs_what_the_sides_of_a_grid_say(place: str) -> None:
    steps, volume = GRIDS[place]
    for name, twice in (("allgather", 1), ("reduce-scatter", 1), ("allreduce", 2)):
        plan = schedule(place, name, method="blueconnect")
        assert cost_in(plan) == Cost(twice * steps, twice * plan.topology.degree * volume)
        assert verify(plan).ok
    two = schedule(place, "allgather", method="hierarchical")
    assert verify(two).ok
    assert cost_in(two).steps >= steps


def test_sides_are_found_from_links_alone() -> None:
    for place, sides in {
        "torus(3,4)": (3, 4),
        "hypercube(3)": (2, 2, 2),
        "product(odd(3),complete(3))": (10, 3),
    }.items():
        topology = build(place)
        assert sides_of(topology) == sides
        for at, side in enumerate(sides):
            assert rows(topology, sides, at).nodes == side
    assert sides_of(build("odd(3)")) is None
    assert sorted(factorings(12)) == [(2, 2, 3), (2, 3, 2), (2, 6), (3, 2, 2), (3, 4), (4, 3), (6, 2), (12,)]


@pytest.mark.parametrize(("nodes", "size"), [(5, "1KiB"), (6, "64KiB"), (7, "1MiB"), (8, "1GB"), (13, "1MiB")])
def test_trees_take_the_time_of_their_formulas(nodes: int, size: str) -> None:
    """On a complete graph (h + C - 1)(alpha + beta M/(R C)) for C chunks in R trees of height h without common links.

    What ``pareto`` shows of double binary trees is the plans of a reduce and then a broadcast.
    """
    place, alpha, rate = f"complete({nodes})", Fraction(1, 10**5), Fraction(10**11)
    link = 8 * as_size(size) * (nodes - 1) / rate  # all data over one link
    chain = schedule(place, "broadcast", method="chain", root=1)
    rings = len(link_disjoint_cycles(build(place)))
    for chunks in (1, 7):
        time = simulate(chain, size=size, alpha=alpha, chunks=chunks).time
        assert time == (nodes - 2 + chunks) * (alpha + link / (rings * chunks))
    depth, both = (nodes - 1).bit_length(), Fraction(0)
    for name in ("reduce", "broadcast"):
        plan = schedule(place, name, method="double-binary-tree", root=nodes - 1)
        for chunks in (1, 7):
            time = simulate(plan, size=size, alpha=alpha, chunks=chunks).time
            assert time == (depth + chunks - 1) * (alpha + link / (2 * chunks))
        both += simulate(plan, size=size, alpha=alpha).time
    if nodes <= 8:  # with more ports than seven the model has more pairs of trees
        model = double_binary_tree(nodes, nodes - 1, as_workload(alpha, size, rate))
        assert model is not None
        assert both == model.allreduce[0]
    at_once = simulate(schedule(place, method="double-binary-tree"), size=size, alpha=alpha, chunks=1)
    assert len(at_once.run.phase_ends) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("nodes", [5, 8, 9])
def test_the_rings_that_pareto_shows_are_those_plans(nodes: int) -> None:
    workload = as_workload()
    for place, method, model in (
        (f"shiftedring({nodes})", "ring", baselines(nodes, 4, workload)[0]),
        (f"biring(2,{nodes})", "ring", baselines(nodes, 2, workload)[0]),
        (f"biring(2,{nodes})", "spff", baselines(nodes, 2, workload)[1]),
    ):
        assert model is not None
        for name in ("allgather", "reduce-scatter"):
            assert cost_in(schedule(place, name, method=method)) == model.cost
        assert simulate(schedule(place, method=method)).time == model.allreduce[0]


@pytest.mark.parametrize("ranks", [2, 3, 6, 7, 16, 21, 33])
def test_two_trees_share_their_work(ranks: int) -> None:
    """Both have height ceil(log2 N) and two children at most, and but for one rank no node has children in both."""
    fabric = as_fabric(f"complete({ranks})")
    for root in (None, 0, ranks - 1):
        inner: list[set[int]] = []
        for tree in two_trees(fabric, root):
            depth, below = {tree.root: 0}, dict.fromkeys(range(ranks), 0)
            for u, v in tree.edges:
                depth[v] = depth[u] + 1
                below[u] += 1
            assert sorted(depth) == list(range(ranks))
            assert max(depth.values()) == (ranks - 1).bit_length()
            assert max(below.values()) <= 2
            inner.append({node for node, count in below.items() if count and node != tree.root})
        assert len(inner[0] & inner[1]) <= 1


FABRICS = ("dgx_a100(2)", pytest.param("mi250(1)", marks=pytest.mark.thorough), "dgx1_v100(1)")


@pytest.mark.parametrize("place", FABRICS)
def test_baselines_are_right_on_fabrics(place: str) -> None:
    """None beats the optimum, and those that are made for boxes come close where links in them are fast."""
    for name in BASELINES:
        for collective in (ALLGATHER, ALLREDUCE, REDUCE):
            method = METHODS[name]
            if not method.fabrics or not method.does(collective):
                continue
            root = 5 if collective.rooted else None
            try:
                plan = schedule(place, collective, method=name, root=root)
            except InfeasibleError:
                assert name in {"hierarchical", "blueconnect"}
                assert boxes_of(as_fabric(place)) is None
                continue
            assert verify(plan).ok
            best = schedule(place, collective, method="forest", root=root).claim["algorithmic_bandwidth"]
            assert plan.claim["algorithmic_bandwidth"] <= best
            if name == "blink" and collective.rooted:
                assert plan.claim["algorithmic_bandwidth"] == best


@pytest.mark.parametrize("place", FABRICS)
@pytest.mark.parametrize("collective", ["all-to-all", "scatter", "gather"])
def test_direct_goes_over_paths_on_fabrics(place: str, collective: str) -> None:
    """The best flow is no slower, and as fast in a single box with a switch in the middle."""
    root = 3 if COLLECTIVES[collective].rooted else None
    plan = schedule(place, collective, method="direct", root=root)
    assert verify(plan).ok
    best = schedule(place, collective, method="fluid", root=root)
    assert plan.claim["algorithmic_bandwidth"] <= best.claim["algorithmic_bandwidth"]
    one, most = (schedule("dgx_a100(1)", collective, method=name, root=root) for name in ("direct", "fluid"))
    assert one.claim["algorithmic_bandwidth"] == most.claim["algorithmic_bandwidth"]


def test_rings_of_boxes_are_those_of_nccl() -> None:
    """Eight rings that leave a box by different nodes fill all network links: 25 GB/s each, 16/15 of 8 of them."""
    assert schedule("dgx_a100(2)", "allgather", method="ring").claim["algorithmic_bandwidth"] == Fraction(
        8 * 25 * 10**9 * 16, 15
    )
    assert schedule("dgx_a100(1)", "allgather", method="ring").claim["algorithmic_bandwidth"] == Fraction(
        300 * 10**9 * 8, 7
    )


def sweep(place: str, roots: int) -> int:
    """Verify all baselines on a topology, and return how many plans there were."""
    topology, checked = build(place), 0
    for name in BASELINES:
        method = METHODS[name]
        for collective in COLLECTIVES.values():
            if not method.does(collective):
                continue
            for root in range(0, topology.nodes, max(1, topology.nodes // roots)) if collective.rooted else (None,):
                try:
                    plan = schedule(topology, collective, method=name, root=root)
                except InfeasibleError:
                    continue
                report = verify(plan)
                assert report.ok, (place, name, collective, report.problems)
                checked += 1
    return checked


@pytest.mark.parametrize("place", QUICK)
def test_baselines_are_right(place: str) -> None:
    assert sweep(place, 1) >= 30


@pytest.mark.thorough
@pytest.mark.parametrize("place", SMALL)
def test_baselines_are_right_on_all_families(place: str) -> None:
    assert sweep(place, 4) >= 30


@pytest.mark.parametrize("place", ["torus(4,4)", "kautz(2,2)", "genkautz(3,10)", "biring(4,5)", "bipartite(3)"])
def test_cycles_are_hamiltonian_and_share_no_link(place: str) -> None:
    topology = build(place)
    left = {(u, v): c for u, v, c in topology.links()}
    cycles = link_disjoint_cycles(topology)
    assert cycles
    for cycle in cycles:
        assert sorted(cycle) == list(range(topology.nodes))
        for link in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            left[link] -= 1
    assert min(left.values()) >= 0


def test_where_there_is_no_hamiltonian_cycle_the_tour_is_short() -> None:
    """The Petersen graph has none, but one of all nodes but one: so the shortest tour has a way of two links."""
    topology = build("odd(3)")
    assert link_disjoint_cycles(topology) == ()
    router = Router(topology)
    tour = shortest_tour(router.distance)
    assert sum(router.distance[u, v] for u, v in zip(tour, [*tour[1:], tour[0]], strict=True)) == 11
    assert cost_in(schedule(topology, "allgather", method="ring")).steps == 10
    path = Topology.from_links(4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])
    assert cost_in(schedule(path, "allgather", method="ring")).steps == 5  # round all links both ways, less one
    assert verify(schedule(path, method="ring")).ok
    assert [len(link_disjoint_cycles(build(f"mesh({side},{side})"))) for side in (3, 4, 5, 6)] == [0, 2, 0, 2]


@pytest.mark.parametrize("seed", range(10))
def test_ways_are_shortest_and_spread(seed: int) -> None:
    chance = np.random.default_rng(seed)
    topology = build(["torus(4,4)", "genkautz(3,20)"][seed % 2])
    router = Router(topology)
    pairs = [tuple(chance.choice(topology.nodes, 2, replace=False).tolist()) for _ in range(40)]
    ways = router.paths(pairs, [1] * len(pairs))
    for (source, target), way in zip(pairs, ways, strict=True):
        assert (way[0], way[-1], len(way) - 1) == (source, target, router.distance[source, target])
        assert topology.link_index(way[:-1], way[1:]).min() >= 0
    assert ways == Router(topology).paths(pairs, [1] * len(pairs))


def test_ways_are_balanced() -> None:
    """Between opposite corners of a hypercube all n first links are equally good: n messages take all of them."""
    assert len({way[1] for way in Router(build("hypercube(4)")).paths([(0, 15)] * 4, [1] * 4)}) == 4


def across_then_along(side: int, pairs: list[tuple[int, int]]) -> dict[tuple[int, int], tuple[int, ...]]:
    """XY routing on a square mesh."""
    ways = {}
    for source, target in pairs:
        way = [source]
        while way[-1] % side != target % side:
            way.append(way[-1] + (1 if way[-1] % side < target % side else -1))
        while way[-1] != target:
            way.append(way[-1] + (side if way[-1] < target else -side))
        ways[source, target] = tuple(way)
    return ways


def test_the_figures_that_tacos_prints() -> None:
    """Figure 5, table IV (6x6 mesh, root at a corner) and figure 6 (10x10): one chunk a node, one a link and step."""
    assert cost_in(schedule("uniring(1,4)", "scatter", method="spread-out", root=0)).steps == 3
    for side, wanted in ((6, {BROADCAST.at(0): 39, GATHER.at(0): 30}), (10, {ALLGATHER: 276})):
        topology = build(f"mesh({side},{side})")
        nodes = range(side**2)
        ways = across_then_along(side, [(u, v) for u in nodes for v in nodes if u != v])
        for collective, steps in wanted.items():
            messages = sorted(zip(*(column.tolist() for column in deliveries(collective, side**2)), strict=True))
            rounds = queue_messages(topology, collective, [(ways[u, v], block) for u, v, block in messages])
            assert rounds.steps == steps
            assert verify_rounds(topology, rounds).ok
    ring = [ways[u, (u + 1) % 100] for u in range(100)]
    rounds = around(topology, ALLGATHER, [ring])
    assert rounds.steps == 197
    report = verify_rounds(topology, rounds)
    assert report.ok
    assert report.cost.bandwidth == Fraction(topology.degree * 197, 100)  # no link ever carries two chunks


@pytest.mark.parametrize(
    ("place", "options", "error", "words"),
    [
        ("torus(3,4)", {"method": "halving-doubling"}, InfeasibleError, "power of two"),
        ("torus(3,4)", {"method": "direct", "collective": "scatter", "root": 12}, ParameterError, "root must be"),
        (
            "torus(3,4)",
            {"method": "direct", "collective": "scatter", "root": "x"},
            ParameterError,
            "no node or switch is named 'x'",
        ),
        ("torus(3,4)", {"method": "ring", "chunks": 2}, ParameterError, "--set chunks= is not for --algorithm ring"),
        ("dgx_a100(1)", {"method": "bruck"}, ParameterError, "is a fabric"),
    ],
)
def test_what_is_refused(place: str, options: dict[str, str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        schedule(place, **options)  # type: ignore[arg-type]


def test_what_cannot_be_routed_is_said() -> None:
    with pytest.raises(DisconnectedError, match="cannot be reached"):
        schedule(Topology.from_links(3, [(0, 1), (1, 2)]), "all-to-all", method="direct")
    with pytest.raises(InfeasibleError, match="one node alone"):
        schedule(Topology.from_links(1, []), "allgather", method="ring")
    with pytest.raises(TooLargeError, match=f"at most {MAX_NODES} nodes"):
        Router(build(f"biring(2,{MAX_NODES + 1})"))


def test_every_baseline_is_listed_by_its_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "baselines.md").read_text(encoding="utf-8")
    for name in BASELINES:
        assert f"| `{name}` |" in page
        assert METHODS[name].name == name
        assert not METHODS[name].auto
