"""One simulator for all plans: times are those of its kind of movement, and arguments may be text."""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from tests.plans.test_files import PLANS, rounds_plan, trees_plan
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError
from topodesign.base.latency import GAP
from topodesign.fabrics.fabric import Fabric, FabricLink
from topodesign.plans.flow import Flow
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.plans.time.simulate import simulate, training_step
from topodesign.plans.time.workload import Layer
from topodesign.schedulers.scheduling import schedule
from topodesign.schedulers.spff import spff
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable


@pytest.mark.parametrize("kind", PLANS)
def test_results_say_the_time(kind: str) -> None:
    result = simulate(PLANS[kind](), size="1MiB", alpha="10us")
    again = simulate(PLANS[kind](), size=2**20, alpha=1e-5)
    assert result.time == again.time > 0
    assert result.completes
    document = result.record()
    assert Fraction(document["time"]) == result.time
    assert document["text"] == str(result)
    assert result.to_records()[0]["time_s"] == result.time


def test_rounds_take_what_the_cost_model_says() -> None:
    topology = build("circulant(12,2,3)")
    schedule = spff(topology)
    cost = cost_of(topology, schedule)
    plan = Plan(topology, schedule, cost_claim(cost))
    for size, bandwidth in ((2**20, "100Gbps"), ("3GB", 5e10)):
        time = simulate(plan, size=size, bandwidth=bandwidth).time
        wanted = cost.runtime(Fraction(1, 10**5), Fraction(2**20 if size == 2**20 else 3 * 10**9),
                              Fraction(10**11 if bandwidth == "100Gbps" else 5 * 10**10))  # fmt: skip
        assert time == wanted


def test_failed_links_by_number_and_by_name() -> None:
    plan = trees_plan("allgather")
    by_name = simulate(plan, without=["box0/gpu0-box0/nvswitch"])
    names = plan.fabric.names
    numbers = names.index("box0/gpu0"), names.index("box0/nvswitch")
    both = simulate(plan, failed=[numbers, numbers[::-1]])
    assert by_name.record() == both.record()
    assert not both.completes
    text = simulate(plan, failed=["box0/gpu0,box0/nvswitch"])
    assert text.record()["down"] == [{"from": "box0/gpu0", "to": "box0/nvswitch"}]
    rounds = rounds_plan()
    u, v, _ = next(link for link in rounds.topology.links() if link[0] != link[1])
    assert simulate(rounds, failed=[f"{u},{v}"]).run.loss is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"failed": ["0"]}, "U,V with node numbers"),
        ({"failed": ["a,b"]}, "U,V with node numbers"),
        ({"failed": [(0, 0)]}, "no link 0->0"),
        ({"without": ["0-99"]}, "99"),
        ({"chunks": 3}, "chunks are of trees"),
        ({"size": -1}, "size"),
        ({"mode": "slow"}, "mode .slow. is not known"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises((ParameterError, ValueError), match=words):
        simulate(rounds_plan(), **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="bandwidths of its own"):
        simulate(trees_plan(), bandwidth="1Gbps")


def test_a_training_step_of_a_plan() -> None:
    topology = build("complete(4)")
    plan = Plan(topology, spff(topology))
    layers = [Layer("all", Fraction(4 * 10**6), Fraction(1, 1000))]
    step = training_step(plan, layers, alpha="1us", bandwidth="8Gbps")
    assert step.allreduce == 2 * Cost(1, Fraction(3, 4)).runtime(
        Fraction(1, 10**6), Fraction(4 * 10**6), Fraction(8 * 10**9)
    )
    with pytest.raises(ParameterError, match="plan of rounds"):
        training_step(trees_plan(), layers)


def ring_of_two_kinds(seed: int = 1) -> Fabric:
    """Six nodes on a ring both ways with chords; every link has one of two classes, bandwidths and latencies."""
    rng = random.Random(seed)  # noqa: S311
    links = []
    for u, v in [*((at, (at + 1) % 6) for at in range(6)), (0, 3), (1, 4), (2, 5)]:
        kind, rate = rng.choice((("near", 3), ("far", 1)))
        links += [FabricLink(f"n{a}", f"n{b}", Fraction(rate * 10**9), kind) for a, b in ((u, v), (v, u))]
    latency = {"near": Fraction(3, 10**7), "far": Fraction(7, 3 * 10**6)}
    kinds = {link.kind for link in links}
    names = [f"n{at}" for at in range(6)]
    return Fabric.from_links("two kinds", names, (), links, latency={k: latency[k] for k in sorted(kinds)})


@pytest.mark.parametrize("seed", range(4))
def test_rounds_with_latencies_of_links_wait_for_their_last_send(seed: int) -> None:
    """Every step takes as long as its slowest link: its latency and the bits that it has to carry."""
    fabric = ring_of_two_kinds(seed)
    rounds = spff(fabric.topology)
    size, latency = 2**16, fabric.link_latencies()
    bits = 8 * Fraction(size, rounds.nodes * rounds.units)
    rates = {(link.src, link.dst): 8 * link.bandwidth for link in fabric.links()}
    steps: dict[int, dict[int, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    rows = zip(*(getattr(rounds, name).tolist() for name in ("step", "src", "dst", "lo", "hi")), strict=True)
    for step, u, v, lo, hi in rows:
        rate = rates[fabric.names[u], fabric.names[v]]
        steps[step][int(fabric.topology.link_index(u, v))] += (hi - lo) * bits / rate
    wanted = sum(max(latency[link] + busy for link, busy in sent.items()) for sent in steps.values())
    plan = Plan(fabric, rounds)
    run = simulate(plan, size=size, alpha="fabric")
    assert run.time == wanted
    assert "the fabric's own latencies" in str(run)
    assert simulate(plan, size=size, alpha="fabric", mode="asynchronous").time <= wanted
    some = {fabric.topology.links()[0][:2]: Fraction(1)}  # a table says more of single links
    assert simulate(plan, size=size, alpha="fabric", links=LinkTable(some, {})).time > 1


@pytest.mark.parametrize("seed", range(4))
def test_timed_sends_are_timed_again_with_latencies_of_links(seed: int) -> None:
    """Sends in their order, each when its data are there and its link is free: a gap after what it has transmitted."""
    fabric = ring_of_two_kinds(seed)
    plan = schedule(fabric, "allgather", method="tacos", size=2**16, chunks=2)
    timed = plan.movement
    assert isinstance(timed, Flow)
    latency = fabric.link_latencies()
    free: dict[int, Fraction] = defaultdict(Fraction)
    there: dict[tuple[int, int, int], Fraction] = defaultdict(Fraction)
    for row in np.argsort(timed.start, kind="stable").tolist():
        u, v, block = (int(column[row]) for column in (timed.src, timed.dst, timed.block))
        link = int(fabric.topology.link_index(u, v))
        units = range(int(timed.lo[row]), int(timed.hi[row]))
        begin = max(free[link], *(there[u, block, unit] for unit in units))
        sent = begin + int(timed.timing.per_unit[link]) * timed.timing.tick * len(units)
        free[link] = sent + GAP
        there.update(dict.fromkeys(((v, block, unit) for unit in units), sent + latency[link]))
    run = simulate(plan, size=2**16, alpha="fabric")
    assert run.time == max(there.values())
    assert run.time < simulate(plan, size=2**16).time
    assert "the fabric's own latencies, the plan's own bandwidths" in str(run)


def test_a_send_through_a_switch_takes_the_latencies_of_both_links() -> None:
    ends = [("a", "s", "slow"), ("s", "a", "slow"), ("b", "s", "quick"), ("s", "b", "quick")]
    links = [FabricLink(u, v, Fraction(10**9), kind) for u, v, kind in ends]
    latency = {"slow": Fraction(5, 10**6), "quick": Fraction(1, 3 * 10**6)}
    fabric = Fabric.from_links("two", ["a", "b"], ["s"], links, latency=latency)
    for method, collective in (("tacos", "broadcast"), ("forest", "broadcast"), ("fluid", "scatter")):
        plan = schedule(fabric, collective, method=method, root="a", size=1000)
        sent = 1000 if collective == "broadcast" else 500
        assert simulate(plan, size=1000, alpha="fabric").time == sum(latency.values()) + Fraction(sent, 10**9), method
