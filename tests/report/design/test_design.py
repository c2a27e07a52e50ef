"""Decisions: recomputed from the files they write, beaten by nothing that is enumerated, the same in every form."""

from __future__ import annotations

import importlib
import itertools
import json
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import few
from topodesign import (
    Decision,
    as_topology,
    build,
    design,
    load_plan,
    load_wiring,
    plan_wiring,
    schedule,
    simulate,
    verify,
)
from topodesign.base.claims import Scope
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.base.units import format_time, parse_time
from topodesign.cli.main import run
from topodesign.graphs import FAMILIES
from topodesign.report.design.design import plain_room
from topodesign.report.design.failures import failures_of
from topodesign.report.design.parts import Offer
from topodesign.report.design.reading import request_of
from topodesign.report.design.request import Request
from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.answers import init_wiring

STEP = {
    "collectives": [
        {"collective": "allreduce", "size": "64MiB", "count": 4},
        {"collective": "all-to-all", "size": "1MiB", "count": 10},
    ]
}
FIELDS: dict[str, Any] = {
    "nodes": 12,
    "degree": 4,
    "bandwidth": "100Gbps",
    "workload": STEP,
    "cabling": "duplex",
    "rivals": ["torus", "fattree", "slimfly"],
    "grow": [16],
    "prices": {"cable": 40, "port": 300, "switch": 5000},
}


@pytest.fixture(scope="module")
def found() -> Decision:
    return design(**FIELDS)


def step_of(topology: Topology, request: Request) -> Fraction:
    """What a step takes by plans made, verified and simulated here, of a wiring with ports that may stay unused."""
    rate = request.work.bandwidth * topology.degree / request.degree
    total = Fraction(0)
    for share in request.mix.shares:
        plan = schedule(topology, share.collective)
        assert verify(plan).ok
        alpha = request.work.alpha
        total += share.count * simulate(plan, size=share.size, alpha=alpha, bandwidth=rate).time
    return total


def test_the_recommendation_is_recomputed_from_the_files_that_are_written(found: Decision, tmp_path: Path) -> None:
    written = found.save(tmp_path / "all")
    document = json.loads((tmp_path / "all" / "decision.json").read_text())
    total = Fraction(0)
    for place, share in enumerate(document["request"]["mix"]["collectives"], start=1):
        plan = load_plan(tmp_path / "all" / f"{place}-{share['collective']}.npz")
        assert verify(plan).ok
        assert plan.collective.name == share["collective"]
        now = document["request"]
        time = simulate(
            plan, size=share["size_bytes"], alpha=now["alpha_s"], bandwidth=now["bandwidth_bps"]
        ).time  # all ports are used
        assert float(time) == document["recommendation"]["parts"][place - 1]["time_s"]
        total += share["count"] * time
    assert str(total) == document["recommendation"]["time"]
    wiring = load_wiring(tmp_path / "all" / "wiring.json")
    assert wiring.topology == as_topology(tmp_path / "all" / "links.json")
    there = {path.name for path in (tmp_path / "all").iterdir()}
    assert {one.path for one in written.files} | {"decision.json", "decision.txt"} == there
    assert [one["path"] for one in document["files"]] == [one.path for one in written.files]
    assert "bringup" in there


def test_figures_are_the_same_in_text_and_json(found: Decision) -> None:
    document, text = found.record(), " ".join(str(found).split())
    assert document["text"] == str(found)
    for one, shown in zip(document["contenders"], found.table().rows, strict=True):
        assert float(Fraction(one["time"])) == one["time_s"]
        assert sum(part["in_step_s"] for part in one["parts"]) == pytest.approx(one["time_s"])
        assert " ".join(shown) in text
        cells, unit = " ".join(shown).split(), found.table().columns[0].removeprefix("step (")[:-1]
        assert parse_time(cells[0] + unit) == parse_time(format_time(one["time_s"]))
        assert [str(one["cables"]), str(one["switches"])] == cells[2:4]
        assert f"{one['price']:.6g}" == cells[5]
    for name in ("limits", "failures", "growth"):
        for one in document[name]:
            assert format_time(one["time_s"]) in text
    for one in document["growth"]:
        assert f"{one['moves']} moves (bound {one['bound']})" in text
    assert document["verdict"] in text
    for claim in document["claims"]:
        assert claim["words"][1:] in text
    for one in document["turns"]:
        assert one["words"] in text
    assert max(map(len, str(found).splitlines())) <= 80
    assert document["recommendation"]["name"] == document["contenders"][0]["name"]


def test_rivals_stand_in_the_table_or_say_why_not(found: Decision) -> None:
    names = [one.name for one in found.contenders]
    assert "fattree" in names
    assert "slimfly" in dict(found.missing)
    fattree = next(one for one in found.contenders if one.name == "fattree")
    assert fattree.refused is not None
    ahead = found.ahead
    assert ahead is None or ahead.time < found.recommendation.time
    if ahead is not None:
        assert ahead.name in found.verdict


def test_the_frontier_is_what_nothing_dominates(found: Decision) -> None:
    able = [one for one in found.contenders if one.refused is None]
    assert len({one.price for one in able if one.frontier}) > 1
    for one in able:
        beaten = any(
            other.time <= one.time
            and (other.price or 0) <= (one.price or 0)
            and (other.time, other.price) != (one.time, one.price)
            for other in able
        )
        assert one.frontier is not beaten


@pytest.fixture
def nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures, which most of a decision's time goes into, are left out where they are not looked at."""
    module = importlib.import_module("topodesign.report.design.design")
    monkeypatch.setattr(module, "failures_of", lambda *_: ())


@pytest.mark.dear
@pytest.mark.usefixtures("nothing_fails")
def test_turns_are_where_the_ranking_turns(found: Decision) -> None:
    small = {"collectives": [{"collective": "all-to-all", "size": "1MiB"}, {"collective": "allreduce", "size": "1MiB"}]}
    fields: dict[str, Any] = {"nodes": 18, "degree": 4, "bandwidth": "400Gbps", "alpha": "5us", "workload": small}
    many = design(**fields)
    assert many.turns
    for one in many.turns:
        if one.what != "all sizes":
            continue
        beyond = Fraction(11, 10) if one.above else Fraction(10, 11)
        sizes = [float(size * beyond) for size in one.at]
        other = {
            "collectives": [
                dict(part, size=f"{size:.0f}B") for part, size in zip(small["collectives"], sizes, strict=True)
            ]
        }
        assert design(**(fields | {"workload": other})).recommendation.name == one.then
    assert found.turns == () or all(one.then != found.recommendation.name for one in found.turns)


@pytest.mark.dear
@pytest.mark.parametrize("nodes", [6, pytest.param(8, marks=pytest.mark.thorough)])
def test_failures_are_the_worst_by_trying_all(nodes: int) -> None:
    found = design(**(FIELDS | {"nodes": nodes, "degree": 3, "rivals": [], "grow": []}))
    request, whole = found.request, found.recommendation.topology
    pairs = [(u, v) for u, v in zip(whole.src.tolist(), whole.dst.tolist(), strict=True) if u < v]

    def without(gone: set[tuple[int, int]]) -> Fraction:
        links = [
            (u, v)
            for u, v in zip(whole.src.tolist(), whole.dst.tolist(), strict=True)
            if (min(u, v), max(u, v)) not in gone
        ]
        return step_of(Topology.from_links(whole.nodes, links), request)

    one, two = found.failures
    assert one.all_of_them
    assert one.looked_at == len(pairs) == nodes * 3 // 2
    assert one.seconds == max(without({pair}) for pair in pairs)
    assert len(two.links) == len(two.cables) == 2
    some = [set(two) for two in random.Random(1).sample(few([*itertools.combinations(pairs, 2)]), 3)]  # noqa: S311
    assert two.seconds is not None
    assert two.seconds >= max(map(without, some))


def test_growth_is_by_moves_that_a_change_of_the_plan_makes(found: Decision) -> None:
    (stage,) = found.growth
    assert stage.nodes == stage.topology.nodes == 16
    assert stage.at_least <= stage.moves
    assert stage.seconds == step_of(stage.topology, found.request)


@pytest.mark.dear
def test_growth_beyond_the_hosts_of_a_room_says_what_it_needs() -> None:
    """Four hosts more, as many fixed cables, and panel ports; what there is does not change."""
    room = replace(init_wiring(8, connector="LC", ports=3, speed="100Gbps"), racks={})
    asked = FIELDS | {"nodes": 8, "degree": 3, "rivals": [], "bandwidth": "300Gbps", "room": room}
    found, alone = design(**asked | {"grow": [12]}), design(**asked | {"grow": []})
    (stage,) = found.growth
    assert stage.needs == (
        "the room has 8 hosts; for 12 it needs 4 hosts like host08, 1 panel with 24 ports, 12 LC duplex as fixed cables"
    )
    assert sum(item.count for item in stage.buy) == 12 + (12 * 3 - 8 * 3) // 2
    assert f"{stage.needs}; to buy: " in " ".join(str(found).split())
    assert found.wiring == alone.wiring


def known(nodes: int, degree: int, *, duplex: bool) -> list[Topology]:
    """Topologies of families and products of two of them, enumerated here."""
    specs = []
    for family in FAMILIES:
        found = itertools.islice(family.find(nodes, degree), 4)
        specs += [f"{family.name}({','.join(map(str, args))})" for args in found]
    for side in range(2, nodes):
        if nodes % side == 0:
            specs += [f"torus({side},{nodes // side})", f"product(complete({side}),complete({nodes // side}))"]
    specs += [f"circulant({nodes},{a},{b})" for a in range(1, nodes // 2 + 1) for b in range(a + 1, nodes // 2 + 1)][
        :20
    ]
    specs += [f"randomregulargraph({nodes},{degree},{seed})" for seed in range(2)]
    made = []
    for spec in specs:
        try:
            one = build(spec)
        except TopodesignError:
            continue
        if one.nodes == nodes and one.degree <= degree and (one.is_duplex or not duplex):
            made.append(one)
    return made


def value(request: Request, time: Fraction, cables: int, ports: int) -> tuple[Fraction, ...]:
    price = request.prices.get("cable", Fraction(0)) * cables + request.prices.get("port", Fraction(0)) * ports
    return {"time": (time,), "price": (price, time), "both": (time * price,)}[request.optimise]


def cables_of(one: Topology) -> tuple[int, int]:
    """Cables, where opposite links share one, and ports."""
    links = {
        (u, v): many
        for u, v, many in zip(one.src.tolist(), one.dst.tolist(), one.capacity.tolist(), strict=True)
        if u != v
    }
    cables = sum(max(many, links.get((v, u), 0)) for (u, v), many in links.items() if u < v or (v, u) not in links)
    return cables, sum(links.values())


def at_least(one: Topology, request: Request) -> Fraction:
    """Seconds that no schedule goes below: of the farthest two, and of bytes over links, by distances counted here."""
    near: dict[int, set[int]] = {}
    links, into = 0, [0] * one.nodes
    for u, v, many in zip(one.src.tolist(), one.dst.tolist(), one.capacity.tolist(), strict=True):
        if u != v:
            near.setdefault(u, set()).add(v)
            links += many
            into[v] += many
    far, total = 0, 0
    for start in range(one.nodes):
        seen, ring, steps = {start}, {start}, 0
        while ring:
            ring = {v for u in ring for v in near.get(u, ())} - seen
            seen |= ring
            steps += 1
            total += steps * len(ring)
            far = max(far, steps if ring else 0)
    link = request.work.bandwidth / 8 / request.degree
    time = Fraction(0)
    for share in request.mix.shares:
        if share.collective == "all-to-all":
            data = total * share.size / one.nodes / (links * link)
        else:
            halves = 2 if share.collective == "allreduce" else 1
            data = halves * share.size * Fraction(one.nodes - 1, one.nodes) / (Fraction(sum(into), one.nodes) * link)
        time += share.count * (request.work.alpha * far + data)
    return time


def random_request(seed: int) -> dict[str, Any]:
    rng = random.Random(seed)  # noqa: S311
    nodes, degree = rng.randrange(8, 65), rng.randrange(2, 7)
    shares = [
        {"collective": name, "size": f"{2 ** rng.randrange(10, 29)}B", "count": rng.randrange(1, 20)}
        for name in rng.sample(["allreduce", "allgather", "reduce-scatter", "all-to-all"], rng.randrange(1, 3))
    ]
    aim = rng.choice(["time", "time", "price", "both"])
    prices = {"cable": rng.randrange(1, 100), "port": rng.randrange(1, 500)} if aim != "time" else {}
    return {
        "nodes": nodes,
        "degree": degree,
        "bandwidth": f"{rng.randrange(25, 800)}Gbps",
        "alpha": f"{rng.randrange(1, 20)}us",
        "workload": {"collectives": shares},
        "cabling": rng.choice(["simplex", "duplex"]),
        "optimise": aim,
        **({"prices": prices} if prices else {}),
    }


def check_ranking(seed: int) -> int:
    """Hold a recommendation against all that is enumerated here, and return how many there were."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("topodesign.report.design.design.failures_of", lambda *_: ())  # which rank nothing
        found = design(**random_request(seed))
    request, best = found.request, found.recommendation
    reached = value(request, best.time, *cables_of(best.topology))
    assert best.time <= step_of(best.topology, request)
    others = known(request.nodes, request.degree, duplex=request.cabling == "duplex")
    for one in others:
        if value(request, at_least(one, request), *cables_of(one)) >= reached:
            continue
        try:
            other = value(request, step_of(one, request), *cables_of(one))
            plan_wiring(one, plain_room(request))
        except InfeasibleError:
            continue
        assert reached <= other, f"seed {seed}: {one.spec} beats {best.name}"
    return len(others)


@pytest.mark.dear
@pytest.mark.usefixtures("nothing_fails")
def test_nothing_enumerated_beats_the_recommendation() -> None:
    assert sum(check_ranking(seed) for seed in (13, 14, 15)) >= 30  # of 8 to 29 nodes


@pytest.mark.thorough
@pytest.mark.usefixtures("nothing_fails")
@pytest.mark.parametrize("seed", range(50))
def test_nothing_enumerated_beats_fifty_recommendations(seed: int) -> None:
    check_ranking(seed)


def test_claims_are_of_what_was_compared(found: Decision) -> None:
    for claim in found.claims:
        assert claim.value == found.recommendation.time
        if claim.proven and claim.among is Scope.FOUND:
            assert all(one.time >= claim.value for one in found.contenders)
        assert claim.bound is None or claim.bound <= claim.value


@pytest.mark.dear
def test_a_room_carries_the_recommendation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["examples", "request_testbed.yaml", "inventory_testbed.yaml", "-o", str(tmp_path)]) == 0
    assert run(["design", str(tmp_path / "request_testbed.yaml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out.split("copied", 1)[-1].split("\n", 1)[1])
    assert document["recommendation"]["kind"] == "plant"
    assert document["request"]["room"] == "12-host testbed"


def test_cables_side_by_side_fail_together() -> None:
    step = {"collectives": [{"collective": "allreduce", "size": "1MiB"}]}
    one, two = design(nodes=2, degree=2, bandwidth="10Gbps", workload=step, cabling="duplex").failures
    assert one.seconds is not None
    assert (two.seconds, two.looked_at) == (None, 1)  # then the nodes no longer reach each other


def test_a_lone_cable_and_one_port(tmp_path: Path) -> None:
    step = {"collectives": [{"collective": "allreduce", "size": "1MiB"}]}
    found = design(nodes=2, degree=1, bandwidth="10Gbps", workload=step, cabling="duplex")
    assert found.failures[0].seconds is None
    assert "not all reach each other" in str(found)
    offer: Offer = found.recommendation
    request = request_of({"nodes": 2, "degree": 1, "bandwidth": "10Gbps", "workload": step, "cabling": "duplex"})
    assert failures_of(offer, request, found.wiring, None) == found.failures


def test_what_none_survives_is_refused() -> None:
    step = {"collectives": [{"collective": "allreduce", "size": "1MiB"}]}
    found = design(nodes=8, degree=3, bandwidth="10Gbps", workload=step, survive=2, prices={"cable": 1})
    assert found.recommendation.counts.survives == 2
    assert all(one.refused is not None for one in found.contenders if (one.counts.survives or 0) < 2)
