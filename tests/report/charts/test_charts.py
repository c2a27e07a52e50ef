"""Plots show what the results say: numbers are compared with other ways of finding them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

from topodesign import (
    as_fabric,
    as_topology,
    build,
    compare,
    compare_methods,
    optimum,
    pareto,
    plot,
    schedule,
    simulate,
    survey,
)
from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.plans.plan import Plan
from topodesign.plans.time.ticks import time_rounds
from topodesign.report.charts.chart import Chart, Drawing
from topodesign.report.charts.links import picture_of


def chart(value: object, kind: str | None = None, **options: object) -> Chart:
    made = plot(value, kind, **options).shown
    assert isinstance(made, Chart)
    return made


def drawing(value: object, kind: str | None = None) -> Drawing:
    made = plot(value, kind).shown
    assert isinstance(made, Drawing)
    return made


def test_what_is_compared_has_its_times_over_ascending_sizes_and_none_below_the_bound() -> None:
    found = compare(["best", "ring"], nodes=12, degree=4, sizes=["1MiB", "1KiB"])
    made = chart(found)
    assert [one.name for one in made.series] == [*(one.name for one in found.contenders), "lower bound"]
    for one, series in zip(found.contenders, made.series, strict=False):
        assert dict(zip(series.x, series.y, strict=True)) == dict(zip(found.workload.sizes, one.times, strict=True))
    methods = compare_methods("torus(3,3)", "allgather", methods=["spff", "ring"], sizes=["1MiB", "1KiB"])
    shown = chart(methods, "times")
    assert {one.name for one in shown.series} == {"spff", "ring", "lower bound"}
    for plotted in (made, shown):
        for line in plotted.series:
            assert list(line.x) == [1024, 2**20]
            assert all(y >= least for y, least in zip(line.y, plotted.series[-1].y, strict=True))


def test_times_are_those_of_the_workload() -> None:
    found = pareto(200, 6)
    made = chart(found, "times")
    place = made.series[0].x.index(2**20)
    for entry, series in zip(found, made.series, strict=False):
        assert series.y[place] == entry.allreduce[0]
        assert series.role == "ours"
    assert [one.name for one in made.series if one.role == "bound"] == ["lower bound"]
    bound = next(one for one in made.series if one.role == "bound")
    assert all(one.y[at] >= bound.y[at] for one in made.series for at in range(len(bound.y)))


def test_the_frontier_has_its_bound_at_the_corner() -> None:
    found = pareto(200, 6)
    made = chart(found)
    assert made.kind == "frontier"
    ours, bound = made.series[0], made.series[1]
    assert list(zip(ours.x, ours.y, strict=True)) == [(one.cost.steps, one.mean.bandwidth) for one in found]
    assert min(ours.x) >= bound.x[0]
    assert min(ours.y) >= bound.y[0]


def test_winners_share_all_sizes_among_them() -> None:
    known = survey(range(20, 60), 4)
    made = chart(known, "winners")
    won = [int(x) for one in made.series if one.role == "ours" for x in one.x]
    assert sorted(won) == [one.nodes for one in known]
    sizes = chart(known)
    assert sizes.kind == "sizes"
    times = dict(zip(sizes.series[0].x, sizes.series[0].y, strict=True))
    for one in made.series:
        if one.role == "ours":
            assert [times[x] for x in one.x] == list(one.y)


def test_sizes_are_plotted_of_any_question() -> None:
    known = survey(range(10, 12), 4, collective="all-to-all")
    fastest, bound = chart(known).series
    assert list(fastest.y) == [one.fastest.times[0] for one in known]
    assert list(bound.y) == [one.question.least[0] for one in known]
    assert "all-to-all of 1MiB" in chart(known, "winners").title


@pytest.mark.parametrize("spec", ["torus(4,3)", "kautz(2,3)", "genkautz(3,20)", "circulant(12,2,3)"])
def test_distances_are_those_of_another_search(spec: str) -> None:
    topology = build(spec)
    made = chart(topology, "distances")
    lengths = [
        far for _, row in nx.all_pairs_shortest_path_length(nx.DiGraph(topology.to_networkx())) for far in row.values()
    ]
    counts = [lengths.count(far) / topology.nodes for far in range(1, max(lengths) + 1)]
    assert list(made.series[0].y) == pytest.approx(counts)
    assert sum(made.series[1].y) == topology.nodes - 1


def test_the_timeline_ends_when_the_simulation_does() -> None:
    plan = schedule("genkautz(2,9)", "allgather")
    done = simulate(plan, size="3MB", alpha="7us", bandwidth="200Gbps")
    made = done.plot().shown
    assert max(end for one in made.series for end in one.until) == done.time
    assert made.to_records() == plot(plan, size="3MB", alpha="7us", bandwidth="200Gbps").to_records()
    use = chart(plan, "use")
    y = Fraction(plan.topology.degree, 9) * sum(Fraction(load) for load in use.series[0].y)
    assert y == plan.claim["bandwidth"]


def test_timed_plans_have_their_own_times() -> None:
    rounds = schedule("circulant(6,1,2)", "allgather")
    sends = time_rounds(
        rounds.topology, rounds.rounds, size=Fraction(3000), alpha=Fraction(1, 1000), bandwidth=Fraction(10**6)
    )
    made = chart(Plan(rounds.topology, sends))
    assert max(end for one in made.series for end in one.until) == int(sends.end.max()) * sends.timing.tick
    assert len(made.to_records()) == len(sends.start)


def test_a_drawing_has_every_link_once() -> None:
    for spec in ("torus(4,3)", "kautz(2,2)", "genkautz(2,9)"):
        topology, made = build(spec), drawing(spec)
        drawn = {
            link for (u, v), both in zip(made.links, made.duplex, strict=True) for link in [(u, v), (v, u)][: 1 + both]
        }
        assert drawn == {(u, v) for u, v, _ in topology.links() if u != v}


def links_of(made: Drawing) -> set[tuple[int, int]]:
    both = zip(made.links, made.duplex, strict=True)
    return {link for (u, v), duplex in both for link in [(u, v), (v, u)][: 1 + duplex]}


@pytest.mark.parametrize(
    "spec", ["torus(4,3)", "circulant(12,2,3)", "circulant(9,1,-2,4)", "genkautz(2,9)", "kautz(2,1)"]
)
def test_orbits_of_links_are_what_all_products_of_generators_reach(spec: str) -> None:
    topology = build(spec)
    assert topology.symmetry is not None
    reached: dict[tuple[int, int], frozenset[tuple[int, int]]] = {}
    for u, v, _ in topology.links():
        if u == v or (u, v) in reached:
            continue
        orbit, new = {(u, v)}, [(u, v)]
        while new:
            a, b = new.pop()
            own = [(int(g[a]), int(g[b])) for g in topology.symmetry.generators]
            own += [(b, a)] if (b, a) in set(map(tuple, np.stack((topology.src, topology.dst), 1).tolist())) else []
            new += [link for link in own if link not in orbit]
            orbit.update(own)
        reached.update(dict.fromkeys(orbit, frozenset(orbit)))
    made = drawing(spec, "orbits")
    groups: dict[int, set[tuple[int, int]]] = {}
    for link, orbit_number in zip(made.links, made.orbits, strict=True):
        groups.setdefault(orbit_number, set()).add(link)
    assert all(len({reached[link] for link in group}) == 1 for group in groups.values())
    assert len(groups) == len(set(reached.values())) == len(made.orbit_names)
    for number, name in enumerate(made.orbit_names):
        assert tuple(map(int, re.split(" . ", name))) in groups[number]


def test_more_orbits_than_have_a_picture_are_refused() -> None:
    with pytest.raises(TooLargeError, match="orbits of links"):
        plot("genkautz(6,200)", "orbits")


def test_what_is_read_is_drawn() -> None:
    for spec, kind in (
        ("catalog(200,6,2)", "orbits"),
        ("genkautz(6,200)", "structure"),
        ("torus(16,16)", "structure"),
        ("circulant(12,2,3)", "structure"),
    ):
        assert picture_of(build(spec)).kind == kind
    assert picture_of(as_fabric("dgx_h100(2)")).kind == "boxes"


@pytest.mark.parametrize("spec", ["dgx_h100(4)", "mi250(3)", "dgx_a100(20)"])
def test_boxes_are_joined_by_all_their_links(spec: str) -> None:
    fabric = as_fabric(spec)
    made = drawing(fabric, "boxes")
    assert made.kind == "boxes"
    total: dict[tuple[str, str], Fraction] = {}
    for link in fabric.links():
        ends = (link.src.split("/")[0], link.dst.split("/")[0])
        if ends[0] != ends[1]:
            total[ends[0], ends[1]] = total.get((ends[0], ends[1]), Fraction(0)) + link.bandwidth
    most = max(total.values())
    name = made.names
    weights = {(name[u], name[v]): weight for (u, v), weight in zip(made.links, made.weights, strict=True)}
    assert {(name[u], name[v]) for u, v in links_of(made)} == set(total)
    assert all(weight == total[ends] / most for ends, weight in weights.items())
    assert len(set(zip(made.x, made.y, strict=True))) == len(made.names)
    assert {made.legend[group] for group in made.groups} == {f"box of {16 if 'mi' in spec else 8} nodes", "switch"}


def test_what_has_no_orbits_or_boxes_is_refused() -> None:
    with pytest.raises(ParameterError, match="no symmetry"):
        plot("randomregular(24,3,1)", "orbits")
    for fabric in ("dgx_a100(1)", "tpu_v4(4,4,4)"):
        with pytest.raises(ParameterError, match="no boxes"):
            plot(fabric, "boxes")


def test_the_bottleneck_is_marked() -> None:
    best = optimum("dgx_a100(2)")
    made = best.plot().shown
    marked = {
        frozenset((made.names[u], made.names[v])) for (u, v), yes in zip(made.links, made.marked, strict=True) if yes
    }
    assert marked == {frozenset((link.src, link.dst)) for link in best.solution.links}
    inside = {made.names[node] for node, group in enumerate(made.groups) if "inside" in made.legend[group]}
    assert inside
    assert marked
    assert all(len(ends & inside) <= 1 for ends in marked)


@pytest.mark.dear("dgx_a100(2)-all-to-all-options0", "mi250(2)-scatter-options1")
@pytest.mark.parametrize(
    ("fabric", "collective", "options"),
    [("dgx_a100(2)", "all-to-all", {}), ("mi250(2)", "scatter", {"root": 0}), ("genkautz(2,7)", "all-to-all", {})],
)
def test_the_bottleneck_of_a_flow_is_marked(fabric: str, collective: str, options: dict[str, Any]) -> None:
    best = optimum(fabric, collective, **options)
    made = best.plot().shown
    marked = {
        frozenset((made.names[u], made.names[v])) for (u, v), yes in zip(made.links, made.marked, strict=True) if yes
    }
    assert marked == {frozenset((link.src, link.dst)) for link in best.solution.links}
    assert marked
    inside = {node for node, group in enumerate(made.groups) if "inside" in made.legend[group]}
    assert inside == best.solution.cut


@pytest.mark.dear
def test_graphs_of_networkx_are_plotted_as_what_they_name() -> None:
    graph = nx.petersen_graph()
    for kind in ("structure", "distances"):
        assert plot(graph, kind).to_records() == plot(as_topology(graph), kind).to_records()
    nx.set_edge_attributes(graph, "25GB/s", "bandwidth")
    assert plot(graph).to_records() == plot(as_fabric(graph)).to_records()


def test_what_cannot_be_plotted_is_said() -> None:
    for value, kind in (("dgx_a100(2)", "distances"), ("torus(4,3)", "cut"), ("torus(4,3)", "nothing"), (3, None)):
        with pytest.raises(ParameterError):
            plot(value, kind)
    with pytest.raises(ParameterError, match="not an option"):
        plot("torus(4,3)", "distances", size="1MiB")
    with pytest.raises(ParameterError, match="trees"):
        plot(schedule("dgx_a100(1)", "allgather"), "timeline")
    with pytest.raises(ParameterError, match="rounds"):
        plot(schedule("dgx_a100(1)", "allgather"), "use")
    for kind, spec in (("structure", "torus(100,100)"), ("timeline", "torus(20,20)")):
        with pytest.raises(TooLargeError):
            plot(schedule(spec, "allgather") if kind == "timeline" else spec, kind)
