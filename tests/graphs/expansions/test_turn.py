"""Turns of near links: against the definition, what they keep, and what they are refused for."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from topodesign.base.errors import SpecError
from topodesign.graphs.expansions.turn import turn
from topodesign.pricing.closed_form import price
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

Links = list[tuple[int, int]]


def unit_links(topology: Topology) -> Links:
    return [(u, v) for u, v, c in topology.links() for _ in range(c)]


def naive(topology: Topology, s: int, places: int) -> Links:
    """The definition, link by link."""
    n = topology.nodes
    by_length: dict[int, Links] = defaultdict(list)
    made: Links = []
    for u, v in unit_links(topology):
        length = next(z for z in (0, *range(1, n), *range(-1, -n, -1)) if (u - v - z) % n == 0 and 2 * abs(z) <= n)
        if abs(length) <= s:
            by_length[length].append((u, v))
        else:
            made.append((u, v))
    for several in by_length.values():
        made += [(u, several[(i + places) % len(several)][1]) for i, (u, _) in enumerate(several)]
    return sorted(made)


@pytest.mark.floor(changed=80)
@settings(max_examples=200, deadline=None)
@given(regular_digraphs(), st.data())
def test_links_are_those_of_the_definition(topology: Topology, data: st.DataObject) -> None:
    s = data.draw(st.integers(0, (topology.nodes - 1) // 2))
    places = data.draw(st.integers(1, 9))
    turned = turn(topology, s, places)
    assert unit_links(turned) == naive(topology, s, places)
    assert np.array_equal(turned.out_ports, topology.out_ports)
    assert np.array_equal(turned.in_ports, topology.in_ports)
    every = math.lcm(*range(1, 3 * topology.nodes))
    assert turn(topology, s, every) == topology
    if turned != topology:
        reached("changed")


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.integers(6, 90), st.booleans())
def test_no_self_loops_are_left_of_several(d: int, n: int, kautz: bool) -> None:
    n += d
    base = build(f"congruential({n},{-d if kautz else d},{','.join(map(str, range(d)))})")
    turned = turn(base, 0)
    loops = sorted(u for u, v in unit_links(base) if u == v)
    if len(set(loops)) == len(loops) > 1:
        assert turned.self_loops == 0
    before, after = Counter(unit_links(base)), Counter(unit_links(turned))
    assert sorted((before - after).elements()) == [(u, u) for u in sorted(set(loops)) if len(loops) > 1]


@pytest.mark.parametrize(
    ("text", "orbits"),
    [("genkautz(3,40)", 10), ("genkautz(5,33)", 11), ("congruential(45,4,0,1,2,7)", 15)],
)
@pytest.mark.parametrize("s", [0, 1, 4])
def test_shifts_stay_automorphisms(text: str, orbits: int, s: int) -> None:
    turned = build(f"turn({text},{s})")
    assert turned.symmetry is not None
    turned.symmetry.check(turned)
    assert len(turned.symmetry.orbits()) == orbits
    assert price(turned) == price(turned, all_sources=True)


def test_other_automorphisms_are_not_claimed() -> None:
    assert build("turn(kneser(5,2),1)").symmetry is None


def test_it_claims_nothing_and_rebuilds_itself() -> None:
    topology = build("turn(genkautz(2,11),1,2)")
    assert str(topology.spec) == "turn(genkautz(2,11),1,2)"
    assert turn(build("genkautz(2,11)"), 1, 2) == topology
    assert turn(build("genkautz(2,11)"), 1) == build("turn(genkautz(2,11),1)")
    assert turn.claim(None) is None
    assert turn.lift is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("turn(complete(4))", "arguments"),
        ("turn(complete(4),-1)", "at least 0"),
        ("turn(complete(4),2)", "below N/2"),
        ("turn(complete(4),1,0)", "at least 1"),
        ("turn(4,1)", "needs a topology"),
        ("turn(complete(4),complete(3))", "needs an integer"),
        ("turn(complete(4),1,1,1)", "arguments"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(text)
