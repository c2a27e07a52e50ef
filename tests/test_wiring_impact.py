"""What failures cost, and what moving patches saves, against prices computed apart."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from sample_wirings import wired

from topodesign import build
from topodesign.cli.wire.impact import command
from topodesign.cost import Cost
from topodesign.errors import DisconnectedError, ParameterError
from topodesign.evaluation import evaluate
from topodesign.topology import Topology
from topodesign.wiring.decompose import without_loops
from topodesign.wiring.impact import Failure, best_repair, failures, impact, intact, rank, state_figures
from topodesign.wiring.plan import CrossConnect, Plan
from topodesign.wiring.plan_check import check_plan
from topodesign.wiring.plan_file import write_plan


def cost_of(topology: Topology, degree: int) -> Cost | None:
    """The dearer collective, in parts of the bandwidth that a node with ``degree`` links has."""
    try:
        found = evaluate(topology, all_sources=True)
    except DisconnectedError:
        return None
    dearer = max(found.cost.bandwidth, found.allgather.bandwidth)
    return Cost(found.cost.steps, dearer * degree / topology.degree)


def without_link(topology: Topology, link: tuple[int, int]) -> Topology:
    return Topology.from_links(
        topology.nodes, [(u, v, c - ((u, v) == link)) for u, v, c in topology.links() if c > 1 or (u, v) != link]
    )


def without_node(topology: Topology, node: int) -> Topology:
    links = [(u - (u > node), v - (v > node), c) for u, v, c in topology.links() if node not in {u, v}]
    return Topology.from_links(topology.nodes - 1, links)


@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "genkautz(3,10)", "uniring(1,5)", "uniring(2,5)"])
def test_cables_and_hosts_cost_what_the_rest_is_worth(spec: str) -> None:
    topology = build(spec)
    plan = wired(topology, topology.degree)
    degree = without_loops(topology).degree
    assert intact(plan).cost == cost_of(without_loops(topology), degree)
    for connect in plan.connects:
        found = impact(plan, Failure("cable", "", connect.cable))
        assert found.lost == (connect,)
        if len(found.state.hosts) == topology.nodes:
            assert found.state.topology == without_link(without_loops(topology), connect.link)
            assert found.state.cost == cost_of(without_link(without_loops(topology), connect.link), degree)
    for node, host in enumerate(plan.hosts):
        found = impact(plan, Failure("host", host, ""))
        if len(found.state.hosts) == topology.nodes - 1:
            assert found.state.cost == cost_of(without_node(without_loops(topology), node), degree)


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
    assert impact(plan, failure).state.hosts == plan.hosts[1:]  # all of its links were there
    repair = best_repair(plan, failure)
    assert repair is not None
    assert repair.restored
    assert repair.change.moves == (8 if mode == "simplex" else 4)
    check_plan(repair.change.after)
    assert repair.change.after.topology == plan.topology
    assert all("p0" not in {e.port for e in (c.a, c.b) if e.host == "h0"} for c in repair.change.after.connects)


def joined(plan: Plan, lost: tuple[CrossConnect, ...], order: tuple[int, ...]) -> Topology:
    """The links that are left, and the idle senders joined to idle receivers in an order."""
    senders = [connect.link[0] for connect in lost if connect.link[0] != 0]
    receivers = [connect.link[1] for connect in lost if connect.link[1] != 0]
    links = [(u, v, c) for u, v, c in plan.topology.links() if 0 not in {u, v}]
    links += [(u, receivers[place], 1) for u, place in zip(senders, order, strict=True) if u != receivers[place]]
    return without_node(Topology.from_links(plan.topology.nodes, links), 0)


@pytest.mark.parametrize("spec", ["circulant(10,1,3)", "kautz(3,2)", "circulant(9,1,2)"])
def test_the_repair_round_a_dead_host_is_the_best_of_all(spec: str) -> None:
    topology = build(spec)
    plan = wired(topology, topology.degree)
    failure = Failure("host", "h0", "")
    lost = impact(plan, failure).lost
    best = min(
        (cost.steps, cost.bandwidth)
        for order in itertools.permutations(range(topology.degree))
        if (cost := cost_of(joined(plan, lost, order), topology.degree)) is not None
    )
    before = impact(plan, failure).state.cost
    repair = best_repair(plan, failure)
    assert before is not None
    if repair is None:
        assert (before.steps, before.bandwidth) <= best
        return
    assert repair.state.cost is not None
    assert (repair.state.cost.steps, repair.state.cost.bandwidth) == best
    assert not repair.restored
    check_plan(repair.change.after)
    assert cost_of(repair.change.after.topology, topology.degree) == repair.state.cost


def test_duplex_repairs_and_several_panels() -> None:
    for mode, panels in (("duplex", 1), ("duplex", 2), ("simplex", 4)):
        plan = wired(build("circulant(12,2,3)"), 4, panels, mode)  # type: ignore[arg-type]
        before = impact(plan, Failure("host", "h5", "")).state.cost
        repair = best_repair(plan, Failure("host", "h5", ""))
        assert repair is not None
        assert before is not None
        assert repair.state.cost is not None
        assert (repair.state.cost.steps, repair.state.cost.bandwidth) < (before.steps, before.bandwidth)
        check_plan(repair.change.after)


def test_ranking_has_every_failure_the_worst_first() -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    found = rank(plan)
    assert {one.failure for one in found} == set(failures(plan))
    assert len(found) == 12 + 12 + 48 + 48
    costs = [one.state.cost for one in found if len(one.state.hosts) == 12]
    keys = [(cost.steps, cost.bandwidth) for cost in costs if cost is not None]
    assert keys == sorted(keys, reverse=True)
    assert {one.failure.kind for one in rank(plan, ["cable"])} == {"cable"}


def test_a_ring_breaks() -> None:
    plan = wired(build("uniring(1,5)"), 1)
    found = impact(plan, Failure("cable", "", plan.connects[0].cable))
    assert found.state.cost is None
    assert found.state.hosts == ()  # no host both hears and is heard
    assert state_figures(plan, found.state).connectivity == 0
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
        impact(plan, failure)
    with pytest.raises(ParameterError, match="the plan has no"):
        best_repair(plan, failure)


def test_command(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_plan(path, wired(build("circulant(12,2,3)"), 4))
    text = CliRunner().invoke(command, [str(path), "--host", "h3"], catch_exceptions=False).output
    assert "host h3: 8 links lost; 11 hosts, 3 steps" in text
    assert text.count("plug into") == 4
    ranked = CliRunner().invoke(command, [str(path), "--top", "3", "--json", "--kind", "cable"], catch_exceptions=False)
    document = json.loads(ranked.stdout)
    assert (document["failures"], len(document["impacts"])) == (48, 3)
    assert all(one["repair"]["restored"] for one in document["impacts"])
    for extra in (["--host", "h1", "--cable", "C1"], ["--port", "nowhere"], ["--host", "h1", "--kind", "cable"]):
        assert CliRunner().invoke(command, [str(path), *extra]).exit_code == 2
    port = CliRunner().invoke(command, [str(path), "--port", "panel0:7"], catch_exceptions=False).output
    assert "panel port panel0 7: 2 links lost" in port
