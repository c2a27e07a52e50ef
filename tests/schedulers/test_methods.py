"""The contract of all schedulers: what they make is right and as claimed, and what is not theirs is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import networkx as nx
import pytest

from tests.conftest import few
from topodesign.base import entry_points
from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.cli.main import run
from topodesign.collectives import ALLGATHER, COLLECTIVES, REDUCE_SCATTER
from topodesign.fabrics.fabric import Fabric
from topodesign.fabrics.part import select_part
from topodesign.fabrics.places import as_fabric
from topodesign.fabrics.presets import build_fabric
from topodesign.optima.optimum import optimum
from topodesign.plans.build import build_steps
from topodesign.plans.plan import Plan
from topodesign.plans.verify.plans import verify
from topodesign.schedulers import ROUNDS, SCHEDULERS, forest, lift, peel, spff, stored
from topodesign.schedulers.method import Method, Request, cost_in, plan_rounds
from topodesign.schedulers.options import OPTIONS
from topodesign.schedulers.scheduling import METHODS, schedule
from topodesign.topology.library import build
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology

PLACES = ("line(diamond())", "dbjmod(2,4)", "torus(3,3)", "dgx_a100(1)")

SEARCHES = ("exact", "tacos-ilp")
"""Methods that take their time."""
_ANOTHER_NAME = {"tacos-ilp": "exact"}


def check(plan: Plan) -> None:
    """The verifier accepts it, with what it claims."""
    report = verify(plan)
    assert report.ok, report.problems
    assert plan.claim
    assert plan.kind != "rounds" or cost_in(plan).bandwidth == plan.claim["bandwidth"]


@pytest.mark.dear("exact-dgx_a100(1)", "tacos-ilp-dgx_a100(1)")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract(name: str, place: str) -> None:
    method = METHODS[name]
    assert method.name == name
    assert method.options <= {*OPTIONS, "auto_chunks"}
    made = 0
    limit: dict[str, Any] = {"time_limit": "200ms"} if name in SEARCHES else {}
    collectives = [*COLLECTIVES.values()]
    for collective in few(collectives[PLACES.index(place) % 2 :], 2):  # a quick run takes turns
        root = 0 if collective.rooted else None
        try:
            plan = schedule(place, collective, method=name, root=root, **limit)
        except (InfeasibleError, ParameterError):
            assert not method.does(collective) or not method.fabrics or not method.auto
            continue
        made += 1
        assert plan.collective == collective.at(root)
        assert set(plan.generator["method"].split(", ")) == {_ANOTHER_NAME.get(name, name)}
        assert plan.spec == place
        check(plan)
    assert made or not method.fabrics or not method.auto


def ring(request: Request) -> list[Plan]:
    """All pass on what they got last, on every topology where node i has a link to i + 1."""
    topology = request.topology
    nodes = topology.nodes
    if any((i + 1) % nodes not in topology.neighbours(i) for i in range(nodes)):
        return []
    rows = [(s, i, (i + 1) % nodes, (i - s + 1) % nodes, 0, 1) for s in range(1, nodes) for i in range(nodes)]
    return [plan_rounds(topology, build_steps(ALLGATHER, nodes, 1, nodes - 1, rows), "round")]


def test_a_new_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(
        entry_points.SCHEDULERS, "own", {**METHODS, "round": Method("round", frozenset(), (ALLGATHER,), ring)}
    )
    plan = schedule("circulant(6,1,2)", "allgather", method="round")
    check(plan)
    assert plan.claim["steps"] == 5
    assert schedule("circulant(6,1,2)", "allgather").claim["steps"] == 2  # auto asked it and took the better one
    with pytest.raises(InfeasibleError, match="'round' has no schedule"):
        schedule("circulant(12,2,3)", "allgather", method="round")
    with pytest.raises(ParameterError, match="--set chunks= is not for --algorithm round, but for spff"):
        schedule("circulant(6,1,2)", "allgather", method="round", chunks=2)
    assert run(["schedule", "uniring(1,5)", "--algorithm", "spff", "-o", str(tmp_path / "x.npz")]) == 0


def test_auto_chooses_by_place_and_collective() -> None:
    assert schedule("torus(3,3)").kind == "rounds"
    assert schedule("torus(3,3)", "broadcast", root=4).kind == "trees"
    assert schedule("dgx_a100(1)").kind == "trees"
    assert schedule(build_fabric("dgx_a100(1)")) == schedule("dgx_a100(1)")
    assert schedule(nx.complete_graph(4), "allgather").claim == {"steps": 1, "bandwidth": Fraction(3, 4)}


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_who_does_not_make_a_collective_says_who_does(method: str) -> None:
    asked = [one for one in METHODS.values() if one.auto] if method == "auto" else [METHODS[method]]
    for collective in COLLECTIVES.values():
        if not any(one.does(collective) for one in asked):
            with pytest.raises((InfeasibleError, ParameterError), match=rf"{collective}.* --algorithm \w+"):
                schedule("complete(4)", collective, method=method, root=0 if collective.rooted else None)


@pytest.mark.parametrize("collective", ["scatter", "gather", "all-to-all"])
def test_a_method_that_does_not_make_it_says_which_does(collective: str) -> None:
    root = None if collective == "all-to-all" else 0
    with pytest.raises(
        ParameterError, match=f"--algorithm spff makes no {collective}; use --algorithm (peel|dimensions)"
    ):
        schedule("complete(4)", collective, method="spff", root=root)
    assert schedule("dgx_a100(1)", collective, root=root).kind == "paths"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "sppf"}, "did you mean 'spff'"),
        ({"root": 0}, "allreduce has no root; remove --root"),
        ({"only": "0,7"}, "named '7'"),
        ({"only": "0,1", "group": "2x2:0"}, "not both"),
        ({"only": "0,1", "method": "lift"}, "has no schedule for these nodes"),
        ({"collective": "broadcast", "method": "spff", "root": 0}, "broadcast goes over trees; use --algorithm forest"),
        ({"collective": "broadcast"}, "use --root NODE"),
        ({"collective": "broadcast", "root": 16}, "root must be from 0 to 3"),
        ({"method": "forest", "chunks": 2}, "--set chunks= is not for trees"),
        ({"method": "forest", "others": "stay"}, "others 'stay' is not known"),
        ({"size": "lots"}, "size 'lots'"),
        ({"method": "tacos", "alpha": 5}, "a latency of 5 means 5 s; write '5us'"),
        ({"tries": 0}, "tries must be from 1"),
        ({"seed": -1}, "seed must be from 0"),
        ({"jobs": 1.5}, "jobs must be an integer"),
        ({"time_limit": 0}, "time_limit must be above zero"),
        ({"tick": "1m"}, "unit 'm'|time '1m'"),
        ({"method": "spff", "seed": 0}, "--seed is "),
        ({"method": "spff", "overlap": True}, "--set overlap= is "),
        ({"place": 7}, "is needed, not 7"),
    ],
)
def test_wrong_arguments_are_our_errors(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TopodesignError, match=words):
        schedule(**{"place": "complete(4)", **options})


@pytest.mark.parametrize("without", ["0-1", "0>1", "3"])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_auto_takes_a_method_that_can_leave_out_what_has_failed(collective: str, without: str) -> None:
    root = 5 if COLLECTIVES[collective].rooted else None
    plan = schedule("torus(4,4)", collective, without=without, root=root)
    left = select_part(as_fabric("torus(4,4)"), without=without)
    assert plan.topology == left.topology
    assert verify(plan).ok
    best = optimum(left, collective, root=None if root is None else str(root))
    rate = Fraction(best.record()["algorithmic_bandwidth"])  # of an allreduce one after the other, which may be slower
    assert plan.claim["algorithmic_bandwidth"] == rate or (plan.flow.concurrent)
    assert plan.notes[-1] == f"by --algorithm {plan.generator['method']}, which can do without what has failed"


def test_auto_without_what_has_failed_takes_a_method_for_all_that_is_said() -> None:
    assert schedule("torus(4,4)", "allgather", without="0-1", alpha="5us").kind == "timed"
    assert schedule("torus(4,4)", "allgather", without="0-1", fixed_k=2).claim["k"] == 2


UNEVEN = Topology.from_links(5, [(0, 1, 2), (1, 2), (2, 3), (3, 4), (4, 0), (0, 2), (3, 0), (1, 4)])
"""Strongly connected, with more links out of some nodes than into them, and the reverse."""


@pytest.mark.parametrize("collective", COLLECTIVES)
@pytest.mark.parametrize("method", ["auto", "forest", "fluid", "tacos", "peel", "pipeline"])
def test_nodes_may_have_more_links_out_than_in(method: str, collective: str) -> None:
    one = COLLECTIVES[collective]
    if method == "auto" or METHODS[method].does(one):
        plan = schedule(UNEVEN, collective, method=method, root=1 if one.rooted else None)
        assert verify(plan).ok
        if method == "forest" and collective != "allreduce":
            best = optimum(UNEVEN, collective, root=1 if one.rooted else None)
            assert plan.claim["algorithmic_bandwidth"] == Fraction(best.record()["algorithmic_bandwidth"])


@pytest.mark.parametrize("collective", ["broadcast", "scatter"])
def test_what_has_a_root_needs_ways_from_there_alone(collective: str) -> None:
    links = Topology.from_links(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert verify(schedule(links, collective, root=0)).ok
    assert verify(schedule(links.transpose(), COLLECTIVES[collective].dual.name, root=0)).ok
    with pytest.raises(TopodesignError, match=r"have no way|cannot reach|cannot be reached"):
        schedule(links, collective, root=1)


def test_halves_of_an_allreduce_are_put_together() -> None:
    topology = build("genkautz(2,9)")
    halves = [cost_in(schedule(topology, one, chunks=2)) for one in (REDUCE_SCATTER, ALLGATHER)]
    both = schedule(topology, chunks=2)
    assert cost_in(both).steps == sum(half.steps for half in halves)
    assert cost_in(both).bandwidth == sum(half.bandwidth for half in halves)
    assert both.generator["method"] == "spff"
    check(both)


def test_every_file_listed_has_its_method() -> None:
    assert list(METHODS) == list(SCHEDULERS)
    assert [one.name for one in METHODS.values() if one.auto and one.movement == "rounds"] == list(ROUNDS)
    assert {spff.METHOD, stored.METHOD, lift.METHOD, peel.METHOD, forest.METHOD} <= set(METHODS.values())


def test_times_of_links_are_those_of_the_part_that_is_asked() -> None:
    """Bandwidths of a topology are per node, whatever has failed; a table names links by their numbers in the whole."""
    table = LinkTable({(2, 3): Fraction(1, 10**6)}, {(2, 3): Fraction(10**9)})
    asked: dict[str, Any] = {
        "alpha": Fraction(0),
        "bandwidth": Fraction(8 * 10**9),
        "link_table": table,
        "size": Fraction(4000),
    }
    whole = Request("torus(4)", ALLGATHER, **asked)
    part = Request("torus(4)", ALLGATHER, without="1", **asked)
    assert isinstance(whole.where, Topology)
    assert isinstance(part.where, Fabric)
    for request, shard in ((whole, 1000), (part, Fraction(4000, 3))):
        times = request.link_times(request.where, ALLGATHER, 1)
        where = request.where if isinstance(request.where, Topology) else request.where.topology
        names = range(4) if where.nodes == 4 else (0, 2, 3)
        for (u, v, _), latency, unit in zip(where.links(), times.latency, times.per_unit, strict=True):
            slow = (names[u], names[v]) == (2, 3)
            assert latency * times.tick == (Fraction(1, 10**6) if slow else 0)
            assert unit * times.tick == 8 * shard / Fraction(10**9 if slow else 4 * 10**9)
