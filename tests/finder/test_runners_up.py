"""Runners-up: each is the best of its wish among all that is known, by definition, and its figures are of its links."""

from __future__ import annotations

from fractions import Fraction

import pytest

from topodesign import Catalog, build, pareto, plan_wiring
from topodesign.finder import sources
from topodesign.finder.candidate import measure
from topodesign.finder.question import Objective, Question
from topodesign.finder.runners_up import WISHES, RunnersUp, count_patches
from topodesign.schedulers.price import price_plans
from topodesign.wiring.inventory.answers import plain_inventory


def found(nodes: int, degree: int, count: int, *, duplex: bool = False) -> RunnersUp:
    result = pareto(nodes, degree, bidirectional=duplex, runners_up=count).runners_up
    assert result is not None
    return result


@pytest.mark.dear("False")
@pytest.mark.parametrize("duplex", [False, True])
def test_nobody_known_is_better(duplex: bool) -> None:
    nodes, degree, count = 24, 4, 2
    result = pareto(nodes, degree, bidirectional=duplex, runners_up=count)
    rest = []
    asked = Question(nodes, degree, duplex, Objective.read(), Catalog())
    rows = sources.read_catalog(asked, exchanges=False)
    known = {one.spec for one in rows}
    for candidate in (*rows, *(one for one in sources.find_members(asked) if one.spec not in known)):
        entry = measure(candidate, asked)
        if entry is not None and entry.spec != result.best.spec:
            rest.append(entry)
            if candidate.costs is None:
                assert (entry.cost, entry.allgather) == price_plans(build(entry.spec)).cheapest
    assert len(rest) > 2
    assert result.runners_up is not None
    by_wish = {wish: [one for one in result.runners_up if one.wish == wish] for wish in WISHES}
    for wish, several in by_wish.items():
        assert [one.place for one in several] == list(range(1, len(several) + 1)), wish
        assert result.best.spec not in [one.entry.spec for one in several]
    times = sorted(one.allreduce[0] for one in rest)
    assert [one.entry.allreduce[0] for one in by_wish["time"]] == times[:count]
    assert [one.entry.cost.steps for one in by_wish["steps"]] == sorted(one.cost.steps for one in rest)[:count]
    factors = sorted(one.mean.bandwidth for one in rest)
    assert [one.entry.mean.bandwidth for one in by_wish["bandwidth"]] == factors[:count]
    assert all(one.entry.duplex and build(one.entry.spec).is_duplex for one in by_wish["duplex"])
    assert all(one.transitive and build(one.entry.spec).vertex_transitive for one in by_wish["vertex-transitive"])
    least = result.best.allreduce[0]
    quick = [one for one in rest if one.allreduce[0] < 2 * least]
    assert by_wish["wiring"][0].patches == min(count_patches(one.topology)[0] for one in quick)
    for other in result.runners_up:
        assert other.over == other.entry.allreduce[0] / least >= 1
        assert (other.patches, other.lengths) == count_patches(build(other.entry.spec))
    assert result.record()["runners_up"] == [one.record() for one in result.runners_up]


@pytest.mark.parametrize(
    ("spec", "patches", "lengths"),
    [
        ("circulant(12,2,3)", 24, 2),
        ("dicirculant(12,1,5)", 24, 2),
        ("dicirculant(12,1,11)", 12, 1),  # whose two jumps are each other's way back
        ("uniring(2,5)", 10, 1),
        ("biring(4,5)", 10, 1),
        ("complete(6)", 15, 3),
    ],
)
def test_patches_and_lengths_of_those_that_can_be_counted_by_hand(spec: str, patches: int, lengths: int) -> None:
    assert count_patches(build(spec)) == (patches, lengths)


@pytest.mark.parametrize("spec", ["circulant(12,2,3)", "torus(4,4)", "genkautz(3,12)", "dicirculant(8,1,3)"])
def test_patches_are_those_of_a_wiring_plan(spec: str) -> None:
    topology = build(spec)
    plan = plan_wiring(topology, plain_inventory(topology.nodes, topology.degree))
    assert count_patches(topology)[0] <= len(plan.connects)
    if topology.is_duplex:
        assert count_patches(topology)[0] == len(plan.connects)


def test_none_unless_asked_for() -> None:
    assert pareto(24, 4).runners_up is None
    assert pareto(24, 4).record()["runners_up"] == []
    shown = found(24, 4, 1)
    assert len(shown.table().rows) == len({one.entry.spec for one in shown}) + 1
    assert len(shown.to_records()) == len(shown)
    assert shown.fastest.over == Fraction(1)
    assert found(24, 4, 1, duplex=True).fastest.entry.duplex


@pytest.mark.parametrize("count", [1, 3])
def test_the_table_names_each_topology_once_with_all_that_it_is_next_by(count: int) -> None:
    shown = found(24, 4, count)
    rows = shown.table().rows
    assert len({row[-1] for row in rows}) == len(rows)
    assert rows[0][0] == "fastest"
    told = {(wish, row[-1]) for row in rows[1:] for wish in row[0].split(", ")}
    assert told == {(one.wish if one.place == 1 else f"{one.wish} #{one.place}", one.entry.spec) for one in shown}


@pytest.mark.parametrize("size", ["1KiB", "1MiB"])
def test_the_fastest_of_two_rows_of_one_wiring_comes_first(size: str) -> None:
    found = pareto(8, 12, sizes=size, runners_up=1)
    assert found.runners_up is not None
    assert found.runners_up.fastest.entry.cost == found.best.cost
    assert all(one.over >= 1 for one in found.runners_up)
