"""Wiring of boxes: every cable of the spec at the lanes that its NICs have, by counting what was patched."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from topodesign import load_wiring, plain_inventory, plan_wiring, save_wiring
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.base.spec import Spec
from topodesign.cli.main import run
from topodesign.fabrics.boxes import named_box, wired
from topodesign.fabrics.presets import as_boxed
from topodesign.topology.library import build
from topodesign.wiring.inventory.devices import Port

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
    cables = wired(named_box(Spec("dgx_h100")), build(graph), split, shift, swaps)
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
        ("boxes(dgx_h100,bipartite(8),1,3)", {"mode": "duplex"}, "take --mode simplex"),
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
    assert "9 nodes, duplex: 36 cross-connects, checked" in capsys.readouterr().out
    assert run(["wire", "plan", "boxes(dgx_h101,complete(9))", "--inventory", "room.yaml"]) == 2
    assert "dgx_h101" in capsys.readouterr().err
