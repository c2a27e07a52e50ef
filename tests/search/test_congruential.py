"""Search among linear congruential digraphs: what is found against prices."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from topodesign.base.spec import Spec
from topodesign.pricing.evaluation import price, price_deferred
from topodesign.search.congruential import _Draft, above_goals, search_congruential
from topodesign.search.target import Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def test_turned_links_are_more_even_than_those_of_a_generalized_kautz_digraph() -> None:
    before, after = (
        above_goals(build(text), 4) for text in ("genkautz(4,141)", "turn(congruential(141,4,1,2,3,4),2,2)")
    )
    assert before is not None
    assert after is not None
    assert after < before
    assert above_goals(build("genkautz(4,141)"), 3) is None  # too far apart


@pytest.mark.dear("60-3-4")
@pytest.mark.parametrize(("nodes", "degree", "steps"), [(60, 3, 4), (200, 4, 4), (130, 8, 3), (45, 2, 6), (100, 12, 2)])
def test_what_is_found_is_what_was_asked_for(nodes: int, degree: int, steps: int) -> None:
    specs = search_congruential(Target(nodes, degree, duplex=False), steps, 60, seed=1)
    assert 1 <= len(specs) <= 4
    assert len(set(specs)) == len(specs)
    for spec in specs:
        found = build(str(spec))
        assert (found.nodes, found.degree, found.capacity.max()) == (nodes, degree, 1)
        assert found.is_regular
        assert price(found).steps <= steps
    if nodes == 45:  # the dearest half of it
        assert specs == search_congruential(Target(nodes, degree, duplex=False), steps, 60, seed=1)


@pytest.mark.dear
@pytest.mark.parametrize(("nodes", "degree"), [pytest.param(400, 4, marks=pytest.mark.thorough), (300, 5), (350, 3)])
def test_what_is_found_costs_less_than_a_generalized_kautz_digraph(nodes: int, degree: int) -> None:
    before = price_deferred(f"genkautz({degree},{nodes})")
    specs = search_congruential(Target(nodes, degree, duplex=False), before.steps, 300)
    after = min((price_deferred(str(spec)) for spec in specs), key=lambda cost: cost.bandwidth)
    assert after.steps == before.steps
    assert after.bandwidth < before.bandwidth


@pytest.mark.dear
def test_up_to_twice_a_power_of_the_degree_double_covers_come_near_the_optimal_bandwidth() -> None:
    (best, *_) = search_congruential(Target(474, 3, duplex=False), 6, 100)
    assert best.name == "cover"
    assert price(str(best)).steps == 6
    assert price_deferred(str(best)).bandwidth < price_deferred("genkautz(3,474)").bandwidth * 3 / 4


@pytest.mark.dear
def test_of_odd_sizes_covers_have_a_node_more_or_less() -> None:
    specs = search_congruential(Target(401, 3, duplex=False), 6, 100)
    assert {spec.name for spec in specs} <= {"insert", "delete"}
    made = [build(str(spec)) for spec in specs]
    assert {(one.nodes, one.degree, one.self_loops, price(one).steps) for one in made} == {(401, 3, 0, 6)}
    before = price_deferred("genkautz(3,401)").bandwidth
    assert min(price_deferred(one).bandwidth for one in made) < before * 9 / 10


@pytest.mark.parametrize(
    ("target", "steps"),
    [
        (Target(82, 3, duplex=False), 4),
        (Target(81, 3, duplex=True), 5),
        (Target(6, 3, duplex=False), 2),
        (Target(9, 1, duplex=False), 9),
        (Target(20000, 4, duplex=False), 8),
        (Target(40, 8, duplex=False), 1),
    ],
)
def test_nothing_is_found_where_there_is_nothing(target: Target, steps: int) -> None:
    assert search_congruential(target, steps, 50) == []


@pytest.mark.floor(alike=20)
@settings(max_examples=120, deadline=None)
@given(st.integers(7, 30), st.lists(st.integers(0, 2), min_size=2, max_size=3), st.booleans(), st.integers(0, 30))
def test_candidates_that_count_as_one_are_alike(n: int, moved: list[int], kautz: bool, shift: int) -> None:
    """Other digits may be no more than other numbers of the nodes."""
    degree = len(moved)
    one = _Draft(-1 if kautz else 1, tuple(i + degree * t for i, t in enumerate(moved)), 1, 1)
    other = replace(one, digits=tuple(digit + shift for digit in one.digits[::-1]))
    if one.key(n) == other.key(n):
        reached("alike")
        first, second = one.build(n), other.build(n)
        assert any(
            Topology.from_arrays(n, (first.src + t) % n, (first.dst + t) % n, first.capacity) == second
            for t in range(n)
            if (t * (1 - one.sign * degree) - shift) % n == 0
        )
    assert replace(one, near=-1).key(n) == replace(one, near=-1, places=2).key(n) != one.key(n)


def test_specs_say_what_was_drawn() -> None:
    draft = _Draft(-1, (1, 5, 3), 2, 1)
    assert draft.build(40).spec == Spec("turn", (Spec("congruential", (40, -3, 1, 5, 3)), 2, 1))
