"""Rings: the order of ranks, and cables that all go from the first ports of a host to the last of the next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from topodesign import build, init_wiring, load_wiring, plain_inventory, plan_wiring, save_wiring
from topodesign.topology.topology import Topology
from topodesign.wiring.check.lldp import hosts_from_lldp
from topodesign.wiring.inventory.devices import LANES, Connector, Fixed, Mode, lanes_of
from topodesign.wiring.plan.plan import WiringPlan
from topodesign.wiring.plan.ring import find_ring


def rank_of_lanes(plan: WiringPlan, host: str) -> dict[tuple[str, int], int]:
    machine = plan.inventory.host[host]
    return {(port.name, lane): rank for rank, (port, lane) in enumerate(lanes_of(machine))}


@pytest.mark.parametrize("mode", ["duplex", "simplex"])
@pytest.mark.parametrize(("nodes", "degree"), [(3, 2), (4, 2), (5, 2), (6, 4), (7, 6), (9, 8)])
def test_every_cable_of_a_ring_goes_from_the_first_ports_to_the_last(nodes: int, degree: int, mode: Mode) -> None:
    plan = plan_wiring(f"biring({degree},{nodes})", plain_inventory(nodes, degree), mode=mode)
    assert plan.ring is not None
    assert sorted(plan.ring) == sorted(plan.hosts)
    following = dict(zip(plan.ring, (*plan.ring[1:], plan.ring[0]), strict=True))
    for one in plan.connects:
        a, b = (one.a, one.b) if following[one.a.host] == one.b.host else (one.b, one.a)
        assert following[a.host] == b.host
        assert rank_of_lanes(plan, a.host)[a.port, a.lane] < degree // 2
        assert rank_of_lanes(plan, b.host)[b.port, b.lane] >= degree // 2
    assert len(plan.connects) == nodes * degree // (2 if mode == "duplex" else 1)
    if degree == 2:
        assert "every cable from eth0 to eth1 of the next" in " ".join(str(plan).split())


def test_rings_whose_lanes_are_on_several_fields_stay_as_they_can_be() -> None:
    room = plain_inventory(6, 2, panels=2)
    cabled = tuple(Fixed(f"h{n}", f"eth{k}", 1, f"P{k}", str(n + 1)) for n in range(6) for k in range(2))
    plan = plan_wiring("biring(2,6)", replace(room, cabling=cabled), mode="duplex")
    assert plan.ring is not None
    assert all(one.a.port == one.b.port for one in plan.connects)
    assert "every cable" not in str(plan)


@pytest.mark.parametrize(
    ("spec", "ring"),
    [
        ("uniring(1,5)", (0, 1, 2, 3, 4)),
        ("biring(2,5)", (0, 1, 2, 3, 4)),
        ("circulant(5,2)", (0, 2, 4, 1, 3)),
        ("complete(3)", (0, 1, 2)),
        ("complete(4)", None),
        ("torus(3,3)", None),
        ("complete(2)", None),
        ("circulant(4,1,2)", None),
    ],
)
def test_rings_are_known_by_their_links(spec: str, ring: tuple[int, ...] | None) -> None:
    assert find_ring(build(spec)) == ring


@pytest.mark.parametrize(
    "links", [[(0, 2), (2, 4), (4, 0), (1, 3), (3, 5), (5, 1)], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 1)]]
)
def test_several_rings_and_lassos_are_none(links: list[tuple[int, int]]) -> None:
    assert find_ring(Topology.from_links(6, links)) is None
    assert find_ring(Topology.from_links(6, [*links, *((v, u) for u, v in links)])) is None


# -- ports with more lanes than four


@pytest.mark.parametrize("connector", ["MPO-12", "MPO-16", "MPO-24", "MPO-32"])
def test_ports_of_up_to_16_lanes_are_planned_named_and_heard_again(connector: Connector, tmp_path: Path) -> None:
    lanes = LANES[connector]
    plan = plan_wiring("complete(5)", init_wiring(5, connector=connector, speed="800Gbps"), mode="duplex")
    save_wiring(plan, tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json") == plan
    for names in ([f"eth0/{lane}" for lane in range(1, lanes + 1)], [f"eth0s{lane}" for lane in range(lanes)]):
        rows = [f"a,{name},b,{name}" for name in names] + [f"b,{name},a,{name}" for name in (names[0], names[-1])]
        (tmp_path / "heard.csv").write_text("\n".join(["host,port,neighbour_host,neighbour_port", *rows]))
        hosts = hosts_from_lldp(tmp_path / "heard.csv", speed="800Gbps")
        assert [[(port.name, port.connector) for port in host.ports] for host in hosts] == [[("eth0", connector)]] * 2
