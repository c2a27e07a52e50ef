"""Who must forward what in the last steps: nobody waits in vain, and links are fuller alike than by SPFF."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.samples.topologies import regular_digraphs
from topodesign.pricing import deferral, relays
from topodesign.pricing.closed_form import distances, price
from topodesign.pricing.deferral import defer
from topodesign.pricing.deferral_kernels import CLASSES
from topodesign.pricing.relays import UnitLinks, balanced_relays
from topodesign.pricing.split_deferral import price_deferred
from topodesign.topology.library import build
from topodesign.topology.topology import IntArray, Topology


def unit_links(topology: Topology) -> UnitLinks:
    source, target = (
        np.repeat(ends[topology.src != topology.dst], topology.capacity[topology.src != topology.dst])
        for ends in (topology.src, topology.dst)
    )
    by_target = np.lexsort((source, target))
    counts = (np.bincount(ends, minlength=topology.nodes) for ends in (target, source))
    first, out_first = (np.append(0, np.cumsum(count)).astype(np.int64) for count in counts)
    return UnitLinks(first, source[by_target].astype(np.int64), out_first, target.astype(np.int64))


def codes(topology: Topology) -> NDArray[np.int16]:
    """Everybody must have everything as soon as possible."""
    far = np.array([distances(topology, shard) for shard in range(topology.nodes)])
    return (CLASSES * far).astype(np.int16)


@given(regular_digraphs(16, 4))
def test_each_link_has_one_place_among_those_into_nodes(topology: Topology) -> None:
    links = unit_links(topology)
    source = np.repeat(np.arange(topology.nodes), np.diff(links.out_first))
    assert sorted(links.entrance) == list(range(len(links.other)))
    assert np.array_equal(links.other[links.entrance], source)
    owner = np.repeat(np.arange(topology.nodes), np.diff(links.first))
    assert np.array_equal(owner[links.entrance], links.out_other)


@given(regular_digraphs(16, 4), st.sampled_from([2, 3]), st.integers(1, 20))
@settings(max_examples=60)
def test_whoever_is_far_finds_somebody_who_has_a_shard_in_time(topology: Topology, last: int, room: int) -> None:
    links, before = unit_links(topology), codes(topology)
    far, steps = before // CLASSES, int(before.max()) // CLASSES
    assume(steps >= last)
    near = far <= steps - last
    seen = 0
    for code in balanced_relays(before, links, steps, last, room):
        seen += 1
        assert np.array_equal(code[near], before[near])
        bound = code % CLASSES == 0
        assert np.array_equal(code[~bound] // CLASSES, far[~bound])
        time = np.where(bound, code // CLASSES, steps)
        assert np.all(time >= far)
        assert np.all(time[bound & ~near] < steps)
        for shard, node in np.argwhere(~near):
            into = links.other[links.first[node] : links.first[node + 1]]
            assert (bound[shard, into] & (time[shard, into] < time[shard, node])).any()
    assert seen == 3 * len(relays._SHARES[last])


@pytest.mark.parametrize(
    ("spec", "within"),
    [
        ("turn(congruential(351,-4,0,1,2,3),3)", 10),
        ("transpose(turn(congruential(351,-4,0,1,2,3),3))", 10),
    ],
)
def test_it_is_what_makes_congruential_digraphs_cheap(spec: str, within: int, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build(spec)
    best = price_deferred(topology)
    least = (topology.nodes - 1) / topology.nodes
    assert best.steps == price(topology).steps
    assert best.bandwidth <= least * (1 + within / 100)

    def none(*_: object, **__: object) -> Iterator[IntArray]:
        yield from ()

    monkeypatch.setattr(deferral, "balanced_relays", none)
    assert price_deferred(topology).bandwidth > best.bandwidth


@pytest.mark.dear("cover(congruential(100,3,0,1,2),2)")
@pytest.mark.parametrize(
    "spec", ["delete(cover(congruential(100,-3,0,1,2),2),57,3)", "cover(congruential(100,3,0,1,2),2)"]
)
def test_three_steps_are_cheaper_than_two_where_few_nodes_are_far(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build(spec)
    best = [price_deferred(topology).bandwidth, price_deferred(topology.transpose()).bandwidth]
    monkeypatch.setattr(deferral, "_LAST_STEPS", 2)
    assert price_deferred(topology).bandwidth + price_deferred(topology.transpose()).bandwidth > sum(best)


def test_a_symmetry_of_few_images_is_left_aside_where_that_is_cheaper() -> None:
    topology = build("turn(congruential(120,4,0,1,2,3),0)")
    assert topology.symmetry is not None
    assert len(defer(topology, by_orbits=True).receivers) < topology.nodes
    found = defer(topology)
    assert sum(found.loads) < sum(defer(topology, by_orbits=True).loads)
    assert len(found.receivers) == topology.nodes


@given(st.integers(1, 400), st.integers(1, 60), st.sampled_from(relays._STEEPNESS))
def test_a_fuller_link_is_dearer(goal: int, room: int, steepness: int) -> None:
    prices = relays._prices(goal + 2 * room, goal, steepness, room)
    assert prices.dtype == np.int64
    assert np.all(np.diff(prices) >= 0)
    assert np.all(np.diff(prices[goal:]) > 0)
    assert prices[goal] > 0
    assert 64 * int(prices[-1]) < 2**62


@given(st.integers(1, 3000))
def test_shards_are_all_looked_at(nodes: int) -> None:
    assert sorted(relays._order(nodes)) == list(range(nodes))
