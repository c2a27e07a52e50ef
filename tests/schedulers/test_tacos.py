"""TACOS-Greedy: what it makes is right whatever the links are, never below what is proved, and as good as can be."""

from __future__ import annotations

import itertools
import random
import re
from collections import deque
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import few
from tests.samples.uneven import mesh, uneven, uneven_networks
from tests.samples.verdicts import replay_rounds
from topodesign.base.errors import InfeasibleError, ParameterError, TooLargeError
from topodesign.collectives import ALLREDUCE, COLLECTIVES, Collective, as_collective
from topodesign.compiler.compilation import compile_plan
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.plans.flow import Flow
from topodesign.plans.flow_ops import join_links
from topodesign.plans.link_times import link_times
from topodesign.plans.plan import Plan
from topodesign.plans.plan_ops import list_rank_rounds
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.runtime.check import check_file
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.time_expanded.bound import bound_of, bound_of_sums
from topodesign.schedulers.time_expanded.event_kernels import queue_for, reach
from topodesign.schedulers.time_expanded.forward import distances_to, forward_chunks
from topodesign.schedulers.time_expanded.greedy import best_of, copy_chunks
from topodesign.schedulers.time_expanded.merging import merge_sends, repair_sends
from topodesign.schedulers.time_expanded.network import Network, chunks_of, make_timed, network_of
from topodesign.schedulers.time_expanded.trees import along_trees
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

MICRO, MANY = Fraction(1, 10**6), Fraction(10**9)
STEP: dict[str, Any] = {"alpha": 0, "bandwidth": 8, "method": "tacos"}


def checked(plan: Plan) -> Plan:
    """The verifier accepts it, it takes no less than is proved, and runs in the time that it claims, or less."""
    report = verify(plan)
    assert report.ok, report.problems
    assert plan.claim["time"] >= Fraction(plan.generator["bound"])
    assert simulate(plan, size=plan.movement.timing.size).time <= plan.claim["time"]  # type: ignore[union-attr]
    return plan


def steps(topology: Topology | str, collective: str, **options: Any) -> Fraction:
    """In how many steps it is done where a chunk takes a link of the widest node for one: of one byte per second."""
    topology = build(topology) if isinstance(topology, str) else topology
    shards = as_collective(collective).shards(topology.nodes)
    plan = schedule(topology, collective, **(STEP | {"bandwidth": 8 * topology.degree, "size": shards} | options))
    return checked(plan).claim["time"]


def rooted(collective: Collective) -> int | None:
    return 0 if collective.rooted else None


@given(
    uneven_networks(),
    st.sampled_from(list(COLLECTIVES.values())),
    st.fixed_dictionaries(
        {
            "chunks": st.integers(1, 3),
            "overlap": st.booleans(),
            "tick": st.sampled_from([None, "7us"]),
            "ready": st.sampled_from([None, "0=11us,1=3us"]),
        }
    ),
)
@settings(max_examples=60)
def test_any_links_and_any_collective(
    network: tuple[Topology, Any], collective: Collective, options: dict[str, Any]
) -> None:
    topology, table = network
    ready = options.pop("ready")
    if topology.in_ports.tolist() != topology.out_ports.tolist():
        ready = None  # a fabric has names, and as much in as out
    plan = schedule(
        topology,
        collective,
        method="tacos",
        root=rooted(collective),
        link_table=table,
        ready=ready,
        tries=2,
        **options,
    )
    checked(plan)
    assert isinstance(plan.movement, Flow)
    if ready is not None:
        ends = np.minimum(plan.movement.src, plan.movement.dst)
        late = np.select([ends == 0, (plan.movement.src == 1) | (plan.movement.dst == 1)], [11, 3])
        assert all(
            start * plan.movement.timing.tick >= Fraction(int(least), 10**6)
            for start, least in zip(plan.movement.start.tolist(), late, strict=True)
        )


@pytest.mark.parametrize(
    ("place", "collective", "least"),
    [
        ("torus(4,4)", "allgather", 4),
        ("torus(4,4)", "reduce-scatter", 4),
        ("torus(4,4)", "allreduce", 8),
        ("torus(3,3)", "all-to-all", 3),
        ("hypercube(4)", "allgather", 4),
        (mesh(3, 3), "allgather", 4),  # figure 20
        (mesh(5, 5), "allgather", 12),  # figure 19
        (mesh(4, 4, without=(6, 8)), "allgather", 13),  # figure 22: a node with one link
        (mesh(6, 6), "broadcast", 10),  # table IV, from a corner
        (mesh(6, 6), "reduce", 10),
        (mesh(6, 6), "scatter", 18),
        (mesh(6, 6), "gather", 18),
        ("uniring(1,4)", "scatter", 3),  # figure 5
    ],
)
def test_the_optimum_is_found_where_it_is_known(place: Any, collective: str, least: int) -> None:
    root = 0 if as_collective(collective).rooted else None
    assert steps(place, collective, root=root) == least


def test_chunks_follow_one_another() -> None:
    """A broadcast of c chunks along a path of h links takes h + c - 1 steps."""
    for chunks in (1, 2, 5):
        assert steps(mesh(4), "broadcast", root=0, chunks=chunks, size=chunks) == (3 + chunks - 1) * 1


def network(topology: Topology, table: Any = None, **more: Any) -> Network:
    times = link_times(
        topology,
        as_collective("allgather"),
        1,
        size=Fraction(2**20),
        alpha=Fraction(1, 10**5),
        bandwidth=Fraction(10**11),
        links=table,
    )
    return network_of(topology, times, **more)


@pytest.mark.parametrize("seed", range(12))
def test_the_default_is_no_worse_than_chance(seed: int) -> None:
    topology, table = uneven(6, seed)
    for name in ("allgather", "broadcast", "all-to-all"):
        collective = as_collective(name)
        plan = checked(schedule(topology, name, method="tacos", link_table=table, root=rooted(collective)))
        there = network(topology, table)
        here = collective.at(rooted(collective))
        chunks = chunks_of(there, here, 1)
        send = forward_chunks if name == "all-to-all" else copy_chunks
        blind = send(there, chunks, 0, blind=True)
        if name == "broadcast":
            continue  # of another size
        assert plan.claim["time"] <= make_timed(there, here, 1, Fraction(2**20), blind).time


@pytest.mark.parametrize("collective", ["allgather", "allreduce", "all-to-all"])
def test_workers_change_nothing(collective: str) -> None:
    topology, table = uneven(6, 5)
    plans = [
        schedule(topology, collective, method="tacos", link_table=table, tries=9, seed=3, jobs=jobs) for jobs in (1, 4)
    ]
    assert plans[0] == plans[1]


def test_the_first_of_the_best_is_taken_and_none_after_one_that_is_enough() -> None:
    results = [5, 3, 4, 3, 1, 0]
    asked: list[int] = []

    def make(number: int) -> int:
        asked.append(number)
        return results[number]

    assert best_of(make, int, 4) == (3, 1, 4)
    assert asked == [0, 1, 2, 3]
    for jobs in (1, 3):
        assert best_of(make, int, 6, enough=1, jobs=jobs) == (1, 4, 5)
    assert best_of(make, int, 6, time_limit=Fraction(1, 10**30))[2] == 1
    shares: list[float] = []
    best_of(make, int, 2, progress=shares.append)
    assert shares == [0.5, 1]


@pytest.mark.parametrize("seed", range(20))
def test_a_send_before_its_data_are_there_is_found(seed: int) -> None:
    """Where links differ, what a send rests on arrives in the middle of others; one tick before that is too early."""
    topology, table = uneven(5, seed)
    plan = schedule(topology, "allgather", method="tacos", link_table=table)
    timed = plan.movement
    assert isinstance(timed, Flow)
    broken = 0
    for row in np.flatnonzero(timed.block != timed.src).tolist():
        brought = timed.end[(timed.dst == timed.src[row]) & (timed.block == timed.block[row])].min()
        early = timed.start.copy(), timed.end.copy()
        for column in early:
            column[row] -= timed.start[row] - brought + 1
        if early[0][row] < 0:
            continue
        report = verify(Plan(topology, timed.having(start=early[0], end=early[1])))
        assert not report.ok
        assert any("does not have all of them" in problem for problem in report.problems)
        broken += 1
    assert broken


def test_slow_links_are_not_used_for_what_comes_sooner_over_others() -> None:
    """A send over the slow link between two triangles, one way and the other, of each chunk at most once."""
    pairs = [(u, v) for side in (0, 3) for u in range(3) for v in range(3) if u != v]
    links = [(u + side, v + side) for side in (0, 3) for u, v in pairs[:6]] + [(0, 3), (3, 0)]
    topology = Topology.from_links(6, [(u, v, 1) for u, v in links])
    times = network(topology)
    slow = times.takes.copy()
    slow[topology.link_index(np.array([0, 3]), np.array([3, 0]))] *= 10
    there = times.replace(latency=slow * 0, per_unit=slow, takes=slow, busy=slow)
    chunks = chunks_of(there, as_collective("allgather"), 1)
    sends = copy_chunks(there, chunks, 0)
    assert sends.time == bound_of(there, chunks) + int(times.takes[0])  # three over the slow one, and one more hop


def test_the_bound_holds_for_whatever_is_found() -> None:
    for seed in range(30):
        topology, table = uneven(5, seed)
        there = network(topology, table, overlap=bool(seed % 2))
        for name in ("allgather", "broadcast", "scatter", "gather", "all-to-all"):
            collective = as_collective(name)
            chunks = chunks_of(there, collective.at(rooted(collective)), 1 + seed % 3)
            send = copy_chunks if name in {"allgather", "broadcast"} else forward_chunks
            assert min(send(there, chunks, one).time for one in range(4)) >= bound_of(there, chunks)


def test_who_cannot_be_reached_is_said() -> None:
    path = Topology.from_links(3, [(0, 1, 1), (1, 2, 1), (2, 1, 1)])
    for name in ("allgather", "all-to-all"):
        with pytest.raises(InfeasibleError, match=r"there is no way|cannot reach"):
            schedule(path, name, method="tacos")


def test_distances() -> None:
    there = network(build("torus(4,4)"))
    left = distances_to(there, np.array([0]))
    assert left.tolist()[0][5] == 2 * int(there.takes[0])
    since = np.full((1, 16), 2**62, dtype=np.int64)
    since[0, 0] = 7
    reach(there.web, queue_for(16, 100), since, False)
    assert (since - 7).tolist() == left.tolist()


@pytest.mark.once
@pytest.mark.parametrize("name", list(COLLECTIVES))
@pytest.mark.parametrize("place", ["dgx_a100(1)", "dgx_a100(2)", "mi250(2)"])
def test_switches_pass_on_one_chunk_at_a_time(place: str, name: str) -> None:
    options: dict[str, Any] = {"method": "tacos", "root": rooted(as_collective(name)), "tries": 2}
    plan = checked(schedule(place, name, **options))
    assert plan.spec == place
    assert simulate(plan, jitter="1us").time >= simulate(plan).time
    if place == "dgx_a100(1)" and name != "allreduce":
        assert replay_rounds(list_rank_rounds(plan)).ok


@pytest.mark.parametrize("place", ["dgx_a100(1)", "torus(3,3)"])
@pytest.mark.parametrize("name", ["allgather", "allreduce", "all-to-all"])
def test_programs_are_made_of_what_is_made(place: str, name: str, tmp_path: Path) -> None:
    """The order of the sends of a link is that of a threadblock; the checker runs the program."""
    plan = schedule(place, name, method="tacos", root=rooted(as_collective(name)))
    path = tmp_path / "p.xml"
    compile_plan(plan).save(path)
    assert check_file(path).ok


@pytest.mark.parametrize("degree", ["1", "3", "all", "ring"])
def test_switches_are_unwound(degree: str) -> None:
    plan = checked(schedule("dgx_a100(2)", method="tacos", unwind=degree, ready="box0/gpu1=3us"))
    assert not plan.topology.switches
    assert plan.spec is None


def test_a_switch_that_does_what_it_cannot_is_found() -> None:
    plan = schedule("dgx_a100(1)", "allgather", method="tacos")
    timed = plan.flow.over_links()
    out = np.flatnonzero(np.isin(timed.src, list(plan.topology.switches)))
    for rows, words in (
        (np.delete(np.arange(len(timed)), out[0]), "passes on what it gets, once"),
        (np.append(np.arange(len(timed)), out[-1]), "busy with|once"),
    ):
        report = verify(Plan(plan.place, join_links(timed.some(rows))))
        assert not report.ok
        assert any(re.search(words, problem) for problem in report.problems)
    early = timed.start.copy()
    early[out[0]] -= 1
    report = verify(Plan(plan.place, join_links(timed.having(start=early))))
    assert any("before it is there" in one for one in report.problems)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unwind": "most"}, "number of links, all, or ring"),
        ({"unwind": "1", "link_table": "none.csv"}, "unwound switches"),
        ({"unwind": "0"}, "at least 1"),
        ({"place": "torus(3,3)", "unwind": "1"}, "is for fabrics with switches"),
    ],
)
def test_what_cannot_be_unwound(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        schedule(**{"place": "dgx_a100(1)", "method": "tacos", **options})


def test_failed_links_are_left_out() -> None:
    plan = checked(schedule("torus(4,4)", "allgather", method="tacos", without=["0-1", "5"]))
    assert len(plan.fabric.names) == 15
    assert len(checked(schedule("torus(4,4)", method="tacos", only="0,1,2,3")).fabric.names) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(10))
def test_five_hundred_uneven_networks(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        topology, table = uneven(2 + seed % 11, seed)
        for collective in COLLECTIVES.values():
            checked(
                schedule(
                    topology,
                    collective,
                    method="tacos",
                    root=rooted(collective),
                    link_table=table,
                    overlap=bool(seed % 2),
                    chunks=1 + seed % 3,
                    tries=4,
                )
            )


def six(number: int) -> tuple[Topology, LinkTable, str]:
    """Six nodes with links of five latencies and four bandwidths, and a collective: one after the other."""
    rng = random.Random(1000 + number)  # noqa: S311  not for cryptography
    ring = rng.sample(range(6), 6)
    links = {(u, v) for u, v in zip(ring, ring[1:] + ring[:1], strict=True)}
    others = [(u, v) for u in range(6) for v in range(6) if u != v and (u, v) not in links]
    links |= set(rng.sample(others, rng.randint(0, len(others) if number % 2 else 6)))
    alpha = {pair: Fraction(rng.choice([1, 2, 5, 10, 17]), 10**6) for pair in sorted(links)}
    bandwidth = {pair: Fraction(rng.choice([25, 50, 100, 400]) * 10**9) for pair in sorted(links)}
    names = [name for name in COLLECTIVES if name != "allreduce"]
    return Topology.from_links(6, sorted(links)), LinkTable(alpha, bandwidth), names[number % 7]


def over_exact(number: int) -> float:
    """How many times as long the greedy plan takes as the best one, which is proven to be that."""
    topology, table, name = six(number)
    options: dict[str, Any] = {"root": rooted(as_collective(name)), "link_table": table, "overlap": number % 3 == 0}
    best = schedule(topology, name, method="exact", **options)
    plan = checked(schedule(topology, name, method="tacos", **options))
    assert plan.claim["time"] >= best.claim["time"]
    return float(plan.claim["time"] / best.claim["time"])


def test_small_networks_have_nearly_the_best_plans() -> None:
    found = [over_exact(number) for number in range(7)]
    assert max(found) <= 1.25
    assert sum(found) <= 1.05 * len(found)


@pytest.mark.thorough
def test_two_hundred_small_networks_have_nearly_the_best_plans() -> None:
    found = [over_exact(number) for number in range(200)]
    assert max(found) <= 1.25
    assert sum(found) <= 1.05 * len(found)


def test_repair_makes_nothing_worse() -> None:
    for seed in range(12):
        topology, table = uneven(5, seed)
        there = network(topology, table, overlap=bool(seed % 2))
        for name in ("allgather", "broadcast", "scatter", "all-to-all"):
            collective = as_collective(name)
            chunks = chunks_of(there, collective.at(rooted(collective)), 2)
            send = copy_chunks if name in {"allgather", "broadcast"} else forward_chunks
            first = send(there, chunks, seed)
            least = bound_of(there, chunks)
            after = repair_sends(there, chunks, first, seed, enough=least, schedules=100)
            assert least <= after.time <= first.time


@pytest.mark.dear("all-to-all")
@pytest.mark.parametrize("collective", list(COLLECTIVES))
def test_chunks_next_to_one_another_are_one_send(collective: str) -> None:
    """That is right, never slower, and mostly far quicker than many chunks one by one."""
    root = rooted(as_collective(collective))
    for place in ("torus(3,3)", "biring(2,8)"):
        plan = checked(schedule(place, collective, method="tacos", chunks=8, root=root, tries=2))
        assert Fraction(plan.generator["unmerged"]) >= plan.claim["time"]
        if collective == "allgather":
            assert 10 * plan.claim["time"] < 8 * Fraction(plan.generator["unmerged"])
    for seed in few(range(6)):
        topology, table = uneven(5, seed)
        options: dict[str, Any] = {"link_table": table, "overlap": bool(seed % 2), "chunks": 2 + seed, "root": root}
        checked(schedule(topology, collective, method="tacos", tries=2, **options))


def test_merging_keeps_what_waits_for_what() -> None:
    plan = schedule("torus(4,4)", "allreduce", method="tacos", chunks=4, tick="1us")  # nothing is merged in steps
    timed = plan.movement
    assert isinstance(timed, Flow)
    assert set(timed.hi - timed.lo) == {1}
    fewer = merge_sends(plan.topology, timed, np.zeros(len(plan.topology.src), dtype=np.int64))
    assert fewer.time <= timed.time
    assert verify(Plan(plan.topology, fewer)).ok


@pytest.mark.dear("broadcast")
@pytest.mark.parametrize(
    "collective", ["allgather", "broadcast", pytest.param("all-to-all", marks=pytest.mark.thorough)]
)
def test_the_fastest_number_of_chunks(collective: str) -> None:
    options: dict[str, Any] = {"method": "tacos", "root": rooted(as_collective(collective)), "size": "8MiB", "tries": 1}
    plan = checked(schedule("biring(2,6)", collective, chunks="auto", **options))
    others = [schedule("biring(2,6)", collective, chunks=2**at, **options).claim["time"] for at in range(6)]
    assert plan.claim["time"] <= min(others)
    assert f"{plan.generator['chunks']} chunk" in plan.notes[-1]
    with pytest.raises(ParameterError, match="--set chunks=auto is for sends"):
        schedule("biring(2,6)", "allgather", chunks="auto")


def primes() -> tuple[Topology, LinkTable]:
    """Links whose bandwidths have no common multiple that 64 bits can hold."""
    topology = build("torus(4,4)")
    pairs = [(u, v) for u, v, _ in topology.links()]
    rates = (97, 101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173)
    rate = {pair: Fraction(rates[at % 16] * 10**9 + 7) for at, pair in enumerate(pairs)}
    return topology, LinkTable(dict.fromkeys(pairs, Fraction(1, 10**6)), rate)


@pytest.mark.parametrize("collective", ["allgather", "allreduce"])
def test_bandwidths_without_a_common_multiple(collective: str) -> None:
    """They are rejected, or rounded up as much as specified, so that the plan is right for the links as they are."""
    topology, table = primes()
    with pytest.raises(TooLargeError, match="tick=1us"):
        schedule(topology, collective, method="tacos", link_table=table)
    plan = checked(schedule(topology, collective, method="tacos", link_table=table, tick="1us", tries=2))
    assert any(f"up to {1000 / 1024:.4g}ns more" in note for note in plan.notes)  # a 1024th of a tick
    timed = plan.movement
    assert isinstance(timed, Flow)
    for (u, v, _), latency, unit in zip(topology.links(), timed.timing.latency, timed.timing.per_unit, strict=True):
        own = 8 * Fraction(2**20) / 16 / table.bandwidth[u, v]
        assert 0 <= int(unit) * timed.timing.tick - own < Fraction(1, 1024 * 10**6)
        assert int(latency) * timed.timing.tick >= table.alpha[u, v]


def test_times_that_64_bits_do_not_count_are_refused() -> None:
    topology, _ = uneven(6, 1)
    there = network(topology)
    long = np.full_like(there.takes, 2**60)
    slow = there.replace(latency=long * 0, per_unit=long, takes=long, busy=long)
    for name, send in (("allgather", copy_chunks), ("all-to-all", forward_chunks)):
        with pytest.raises(TooLargeError, match="rounder numbers"):
            send(slow, chunks_of(slow, as_collective(name), 1), 0)


@pytest.mark.once
@pytest.mark.parametrize("name", list(COLLECTIVES))
@pytest.mark.parametrize("place", ["torus(4,4)", "dgx_a100(2)"])
def test_several_groups_at_once(place: str, name: str) -> None:
    """Tenants that begin at different times share links, and each has its own data alone."""
    collective = as_collective(name)
    plan = schedule(
        place,
        name,
        method="tacos",
        group="8x2:0",
        root="first" if collective.rooted else None,
        ready=None if place == "dgx_a100(2)" else "0=10us,1=10us",
        tries=2,
    )
    checked(plan)
    assert plan.collective.groups is not None


def test_groups_that_cannot_be() -> None:
    with pytest.raises(InfeasibleError, match="there is no way for the data of node 0"):
        schedule("torus(4,4)", "allgather", method="tacos", group=["0,1", "2,3"], without="0-1")
    with pytest.raises(ParameterError, match="different sizes"):
        schedule("torus(4,4)", "allgather", method="tacos", group=["0,1", "4,5,6"])


@pytest.mark.parametrize("chunks", [1, 2])
@pytest.mark.parametrize("collective", ["reduce", "reduce-scatter", "allreduce", "broadcast", "allgather"])
@pytest.mark.parametrize("slow", [1, 2])
def test_no_part_of_a_block_overtakes_another_in_a_switch(collective: str, chunks: int, slow: int) -> None:
    """Ports of unequal speed at one switch, where the sends found first could not be distinguished."""
    rates = [2 if node < slow else 8 for node in range(4)]
    links = [
        FabricLink(*ends, Fraction(10**9 * one, 8), "")
        for node, one in enumerate(rates)
        for ends in ((f"n{node}", "s"), ("s", f"n{node}"))
    ]
    star = Fabric.from_links("star", [f"n{node}" for node in range(4)], ["s"], links)
    root = "n1" if collective in {"reduce", "broadcast"} else None
    plan = schedule(star, collective, root=root, method="tacos", alpha="1us", size="8kB", chunks=chunks)
    report = verify(plan)
    assert report.ok, report


@pytest.mark.dear("2")
@pytest.mark.parametrize("chunks", [1, 2, *(pytest.param(many, marks=pytest.mark.thorough) for many in (8, 64))])
def test_an_allreduce_is_faster_than_rings_at_every_number_of_chunks(chunks: int) -> None:
    """Figure 21 on a smaller mesh: by a sixth, where edges keep rings and halves one behind the other waiting."""
    place, size = mesh(6, 6), Fraction(128000 * 36 * chunks)
    times: dict[str, Any] = {"alpha": "500ns", "bandwidth": "3200Gbps", "size": size}
    found = checked(schedule(place, "allreduce", method="tacos", chunks=chunks, **times))
    ring = schedule(place, "allreduce", method="ring")
    for mode in ("asynchronous", "lock-step"):
        assert 6 * found.claim["time"] <= 5 * simulate(ring, mode=mode, **times).time
    assert Fraction(found.generator["unmerged"]) > found.claim["time"]


@pytest.mark.parametrize("overlap", [False, True])
def test_sums_go_along_trees_on_any_links(overlap: bool) -> None:
    """They are right, in one direction too, and no link is used before it opens."""
    for seed in range(8):
        topology, table = uneven(5, seed)
        times = link_times(topology, ALLREDUCE, 2, size=Fraction(10**6), alpha=MICRO, bandwidth=8 * MANY, links=table)
        there = network_of(topology, times, overlap=overlap)
        opens = np.full(len(topology.src), 1000 * seed, dtype=np.int64)
        (timed,) = along_trees(there.replace(opens=opens), 2, Fraction(10**6), seed=seed, tries=3, enough=0)
        report = verify(Plan(topology, timed))
        assert report.ok, report.problems
        assert timed.start.min() >= 1000 * seed
        assert int(timed.end.max()) >= bound_of_sums(there, 10)
    apart = network(Topology.from_links(3, [(0, 1, 1), (1, 0, 1), (0, 2, 1)]))
    assert along_trees(apart, 1, Fraction(3), seed=0, tries=1, enough=0) == []


@pytest.mark.parametrize(
    ("sets", "least"), [((0, 1, 2, 3), 6), ((0, 0, 1, 2), 4), ((0, 0, 1, 1), 2), ((0, 0, 0, 1), 2)]
)
def test_sets_need_twice_as_many_sends_as_others(sets: tuple[int, ...], least: int) -> None:
    """All states that four nodes can be in, each with what it knows, by the sends between sets that lead there."""
    start = tuple(1 << node for node in range(4))
    known, queue = {start: 0}, deque([start])
    while queue:
        now = queue.popleft()
        for u, v in itertools.permutations(range(4), 2):
            then = (*now[:v], now[v] | now[u], *now[v + 1 :])
            price = known[now] + (sets[u] != sets[v])
            if price < known.get(then, 99):
                known[then] = price
                (queue.append if sets[u] != sets[v] else queue.appendleft)(then)
    assert known[15, 15, 15, 15] == 2 * (len(set(sets)) - 1)


def test_the_bound_of_sums_is_reached_on_rings_and_tori() -> None:
    for place in ("uniring(1,5)", "torus(4,4)", "hypercube(3)"):
        there = network(build(place))
        least = Fraction(bound_of_sums(there, there.topology.nodes), int(there.takes[0]))
        assert least <= steps(place, "allreduce") <= least + 1


@pytest.mark.parametrize("spec", ["ring(6)", "biring(2,8)"])
def test_sends_of_twelve_chunks_are_no_slower_than_rings(spec: str) -> None:
    ring = schedule(spec, "allgather", method="ring")
    found = schedule(spec, "allgather", method="tacos", chunks=12, size="16MiB", tries=4)
    assert found.claim["time"] <= simulate(ring, size="16MiB").time
