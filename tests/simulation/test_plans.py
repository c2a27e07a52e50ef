"""One simulator for all plans: times are those of its kind of movement, and arguments may be text."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.plans.test_files import PLANS, rounds_plan, trees_plan
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError
from topodesign.expand.library import build
from topodesign.plans.measure import cost_claim, cost_of
from topodesign.plans.plan import Plan
from topodesign.schedulers.spff import spff
from topodesign.simulation.plans import simulate, training_step
from topodesign.simulation.workload import Layer


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
        ({"mode": "slow"}, "unknown mode"),
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
