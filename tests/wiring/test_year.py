"""The mean over a year against all sets of pieces summed up, and against a simulation of failures and orders."""

from __future__ import annotations

import heapq
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from topodesign.base.errors import ParameterError
from topodesign.topology.library import build
from topodesign.wiring.change.patches import wired_topology
from topodesign.wiring.change.strength import strength
from topodesign.wiring.failures.impact import linked_part
from topodesign.wiring.failures.year import down_chances, expected_year
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.wire import wire

HOUR = 3600


def together(plan: WiringPlan, lost: frozenset[str]) -> float:
    """Return what all hosts do without some patches, by what tells the strength of a stage."""
    part, nodes = linked_part(wired_topology(plan.hosts, [one for one in plan.connects if one.cable not in lost]))
    rate = None if part is None else strength(part, plan.speed).allreduce
    return 0.0 if rate is None else len(nodes) * float(rate)


def poisson(mean: float, count: int) -> float:
    return math.exp(-mean) * mean**count / math.factorial(count)


@pytest.mark.parametrize("spares", [0, 1, 2, 5])
@pytest.mark.parametrize(("rate", "swap", "lead"), [(Fraction(1, 1000), 50, 900), (Fraction(1, 10), 10, 60)])
def test_chances_are_those_of_two_poisson_numbers(rate: Fraction, swap: int, lead: int, spares: int) -> None:
    found = down_chances(rate, Fraction(swap), Fraction(lead), spares)
    a, b = float(rate * swap), float(rate * lead)
    for number, chance in enumerate(found[:12]):
        exact = sum(
            poisson(a, number - wait)
            * (poisson(b, spares + wait) if wait else sum(poisson(b, n) for n in range(spares + 1)))
            for wait in range(number + 1)
        )
        assert float(chance) == pytest.approx(exact, rel=1e-9)
    assert 1 - Fraction(1, 10**9) < sum(found) < 1


@pytest.mark.parametrize("spares", [0, 1])
def test_the_mean_is_between_the_bounds_with_all_sets_summed_up(spares: int) -> None:
    plan = wire("circulant(5,1,2)", plain_inventory(5, 4))
    cables = [one.cable for one in plan.connects]
    rate, swap, lead = 3 / HOUR / 1000, 10 * HOUR, 40 * HOUR
    fit = Fraction(3 * 10**9, 1000 * len(cables))
    found = expected_year(plan, {"cable": fit}, spares={"cable": spares}, swap=swap, lead=lead)
    a, b = rate * swap, rate * lead
    chance = [
        sum(
            poisson(a, n - w) * (poisson(b, spares + w) if w else sum(poisson(b, i) for i in range(spares + 1)))
            for w in range(n + 1)
        )
        for n in range(4)
    ]
    mean = 0.0
    for count, each in enumerate(chance):
        draws = list(itertools.product(cables, repeat=count))
        mean += each * sum(together(plan, frozenset(draw)) for draw in draws) / len(draws)
    missing = (1 - sum(chance)) * together(plan, frozenset())
    assert float(found.expected.low) <= (mean + missing) * (1 + 1e-9)
    assert float(found.expected.high) >= mean * (1 - 1e-9)
    assert found.expected.high - found.expected.low < found.intact.together / 500


def test_a_simulation_of_failures_and_orders_agrees() -> None:
    plan = wire("circulant(6,1,2)", plain_inventory(6, 4))
    cables = [one.cable for one in plan.connects]
    swap, lead, spares = 2.0, 30.0, 1
    rate = 1 / 60.0  # of all, an hour
    found = expected_year(
        plan,
        {"cable": Fraction(10**9, 60 * len(cables))},
        spares={"cable": spares},
        swap=int(swap * HOUR),
        lead=int(lead * HOUR),
    )
    rng = np.random.default_rng(1)
    known: dict[frozenset[str], float] = {}
    means = []
    for _ in range(20):
        time, area, warm, end = 0.0, 0.0, 500.0, 8500.0
        events: list[tuple[float, int, str, str]] = [(rng.exponential(1 / rate), 0, "fails", "")]
        stock, waiting, down, order = spares, list[str](), list[str](), 0
        while time < end:
            now, _, what, piece = heapq.heappop(events)
            dark = frozenset(down)
            if dark not in known:
                known[dark] = together(plan, dark)
            area += known[dark] * max(0.0, min(now, end) - max(time, warm))
            time = now
            order += 3
            if what == "fails":
                piece = cables[rng.integers(len(cables))]
                down.append(piece)
                waiting.append(piece)
                heapq.heappush(events, (now + rng.exponential(1 / rate), order, "fails", ""))
                heapq.heappush(events, (now + lead, order + 1, "comes", ""))
            elif what == "comes":
                stock += 1
            else:
                down.remove(piece)
            while stock and waiting:
                stock -= 1
                heapq.heappush(events, (now + swap, order + 2, "swapped", waiting.pop(0)))
                order += 3
        means.append(area / (end - warm))
    error = 4 * np.std(means) / math.sqrt(len(means))
    assert float(found.expected.low) - error <= np.mean(means) <= float(found.expected.high) + error
    assert float(found.expected.high - found.expected.low) < 0.06 * float(found.intact.together)
    assert found.expected_without.low < found.expected.low


def test_switches_hosts_and_what_is_refused() -> None:
    plan = wire(build("circulant(12,2,3)"), plain_inventory(12, 4))
    found = expected_year(plan, {"host": 1000, "port": 100, "cable": 10}, spares={"port": 3})
    assert found.expected_without.low <= found.expected.low <= found.expected.high <= found.intact.together
    with pytest.raises(ParameterError, match="no switch of the plan carries links"):
        expected_year(plan, {"switch": 1000})
    with pytest.raises(ParameterError, match="which is not said to fail"):
        expected_year(plan, {"port": 1000}, spares={"host": 1})
    with pytest.raises(ParameterError, match="above 0"):
        expected_year(plan, {"port": 0})
    with pytest.raises(ParameterError, match="would be down at a time"):
        expected_year(plan, {"port": 10**7}, lead="10000h")
