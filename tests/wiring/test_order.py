"""Orders of repairs, against all permutations with throughputs found apart."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.samples.wirings import wired
from topodesign import build
from topodesign.base.errors import ParameterError
from topodesign.cli.main import run
from topodesign.cli.wire.repairs import command
from topodesign.wiring.change.strength import strength
from topodesign.wiring.failures.impact import Failure, FailureKind, kills, state_of
from topodesign.wiring.failures.order import MOST, MOST_PROVEN, repair_order
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.plan import WiringPlan

TIMES: dict[FailureKind, str | int] = {"host": "4h", "cable": "30min", "port": 3600, "panel port": "1h"}


def together(plan: WiringPlan, broken: Sequence[Failure]) -> Fraction:
    """What the hosts that have links put in per second, by the strength of what no failure kills."""
    left = [
        connect
        for connect in plan.connects
        if not any(
            one.name == connect.cable if one.kind == "cable" else kills(one, connect.a) or kills(one, connect.b)
            for one in broken
        )
    ]
    state = state_of(plan, left)
    if state.topology is None:
        return Fraction(0)
    return len(state.hosts) * (strength(state.topology, plan.speed).allreduce or Fraction(0))


def mean(plan: WiringPlan, order: Sequence[Failure], times: Sequence[Fraction]) -> Fraction:
    area = sum((together(plan, order[place:]) * time for place, time in enumerate(times)), Fraction(0))
    return area / sum(times, Fraction(0))


def seconds(one: Failure) -> Fraction:
    return Fraction({"host": 14400, "cable": 1800, "port": 3600, "panel port": 3600}[one.kind])


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    ("spec", "mode", "names"),
    [
        ("circulant(6,1,2)", "duplex", {"hosts": ["h2"], "cables": ["C1", "C5", "C8"], "ports": ["h4:p0"]}),
        ("genkautz(2,7)", "simplex", {"cables": ["C1", "C2", "C3"], "hosts": ["h5"]}),
        ("uniring(1,5)", "simplex", {"cables": ["C1", "C3"], "ports": ["panel0:4"]}),
        ("biring(2,5)", "duplex", {"cables": ["C1", "C2", "C3", "C4"]}),
    ],
)
def test_no_permutation_is_better(spec: str, mode: Mode, names: dict[str, Any], timed: bool) -> None:
    topology = build(spec)
    plan = wired(topology, topology.degree, mode=mode)
    found = repair_order(plan, **names, takes=TIMES if timed else None)
    broken = [step.failure for step in found.steps]
    assert found.best is not None
    means = {}
    for order in itertools.permutations(broken):
        means[order] = mean(plan, order, [seconds(one) if timed else Fraction(1) for one in order])
    assert found.best.mean == max(means.values()) == means[tuple(broken)]
    assert found.worst == min(means.values())
    assert found.greedy.mean == means[tuple(step.failure for step in found.greedy.steps)]
    assert found.now.together == together(plan, broken)
    for place, step in enumerate(found.steps, 1):
        assert step.after.together == together(plan, broken[place:])
    if found.best.mean == found.greedy.mean:
        assert found.best == found.greedy
    done: list[Failure] = []  # the greedy order gains most per time at every step
    for step in found.greedy.steps:
        left = [one for one in broken if one not in done]

        def gain(one: Failure, left: Sequence[Failure] = left) -> Fraction:
            more = together(plan, [other for other in left if other != one]) - together(plan, left)
            return more / (seconds(one) if timed else 1)

        assert gain(step.failure) == max(map(gain, left))
        done.append(step.failure)


def test_greedy_may_miss_what_repairs_gain_together() -> None:
    """Cables that gain nothing alone may go before the host that gains at once."""
    plan = wired(build("circulant(12,2,3)"), 4, mode="duplex")
    found = repair_order(plan, hosts=["h2"], cables=["C5", "C6", "C8"])
    assert found.best is not None
    assert found.best.mean > found.greedy.mean
    assert "greedy" in found.table().columns


def test_orders_of_many_repairs_are_not_said_to_be_best() -> None:
    many = repair_order(wired(build("circulant(12,2,3)"), 4), cables=[f"C{n}" for n in range(1, MOST_PROVEN + 2)])
    assert many.best is None
    assert many.worst is None
    assert many.order == many.greedy
    assert "not proven" in str(many)


def test_what_cannot_be_put_in_order_is_refused() -> None:
    plan = wired(build("circulant(12,2,3)"), 4)
    with pytest.raises(ParameterError, match="0 things are broken; name from 1 to 32"):
        repair_order(plan)
    with pytest.raises(ParameterError, match=f"{MOST + 1} things are broken"):
        repair_order(plan, [Failure("cable", "", f"C{number}") for number in range(MOST + 1)])
    with pytest.raises(ParameterError, match="cable C1 is broken twice"):
        repair_order(plan, [Failure("cable", "", "C1")], cables="C1")
    with pytest.raises(ParameterError, match="the plan has no host h99"):
        repair_order(plan, hosts=["h99"])
    short: list[dict[FailureKind, int]] = [{"cable": 5}, {"host": 0}]
    for takes in short:
        with pytest.raises(ParameterError, match="how long the repair of a host takes"):
            repair_order(plan, hosts=["h1"], takes=takes)
    with pytest.raises(ParameterError, match="give Failure objects"):
        repair_order(plan, ["C1"])  # type: ignore[list-item]


def test_the_command_prints_the_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "plan.json")
    plan = wired(build("circulant(6,1,2)"), 4, mode="duplex")
    save_wiring(plan, path)
    words = [path, "--host", "h2", "--cable", "C1", "--port", "panel0:20"]
    said = CliRunner().invoke(command, [*words, "--takes", "host=4h", "--takes", "cable=30min", "--takes",
                                        "panel-port=1h", "--json"], catch_exceptions=False)  # fmt: skip
    found = repair_order(plan, hosts="h2", cables="C1", ports="panel0:20", takes=TIMES)
    assert json.loads(said.stdout) == json.loads(json.dumps(found.record()))
    assert [step["takes_s"] for step in found.record()["best"]["steps"]].count(14400.0) == 1
    assert run(["wire", "repairs", path, "--cable", "C1", "--takes", "cable"]) == 2
    assert "such as cable=30min" in capsys.readouterr().err
    assert run(["wire", "repairs", *words]) == 0
    out = capsys.readouterr().out
    assert "proven: no order has more bandwidth" in out
    assert all(len(line) <= 80 for line in out.splitlines())
