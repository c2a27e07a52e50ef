"""Topologies that a wiring can grow to: their prices, and the moves, which changes to them need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from topodesign import build
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.cli.main import program
from topodesign.fabrics.networks import read_network
from topodesign.schedulers.price import price_plans
from topodesign.wiring.change.growth import Growth, grow
from topodesign.wiring.change.rewire import change_wiring
from topodesign.wiring.inventory.answers import plain_inventory
from topodesign.wiring.inventory.devices import Mode
from topodesign.wiring.plan.files import save_wiring
from topodesign.wiring.plan.wire import plan_wiring


def check(found: Growth) -> None:
    for place, one in enumerate(found.topologies):
        topology = one.topology
        assert topology.nodes == found.nodes
        assert topology.degree <= found.degree
        assert one.entry.cost == price_plans(topology, all_sources=True).cheapest[0]
        assert one.at_least <= one.moves
        for other in found.topologies[:place]:
            assert other.moves < one.moves
            assert other.entry.times[0] > one.entry.times[0]


@pytest.mark.dear("17-4-duplex")
@pytest.mark.parametrize(
    ("nodes", "panels", "mode"),
    [
        *((13, 1, "duplex"), (13, 1, "simplex"), (17, 4, "duplex")),
        *(
            pytest.param(*case, marks=pytest.mark.thorough)
            for case in (
                (17, 1, "duplex"),
                (17, 2, "duplex"),
                (13, 2, "duplex"),
                (13, 4, "duplex"),
                (13, 4, "simplex"),
                (17, 1, "simplex"),
                (17, 4, "simplex"),
            )
        ),
    ],
)
def test_a_change_to_what_was_found_needs_no_more_moves(nodes: int, panels: int, mode: Mode) -> None:
    plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4, panels=panels, kind="ocs"), mode=mode)
    found = grow(plan, nodes, 4)
    check(found)
    room = plain_inventory(nodes, 4, panels=panels, kind="ocs")
    for one in found.topologies:
        change = change_wiring(plan, one.topology, inventory=room, downtime=True, throughput=False)
        assert not change.drawn
        assert one.at_least <= change.moves <= one.moves


def test_what_cannot_be_asked() -> None:
    plan = plan_wiring("circulant(12,2,3)", plain_inventory(12, 4))
    with pytest.raises(ParameterError, match="nodes must be at least 13"):
        grow(plan, 12, 4)
    with pytest.raises(InfeasibleError, match="nothing is known for 100000 nodes of degree 37"):
        grow(plan, 100000, 37)


@pytest.mark.dear
def test_command(tmp_path: Path) -> None:
    save_wiring(plan_wiring("circulant(12,2,3)", plain_inventory(12, 4)), tmp_path / "plan.json")
    asked = ["pareto", "-n", "16", "-d", "4", "--near", str(tmp_path / "plan.json")]
    run = CliRunner().invoke(program, [*asked, "-o", str(tmp_path / "grown"), "--json"], catch_exceptions=False)
    document = json.loads(run.stdout)
    first = document["topologies"][0]
    assert document["grown_from"] == 12
    assert first["bound"] <= first["moves"]
    assert read_network(tmp_path / "grown" / first["file"]).topology().nodes == 16
    assert read_network(tmp_path / "grown" / first["file"]).topology() == build(first["name"])
    text = CliRunner().invoke(program, asked, catch_exceptions=False).output
    assert "12 nodes to 16 of degree 4" in text
    for more, words in (
        (["--add", "ring"], "network"),
        (["--collective", "allgather"], "1 x allgather 1MiB"),
        (["-d", "3..4"], "of each size"),
        (["--top", "1"], "next by"),
    ):
        assert words in CliRunner().invoke(program, [*asked, *more], catch_exceptions=False).output


@pytest.mark.dear("simplex-circulant(10,1,3)-4-12")
@pytest.mark.parametrize(
    ("spec", "degree", "nodes"),
    [
        ("circulant(10,1,3)", 4, 12),
        pytest.param("circulant(20,1,6)", 4, 24, marks=pytest.mark.thorough),
        pytest.param("circulant(60,1,5,17)", 6, 72, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize("mode", ["duplex", "simplex"])
def test_nodes_inserted_into_links_move_nothing_else(spec: str, degree: int, nodes: int, mode: Mode) -> None:
    plan = plan_wiring(spec, plain_inventory(build(spec).nodes, degree, panels=degree, kind="ocs"), mode=mode)
    found = [one for one in grow(plan, nodes, degree).topologies if "inserted" in one.name]
    assert found
    room = plain_inventory(nodes, degree, panels=degree, kind="ocs")
    for one in found:
        kept = change_wiring(plan, one.topology, inventory=room, downtime=True, throughput=False, keep_hosts=True)
        assert kept.change.fewest
        assert kept.moves == kept.change.least_so == one.moves
        free = change_wiring(plan, one.topology, inventory=room, downtime=True, throughput=False)
        assert free.change.at_least <= free.change.least_so <= free.moves <= kept.moves
        assert not free.drawn
        assert not free.cables
