"""Groups over methods: what every method makes for groups is right, and costs what the links that they share carry."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign.base.errors import InfeasibleError
from topodesign.collectives import ALLREDUCE
from topodesign.fabrics.part import Others
from topodesign.plans.files import load_plan, save_plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.choice import among
from topodesign.schedulers.method import Request
from topodesign.schedulers.scheduling import METHODS, schedule
from topodesign.topology.topology import Topology


@pytest.mark.parametrize("others", ["vanish", "forward"])
def test_rows_of_a_torus_are_rings_that_do_not_meet(others: Others) -> None:
    one = schedule("torus(4,4)", only="0,1,2,3", others=others)
    all_rows = schedule("torus(4,4)", group="4x4:0", others=others)
    assert one.claim == all_rows.claim == {"steps": 4, "bandwidth": Fraction(3)}
    assert verify(one).ok
    assert verify(all_rows).ok
    assert simulate(one).time == simulate(all_rows).time


def test_links_that_groups_share_are_paid_for() -> None:
    alone = schedule("torus(4,4)", "allgather", only="0,10", others="forward")
    both = schedule("torus(4,4)", "allgather", group=["0,10", "2,8"], others="forward")
    assert verify(alone).ok
    assert verify(both).ok
    assert both.claim["bandwidth"] >= alone.claim["bandwidth"]
    with pytest.raises(InfeasibleError, match="--forward lets them"):
        schedule("torus(4,4)", "allgather", only="0,10")


def test_every_way_of_every_method_is_a_plan() -> None:
    request = Request("torus(4,4)", ALLREDUCE.parts[0].among([0, 1, 2, 3]), others="forward")
    plans = among(request, [METHODS["spff"]])
    assert len(plans) == 2
    assert all(verify(plan).ok for plan in plans)


def test_a_collective_may_bring_its_groups() -> None:
    value = ALLREDUCE.within([(0, 1), (2, 3)])
    plan = schedule("complete(4)", value)
    assert plan.collective == value
    assert plan == schedule("complete(4)", group=["0,1", "2,3"])
    assert verify(plan).ok


def test_links_need_not_be_balanced() -> None:
    links = [(0, 1), (1, 0), (1, 2), (2, 0), (0, 2), (2, 3), (3, 4), (4, 0)]
    topology = Topology.from_links(5, [(u, v, 1) for u, v in links])
    for others in ("vanish", "forward"):
        for collective in ("broadcast", "reduce", "scatter", "gather"):
            plan = schedule(topology, collective, group=[[0, 1, 2]], root=1, others=others)
            assert verify(plan).ok
            assert plan.collective.root == 1


def test_what_methods_do_not_make_in_groups_is_said() -> None:
    assert verify(schedule("dgx_a100(2)", "allgather", group="8x2:0")).ok
    with pytest.raises(InfeasibleError, match="forest makes plans of one group"):
        schedule("torus(4,4)", "allgather", group="4x4:0", method="forest")
    one = schedule("dgx_a100(2)", "allgather", group=["box0/*"])
    assert one.claim == schedule("dgx_a100(2)", "allgather", only="box0/*").claim
    assert verify(one).ok
    assert verify(schedule("torus(4,4)", "allgather", group="0,1,2,3", method="forest")).ok


def test_nodes_on_the_way_send_a_sum_once() -> None:
    for collective in ("reduce", "reduce-scatter"):
        root = "first" if collective == "reduce" else None
        group = [[0, 3, 5, 6], [1, 2, 4]]
        plan = schedule("bipartite(4)", collective, group=group, root=root, others="forward", method="pipeline")
        assert verify(plan).ok


def test_groups_of_one_node_do_nothing(tmp_path: object) -> None:
    plan = schedule("complete(4)", group=["0,1", "2", "3"])
    assert verify(plan).ok
    path = save_plan(f"{tmp_path}/groups.npz", plan)
    assert load_plan(path).movement == plan.movement
    assert "4 nodes in 3 groups" in plan.heading()
