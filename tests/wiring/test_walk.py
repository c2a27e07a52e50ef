"""The way of who moves patches: grouped by panel, as short as can be, and shorter on request."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.samples.inventories import inventory_of
from tests.samples.plans import plan_of
from topodesign import build, change_wiring, plan_wiring
from topodesign.base.errors import ParameterError
from topodesign.cli.main import program
from topodesign.topology.topology import Topology
from topodesign.wiring.change.patches import Job, jobs
from topodesign.wiring.change.rewire import Rewiring
from topodesign.wiring.change.stages import MAX_EXACT, walk_of_jobs
from topodesign.wiring.inventory.inventory import Inventory
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.proof import check_plan


def hall(panels: int, hosts: int = 6, lanes: int = 4) -> Inventory:
    """Panels of one field, each in its rack."""
    return inventory_of(
        hosts, lanes, (-(-hosts * lanes // panels),) * panels, field="hall", racks=True, kind="patch panel"
    )


def apart(inventory: Inventory, a: str, b: str) -> Fraction:
    (x, y), (z, w) = (inventory.racks["s"][inventory.panel[name].rack] for name in (a, b))
    return abs(x - z) + abs(y - w)


def way(inventory: Inventory, order: list[str]) -> Fraction:
    return sum((apart(inventory, a, b) for a, b in itertools.pairwise(order)), Fraction(0))


@settings(deadline=None)
@given(panels=st.integers(1, 6), data=st.data())
def test_the_way_is_the_shortest_of_all_orders(panels: int, data: st.DataObject) -> None:
    inventory = hall(10)
    names = data.draw(st.lists(st.sampled_from(sorted(inventory.panel)), min_size=panels, max_size=panels, unique=True))
    found = walk_of_jobs(inventory, [Job(f"C{i}", (name,), ()) for i, name in enumerate(names)])
    order = [panel for panel, _ in found.visits]
    assert sorted(order) == sorted(names)
    assert found.metres == way(inventory, order)
    assert found.metres == min(way(inventory, list(one)) for one in itertools.permutations(names))


def test_many_panels_have_a_way_too() -> None:
    inventory = hall(16)
    found = walk_of_jobs(inventory, [Job(name, (name,), ()) for name in inventory.panel])
    assert len(found.visits) == 16 > MAX_EXACT
    assert found.metres is not None
    assert found.metres == way(inventory, [panel for panel, _ in found.visits])
    assert found.metres <= way(inventory, list(inventory.panel))


def check(found: Rewiring) -> None:
    """Raise AssertionError unless all that is to be done is listed once, and the metres are those of the way."""
    check_plan(found.after)
    inventory = found.after.inventory
    for stage in found.stages:
        walk = stage.walk
        assert Counter(walk.lines) == Counter(job.words for job in jobs(found.after, stage.removed, stage.made))
        before = {connect.cable: connect for connect in stage.removed}
        metres = way(inventory, [panel for panel, _ in walk.visits])
        for connect in stage.made:
            if connect.cable in before:
                old = before[connect.cable]
                moved = Counter({(old.a.panel, old.a.panel_port): 1, (old.b.panel, old.b.panel_port): 1})
                ends = [(connect.a.panel, connect.a.panel_port), (connect.b.panel, connect.b.panel_port)]
                gone = [end for end in moved if end not in ends]
                come = [end for end in ends if end not in moved]
                if len(gone) == len(come) == 1:
                    metres += 2 * apart(inventory, gone[0][0], come[0][0])
        touched = {panel for panel, _ in walk.visits}
        if all(panel in touched for job in (*stage.made, *stage.removed) for panel in (job.a.panel, job.b.panel)):
            assert walk.metres == metres


@st.composite
def digraphs(draw: st.DrawFn) -> tuple[Topology, Topology]:
    """Two of six nodes and degree four, of random permutations."""
    found = []
    for _ in range(2):
        links: Counter[tuple[int, int]] = Counter()
        for shift in draw(st.lists(st.permutations(range(6)), min_size=4, max_size=4)):
            links.update((u, v) for u, v in enumerate(shift) if u != v)
        found.append(Topology.from_links(6, [(u, v, c) for (u, v), c in links.items()]))
    return found[0], found[1]


@pytest.mark.dear
@settings(max_examples=6, deadline=None)
@given(pair=digraphs())
def test_less_is_walked_on_request_and_no_more_is_moved(pair: tuple[Topology, Topology]) -> None:
    plan = plan_wiring(pair[0], hall(3), mode="simplex")
    plain, less = (change_wiring(plan, pair[1], downtime=True, throughput=False, walk=walk) for walk in (False, True))
    for found in (plain, less):
        check(found)
    assert less.moves <= plain.moves
    assert plain.metres is not None
    assert less.metres is not None
    assert (less.moves, less.metres) <= (plain.moves, plain.metres)


def test_way_of_a_change_that_can_be_shorter() -> None:
    plan = plan_wiring("genkautz(4,12)", hall(4, 12), mode="simplex")
    plain, less = (
        change_wiring(plan, "circulant(12,1,5)", downtime=True, throughput=False, walk=walk) for walk in (False, True)
    )
    assert less.moves == plain.moves
    assert less.metres is not None
    assert plain.metres is not None
    assert less.metres < plain.metres


def test_walking_less_needs_to_know_where_panels_stand() -> None:
    plan = plan_wiring("circulant(6,1,2)", inventory_of(6, 4, (12, 12), field="hall", kind="patch panel"))
    with pytest.raises(ParameterError, match="coordinates"):
        change_wiring(plan, "circulant(6,1,3)", downtime=True, walk=True)
    found = change_wiring(plan, "circulant(6,1,3)", downtime=True, throughput=False)
    assert found.metres is None


@pytest.mark.dear
def test_the_command_groups_by_panel(tmp_path: Path) -> None:
    save_wiring(plan_wiring("genkautz(4,12)", hall(4, 12), mode="simplex"), tmp_path / "p.json")
    words = ["wire", "change", str(tmp_path / "p.json"), "circulant(12,1,5)", "--downtime", "--walk"]
    words.append("--no-throughput")
    said = CliRunner().invoke(program, words).output
    record = json.loads(CliRunner().invoke(program, [*words, "--json"]).output)
    (stage,) = record["stages"]
    headings = [line for line in said.splitlines() if line.startswith("  at panel ")]
    assert [line.split()[2] for line in headings] == stage["panels"]
    assert Fraction(stage["walk_m"]) > 0
    assert " m to walk" in said
    one = change_wiring(plan_of(build("circulant(6,1,2)")), "circulant(6,1,3)", downtime=True, throughput=False)
    assert "at panel" not in str(one)
