"""What failures cost, and what moving patches saves, against prices computed apart."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.loads import reference_layer_loads
from tests.samples.topologies import regular_digraphs
from tests.samples.wirings import bare, wired
from topodesign import build
from topodesign.base.cost import Cost
from topodesign.base.errors import DisconnectedError, ParameterError
from topodesign.cli.main import program
from topodesign.pricing.repricing import price_topology
from topodesign.schedulers.evaluation import evaluate
from topodesign.topology.automorphisms import find_symmetry, link_classes
from topodesign.topology.topology import Topology
from topodesign.wiring.failures.impact import Failure, State, best_repair, losses, split_lost, state_of
from topodesign.wiring.failures.report import rank
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.plan.cross_connects import CrossConnect
from topodesign.wiring.plan.decompose import without_loops
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.proof import check_plan


def cost_of(topology: Topology, degree: int) -> Cost | None:
    """The dearer collective, in parts of the bandwidth that a node with ``degree`` links has."""
    try:
        found = evaluate(topology, all_sources=True)
    except DisconnectedError:
        return None
    return Cost(found.spff_cost.steps, found.spff_cost.bandwidth * degree / topology.degree)


def left_by(plan: WiringPlan, failure: Failure) -> State:
    return state_of(plan, split_lost(plan, failure)[1])


def without_link(topology: Topology, link: tuple[int, int]) -> Topology:
    return Topology.from_links(
        topology.nodes, [(u, v, c - ((u, v) == link)) for u, v, c in topology.links() if c > 1 or (u, v) != link]
    )


def without_node(topology: Topology, node: int) -> Topology:
    links = [(u - (u > node), v - (v > node), c) for u, v, c in topology.links() if node not in {u, v}]
    return Topology.from_links(topology.nodes - 1, links)


@pytest.mark.dear("genkautz(3,10)")
@pytest.mark.parametrize("spec", few(["genkautz(3,10)", "circulant(9,2,3)", "uniring(1,5)", "uniring(2,5)"]))
def test_cables_and_hosts_cost_what_the_rest_is_worth(spec: str) -> None:
    topology = build(spec)
    plan = wired(topology, topology.degree)
    degree = without_loops(topology).degree
    assert state_of(plan, plan.connects).cost == cost_of(without_loops(topology), degree)
    for connect in few(plan.connects):
        failure = Failure("cable", "", connect.cable)
        assert split_lost(plan, failure)[0] == [connect]
        found = left_by(plan, failure)
        if len(found.hosts) == topology.nodes:
            assert found.topology == without_link(without_loops(topology), plan.link_of(connect))
            assert found.cost == cost_of(without_link(without_loops(topology), plan.link_of(connect)), degree)
    for node, host in enumerate(plan.hosts):
        found = left_by(plan, Failure("host", host, ""))
        if len(found.hosts) == topology.nodes - 1:
            assert found.cost == cost_of(without_node(without_loops(topology), node), degree)


def test_a_dead_cable_is_replaced() -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    repair = best_repair(plan, Failure("cable", "", plan.connects[7].cable))
    assert repair is not None
    assert (repair.restored, repair.change.moves) == (True, 1)
    assert [(c.a, c.b) for c in repair.change.made] == [(plan.connects[7].a, plan.connects[7].b)]


@pytest.mark.parametrize("mode", ["simplex", "duplex"])
def test_spare_lanes_take_over_from_a_dead_port(mode: str) -> None:
    plan = wired(build("circulant(12,2,3)"), 8, mode=mode)  # type: ignore[arg-type]
    failure = Failure("port", "h0", "p0")
    assert left_by(plan, failure).hosts == plan.hosts[1:]  # all of its links were there
    repair = best_repair(plan, failure)
    assert repair is not None
    assert repair.restored
    assert repair.change.moves == (8 if mode == "simplex" else 4)
    check_plan(repair.change.after)
    assert repair.change.after.topology == plan.topology
    assert all("p0" not in {e.port for e in (c.a, c.b) if e.host == "h0"} for c in repair.change.after.connects)


def test_a_wiring_without_patches_has_nothing_to_lose() -> None:
    plan = bare(4, 2)
    assert rank(plan) == []
    assert split_lost(plan, Failure("host", "h0", ""))[0] == []
    assert best_repair(plan, Failure("host", "h0", "")) is None


def joined(plan: WiringPlan, lost: list[CrossConnect], order: tuple[int, ...]) -> Topology:
    """The links that are left, and the idle senders joined to idle receivers in an order."""
    senders = [u for u, _ in map(plan.link_of, lost) if u != 0]
    receivers = [v for _, v in map(plan.link_of, lost) if v != 0]
    links = [(u, v, c) for u, v, c in plan.topology.links() if 0 not in {u, v}]
    links += [(u, receivers[place], 1) for u, place in zip(senders, order, strict=True) if u != receivers[place]]
    return without_node(Topology.from_links(plan.topology.nodes, links), 0)


@pytest.mark.dear("circulant(9,1,2)")
@pytest.mark.parametrize(
    "spec", ["circulant(10,1,3)", pytest.param("kautz(3,2)", marks=pytest.mark.thorough), "circulant(9,1,2)"]
)
def test_the_repair_round_a_dead_host_is_the_best_of_all(spec: str) -> None:
    topology = build(spec)
    plan = wired(topology, topology.degree)
    failure = Failure("host", "h0", "")
    lost = split_lost(plan, failure)[0]
    best = min(
        (cost.steps, cost.bandwidth)
        for order in itertools.permutations(range(topology.degree))
        if (cost := cost_of(joined(plan, lost, order), topology.degree)) is not None
    )
    before = left_by(plan, failure).cost
    repair = best_repair(plan, failure)
    assert before is not None
    assert repair is not None
    assert best < (before.steps, before.bandwidth)
    assert repair.state.cost is not None
    assert (repair.state.cost.steps, repair.state.cost.bandwidth) == best
    assert not repair.restored
    check_plan(repair.change.after)
    assert cost_of(repair.change.after.topology, topology.degree) == repair.state.cost


def test_duplex_repairs_and_several_panels() -> None:
    for mode, panels in (("duplex", 1), ("duplex", 2), ("simplex", 4)):
        plan = wired(build("circulant(12,2,3)"), 4, panels, mode)  # type: ignore[arg-type]
        before = left_by(plan, Failure("host", "h5", "")).cost
        repair = best_repair(plan, Failure("host", "h5", ""))
        assert repair is not None
        assert before is not None
        assert repair.state.cost is not None
        assert (repair.state.cost.steps, repair.state.cost.bandwidth) < (before.steps, before.bandwidth)
        check_plan(repair.change.after)


@pytest.mark.parametrize(
    ("spec", "mode"),
    [
        ("circulant(12,2,3)", "simplex"),
        ("circulant(12,2,3)", "duplex"),
        ("genkautz(3,10)", "simplex"),
        ("line(complete(4))", "simplex"),
        ("uniring(2,5)", "simplex"),
        ("uniring(1,5)", "simplex"),
        ("randomregular(9,2,1)", "simplex"),
    ],
)
def test_ranking_has_every_failure_at_its_price_the_worst_first(spec: str, mode: Mode) -> None:
    topology = build(spec)
    plan = wired(topology, topology.degree, mode=mode)
    found = rank(plan)
    assert {failure.device for failure in losses(plan, ["host"])} == set(plan.hosts)
    assert Counter(failure for one in found for failure in one.failures) == Counter(losses(plan).keys())
    for one in found:
        assert len({failure.kind for failure in one.failures}) == 1
        for failure in one.failures:
            each = left_by(plan, failure)
            assert split_lost(plan, failure)[0] == losses(plan)[failure]
            assert (len(each.hosts), each.cost) == (one.hosts, one.cost)
    whole = [one.cost for one in found if one.hosts == topology.nodes and one.cost is not None]
    keys = [(cost.steps, cost.bandwidth) for cost in whole]
    assert keys == sorted(keys, reverse=True)
    assert [one for one in found if one.failures[0].kind == "cable"] == rank(plan, ["cable"])


def test_ranking_tells_alike_failures_once() -> None:
    cube = rank(wired(build("hypercube(4)"), 4))
    assert Counter(one.failures[0].kind for one in cube) == {"host": 1, "port": 1, "panel port": 1, "cable": 1}
    ring = rank(wired(build("circulant(30,1,7)"), 4), ["cable"])
    assert sorted(len(one.failures) for one in ring) == [60, 60]


@settings(max_examples=30, deadline=None)
@given(regular_digraphs(6, 2))
def test_symmetries_are_all_that_there_are(topology: Topology) -> None:
    topology = without_loops(topology)
    found = find_symmetry(topology, np.zeros(topology.nodes, dtype=np.int64))
    links = topology.links()
    orders = [p for p in itertools.permutations(range(topology.nodes)) if moved(links, p) == sorted(links)]
    found.check(topology)
    assert {tuple(row) for row in found.generators.tolist()} <= set(orders)
    orbits = {node: min(p[node] for p in orders) for node in range(topology.nodes)}
    assert orbits == dict(enumerate(found.represented_by.tolist()))
    pairs = [((u, v),) for u, v, _ in links]
    for (one, first), (other, second) in itertools.combinations(zip(pairs, link_classes(found, pairs), strict=True), 2):
        (u, v), link = one[0], other[0]
        assert first != second or any((p[u], p[v]) == link for p in orders)


def moved(links: list[tuple[int, int, int]], order: Sequence[int]) -> list[tuple[int, int, int]]:
    return sorted((order[u], order[v], capacity) for u, v, capacity in links)


@settings(max_examples=30, deadline=None)
@given(regular_digraphs(12, 4), st.data())
def test_prices_after_losses_are_those_of_what_is_left(topology: Topology, data: st.DataObject) -> None:
    topology = without_loops(topology)
    before = price_topology(topology)
    assert before.cost() == Cost(*cost_by_reference(topology, topology.degree))
    units = [(u, v) for u, v, capacity in topology.links() for _ in range(capacity)]
    lost = data.draw(st.sets(st.integers(0, len(units) - 1), max_size=4))
    left = Topology.from_links(topology.nodes, [link for row, link in enumerate(units) if row not in lost])
    try:
        wanted = Cost(*cost_by_reference(left, topology.degree))
    except DisconnectedError:
        with pytest.raises(DisconnectedError):
            before.cost_without(left)
    else:
        assert before.cost_without(left) == wanted


def cost_by_reference(topology: Topology, degree: int) -> tuple[int, Fraction]:
    loads = reference_layer_loads(topology)
    return len(loads), Fraction(degree, topology.nodes) * sum(loads)


def test_a_ring_breaks() -> None:
    plan = wired(build("uniring(1,5)"), 1)
    found = left_by(plan, Failure("cable", "", plan.connects[0].cable))
    assert found.cost is None
    assert found.hosts == ()  # no host both hears and is heard
    told = found.with_strength(plan.speed).strength
    assert told is not None
    assert told.connectivity == 0
    bypass = best_repair(plan, Failure("host", "h0", ""))
    assert bypass is not None
    assert bypass.state.cost == Cost(3, Fraction(3, 4))


@pytest.mark.parametrize(
    "failure",
    [
        Failure("host", "x", ""),
        Failure("port", "h0", "p9"),
        Failure("panel port", "panel0", "x"),
        Failure("cable", "", "x"),
    ],
)
def test_unknown_things_are_refused(failure: Failure) -> None:
    plan = wired(build("biring(2,5)"), 2)
    with pytest.raises(ParameterError, match="the plan has no"):
        left_by(plan, failure)
    with pytest.raises(ParameterError, match="the plan has no"):
        best_repair(plan, failure)


def invoke(path: Path, *options: str) -> Result:
    return CliRunner().invoke(program, [*options[:1], str(path), *options[1:]])


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    save_wiring(wired(build("circulant(12,2,3)"), 4), path)
    text = invoke(path, "repair", "--fail", "h3").output
    assert "host h3: 8 links lost\n  left: 11 hosts, 3 steps" in text
    assert text.count("plug into") == 4
    ranked = invoke(path, "failures", "--top", "3", "--json", "--kind", "cable")
    document = json.loads(ranked.stdout)
    assert (document["failures"], len(document["impacts"])) == (48, 2)
    assert sum(1 + len(one["alike"]) for one in document["impacts"]) == 48
    assert all(one["repair"]["restored"] for one in document["impacts"])
    assert invoke(path, "repair", "--fail", "nowhere").exit_code
    port = invoke(path, "repair", "--fail", "panel0:7").output
    assert "panel port panel0 7: 2 links lost" in port
    quick = invoke(path, "failures", "--no-throughput").output
    assert "48 single failures of a cable; 2 that differ, all shown:" in quick
    assert "allreduce" not in quick
