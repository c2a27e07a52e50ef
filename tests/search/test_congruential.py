"""Search among linear congruential digraphs: its estimate against its definition, and what is found against prices."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.topologies import regular_digraphs
from topodesign.base.compiled import LARGEST
from topodesign.base.spec import Spec
from topodesign.pricing.closed_form import distances
from topodesign.pricing.evaluation import price, price_deferred
from topodesign.search import congruential_kernels as kernels
from topodesign.search.congruential import _Draft, search_congruential
from topodesign.search.target import Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology


def tables(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the links out of each node, and starts of those into it."""
    out = np.repeat(topology.dst, topology.capacity).reshape(topology.nodes, -1)
    return out, np.argsort(out.ravel(), kind="stable").reshape(out.shape) // out.shape[1]


def estimated(far: np.ndarray, links: np.ndarray, steps: int) -> int:
    """The definition of the estimate, shard by shard; ``far[v, w]`` is how many of these links are from v to w."""
    most, ports = 0, links.shape[1]
    for node, ends in enumerate(links):
        choices = {w: [j for j in range(ports) if far[ends[j], w] < steps] for w in range(len(links))}
        late = [w for w in choices if far[node, w] == steps]
        load, split = [0] * ports, [0] * ports
        for w in sorted((w for w in choices if far[node, w] >= steps - 1), key=lambda w: len(choices[w])):
            best = min(choices[w], key=lambda j: load[j])
            load[best] += 1
        for shard in late:
            for j in choices[shard]:
                split[j] += kernels.SHARE // len(choices[shard])
        relayed = len(late) * kernels.SHARE // ports**2
        most = max(most, max(max(load) * kernels.SHARE, max(split) + relayed) + 3 * max(split) // 10)
    return most


@pytest.mark.dear
@pytest.mark.floor(estimated=25, far=10)
@settings(max_examples=60, deadline=None)
@given(regular_digraphs(most_nodes=70), st.integers(2, 6))
def test_the_estimate_is_that_of_the_definition(topology: Topology, steps: int) -> None:
    out, into = tables(topology)
    nodes = np.arange(topology.nodes)
    score = kernels.unevenness_both(out, into, steps, nodes, LARGEST)
    far = np.array([distances(topology, node) for node in range(topology.nodes)])
    if far.max() > steps:
        reached("far")
        assert score == -1
    else:
        reached("estimated")
        there, back = estimated(far.T, into, steps), estimated(far, out, steps)
        assert score == there + back + max(there, back)
        assert kernels.unevenness_both(out, into, steps, nodes, score) == score
        assert kernels.unevenness_both(out, into, steps, nodes, score - 1) > score - 1


def test_plain_python_and_machine_code_estimate_alike() -> None:
    for text, steps in product(["genkautz(3,30)", "turn(congruential(40,-4,0,1,2,-1),1)"], [2, 3, 4]):
        arguments = (*tables(build(text)), steps, np.arange(build(text).nodes), LARGEST)
        assert kernels.unevenness_both.plain(*arguments) == kernels.unevenness_both(*arguments)


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
