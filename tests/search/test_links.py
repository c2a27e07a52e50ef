"""Exchanges of links: energies against their definitions, and links that stay what they are."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.samples.topologies import regular_digraphs
from topodesign import build
from topodesign.graphs.expansions.swap import swap
from topodesign.pricing.closed_form import distances, price
from topodesign.search.link_kernels import PART, Ends
from topodesign.search.links import (
    Annealed,
    aim_at_distances,
    aim_at_last,
    aim_at_layers,
    anneal_links,
    bandwidth_of,
    diameter_of,
    ends_of,
    mend,
    new_state,
    pairs_too_far,
    swaps_between,
)
from topodesign.topology.topology import IntArray, Topology

DUPLEX = ["randomregulargraph(11,3,1)", "circulant(9,1,3)", "hypercube(3)", "torus(3,4)"]


def links_now(ends: Ends) -> Topology:
    nodes, degree = ends.out.shape
    return Topology.from_arrays(nodes, np.repeat(np.arange(nodes), degree), ends.out.ravel())


def assert_consistent(ends: Ends) -> None:
    """Heads and tails are of the same links, and every end is its mate's mate."""
    out, into = (sorted(zip(*where, strict=True)) for where in (_links(ends.out), _links(ends.into)[::-1]))
    assert out == into
    assert np.array_equal(ends.mate[ends.mate], np.arange(len(ends.mate)))


def _links(table: IntArray) -> tuple[list[int], list[int]]:
    return np.repeat(np.arange(len(table)), table.shape[1]).tolist(), table.ravel().tolist()


def annealed_layers(topology: Topology, ends: Ends, work: int, hot: Fraction, first_new: int | None = None) -> Annealed:
    """Anneal for little bandwidth, in as many steps as there are."""
    steps = price(topology).steps
    first = topology.nodes if first_new is None else first_new
    rng = np.random.default_rng(7)
    aim = aim_at_layers(2, max(2, steps), np.zeros(max(2, steps), np.int64), far=Fraction(1, 2), first_new=first)
    return anneal_links(ends, aim, work, int(256 * hot * PART * 2**16), new_state(rng), record=True)


def spff(topology: Topology) -> Fraction:
    costs = price(topology, all_sources=True), price(topology.transpose(), all_sources=True)
    return max(cost.bandwidth for cost in costs)


@given(regular_digraphs(most_nodes=14), st.fractions(0, 1), st.integers(0, 1))
@settings(max_examples=60, deadline=None)
def test_the_fullest_links_of_all_layers_are_the_price(topology: Topology, hot: Fraction, walks: int) -> None:
    assume(2 <= topology.degree <= 8)
    ends = ends_of(topology, duplex=False)
    assume(mend(ends, np.array([3], np.uint64)))
    before = links_now(ends)
    assume(diameter_of(ends, 20))
    done = annealed_layers(before, ends, walks * 10**6, hot)
    now = links_now(ends)
    assert_consistent(ends)
    assert np.array_equal(now.in_ports, topology.in_ports)
    assert price(now).steps <= max(2, price(before).steps)
    size = now.nodes, now.degree
    for steps in range(1, len(done.allowed)):
        if done.allowed[steps] < done.allowed[steps - 1]:
            kept = Topology.from_arrays(size[0], np.repeat(np.arange(size[0]), size[1]), done.found[steps].ravel())
            assert price(kept).steps == steps
            assert bandwidth_of(int(done.allowed[steps]), size) == spff(kept)
    if not walks:
        assert np.array_equal(now.dst, before.dst)


@pytest.mark.parametrize("text", DUPLEX)
def test_duplex_graphs_stay_duplex(text: str) -> None:
    topology = build(text)
    ends = ends_of(topology, duplex=True)
    done = annealed_layers(topology, ends, 10**6, Fraction(1))
    assert_consistent(ends)
    assert links_now(ends).is_duplex
    assert links_now(ends).self_loops == topology.self_loops
    assert done.left == 0


@pytest.mark.parametrize("text", ["genkautz(2,25)", "randomregular(60,3,1)", "cayley(metacyclic(13,4,5),1,13,30,45)"])
def test_what_slides_through_new_nodes(text: str) -> None:
    """Nodes of higher numbers count as inserted here, whatever they are."""
    topology = build(text)
    ends = ends_of(topology, duplex=False)
    assert mend(ends, np.array([3], np.uint64))
    annealed_layers(links_now(ends), ends, 3 * 10**6, Fraction(1), first_new=topology.nodes - 3)
    assert_consistent(ends)
    assert links_now(ends).is_regular


def last_loads(topology: Topology, steps: int, window: int) -> int:
    """Return what the fullest link carries in so many last steps, at least, by its definition."""
    most = 0
    reach = [distances(topology, node) for node in range(topology.nodes)]
    for node, ahead in enumerate(reach):
        ports = topology.dst[topology.src == node].tolist()
        far = [v for v in range(topology.nodes) if ahead[v] > steps - window]
        ways = [{j for j, port in enumerate(ports) if reach[port][v] < steps} for v in far]
        for size in range(1, len(ports) + 1):
            for chosen in itertools.combinations(range(len(ports)), size):
                most = max(most, sum(some <= set(chosen) for some in ways) * PART // size)
    return most


@given(st.integers(12, 26), st.integers(2, 3), st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_loads_of_the_last_steps_are_what_links_must_carry(nodes: int, degree: int, seed: int) -> None:
    topology = build(f"randomregular({nodes},{degree},{seed})")
    ends, state = ends_of(topology, duplex=False), np.array([seed + 1], np.uint64)
    assume(int(topology.capacity.max()) == 1 and not topology.self_loops)
    steps = price(topology).steps
    windows = range(1, min(3, steps) + 1)
    for work in (0, 10**5):
        aim = aim_at_last(steps, windows)
        done = anneal_links(ends, aim, work, 0, state)
        now = links_now(ends)
        assert price(now).steps <= steps
        assert done.fullest.tolist() == [
            max(last_loads(way, steps, window) for way in (now, now.transpose())) for window in windows
        ]


@given(st.integers(0, 2**32), st.integers(2, 30), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_swaps_lead_from_one_digraph_to_another(seed: int, nodes: int, degree: int) -> None:
    rng = np.random.default_rng(seed)
    heads = np.concatenate([rng.permutation(nodes) for _ in range(degree)])
    topology = Topology.from_arrays(nodes, np.tile(np.arange(nodes), degree), heads)
    assume(topology.is_regular)
    assert topology.degree == degree
    goal = np.concatenate([rng.permutation(nodes)[:, None] for _ in range(degree)], axis=1)
    swaps = swaps_between(topology, goal)
    wanted = Topology.from_arrays(nodes, np.repeat(np.arange(nodes), degree), goal.ravel())
    assert (swap(topology, *swaps) if swaps else topology) == wanted
    assert not swaps_between(wanted, goal)


@given(st.integers(20, 70), st.integers(3, 4), st.booleans(), st.integers(0, 99), st.integers(0, 300))
@settings(max_examples=30)
def test_the_pairs_that_are_left_are_counted_right(n: int, d: int, duplex: bool, seed: int, exchanges: int) -> None:
    n += n * d % 2 * (not duplex)
    start = build(f"{'randomregulargraph' if duplex else 'randomregular'}({n},{d},{seed})")
    ends, state = ends_of(start, duplex=duplex), np.array([seed + 1], np.uint64)
    steps = 3
    left = anneal_links(ends, aim_at_distances(steps, 4), exchanges * n * 20, 64, state).far
    after = type(start).from_arrays(n, np.repeat(np.arange(n), d), ends.out.ravel())
    assert left == far(after, steps) == pairs_too_far(after, steps)
    assert after.is_regular
    assert after.self_loops == start.self_loops
    assert after.is_duplex or not duplex
    assert sorted(zip(np.repeat(np.arange(n), d).tolist(), ends.out.ravel().tolist(), strict=True)) == sorted(
        (u, v) for v in range(n) for u in ends.into[v].tolist()
    )


def far(topology: Topology, steps: int) -> int:
    """Count the pairs of nodes that are too far apart, each both ways."""
    rows = [distances(topology, node) for node in range(topology.nodes)]
    return sum(not 0 <= distance <= steps for row in rows for distance in row)
