"""Rings: the order of ranks, and cables that all go from the first ports of a host to the last of the next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from topodesign import build, init_wiring, load_wiring, plain_inventory, plan_wiring, save_wiring
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.spec import Spec
from topodesign.cli.main import run
from topodesign.fabrics.boxes import get_box, wire_boxes
from topodesign.fabrics.presets import as_boxed
from topodesign.topology.topology import Topology
from topodesign.wiring.check.lldp import hosts_from_lldp
from topodesign.wiring.inventory.devices import LANES, Connector, Fixed, Mode, Port, lanes_of
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


# -- Wiring of boxes: every cable of the spec at the lanes that its NICs have, by counting what was patched


PLACES = [
    ("bipartite(8)", (), "duplex"),
    ("bipartite(8)", (1, 3), "simplex"),
    ("dicirculant(4,1,1,1,2,2,3,3,3)", (), "duplex"),
    ("dicirculant(4,1,1,2)", (), "simplex"),
    ("circulant(9,1,2)", (2,), "duplex"),
    ("complete(9)", (1, 0, 17), "duplex"),
    ("dicirculant(5,1,2,3,4)", (2, 1, 40), "simplex"),
]


@pytest.mark.parametrize(("graph", "numbers", "mode"), PLACES)
def test_lanes_are_the_ports_of_nics(graph: str, numbers: tuple[int, ...], mode: str, tmp_path: Path) -> None:
    spec = f"boxes(dgx_h100,{','.join((graph, *map(str, numbers)))})"
    split = numbers[0] if numbers else 1
    plan = plan_wiring(spec, plain_inventory(16, 8 * split))
    assert plan.mode == mode
    split, shift, *swaps = [*numbers, *(1, 0)[len(numbers) :]]
    cables = wire_boxes(get_box(Spec("dgx_h100")), build(graph), split, shift, swaps)
    wanted = Counter(
        (f"h{u}", i * split + p, f"h{v}", j * split + q)
        for u, i, v, j, p, q in zip(
            cables.box, cables.nic, cables.to, cables.at, cables.part, cables.at_part, strict=True
        )
    )
    made = Counter[tuple[str, int, str, int]]()
    for one in plan.connects:
        ends = (one.a.host, int(one.a.port[3:])), (one.b.host, int(one.b.port[3:]))  # ethN, one lane each
        made[(*ends[0], *ends[1])] += 1
        made[(*ends[1], *ends[0])] += one.mode == "duplex"
    assert made == wanted
    save_wiring(plan, tmp_path / "plan.json")
    assert load_wiring(tmp_path / "plan.json").connects == plan.connects


def test_a_split_nic_is_a_port_of_as_many_lanes() -> None:
    room = plain_inventory(9, 32)
    ports = tuple(Port(f"nic{i}", "MPO-12", room.speeds[0]) for i in range(8))
    room = replace(room, hosts=tuple(replace(host, ports=ports) for host in room.hosts))
    plan = plan_wiring("boxes(dgx_h100,circulant(9,1,2,3,4),4)", room)
    boxed = as_boxed("boxes(dgx_h100,circulant(9,1,2,3,4),4)")
    assert boxed is not None
    cables = boxed.wiring
    sends = zip(cables.box, cables.nic, cables.part, strict=True)
    nics = dict(zip(sends, zip(cables.to, cables.at, cables.at_part, strict=True), strict=True))
    for one in plan.connects:
        at, to = ((int(end.host[1:]), int(end.port[3:]), end.lane - 1) for end in (one.a, one.b))
        assert nics[at] == to


@pytest.mark.parametrize("panels", [1, 8])
def test_rails_of_one_nic_fit_panels_of_their_own(panels: int) -> None:
    plan = plan_wiring("boxes(dgx_h100,dicirculant(8,1,1,2,3,4,5,6,7))", plain_inventory(8, 8, panels=panels))
    assert len(plan.connects) == 64


@pytest.mark.parametrize(
    ("spec", "options", "match"),
    [
        ("boxes(dgx_h100,complete(9))", {"place": True}, "--place cannot be combined with boxes"),
        ("boxes(dgx_h100,circulant(20,1,2))", {}, "hosts are missing"),
        ("boxes(dgx_h100,complete(9),2)", {}, "too few ports"),
        ("boxes(dgx_h100,bipartite(8),1,3)", {"mode": "duplex"}, "use --simplex"),
        ("boxes(dgx_h100,complete(9))", {"speed": "100Gbps"}, "no lane has 100 ?Gbps"),
    ],
)
def test_what_does_not_fit_is_refused(spec: str, options: dict[str, object], match: str) -> None:
    with pytest.raises((InfeasibleError, ParameterError), match=match):
        plan_wiring(spec, plain_inventory(16, 8), **options)  # type: ignore[arg-type]


def test_fields_that_a_cable_does_not_cross_are_told() -> None:
    with pytest.raises(InfeasibleError, match="of the fields"):
        plan_wiring("boxes(dgx_h100,complete(9),1,1)", plain_inventory(9, 8, panels=8))


def test_the_command_takes_boxes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--hosts", "9", "--ports", "8", "--connector", "LC", "--speed", "400Gbps", "-o", "room.yaml"]
    assert run(["wire", "init", *words]) == 0
    assert run(["wire", "plan", "boxes(dgx_h100,complete(9))", "--inventory", "room.yaml"]) == 0
    assert "9 nodes, duplex, 36 cross-connects, checked" in capsys.readouterr().out
    assert run(["wire", "plan", "boxes(dgx_h101,complete(9))", "--inventory", "room.yaml"]) == 2
    assert "dgx_h101" in capsys.readouterr().err
