"""Linear congruential digraphs: their links by definition, the families they contain, and their symmetry."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.base.spec import parse
from topodesign.graphs.congruential import congruential
from topodesign.graphs.debruijn import debruijn
from topodesign.graphs.genkautz import genkautz
from topodesign.pricing.closed_form import price
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


@pytest.mark.floor(regular=80, refused=20)
@settings(max_examples=300, deadline=None)
@given(st.integers(2, 30), st.integers(-40, 40), st.lists(st.integers(-50, 50), min_size=1, max_size=6))
def test_links_are_those_of_the_definition_where_nodes_have_as_many_in(n: int, a: int, digits: list[int]) -> None:
    links = Counter((x, (a * x + c) % n) for x in range(n) for c in digits)
    into = Counter(v for _, v in links.elements())
    if any(into[v] != len(digits) for v in range(n)):
        with pytest.raises(ParameterError, match=r"gcd\(a, n\)"):
            congruential(n, a, *digits)
        reached("refused")
        return
    reached("regular")
    topology = congruential(n, a, *digits)
    assert topology.is_regular
    assert Counter({(u, v): c for u, v, c in topology.links()}) == links
    assert topology == congruential(n, a + n, *(c - n for c in digits))
    assert build(str(topology.spec)) == topology
    if topology.symmetry is not None:
        topology.symmetry.check(topology)
        assert len(topology.symmetry.orbits()) == len(topology.symmetry.representatives)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 300))
def test_generalized_kautz_and_de_bruijn_digraphs_are_among_them(d: int, more: int) -> None:
    n = d + more
    kautz = genkautz(d, n)
    same = congruential(n, -d, *range(-1, -d - 1, -1))
    assert same == kautz
    assert (same.representatives or tuple(range(n))) == kautz.representatives
    bruijn = congruential(n, d, *range(d))
    assert bruijn == Topology.from_links(n, [(x, (d * x + c) % n) for x in range(n) for c in range(d)])


@pytest.mark.parametrize(("d", "k"), [(2, 1), (2, 5), (3, 3), (4, 2), (7, 2)])
def test_of_a_power_of_d_nodes_it_is_the_de_bruijn_digraph(d: int, k: int) -> None:
    assert congruential(d**k, d, *range(d)) == debruijn(d, k)


@settings(deadline=None, max_examples=40)
@given(st.integers(2, 6), st.integers(1, 120), st.booleans(), st.integers(-9, 9))
def test_consecutive_digits_reach_all_nodes_in_the_logarithm(d: int, more: int, kautz: bool, first: int) -> None:
    """The walks of k links from x end at d^k numbers in a row, for either sign of a."""
    n, steps = d + more, 1
    while d**steps < n:
        steps += 1
    topology = congruential(n, -d if kautz else d, *range(first, first + d))
    assert price(topology).steps <= steps
    assert price(topology, all_sources=True) == price(topology)


@settings(deadline=None, max_examples=40)
@given(st.integers(3, 40), st.integers(2, 5), st.integers(0, 3**5), st.integers(1, 40))
def test_other_first_digits_are_other_numbers_of_the_nodes(n: int, d: int, more: int, turn: int) -> None:
    digits = [i + d * (more // 3**i % 3) for i in range(d)]
    topology = congruential(n, -d, *digits)
    moved = congruential(n, -d, *(c + turn * (1 + d) for c in digits))
    assert moved == Topology.from_arrays(n, (topology.src + turn) % n, (topology.dst + turn) % n, topology.capacity)


def test_specs_have_negative_numbers() -> None:
    text = "congruential(20,-3,-1,-5,3)"
    assert str(parse("congruential( 20, -3, -1, -5, 3 )")) == text
    assert str(build(text).spec) == text
    assert str(build(f"line({text})").spec) == f"line({text})"


def test_digits_of_one_residue_are_a_wider_link() -> None:
    assert sorted(congruential(7, 2, 1, 8, 3).capacity.tolist()) == [1] * 7 + [2] * 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("congruential(12,-4,-1,-2,-3)", "4, which does not divide the 3 digits"),
        ("congruential(12,-4,0,1,2,4)", "1 must be 0 modulo 4"),
        ("congruential(1,2,0)", "n must be at least 2"),
        ("congruential(12,5)", "number of digits must be at least 1"),
        ("congruential(12)", "write congruential"),
    ],
)
def test_refusals_say_what_is_wrong(text: str, message: str) -> None:
    spec = parse(text)
    with pytest.raises(ParameterError, match=message):
        congruential(*spec.args)


def test_too_many_nodes_are_refused_at_once() -> None:
    with pytest.raises(TooLargeError):
        congruential(10**12, 3, 0, 1, 2)
