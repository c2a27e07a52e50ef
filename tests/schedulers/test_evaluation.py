"""Evaluations say both collectives, take whatever names a topology, and refuse the rest with errors of ours."""

from __future__ import annotations

import signal
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings

from tests.samples.topologies import regular_digraphs
from topodesign import (
    build,
    build_fabric,
    evaluate,
    evaluate_topology,
    optimum,
    price,
    price_deferred,
    price_groups,
    price_uneven,
)
from topodesign.base.cost import Cost
from topodesign.base.errors import ParameterError, TooLargeError, TopodesignError, TopologyError, UnitError
from topodesign.pricing import closed_form, split_deferral
from topodesign.pricing.workload import as_workload
from topodesign.schedulers import price as price_module
from topodesign.topology.files import write_links
from topodesign.topology.topology import Topology

LOPSIDED = "line(circulant(16,3,4),3)"


@given(regular_digraphs())
@settings(max_examples=30)
def test_both_collectives_are_priced_and_the_dearer_one_is_the_cost(topology: Topology) -> None:
    result = evaluate(topology)
    assert result.reduce_scatter == closed_form.price(topology)
    assert result.allgather == closed_form.price(topology.transpose())
    assert result.spff_cost == price(topology) == price(topology.transpose())
    assert result.spff_cost.bandwidth == max(result.reduce_scatter.bandwidth, result.allgather.bandwidth)
    document = result.record()
    assert (document["steps"], Fraction(document["bandwidth"])) == (result.spff_cost.steps, result.spff_cost.bandwidth)
    assert Fraction(document["reduce_scatter_bandwidth"]) == result.reduce_scatter.bandwidth
    assert Fraction(document["allgather_bandwidth"]) == result.allgather.bandwidth
    spff = (result.reduce_scatter, result.allgather)
    found = (split_deferral.price_deferred(topology), split_deferral.price_deferred(topology.transpose()))
    deferred = tuple(
        one if one.steps == other.steps and one.bandwidth < other.bandwidth else other
        for one, other in zip(spff, found, strict=True)
    )
    least = Fraction(topology.nodes - 1, topology.nodes)
    met = all(cost.bandwidth == least for cost in spff)
    assert (result.deferred_reduce_scatter, result.deferred_allgather) == ((None, None) if met else deferred)
    longer = not met and any(one.steps > other.steps for one, other in zip(deferred, spff, strict=True))
    pairs = zip(spff, spff if longer else deferred, strict=True)
    both = tuple(min(pair, key=lambda cost: cost.bandwidth) for pair in pairs)
    assert result.cheapest == both
    assert result.longer == (deferred if longer else None)
    assert price_deferred(topology) == max(deferred, key=lambda cost: cost.bandwidth)
    work = result.workload
    ways = [both, deferred] if longer else [both]
    times = [sum(cost.runtime(work.alpha, work.sizes[0], work.bandwidth) for cost in way) for way in ways]
    assert result.allreduce[0] == min(times)
    told = str(result)
    alike = (spff[0], both[0]) == (spff[1], both[1])
    assert ("\nreduce-scatter" in told) == ("\nallgather" in told) == (not alike)
    assert ("\n  in 2 steps " in told) == longer
    assert told.count("\n  deferred ") == sum(one != other for one, other in zip(spff, both, strict=True)) / (1 + alike)


def test_deferred_schedules_are_looked_for_where_that_is_quick_or_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = "randomregular(24,3,1)"
    found = evaluate(topology)
    assert found.methods == ("deferred",)
    monkeypatch.setattr(price_module, "_QUICK_WORK", 1)
    by_spff, asked = evaluate(topology), evaluate(topology, deferred=True)
    assert (by_spff.deferred_allgather, by_spff.methods) == (None, ("spff",))
    assert by_spff.cheapest == (by_spff.reduce_scatter, by_spff.allgather)
    assert asked.cheapest == found.cheapest
    assert asked.allreduce < by_spff.allreduce
    assert asked.cost.bandwidth < by_spff.cost.bandwidth <= asked.spff_cost.bandwidth
    assert asked.heading().endswith(f", bandwidth factor {asked.cost.bandwidth}")
    assert by_spff.record()["deferred_allgather_bandwidth"] is None
    assert Fraction(asked.record()["deferred_allgather_bandwidth"]) == found.cheapest[1].bandwidth


def test_topologies_that_have_no_deferred_schedule_are_priced_without() -> None:
    assert evaluate("genkautz(62,66)").methods == ("spff",)
    with pytest.raises(TopologyError, match="at most 61 links"):
        evaluate("genkautz(62,66)", deferred=True)
    with pytest.raises(TooLargeError, match="at most 4096 nodes"):
        price_deferred("genkautz(2,4097)")


@given(regular_digraphs())
def test_distances_are_those_of_networkx(topology: Topology) -> None:
    found = evaluate(topology)
    graph = nx.DiGraph([(u, v) for u, v, _ in topology.links() if u != v])
    lengths = list(nx.single_source_shortest_path_length(graph, 0).values())
    assert found.distance_profile == tuple(lengths.count(far) for far in range(1, max(lengths) + 1))
    assert found.girth == min(1 + nx.shortest_path_length(graph, v, u) for u, v in graph.edges)
    assert found.cost.steps == nx.diameter(graph)


@pytest.mark.parametrize(
    ("text", "girth", "profile", "sources"),
    [("uniring(1,5)", 5, (1, 1, 1, 1), 1), ("hypercube(3)", 2, (3, 3, 1), 1), ("complete(4)", 2, (3,), 1)],
)
def test_known_topologies(text: str, girth: int, profile: tuple[int, ...], sources: int) -> None:
    found = evaluate(text)
    assert (found.girth, found.distance_profile, found.sources) == (girth, profile, sources)


@given(regular_digraphs())
def test_girth_without_going_back_is_that_of_networkx(topology: Topology) -> None:
    both = Topology.from_links(topology.nodes, [pair for u, v, _ in topology.links() for pair in ((u, v), (v, u))])
    found = evaluate(both)
    length = nx.girth(nx.Graph([(u, v) for u, v, _ in both.links() if u != v]))
    assert (found.girth, found.undirected_girth) == (2, length if length < both.nodes + 1 else None)
    assert f", {'no cycle' if found.undirected_girth is None else length}\n" in str(found)


@pytest.mark.dear
def test_progress_grows_and_an_interrupt_is_heard_inside_it() -> None:
    shares: list[float] = []
    evaluate("randomregular(500,4,1)", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1
    shares.clear()
    evaluate("randomregular(60,3,2)", progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1

    def told(_share: float) -> None:
        if not timers:
            timers.append(threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]))
            timers[0].start()

    timers: list[threading.Timer] = []
    with pytest.raises(KeyboardInterrupt):
        evaluate("hypercube(15)", all_sources=True, progress=told)


def test_no_self_loop_is_a_cycle() -> None:
    ring = Topology.from_links(4, [(0, 1), (1, 2), (2, 3), (3, 0), *((node, node) for node in range(4))])
    assert evaluate(ring).girth == 4


def test_everything_that_names_a_topology_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "links.json"
    path.write_text(write_links(build("torus(4,4)"), "json"))
    graph = nx.grid_2d_graph(4, 4, periodic=True)
    costs = {evaluate(value).cost for value in ("torus(4,4)", path, str(path), graph, build("torus(4,4)"))}
    assert costs == {price("torus(4,4)")} == {Cost(4, Fraction(15, 16))}


def test_numbers_are_taken_for_quantities() -> None:
    said = evaluate("circulant(12,2,3)", alpha="10us", sizes=["25MB", "1B"], bandwidth="100Gbps")
    meant = evaluate("circulant(12,2,3)", alpha=1e-5, sizes=[25e6, 1], bandwidth=1e11)
    assert said.allreduce == meant.allreduce


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate("toros(4,4)"),
        lambda: evaluate(None),
        lambda: evaluate(42),
        lambda: evaluate(Path("missing.json")),
        lambda: evaluate(nx.DiGraph([(0, 1)])),
        lambda: evaluate("complete(1)"),
        lambda: evaluate("torus(4,4)", alpha=float("nan")),
        lambda: evaluate("torus(4,4)", sizes=None),
        lambda: evaluate("torus(4,4)", sizes=[]),
        lambda: evaluate("torus(4,4)", bandwidth=True),
        lambda: price("fabric.yaml"),
        lambda: price_deferred(42),
    ],
)
def test_wrong_arguments_are_errors_of_ours(call: Any) -> None:
    with pytest.raises(TopodesignError):
        call()


@pytest.mark.parametrize("sizes", [25e6, 25_000_000, "25MB", Fraction(25_000_000), [25e6], ("25MB",), iter([25e6])])
def test_one_size_or_several(sizes: Any) -> None:
    assert as_workload(0, sizes, 1).sizes == (Fraction(25_000_000),)


@pytest.mark.parametrize("sizes", [b"1MB", {"a": 1}, [None], [[1]], 1j, [-1], 0])
def test_what_is_no_size(sizes: Any) -> None:
    with pytest.raises(UnitError):
        as_workload("10us", sizes, "100Gbps")


@pytest.mark.dear
def test_what_is_not_looked_for_is_told() -> None:
    """What is looked for by default is counted work; what is skipped is not called useless."""
    large = evaluate("genkautz(3,1500)")
    assert large.deferred_allgather is None
    assert "not looked for" in str(large.table())
    assert "not looked for" not in str(evaluate("torus(4,4)", deferred=False).table())  # where nothing is left to gain


@pytest.mark.parametrize(
    "text", ["torus(4,4)", "kautz(2,2)", "genkautz(3,50)", "catalog_duplex(23,5,1)", "complete(5)"]
)
def test_claims_are_what_the_bounds_say(text: str) -> None:
    result = evaluate(text)
    steps, factor, *exchange = result.claims
    assert (steps.proven, factor.proven) == (
        result.cost.steps == result.bound.steps,
        min(result.spff_cost.bandwidth, *(cost.bandwidth for cost in result.cheapest)) == result.bounds[-1].bandwidth,
    )
    assert exchange[0].proven == result.all_to_all.exact
    for claim in result.claims:
        assert claim.bound is not None
        assert claim.value >= claim.bound
        assert ("duplex" in claim.among) == (claim.among.name == "DUPLEX")
    assert result.record()["claims"] == [claim.record() for claim in result.claims]


def test_a_file_is_as_exact_as_its_spec_up_to_32_nodes() -> None:
    spec = build("genkautz(3,32)")
    plain = Topology.from_arrays(spec.nodes, spec.src, spec.dst, spec.capacity)
    by_pairs, by_orbits = evaluate(plain).all_to_all, evaluate(spec).all_to_all
    assert by_pairs.exact
    assert by_pairs.bandwidth == by_orbits.bandwidth


def test_the_argument_selects_the_method() -> None:
    """One function for every network and question, as the command has."""
    fabric, group = build_fabric("dgx_a100(1)"), [[0, 1], [2, 3]]
    assert evaluate(nx.DiGraph([(0, 1), (1, 0)])).record() == evaluate_topology(nx.DiGraph([(0, 1), (1, 0)])).record()
    assert evaluate(fabric).record() == optimum(fabric, "allreduce").record()
    assert evaluate("torus(2,2)", collective="allgather").record() == optimum("torus(2,2)", "allgather").record()
    assert evaluate("torus(2,2)", group=group).record() == price_groups("torus(2,2)", "allreduce", group).record()
    assert evaluate("torus(2,2)", traffic="zipf:1.2").record() == price_uneven("torus(2,2)", "zipf:1.2").record()


@pytest.mark.parametrize("more", [{"group": [[0, 1]]}, {"collective": "allgather"}])
def test_traffic_is_a_question_of_its_own(more: dict[str, Any]) -> None:
    """The command refuses the same; nothing that is given is ignored."""
    question: Any = evaluate
    with pytest.raises(ParameterError, match=f"{next(iter(more))} cannot be combined with traffic"):
        question("torus(2,2)", traffic="zipf:1.2", **more)
