"""One price: rows, candidates, evaluations and plans say the same of a topology, however its nodes are numbered."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.conftest import few
from topodesign import build, evaluate, optimum, pareto, price_groups, schedule, simulate, verify
from topodesign.catalog.all_to_all_rows import EXCHANGE
from topodesign.catalog.lookup import Catalog
from topodesign.collectives import ALLGATHER, REDUCE_SCATTER
from topodesign.fabrics.fabric import NODE_BANDWIDTH
from topodesign.report.comparison.compare import compare
from topodesign.report.comparison.methods import compare_methods
from topodesign.schedulers.price import price_all_to_all, price_plans
from topodesign.schedulers.stored import get_stored
from topodesign.topology.topology import Topology


def relabel(topology: Topology, seed: int) -> Topology:
    """Return the same links between nodes with other numbers."""
    name = list(range(topology.nodes))
    random.Random(seed).shuffle(name)  # noqa: S311
    return Topology.from_links(topology.nodes, [(name[u], name[v], capacity) for u, v, capacity in topology.links()])


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


def test_candidates_cost_what_evaluate_says() -> None:
    spec = "randomregular(13,3,1)"
    found = pareto(13, 3, candidates=[spec]).candidates
    assert found is not None
    assert found[0].allreduce == evaluate(spec).allreduce == compare([spec]).contenders[0].times


@pytest.mark.parametrize("spec", few(["genkautz(4,10)", "randomregular(13,2,160)", "kautz(3,1)", "dbjmod(2,3)"]))
def test_stored_plans_are_known_however_nodes_are_numbered(spec: str) -> None:
    prices = price_plans(relabel(build(spec), 1))
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
