"""The audit: it finds what the makers of rows find, by code of its own, and every untrue word of a row."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from tests.catalog.test_verify import MUTATIONS, Run, row_of
from tests.solve.flows.test_program import least_factor
from topodesign import all_to_all
from topodesign.base.cost import Basis, Cost
from topodesign.catalog import audit, flow_audit, replayed
from topodesign.catalog.all_to_all import Bounds
from topodesign.catalog.all_to_all_rows import EXCHANGE, Exchange
from topodesign.catalog.audit import audit_exchange, audit_row, distances, spff
from topodesign.catalog.files import default_directory
from topodesign.catalog.flow_audit import proven, wrong_flow
from topodesign.catalog.lookup import Catalog
from topodesign.catalog.replayed import Digraph, InvalidScheduleError, Orbits, orbits_of, replay
from topodesign.catalog.rows import read_row
from topodesign.catalog.verify import read_stored_rows, verify
from topodesign.pricing.closed_form import price
from topodesign.pricing.deferral import Moves
from topodesign.pricing.evaluation import cheaper, price_both_deferred
from topodesign.pricing.split_deferral import best_deferral
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

SPECS = (
    "genkautz(4,30)",
    "line(circulant(8,1,3))",
    "parallel(genkautz(3,11),2)",
    "delete(genkautz(5,40),3,2)",
    "torus(3,4,5)",
    "randomregulargraph(20,5,1)",
    "genkautz(9,25)",
)


def links_of(topology: Topology) -> Digraph:
    return Digraph.of(topology.nodes, topology.src, topology.dst, topology.capacity)


@pytest.mark.parametrize("spec", SPECS)
def test_prices_are_those_of_the_closed_form(spec: str) -> None:
    topology = build(spec)
    links = links_of(topology)
    found = spff(links, topology.degree, np.arange(topology.nodes))
    assert Cost(found.steps, found.bandwidth) == price(topology, all_sources=True)
    orbits = orbits_of(links, topology.symmetry.generators if topology.symmetry else ())
    assert spff(links, topology.degree, orbits.roots)[:2] == found[:2]


@pytest.mark.parametrize("spec", SPECS)
def test_distances_are_those_of_networkx(spec: str) -> None:
    topology = build(spec)
    own = dict(nx.all_pairs_shortest_path_length(topology.to_networkx()))
    far = distances(links_of(topology), np.arange(topology.nodes))
    assert far.tolist() == [[own[u][v] for v in range(topology.nodes)] for u in range(topology.nodes)]


def test_pieces_of_the_work_make_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = build("genkautz(4,30)")
    whole = spff(links_of(topology), 4, np.arange(30))
    monkeypatch.setattr(audit, "_CELLS", 400)
    monkeypatch.setattr(audit, "_SUBSETS", 1)
    pieces = spff(links_of(topology), 4, np.arange(30))
    assert pieces[:2] == whole[:2]
    assert pieces.sums.tolist() == whole.sums.tolist()


@pytest.mark.parametrize(
    "name", [one for one in MUTATIONS if one not in {"found", "basis", "bound", "version", "blanks"}]
)
def test_every_untrue_word_is_found(name: str) -> None:
    """But for where a row comes from, which no links tell."""
    for text in ("genkautz(2,11)", "circulant(12,2,3)", "transpose(genkautz(3,14))"):
        row = row_of(text)
        assert audit_row(row) == (None, False)
        assert audit_row(read_row(MUTATIONS[name](row).line)).wrong is not None


def test_a_symmetry_that_the_links_do_not_have_is_not_believed() -> None:
    links = links_of(build("genkautz(2,6)"))
    with pytest.raises(InvalidScheduleError, match="symmetry"):
        orbits_of(links, (np.roll(np.arange(6), 1).astype(np.int32),))


@pytest.mark.parametrize(
    ("spec", "free"), [("circulant(12,2,3)", True), ("cayley(metacyclic(7,3,2),1,7)", True), ("torus(3,3)", None)]
)
def test_a_free_symmetry_is_told_by_all_its_permutations(spec: str, free: bool | None) -> None:
    topology = build(spec)
    assert topology.symmetry is not None
    orbits = orbits_of(links_of(topology), topology.symmetry.generators)
    group = {tuple(range(topology.nodes))}
    queue = list(group)
    for one in queue:
        for generator in orbits.generators:
            image = tuple(int(generator[node]) for node in one)
            if image not in group:
                group.add(image)
                queue.append(image)
    identity = tuple(range(topology.nodes))
    moves_all = all(all(a != b for a, b in zip(one, identity, strict=True)) for one in group - {identity})
    assert orbits.are_free() == moves_all
    assert free in {None, moves_all}
    for node in range(topology.nodes):
        names = orbits.name_from(node)
        assert names[node] == orbits.of[node]
        assert tuple(np.argsort(names)) in group


def test_a_symmetry_with_fixed_nodes_is_not_free() -> None:
    links = links_of(build("complete(4)"))
    turn, swap = np.array([1, 2, 3, 0], np.int32), np.array([1, 0, 2, 3], np.int32)
    assert orbits_of(links, (turn,)).are_free()
    assert not orbits_of(links, (turn, swap)).are_free()


@pytest.mark.parametrize("spec", ["randomregulargraph(20,4,1)", "cayley(metacyclic(7,3,2),1,7)", "genkautz(3,20)"])
def test_replayed_schedules_cost_what_they_say(spec: str) -> None:
    topology = build(spec)
    links, found = links_of(topology), best_deferral(topology)
    orbits = None
    if len(found.receivers) < topology.nodes:
        assert topology.symmetry is not None
        orbits = orbits_of(links, topology.symmetry.generators)
    assert replay(links, found.moves, len(found.loads), orbits) == sum(found.loads)


def test_split_shards_are_replayed() -> None:
    topology = build("parallel(complete(3),2)")
    pieces = [
        (step, sender, receiver, shard, 0, 2)
        for receiver in range(3)
        for shard in range(3)
        if shard != receiver
        for step, sender in [(1, shard)]
    ]
    whole = Moves(2, *map(np.array, zip(*pieces, strict=True)))
    assert replay(links_of(topology), whole, 1) == Fraction(1, 2)
    halves = [(*row[:4], low, low + 1) for row in pieces for low in (0, 1)]
    halves[0] = (2, 2, *halves[0][2:])  # one comes later and over another
    split = Moves(2, *map(np.array, zip(*halves, strict=True)))
    assert replay(links_of(topology), split, 2) == Fraction(1, 2) + Fraction(1, 4)


def broken(moves: Moves, name: str) -> Moves:
    columns = {one: np.array(getattr(moves, one)) for one in Moves._fields[1:]}
    late = int(np.flatnonzero(moves.sender != moves.shard)[0])
    if name == "early":
        columns["step"][late] = 1
    elif name == "no link":
        columns["sender"][late] = columns["receiver"][late]
    elif name == "twice":
        columns["shard"][late] = columns["shard"][late - 1]
    elif name == "less":
        columns = {one: np.delete(column, late) for one, column in columns.items()}
    else:
        columns["step"][late] = 99
    return Moves(moves.units, **columns)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("early", "does not have yet"),
        ("no link", "no link"),
        ("twice", "not every node"),
        ("less", "not every node"),
        ("long", "99 steps"),
    ],
)
def test_schedules_that_are_none_are_refused(name: str, words: str) -> None:
    topology = build("randomregulargraph(20,4,1)")
    moves = best_deferral(topology).moves
    with pytest.raises(InvalidScheduleError, match=words):
        replay(links_of(topology), broken(moves, name), 6)


def test_deferred_rows() -> None:
    spec = "randomregulargraph(20,4,1)"
    row, topology = row_of(spec), build(spec)
    there, back = map(cheaper, (row.cost, row.allgather), price_both_deferred(topology))
    right = replace(row, basis=Basis.DEFERRED, cost=there, allgather=back)
    assert there.bandwidth < row.cost.bandwidth
    assert audit_row(right).wrong is None
    less = replace(right, cost=Cost(there.steps, there.bandwidth - Fraction(1, 1000)))
    assert f"bandwidth {there.bandwidth}, above" in str(audit_row(less).wrong)


def test_a_sample_finds_nothing_that_costs_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "_MAX_WORK", 20 * 5 * 4)
    row = row_of("randomregulargraph(20,5,1)")
    assert audit_row(row) == (None, True)
    assert audit_row(replace(row, cost=Cost(row.cost.steps, row.cost.bandwidth / 2))).sampled
    assert "above" in str(audit_row(replace(row, cost=Cost(row.cost.steps, row.cost.bandwidth / 2))).wrong)


def test_prices_of_all_to_all_are_proven_by_flows() -> None:
    row = row_of("circulant(12,2,3)")
    least = Fraction(14, 9)
    assert audit_row(replace(row, all_to_all=Bounds(least, least))).wrong is None
    assert "all-to-all" in str(audit_row(replace(row, all_to_all=Bounds(Fraction(1), least - Fraction(1, 99)))).wrong)


@pytest.mark.dear
def test_the_command_tells_faults_and_goes_on(tmp_path: Path, program: Run) -> None:
    done = tmp_path / "progress"
    args = ("catalog", "verify", "--audit", "-n", "10..14", "-d", 3, "--resume", done, "--jobs", 1)
    status, out, _ = program(*args)
    assert (status, "audited" in out, "no faults" in out) == (0, True, True)
    document = json.loads(program(*args, "--json")[1])
    kept = len(EXCHANGE.known(default_directory(), 3, 10, 14))  # these are audited again
    assert document["verified_before"] == document["rows"] - kept
    assert (document["audited"], document["sampled"], document["faults"]) == (True, 0, [])
    assert program("catalog", "verify", "--audit", "--all-sources", "-d", 3)[0] == 2
    rows = read_stored_rows(Catalog(default_directory()), [3], 10, 12)
    rows[1] = replace(rows[1], row=replace(rows[1].row, spec="uniring(3,4)"))
    assert [fault.place for state in verify(rows, audit_row, workers=1) for fault in state.faults] == [rows[1]]


def test_it_shares_nothing_with_the_makers() -> None:
    """Of pricing it takes alone the schedule to replay and the flow to look at."""
    text = "".join(Path(str(one.__file__)).read_text() for one in (audit, flow_audit, replayed))
    found = set(re.findall(r"^from (topodesign[\w.]*) import (.+)$", text, re.MULTILINE))
    found = {(place, names) for place, names in found if place not in {flow_audit.__name__, replayed.__name__}}
    allowed = {
        ("topodesign.base.cost", "Basis"),
        ("topodesign.base.errors", "TopodesignError"),
        ("topodesign.catalog.all_to_all", "Bounds"),
        ("topodesign.catalog.all_to_all_rows", "Exchange"),
        ("topodesign.catalog.rows", "Row"),
        ("topodesign.pricing.all_to_all", "all_to_all"),
        ("topodesign.pricing.efforts", "Effort"),
        ("topodesign.solve.flows.concurrent", "ConcurrentFlow"),
        ("topodesign.pricing.deferral", "Moves"),
        ("topodesign.pricing.split_deferral", "best_deferral"),
        ("topodesign.topology.library", "build"),
        ("topodesign.topology.topology", "Topology"),
    }
    assert found == allowed


# -- flows and prices of links are believed for what they show: as a linear program says, and nothing that is broken --


SPECS_FLOW_AUDIT = (
    "genkautz(2,11)",
    "circulant(12,2,3)",
    "parallel(genkautz(2,7),2)",
    "torus(3,4)",
    "spare(complete(5))",
)


def looked_at(spec: str) -> tuple[Topology, Digraph, Orbits]:
    topology = build(spec)
    links = Digraph.of(topology.nodes, *(np.array(one) for one in (topology.src, topology.dst, topology.capacity)))
    return topology, links, orbits_of(links, topology.symmetry.generators if topology.symmetry else ())


@pytest.mark.parametrize("spec", SPECS_FLOW_AUDIT)
def test_what_is_proven_is_the_optimum(spec: str) -> None:
    topology, links, orbits = looked_at(spec)
    flow, least = all_to_all(topology, effort="exact").flow, least_factor(topology)
    assert flow is not None
    unit = Fraction(topology.degree, topology.nodes)
    assert [one * unit for one in proven(flow, links, orbits)] == [least, least]
    assert wrong_flow(topology, links, orbits, topology.degree, Bounds(least, least)) is None
    assert wrong_flow(topology, links, orbits, topology.degree, Bounds(least * 2, least * 2)) is not None
    assert wrong_flow(topology, links, orbits, topology.degree, Bounds(least / 2, least / 2)) is not None
    near = all_to_all(topology, effort="approximate").flow
    assert near is not None
    lower, upper = (one * unit for one in proven(near, links, orbits))
    assert lower <= least <= upper <= lower * Fraction(101, 100)


@pytest.mark.parametrize("name", ["amounts", "negative", "denominator", "prices", "none", "sources"])
def test_what_is_broken_proves_nothing(name: str) -> None:
    topology, links, orbits = looked_at("genkautz(2,11)")
    flow = all_to_all(topology, effort="exact").flow
    assert flow is not None
    amounts: Any = np.array(flow.amounts)
    prices: Any = np.array(flow.prices)
    if name == "amounts":
        amounts[0, 0] += 1
    elif name == "negative":
        amounts[:] = -amounts
    elif name == "prices":
        prices[0] = -1
    elif name == "none":
        prices[:] = 0
    elif name == "sources":
        flow = replace(flow, quotient=replace(flow.quotient, sources=flow.quotient.sources[1:]))
    broken = replace(flow, amounts=amounts, prices=prices, denominator=flow.denominator + (name == "denominator"))
    with pytest.raises(InvalidScheduleError):
        proven(broken, links, orbits)


def test_every_word_of_what_is_kept_is_audited() -> None:
    least = all_to_all("circulant(12,2,3)").bandwidth
    assert least is not None
    right = Exchange(12, True, 2, Bounds(least, least), "circulant(12,2,3)")
    assert audit_exchange(right, 4) is None
    wrong = [replace(right, nodes=13), replace(right, duplex=False), replace(right, steps=3)]
    wrong += [replace(right, all_to_all=Bounds(least - 1, least - 1)), replace(right, spec="circulant(12,2)")]
    assert all(audit_exchange(one, 4) is not None for one in wrong)
    assert audit_exchange(right, 5) is not None
