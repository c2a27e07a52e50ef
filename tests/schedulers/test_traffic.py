"""Several collectives at the same time: right on any links, never below the bound, and better than in turn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.tenants import tenants
from tests.samples.uneven import mesh
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.collectives import COLLECTIVES, as_collective
from topodesign.plans.flow import Flow, Flows
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.time_expanded.greedy import only_needed, relays_of, synthesize
from topodesign.schedulers.time_expanded.merging import SharedLinks
from topodesign.schedulers.traffic import plan_traffic


def checked(plan: Plan) -> Flows:
    """The verifier accepts it, it takes no less than is proved, and runs in the time that it claims, or less."""
    report = verify(plan)
    assert report.ok, report.problems
    assert plan.claim["time"] >= Fraction(plan.generator["bound"])
    moved = plan.movement
    assert isinstance(moved, Flows)
    assert simulate(plan, size=sum(one.timing.size for one in moved.each)).time <= plan.claim["time"]
    for stream in moved.each:
        assert not len(stream) or stream.start.min() >= stream.timing.begin
    return moved


def random_traffic(seed: int) -> None:
    topology, table, streams = tenants(seed)
    options: dict[str, Any] = {"overlap": bool(seed % 2), "chunks": 1 + seed % 2, "tries": 2}
    moved = checked(schedule(topology, traffic=streams, link_table=table, **options))
    assert [one.collective.name for one in moved.each] == [one.collective.name for one in streams]


@pytest.mark.dear
@given(st.integers(0, 10**6))
@settings(max_examples=15)
def test_any_streams_on_any_links(seed: int) -> None:
    random_traffic(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(10))
def test_five_hundred_mixtures(block: int) -> None:
    for seed in range(10**7 + 50 * block, 10**7 + 50 * block + 50):
        random_traffic(seed)


def test_the_tenants_of_the_paper() -> None:
    """Figure 22 b, table V: broadcast, reduce and allgather on a 6x6 mesh; TACOS-Greedy takes 1.25 of the optimum."""
    traffic = ["*=broadcast:2@1MB", "*=reduce:17@1MB", "*=allgather@36MB"]
    plan = schedule(mesh(6, 6), traffic=traffic, alpha=0, tries=4)
    checked(plan)
    assert plan.claim["time"] <= Fraction(5, 4) * Fraction(plan.generator["bound"])
    alone = [Fraction(time) for time in plan.generator["alone"]]
    assert plan.claim["time"] < sum(alone)


def test_streams_that_share_no_link_take_what_they_take_alone() -> None:
    traffic = ["0,1,2,3=allgather@16MiB", "8,9,10,11=all-to-all@4MiB", "4,5,6,7=broadcast:5@1MiB"]
    plan = schedule("torus(4,4)", traffic=traffic)
    moved = checked(plan)
    assert [str(stream.time) for stream in moved.each] == plan.generator["alone"]


def test_one_stream_is_the_plan_of_its_collective() -> None:
    for name in ("allgather", "all-to-all", "allreduce"):
        plan = schedule("torus(3,3)", traffic=f"*={name}@1MiB")
        alone = schedule("torus(3,3)", name, method="tacos")
        assert checked(plan).each[0].collective == alone.collective
        assert plan.claim["time"] <= alone.claim["time"]


def test_streams_wait_until_they_begin() -> None:
    plan = schedule("torus(3,3)", traffic=["*=allgather@1MiB+1ms", "*=allgather@1KiB"])
    moved = checked(plan)
    assert moved.each[0].start.min() * moved.each[0].timing.tick == Fraction(1, 1000)
    assert plan.claim["time"] == Fraction(plan.generator["bound"])


def test_groups_of_different_sizes_are_streams_of_their_own() -> None:
    with pytest.raises(ParameterError, match="--traffic"):
        schedule("torus(3,3)", "allgather", method="tacos", group=["0,1", "3,4,5"])
    moved = checked(schedule("torus(3,3)", traffic=["0,1=allgather", "3,4,5=allgather", "6,7,8=reduce:7"]))
    assert len(moved.each) == 3


@pytest.mark.dear
def test_switches_are_shared() -> None:
    moved = checked(schedule("dgx_a100(2)", traffic=["box0/*=all-to-all@1MiB", "*=allreduce@4MiB"], tries=1))
    assert len(moved.each) == 2


def test_late_nodes_and_failed_links() -> None:
    plan = schedule("torus(4,4)", traffic=["*=allgather", "0,1=broadcast:0"], ready="0=50us", without="2-3", tries=1)
    moved = checked(plan)
    first = min(int(one.start[(one.src == 0) | (one.dst == 0)].min()) for one in moved.each)
    assert first * moved.each[0].timing.tick >= Fraction(50, 10**6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"traffic": "0,1=allgather", "group": "0,1"}, "specifies groups"),
        ({"traffic": "0,1=allgather", "only": "0,1"}, "specifies groups"),
        ({"traffic": "0,1=allgather", "method": "spff"}, "--traffic"),
        ({"traffic": "0,1=broadcast"}, "requires a root"),
        ({"traffic": "0,1=broadcast:2"}, "not one of its members"),
        ({"traffic": "0,1=allgather:1"}, "has no root"),
        ({"traffic": []}, "there is no traffic"),
        ({"traffic": "17=allgather"}, "17"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ParameterError, InfeasibleError), match=words):
        schedule("torus(3,3)", **options)


@pytest.mark.parametrize("name", list(COLLECTIVES))
def test_others_pass_on_what_groups_send(name: str) -> None:
    """Groups without links of their own send through others; it is right, and no slower where they have some."""
    rooted = {"root": "first"} if as_collective(name).rooted else {}
    options: dict[str, Any] = {"method": "tacos", "tries": 3, **rooted}
    for group in (["0,5", "1,10"], "8x2:1"):
        with pytest.raises(InfeasibleError):
            schedule("torus(4,4)", name, group=group, **options)
        plan = schedule("torus(4,4)", name, group=group, others="forward", **options)
        report = verify(plan)
        assert report.ok, report.problems
        assert not report.found.notes
        assert plan.claim["time"] >= Fraction(plan.generator["bound"])
        assert simulate(plan).time <= plan.claim["time"]


def test_the_pieces() -> None:
    """Whoever shares links keeps the order of what waits for what; relays are none that need a chunk themselves."""
    assert all(map(callable, (synthesize, relays_of, only_needed, plan_traffic)))
    plan = schedule("torus(3,3)", "allgather", method="tacos")
    timed = plan.movement
    assert isinstance(timed, Flow)
    still = np.zeros((1, len(plan.topology.src)), dtype=np.int64)
    shared = SharedLinks(plan.topology, (timed,), still)
    (again,) = shared.time_streams(shared.remains)
    assert again.time == timed.time
    (worst,) = shared.time_streams(-shared.remains)
    assert verify(Plan(plan.topology, worst)).ok
