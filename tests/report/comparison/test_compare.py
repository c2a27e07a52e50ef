"""Comparisons: times are those that schedules, simulation and prices say elsewhere, on equal bandwidth of a node."""

from __future__ import annotations

import importlib
import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import topodesign
from tests.conftest import few
from tests.samples.ranked import rank
from tests.schedulers.test_step import MODEL
from topodesign import compare, evaluate, pareto, save_plan, schedule, simulate, verify
from topodesign.base.cost import Cost
from topodesign.base.deadline import OutOfTime
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.base.shipped import copy_examples
from topodesign.base.units import Quantity, as_size
from topodesign.cli.main import run
from topodesign.fabrics.fabric import Fabric
from topodesign.pricing.mix import Mix, Share
from topodesign.report.comparison.compare import Comparison
from topodesign.report.comparison.contender import Contender, ContenderLike
from topodesign.report.comparison.steps import compare_steps
from topodesign.report.design.design import design
from topodesign.schedulers.step import price_step

compare_module = importlib.import_module("topodesign.report.comparison.compare")
NAMES = ["best", "ring", "tree", "torus", "hypercube", "jellyfish", "dragonfly", "fattree"]


@pytest.mark.dear
def test_every_plan_is_verified_and_nothing_beats_the_bound() -> None:
    found = compare(NAMES, nodes=16, degree=4, sizes=["1KiB", "1MiB", "1GiB"])
    assert [one.name for one in found.contenders] == NAMES
    bound = found.workload.fastest(found.bounds)
    for one in found.contenders:
        assert one.plan is not None
        assert verify(one.plan).ok
        if not one.plan.topology.switches:  # a step over switches may reach all at once
            assert all(time >= least for time, least in zip(one.times, bound, strict=True)), one.name
        assert one.bandwidth is not None
        assert one.bandwidth >= found.bounds[-1].bandwidth
        low, high = one.all_to_all.lower, one.all_to_all.upper
        assert low is not None
        assert high is None or low <= high
        narrow, wide = one.bisection.lower, one.bisection.upper
        assert narrow is None or wide is None or narrow <= wide
    plain = [one for one in found.contenders if one.plan is not None and not one.plan.topology.switches]
    assert min(plain, key=lambda one: one.times[1]).name == "best"


def test_times_are_those_of_other_functions() -> None:
    found = compare(["torus(4,4)", "best", "ring"], nodes=16, degree=4, sizes="3MB", alpha="7us", bandwidth="400Gbps")
    torus, best, ring = found.contenders
    quantities = {"sizes": "3MB", "alpha": "7us", "bandwidth": "400Gbps"}
    assert torus.times == evaluate("torus(4,4)", **quantities).allreduce  # type: ignore[attr-defined]
    assert best.times[0] <= pareto(16, 4, **quantities).best.allreduce[0]  # type: ignore[arg-type]
    plan = schedule("biring(4,16)", method="ring")
    assert ring.times[0] == simulate(plan, size="3MB", alpha="7us", bandwidth="400Gbps").time


@pytest.mark.dear
def test_the_cheaper_of_spff_and_deferred_schedules_is_compared_planned_or_priced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = "randomregular(30,3,1)"
    planned = compare([spec]).contenders[0]
    monkeypatch.setattr("topodesign.report.comparison.contender._MAX_PLANNED", 0)
    priced = compare([spec]).contenders[0]
    assert (planned.method, planned.proof) == ("deferred", "plan verified")
    assert (priced.method, priced.proof) == ("deferred", "links priced")
    assert planned.times == priced.times == evaluate(spec).allreduce
    assert planned.bandwidth == priced.bandwidth
    assert compare(["torus(4,4)"]).contenders[0].method == "spff"


@pytest.mark.parametrize("name", ["torus(4,4)", "tree", "ring"])
def test_ports_that_are_not_used_carry_nothing(name: str) -> None:
    degree = 8 if name == "torus(4,4)" else 6
    own = compare([name], nodes=16, degree=4).contenders[0]
    spare = compare([name], nodes=16, degree=degree, alpha="10us").contenders[0]
    used = 4 if name != "ring" else 6
    assert own.bandwidth is not None
    assert spare.bandwidth == own.bandwidth * Fraction(degree, used)
    assert (spare.times > own.times) == (degree > used)


def test_fabrics_have_the_bandwidths_of_the_machines() -> None:
    """And an everyday kind of fabric that of a node that is asked for."""
    rates = ("100Gbps", "400Gbps")
    some = [compare(["fat_tree(2,4,4)"], alpha=0, gap=0, hop=0, bandwidth=rate).contenders[0] for rate in rates]
    plan = schedule("fat_tree(2,4,4)", "allreduce")
    own = simulate(plan, size="1MiB", alpha=0, gap=0, hop=0, chunks=some[0].chunks[0]).time
    assert [one.times[0] for one in some] == [own, own]
    one, two = (
        compare(["fattree"], nodes=8, degree=4, alpha=0, gap=0, hop=0, bandwidth=rate).contenders[0] for rate in rates
    )
    assert isinstance(one.place, Fabric)
    assert one.times[0] == 4 * two.times[0]
    assert one.bandwidth == two.bandwidth


def test_fabrics_alone_are_compared_with_what_any_network_needs() -> None:
    found = compare(["fat_tree(2,4,4)", "dgx_a100(1)"])
    assert found.bounds == (Cost(1, Fraction(7, 8)),)
    assert all(one.times[0] >= one.workload.fastest(found.bounds)[0] for one in found.contenders)


def test_two_linked_devices_of_a_fabric_have_one_cable() -> None:
    number = compare(["dgx_a100(2)"]).contenders[0].counts
    assert (number.cables, number.ports, number.switches, number.switch_ports) == (32, 32, 4, 32)
    assert number.survives == 1  # a GPU has NVLink and InfiniBand


def test_plans_files_and_methods_are_contenders(tmp_path: Path) -> None:
    plan = schedule("torus(3,3)")
    save_plan(tmp_path / "a.npz", plan)
    found = compare([plan, str(tmp_path / "a.npz"), "torus(3,3)", "torus(3,3)@ring"])
    assert len({one.times for one in found.contenders[:3]}) == 1
    assert found.contenders[3].times > found.contenders[0].times
    assert found.contenders[3].method == "ring"


def test_prices_add_up() -> None:
    found = compare(
        ["torus(3,3)", "fat_tree(3,3,3)"], prices={"cable": 7, "switch": "1000", "switch-port": Fraction(1, 2)}
    )
    assert [one.cost for one in found.contenders] == [18 * 7, 18 * 7 + 6000 + Fraction(27, 2)]


def test_what_does_not_exist_is_told_and_what_is_wrong_refused() -> None:
    found = compare(["torus", "slimfly"], nodes=16, degree=4)
    assert [name for name, _ in found.missing] == ["slimfly"]
    assert "slimfly" in str(found)
    with pytest.raises(InfeasibleError):
        compare(["slimfly"], nodes=16, degree=4)
    wrong: list[tuple[list[str], dict[str, object]]] = [
        ([], {}), (["torus"], {}), (["torus(4,4)", "torus(3,3)"], {}), (["torus(4,4)"], {"degree": 3}),
        (["torus(4,4)@butterfly"], {}), (["nothing(3)"], {}), (["torus(4,4)"], {"prices": {"cabel": 1}}),
        (["torus(4,4)"], {"prices": {"cable": -1}}), (["torus(4,4)"], {"prices": {"cable": "x"}}),
    ]  # fmt: skip
    for contenders, options in wrong:
        with pytest.raises(TopodesignError):
            compare(contenders, **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="allreduces are compared"):
        compare([schedule("torus(3,3)", "allgather")])


@pytest.mark.thorough
def test_large_places_are_priced_from_their_links() -> None:
    found = compare(["genkautz(4,500)"])
    assert found.contenders[0].proof == "links priced"
    assert found.contenders[0].times == evaluate("genkautz(4,500)").allreduce


def test_what_takes_too_long_is_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = compare_module.contender

    def slow_ring(what: ContenderLike, *args: Any) -> Contender:
        if what == "ring":
            raise OutOfTime
        made: Contender = usual(what, *args)
        return made

    monkeypatch.setattr(compare_module, "contender", slow_ring)
    told: list[float] = []
    with pytest.raises(InfeasibleError, match="ring: was not scheduled, verified and measured within 30s"):
        compare(["ring"], nodes=16, degree=4, time_limit="30s", progress=told.append)
    assert told == [1]
    alone = compare(["torus", "tree"], nodes=16, degree=4)  # all that is made once for both is there then
    found = compare(["torus", "ring", "tree"], nodes=16, degree=4, time_limit="60s", progress=told.append)
    assert [one.name for one in found.contenders] == ["torus", "tree"]
    assert found.missing == (("ring", "was not scheduled, verified and measured within 60s"),)
    assert "ring: was not scheduled" in str(found.table().footnote)
    assert told[1:] == [1 / 3, 2 / 3, 1]
    assert [one.times for one in found.contenders] == [one.times for one in alone.contenders]


@pytest.mark.parametrize("limit", [0, "-1s", "10000000s"])
def test_a_time_limit_is_above_zero(limit: Quantity) -> None:
    with pytest.raises(TopodesignError):
        compare(["torus"], nodes=16, degree=4, time_limit=limit)


def test_the_command_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", "best", "ring", "slimfly", "-n", "16", "-d", "4", "--prices", "cable=50,switch=9"]
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = compare(["best", "ring", "slimfly"], nodes=16, degree=4, prices={"cable": 50, "switch": 9})
    assert document.pop("schema") == "topodesign/compare/1"
    assert document == json.loads(json.dumps(found.record()))
    for one, record in itertools.zip_longest(found.contenders, document["contenders"]):
        assert record["times_s"]["1048576"] == float(one.times[0])
    assert run([*words, "--csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 3
    assert run(words) == 0
    assert "slimfly" in capsys.readouterr().out
    assert run(["compare", "best"]) == 2
    assert "-n, -d" in capsys.readouterr().err
    assert run(["compare", "torus(3,3)", "--prices", "cable"]) == 2
    capsys.readouterr()


@pytest.mark.dear
def test_pareto_compares_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pareto", "-n", "16", "-d", "4", "--add", "torus,ring", "--add", "torus(4,4)@ring"]
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    best = pareto(16, 4).best
    found = compare([str(best.spec), "torus", "ring", "torus(4,4)@ring"], nodes=16, degree=4)
    assert document["against"] == json.loads(json.dumps(found.record()))
    assert document["against"]["contenders"][0]["spec"] == str(best.spec)
    assert run(words) == 0
    assert "ring: biring(4,16)" in capsys.readouterr().out
    assert run([*words, "--collective", "all-to-all", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    best = pareto(16, 4, collective="all-to-all").best
    assert document["against"]["contenders"][0]["spec"] == best.spec


@pytest.mark.parametrize("size", ["1KiB", "1MiB"])
def test_the_plan_of_one_wiring_is_the_one_that_is_faster_for_the_size(size: str) -> None:
    found = compare(["best"], nodes=8, degree=12, sizes=size)
    (one,) = found.contenders
    assert one.steps == (1 if size == "1KiB" else 2)
    assert one.times == found.workload.fastest(found.bounds)
    assert one.times == pareto(8, 12, sizes=size).best.allreduce


SLACK = Fraction(1, 1000)


def fastest(found: Comparison, **latencies: Fraction) -> str:
    work = found.workload
    latency = replace(work.latency, **latencies)
    times = {one.name: one.timing.time(latency, work.sizes[0], work.bandwidth) for one in found.contenders}
    return min(times, key=times.__getitem__)


def test_on_both_sides_of_a_turn_others_are_the_fastest() -> None:
    found = compare(["best", "fattree"], nodes=16, degree=4)
    assert {turn.parameter for turn in found.thresholds} == {"gap", "hop"}
    for turn in found.thresholds:
        outward = 1 if turn.above else -1
        near = turn.value * (1 - outward * SLACK)
        assert fastest(found, **{turn.parameter: turn.value}) == turn.then
        assert fastest(found, **{turn.parameter: near}) == turn.now == found.best().name
        assert turn.parameter in str(turn)
    again = compare(["best", "fattree"], nodes=16, degree=4, gap=found.thresholds[0].value * (1 + SLACK))
    assert again.best().name == found.thresholds[0].then


@pytest.mark.parametrize("method", ["swing", "bine"])
def test_messages_that_pass_through_nodes_take_what_simulate_says(method: str) -> None:
    """On a ring of nine the ternary scheme takes fewer steps than sends to neighbours do at least, and says so."""
    found = compare([f"torus(4,4)@{method}", "torus(4,4)"], hop="2us", sizes=["1KiB", "1MiB"])
    plan = schedule("torus(4,4)", method=method)
    times = [simulate(plan, size=size, hop="2us").time for size in ("1KiB", "1MiB")]
    assert list(found.contenders[0].times) == times
    assert "lower bound for sends to neighbours" in str(found.table())
    ring = compare(["circulant(9,1)@ternary", "circulant(9,1)"])
    assert ring.contenders[0].steps is not None
    assert ring.contenders[0].steps < min(one.steps for one in ring.bounds)


def test_without_switches_nothing_turns_on_them() -> None:
    assert compare(["best", "torus"], nodes=16, degree=4).thresholds == ()


# -- training steps side by side: the same as each alone, names of all kinds, and clear errors ------------------------


def test_each_is_what_it_is_alone() -> None:
    found = compare_steps(MODEL, ["torus(2,4)", "fattree", "slimfly"], degree=4, bandwidth="200Gbps")
    assert [one.name for one in found.contenders] == ["torus(2,4)", "fattree"]
    assert [one.name for one in found.missing] == ["slimfly"]
    assert found.contenders[0].time.seconds == price_step(MODEL, "torus(2,4)", bandwidth="200Gbps", layouts=4).seconds
    tree = found.contenders[1].time.place
    assert max(int(tree.topology.out_ports[node]) for node in tree.compute) * tree.unit == 25 * 10**9
    assert found.best().time.seconds == min(one.time.seconds for one in found.contenders)


def test_the_command_says_what_python_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [path] = copy_examples(["model_mixtral.yaml"], tmp_path)
    asked = ["training", str(path), "--on", "torus(2,4)", "--set", "data=8,batch=8", "--bandwidth", "400Gbps"]
    assert run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    found = compare_steps(path, ["torus(2,4)"], changes={"data": 8, "batch": 8}, bandwidth="400Gbps")
    assert told["contenders"][0]["seconds_exact"] == str(found.contenders[0].time.seconds)
    assert run(asked) == 0
    assert "all-to-all" in capsys.readouterr().out


def test_compare_has_the_same_step() -> None:
    found = compare(["torus(2,4)", "fattree"], nodes=8, degree=6, step=MODEL, bandwidth="600Gbps")
    alone = price_step(MODEL, "torus(2,4)", bandwidth=f"{600 * 3 // 6}Gbps", layouts=4)
    ports = topodesign.build("torus(2,4)").degree
    assert ports == 3
    assert found.contenders[0].step is not None
    assert found.contenders[0].step.seconds == alone.seconds
    assert any(title.startswith("training step") for title in found.table().columns)
    with pytest.raises(ParameterError, match="has 8 ranks"):
        compare(["best"], nodes=16, degree=4, step=MODEL)


@pytest.mark.dear
def test_a_list_of_collectives_costs_no_more_than_pareto_and_design_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """One list: compare and step price alike; design times plans: the best all-to-all is a bound on its own."""
    monkeypatch.setattr(importlib.import_module("topodesign.report.design.design"), "failures_of", lambda *_: ())
    every = [("allreduce", "64MiB", 1), ("allgather", "8MiB", 1), ("all-to-all", "16MiB", 4)]
    for nodes, degree, shares in few([(12, 3, every), (16, 4, every[:2])]):
        mix = Mix("listed", tuple(Share(name, as_size(size), count) for name, size, count in shares))
        first = rank(nodes, degree, workload=mix, bandwidth="400Gbps").best
        spec = str(first.spec)
        [side] = compare([spec], step=mix, bandwidth="400Gbps").contenders
        [step] = compare_steps(mix, [spec], bandwidth="400Gbps").contenders
        assert side.step is not None
        assert side.step.seconds == step.time.seconds <= first.times[0]  # a row is one plan, a step one per collective
        asked: Any = {"nodes": nodes, "degree": degree, "bandwidth": "400Gbps", "workload": mix}
        for part in next(one for one in design(**asked).contenders if one.spec == spec).parts:
            [alone] = compare_steps(Mix("alone", (part.share,)), [spec], bandwidth="400Gbps").contenders
            priced, planned = alone.time.seconds, part.seconds * part.share.count
            assert planned >= priced if part.share.collective == "all-to-all" else planned <= priced


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ParameterError, match="expected a list of networks"):
        compare_steps(MODEL, [])
    with pytest.raises(ParameterError, match="not for a plan or a method"):
        compare_steps(MODEL, ["torus(2,4)@ring"])
    with pytest.raises(ParameterError, match="say how many nodes and ports"):
        compare_steps(MODEL, ["fattree"])
    with pytest.raises(InfeasibleError, match="slimfly"):
        compare_steps(MODEL, ["slimfly"], degree=4)
