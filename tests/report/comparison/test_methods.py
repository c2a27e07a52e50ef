"""All methods side by side: no time below the bound, the same figures as one by one, and nothing that hangs."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from typing import Any

import networkx as nx
import pytest

from tests.conftest import few
from topodesign.base import entry_points
from topodesign.base.deadline import OutOfTime
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.cli.main import run
from topodesign.collectives import ALLGATHER, COLLECTIVES
from topodesign.fabrics.part import select_part
from topodesign.fabrics.presets import build_fabric
from topodesign.plans.flow import Flow
from topodesign.plans.time.simulate import simulate
from topodesign.plans.verify.plans import verify
from topodesign.report.comparison.compare import compare
from topodesign.report.comparison.methods import compare_methods
from topodesign.schedulers.method import Method, Request
from topodesign.schedulers.scheduling import METHODS, schedule

PLACES = ["uniring(1,4)", "debruijn(2,2)", "rail_spine(2,2,1)"]


@pytest.mark.parametrize("place", PLACES)
def test_nothing_is_below_the_bound(place: str) -> None:
    sizes, every, at = ("1KiB", "1GiB"), [*COLLECTIVES.values()], PLACES.index(place)
    for collective in few([*every[at:], *every[:at]], len(PLACES)):  # every one on some place
        found = compare_methods(place, collective, root=1 if collective.rooted else None, sizes=sizes, time_limit=0.1)
        assert {one.name for one in found.contenders} | {name for name, _ in found.missing} == set(METHODS)
        floor = tuple(found.lower_bound.times.values())
        for one in found.contenders:
            assert one.proof == "plan verified"
            assert one.bandwidth is None or one.bandwidth >= found.lower_bound.bandwidth
            assert one.steps is None or one.steps >= found.lower_bound.steps
            assert all(time >= bound for time, bound in zip(one.times, floor, strict=True))


def test_figures_are_those_of_each_plan() -> None:
    own = [name for name, method in METHODS.items() if "alpha" not in method.options]
    given: dict[str, Any] = {"alpha": "1us", "bandwidth": "400Gbps"}
    found = compare_methods("torus(4,4)", "allreduce", sizes=["1MiB", 1e9], methods=own, **given)
    for one in found.contenders:
        plan = schedule("torus(4,4)", method=one.method)
        assert verify(plan).ok
        for size, seconds in zip(found.workload.sizes, one.times, strict=True):
            assert simulate(plan, size=size, **given).time == seconds
    factors = {one.method: one.bandwidth for one in found.contenders}
    assert factors["forest"] == factors["spff"] == found.lower_bound.bandwidth == Fraction(15, 16)
    assert factors == {one.method: one.bandwidth for one in compare_methods("torus(4,4)", methods=own).contenders}
    assert found.lower_bound.steps == 2
    assert [one.times for one in found.contenders] == sorted(one.times for one in found.contenders)


def test_methods_and_designs_have_the_same_figures() -> None:
    """A method after an at sign is that method, and steps and y are those of half an allreduce in both."""
    found = compare_methods("torus(4,4)", methods=["spff", "ring", "forest"], sizes=["1KiB", "1GiB"])
    designs = compare([f"torus(4,4)@{one.method}" for one in found.contenders], sizes=["1KiB", "1GiB"])
    for one, other in zip(found.contenders, designs.contenders, strict=True):
        assert (one.times, one.chunks, one.timing, one.counts.cables) == (
            other.times,
            other.chunks,
            other.timing,
            other.counts.cables,
        )


def test_bounds_are_reached_where_they_are_known_to_be() -> None:
    """Allgather on a torus, all-to-all on a complete graph, broadcast over trees, ForestColl's A100."""
    for place, collective, method in (
        ("torus(4,4)", "allgather", "spff"),
        ("complete(6)", "all-to-all", "direct"),
        ("complete(6)", "scatter", "direct"),
        ("torus(3,3)", "broadcast", "forest"),
        ("torus(3,3)", "reduce", "blink"),
        ("dgx_a100(2)", "reduce-scatter", "forest"),
        ("biring(2,6)", "allreduce", "ring"),
        ("dgx_a100(2)", "all-to-all", "fluid"),
    ):
        root = 0 if COLLECTIVES[collective].rooted else None
        found = compare_methods(place, collective, root=root, methods=[method])
        assert found.contenders[0].bandwidth == found.lower_bound.bandwidth, (place, collective)


def test_a_slow_method_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(request: Request) -> list[Any]:
        raise OutOfTime

    def broken(request: Request) -> list[Any]:
        plan = schedule(request.topology, request.collective, method="spff")
        return [type(plan)(plan.place, plan.movement, {**plan.claim, "steps": Fraction(1)}, generator={"method": "x"})]

    bad = {one.__name__: Method(one.__name__, frozenset(), (ALLGATHER,), one, auto=False) for one in (slow, broken)}
    monkeypatch.setattr(entry_points.SCHEDULERS, "own", {**METHODS, **bad})
    found = compare_methods("torus(3,3)", "allgather", methods=["slow", "broken", "ring"], time_limit=60)
    assert [one.name for one in found.contenders] == ["ring"]
    reasons = dict(found.missing)
    assert reasons["slow"] == "made no plan within 60s"
    assert reasons["broken"].startswith("wrong: the claimed ")
    assert "slow: made no plan within 60s" in str(found)


def test_the_command_prints_what_the_function_returns(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "compare",
        "hypercube(3)",
        "--collective",
        "scatter",
        "--root",
        "3",
        "--size",
        "1MiB",
        "--size",
        "1GiB",
    ]
    names = ["peel", "direct", "binomial", "linear", "bruck"]
    some = [word for name in names for word in ("--algorithm", name)]
    assert run([*asked, *some, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = compare_methods("hypercube(3)", "scatter", root="3", sizes=["1MiB", "1GiB"], methods=names)
    assert document["lower_bound"]["bandwidth"] == str(found.lower_bound.bandwidth)
    assert (document["collective"], document["root"], document["network"]) == ("scatter", 3, "hypercube(3)")
    assert {one["name"]: one["why"] for one in document["missing"]} == dict(found.missing)
    for one, row in zip(found.contenders, document["contenders"], strict=True):
        assert (row["name"], row["times"]) == (one.name, [str(seconds) for seconds in one.times])
    assert run([*asked, "--csv", "--algorithm", "binomial", "--algorithm", "bruck"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["name"] for row in rows] == ["binomial"]
    assert run([*asked, *some]) == 0
    assert "lower bound" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"collective": "broadcast"}, "requires a root"),
        ({"root": 1}, "has no root"),
        ({"collective": "broadcast", "root": 9}, "root must be from 0 to 8"),
        ({"sizes": []}, "at least one size"),
        ({"methods": ["rnig"]}, "did you mean 'ring'"),
        ({"time_limit": 0}, "time_limit must be above zero"),
        ({"alpha": "10 parsec"}, "alpha|time"),
        ({"place": "dgx_a100(1)", "bandwidth": "1Gbps"}, "bandwidths of its own"),
        ({"place": "dgx_a100(1)", "collective": "broadcast", "root": "nvswitch0"}, "nvswitch0|is a switch"),
    ],
)
def test_wrong_arguments_are_our_errors(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        compare_methods(**{"place": "torus(3,3)", **options})


def test_places_that_are_no_place_for_a_collective() -> None:
    with pytest.raises((InfeasibleError, ParameterError, TopodesignError)):
        compare_methods("complete(1)")


@pytest.mark.dear
@pytest.mark.once
@pytest.mark.parametrize("place", ["dgx_a100(2)", "rail_spine(2,2,1)"])
@pytest.mark.parametrize("collective", ["allreduce", "all-to-all", "broadcast", "gather"])
def test_links_with_latencies_of_their_own(place: str, collective: str) -> None:
    """Times are those of each plan alone, and the bound is that of the quickest way, found by others."""
    names, sizes = ["forest", "fluid", "ring", "direct", "tacos"], ("1KiB", "64MiB")
    asked: dict[str, Any] = {"root": 1 if COLLECTIVES[collective].rooted else None}
    found = compare_methods(place, collective, sizes=sizes, methods=names, alpha="fabric", time_limit=2, **asked)
    fabric = build_fabric(place)
    graph = nx.DiGraph()
    for (u, v, _), seconds in zip(fabric.topology.links(), fabric.link_latencies(), strict=True):
        graph.add_edge(*((v, u) if collective == "gather" else (u, v)), weight=seconds)
    sources = fabric.compute if asked["root"] is None else [asked["root"]]
    ways = (nx.single_source_dijkstra_path_length(graph, source) for source in sources)
    assert found.lower_bound.times[1024] >= max(way[node] for way in ways for node in fabric.compute)
    assert found.latency.alpha is None
    assert "links with their own latencies" in str(found)
    assert len(found.contenders) >= 2
    for one in found.contenders:
        assert all(time >= bound for time, bound in zip(one.times, found.lower_bound.times.values(), strict=True))
        if one.method != "tacos":
            plan = schedule(place, collective, method=one.method, **asked)
            assert one.times == tuple(simulate(plan, size=size, alpha="fabric").time for size in sizes)


def test_timed_sends_are_made_for_the_latencies_of_links() -> None:
    fabric = build_fabric("dgx_a100(2)")
    left = select_part(fabric, (), "vanish", ["box0/gpu1"])
    for where in (fabric, left):
        plan = schedule(where, "broadcast", method="tacos", root="box0/gpu0", alpha="fabric")
        assert isinstance(plan.movement, Flow)
        assert [ticks * plan.movement.timing.tick for ticks in plan.movement.timing.latency.tolist()] == list(
            where.link_latencies()
        )
        assert verify(plan).ok
        assert simulate(plan).time == simulate(plan, alpha="fabric").time == plan.claim["time"]
    with pytest.raises(ParameterError, match="has no latencies"):
        schedule(fabric, "broadcast", method="tacos", root=0, alpha="fabric", unwind="ring")
    for method in ("tacos", "pipeline"):
        with pytest.raises(ParameterError, match="has no latencies"):
            schedule("torus(2,2)", "broadcast", method=method, root=0, alpha="fabric")
    with pytest.raises(ParameterError, match="has no latencies"):
        compare_methods("torus(2,2)", alpha="fabric")


def test_the_command_knows_latencies_of_links(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "dgx_a100(1)", "--alpha", "fabric", "--algorithm", "forest", "--algorithm", "bruck", "--json"]
    assert run(asked) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["alpha_s"] is None
    assert document["lower_bound"]["times_s"]["1048576"] >= 6e-7
    assert document["contenders"][0]["times_s"]["1048576"] >= 6e-7
