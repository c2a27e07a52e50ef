"""Laws across commands: the same question asked in several ways has one answer.

* A spec, its links with other labels, and a list of candidates are one topology with one price.
* The plan that ``schedule`` makes costs what ``evaluate`` prints, and with a size no listed method is faster.
* No printed lower bound is above what another command reaches, and what is proven here is left open nowhere.
* A wiring plan has the cables that ``compare`` counts, and a change moves no fewer than its bound.
"""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.conftest import few
from topodesign import (
    Pareto,
    build,
    change_wiring,
    compare,
    compare_methods,
    evaluate,
    optimum,
    pareto,
    plan_wiring,
    price_groups,
    schedule,
    simulate,
    survey,
    verify,
)
from topodesign.base.errors import TopodesignError
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.lookup import Catalog
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER
from topodesign.fabrics.fabric import NODE_BANDWIDTH
from topodesign.schedulers.price import price_all_to_all, price_plans
from topodesign.schedulers.stored import get_stored
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.answers import plain_inventory

QUESTIONS = 300
"""In a thorough run; a quick one asks every hundredth."""


def draw_topology(draw: random.Random, most: int = 24) -> Topology:
    """Return a random small topology that all commands answer for."""
    while True:
        n = draw.randint(4, most)
        text = draw.choice(
            [
                f"circulant({n},1,{draw.randint(2, max(2, n // 2))})",
                f"genkautz({draw.choice([2, 3])},{n})",
                f"torus({draw.randint(2, 4)},{draw.randint(2, 4)})",
                f"mesh({draw.randint(2, 3)},{draw.randint(2, 4)})",
                f"randomregular({max(n, 6)},{draw.choice([2, 3])},{draw.randint(0, 9)})",
                f"spare(biring(2,{max(n, 3)}),1)",
                f"catalog({max(n, 6)},{draw.choice([2, 3, 4])},1)",
                f"line(genkautz(2,{draw.randint(3, 8)}))",
            ]
        )
        try:
            topology = build(text)
            evaluate(topology, effort="bounds")
        except TopodesignError:
            continue
        return topology


def relabel(topology: Topology, draw: random.Random) -> Topology:
    name = list(range(topology.nodes))
    draw.shuffle(name)
    return Topology.from_links(topology.nodes, [(name[u], name[v], wide) for u, v, wide in topology.links()])


@pytest.mark.parametrize("seed", few(range(QUESTIONS), 100))
def test_one_price_of_plans_candidates_and_comparisons(seed: int) -> None:
    topology = draw_topology(random.Random(seed))  # noqa: S311
    found = evaluate(topology)
    there, back = found.cheapest
    plan = schedule(topology)
    if "steps" in plan.claim:
        assert plan.claim["steps"] == there.steps + back.steps
        assert plan.claim["bandwidth"] == there.bandwidth + back.bandwidth
        fewest = found.workload.allreduce(there, back)[0]
        assert simulate(plan, size="1MiB", alpha="10us", bandwidth="100Gbps").time == fewest
    assert compare([topology]).contenders[0].times == found.allreduce
    beside = pareto(topology.nodes, topology.degree, candidates=[topology]).candidates
    assert beside is None or beside[0].allreduce == found.allreduce
    assert found.bound.steps <= there.steps
    assert all(found.bounds[-1].bandwidth <= cost.bandwidth for cost in (there, back))


@pytest.mark.parametrize("seed", few(range(QUESTIONS), 100))
def test_one_flow_and_one_bandwidth_of_a_link(seed: int) -> None:
    draw = random.Random(QUESTIONS + seed)  # noqa: S311
    topology = draw_topology(draw, 12)
    flow, proven = evaluate(topology).all_to_all, optimum(topology, "all-to-all").record()
    rate = Fraction(proven["algorithmic_bandwidth"])
    assert flow.lower <= NODE_BANDWIDTH / rate
    assert flow.upper is None or NODE_BANDWIDTH / Fraction(proven["bound"]) <= flow.upper
    groups = price_groups(topology, "all-to-all")
    assert groups.proven
    assert groups.bandwidth == NODE_BANDWIDTH / rate or not proven["proven"]
    other = evaluate(relabel(topology, draw), effort="exact").all_to_all
    assert flow.lower <= other.lower
    assert flow.upper is None or other.lower <= flow.upper


@pytest.mark.parametrize("seed", few(range(QUESTIONS), QUESTIONS))
def test_no_method_is_faster_for_a_size_than_the_plan_that_auto_takes(seed: int) -> None:
    draw = random.Random(2 * QUESTIONS + seed)  # noqa: S311
    topology = draw_topology(draw, 6)
    size, collective = draw.choice(["1KiB", "64KiB", "3MB"]), draw.choice(["allreduce", "allgather", "all-to-all"])
    time = simulate(schedule(topology, collective, size=size), size=size, alpha="10us").time
    listed = compare_methods(topology, collective, sizes=size)
    assert time == listed.contenders[0].times[0]
    assert min(listed.lower_bound.times.values()) <= time
    least = listed.lower_bound.bandwidth
    assert all(least <= one.bandwidth for one in listed.contenders if one.bandwidth is not None)


@pytest.mark.parametrize("seed", few(range(QUESTIONS), 100))
def test_one_size_in_ranges_and_alone(seed: int) -> None:
    draw = random.Random(3 * QUESTIONS + seed)  # noqa: S311
    nodes, degree = draw.randint(6, 190), draw.choice([2, 3, 4, 5])
    several = survey(range(nodes, nodes + 3), degree)
    for one in several:
        alone = pareto(one.nodes, degree)
        assert isinstance(one, Pareto)
        assert alone.entries == one.entries


@pytest.mark.parametrize("seed", few(range(QUESTIONS), 150))
def test_wiring_has_the_cables_that_are_compared_and_changes_keep_their_bound(seed: int) -> None:
    draw = random.Random(4 * QUESTIONS + seed)  # noqa: S311
    nodes = draw.randint(7, 12)
    before, after = (f"circulant({nodes},1,{jump})" for jump in draw.sample([2, 3], 2))
    plan = plan_wiring(before, plain_inventory(nodes, 4))
    assert len(plan.connects) == compare([before]).record()["contenders"][0]["cables"]
    change = change_wiring(plan, after).record()
    assert change["bound"] <= change["moves"]


# -- one price: rows, candidates, evaluations and plans say the same of a topology, however its nodes are numbered ----


@pytest.mark.parametrize("seed", few(range(200), 20))
def test_schedules_of_rows_cost_what_pareto_prints(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    row = draw.choice(Catalog().frontier(draw.randint(8, 48), draw.choice([2, 3, 4, 5])))
    plan = schedule(row.spec)
    assert verify(plan).ok
    assert plan.claim["bandwidth"] == 2 * row.mean.bandwidth
    assert plan.claim["steps"] == 2 * row.cost.steps
    time = simulate(plan, size="1MiB", alpha="10us", bandwidth="100Gbps").time
    assert time == evaluate(row.spec).allreduce[0]


@pytest.mark.parametrize(
    ("nodes", "degree", "least"), [(127, 4, "126/127"), (59, 5, "235/236"), (66, 2, "131/132"), (157, 4, "156/157")]
)
def test_rows_say_the_best_plan_known(nodes: int, degree: int, least: str) -> None:
    assert min(row.mean.bandwidth for row in Catalog().frontier(nodes, degree)) <= Fraction(least)


@pytest.mark.parametrize("spec", few(["genkautz(4,10)", "randomregular(13,2,160)", "kautz(3,1)", "dbjmod(2,3)"]))
def test_stored_plans_are_known_however_nodes_are_numbered(spec: str) -> None:
    prices = price_plans(relabel(build(spec), random.Random(1)))  # noqa: S311
    assert prices.cheapest == price_plans(build(spec)).cheapest
    for collective, plans in zip((REDUCE_SCATTER, ALLGATHER), prices.plans, strict=True):
        kept = get_stored(spec, collective)
        assert kept is not None
        assert min(plan.cost.bandwidth for plan in plans) <= kept.cost.bandwidth


def test_a_link_has_one_bandwidth_where_nodes_differ_in_ports() -> None:
    """Three links lead into node 0 and two out of it: a link has a third of what a node has."""
    links = [(0, 1), (0, 2), (1, 0), (2, 0), (3, 0), (1, 3), (2, 3)]
    topology = Topology.from_links(4, links)
    [method] = compare_methods(topology, "allgather", methods=["spff"]).contenders
    assert method.times[0] == simulate(schedule(topology, "allgather"), size="1MiB", alpha="10us").time


@pytest.mark.parametrize("spec", ["spare(torus(2,3),1)", "mesh(2,3)", "genkautz(2,5)"])
def test_groups_of_all_nodes_cost_what_evaluate_and_optimum_say(spec: str) -> None:
    """Spare ports have their share of the bandwidth of a node in all three."""
    prices = price_groups(spec, "all-to-all"), price_groups(spec, "allgather")
    assert prices[0].bandwidth == evaluate(spec).all_to_all.bandwidth
    for price, collective in zip(prices, ("all-to-all", "allgather"), strict=True):
        assert price.bandwidth == NODE_BANDWIDTH / Fraction(optimum(spec, collective).record()["algorithmic_bandwidth"])
        assert price.proven


def test_a_switch_is_no_node_whose_bandwidth_is_printed() -> None:
    found = compare_methods("dgx_h100(2)", "allgather", sizes="1MiB", methods=["forest"], time_limit="5s")
    assert found.workload.bandwidth == 8 * Fraction(500 * 10**9)


def test_the_bound_of_a_fabric_is_for_its_own_bandwidth() -> None:
    found = compare(["dgx_a100(1)"])
    assert all(found.lower_bound.times[size] <= time for size, time in found.contenders[0].times_by_size.items())


@pytest.mark.parametrize("seed", few(range(60), 6))
def test_all_to_all_of_a_row_is_what_evaluate_prints(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    nodes, degree = draw.randint(12, 90), draw.choice([2, 3, 4, 5])
    rows = [row for row in Catalog().rows(degree, nodes, nodes) if row.all_to_all is not None]
    kept = EXCHANGE.known(Catalog().directory, degree, nodes, nodes)
    for spec, known in [*((row.spec, row.all_to_all) for row in rows), *((one.spec, one.all_to_all) for one in kept)]:
        found = price_all_to_all(build(spec))
        assert known is not None
        assert (found.lower, found.upper) == (known.lower, known.upper)
