"""Programs through a switch that copies and adds: what MSCCL++ executes of them, against all orders and mutants."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import few, is_thorough
from tests.floors import reached
from tests.runtime.mscclpp.explore import Explorer
from tests.runtime.mscclpp.mutants import SWITCHED, lose, mutant
from tests.samples.programs import options_of
from tests.samples.tree_tables import Trees
from topodesign import simulate
from topodesign.base.errors import InfeasibleError, TopodesignError
from topodesign.base.units import as_size
from topodesign.compiler.backends.backend import Options
from topodesign.compiler.backends.mscclpp import Mscclpp
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.compiler.onesided import switched
from topodesign.compiler.onesided.switched import program_through_switch
from topodesign.fabrics.drawing import duplex
from topodesign.fabrics.fabric import Fabric
from topodesign.plans.plan_ops import list_relays
from topodesign.runtime.mscclpp.check import PlanReport, check_plan, prepare
from topodesign.runtime.mscclpp.parse import parse_plan
from topodesign.schedulers.scheduling import schedule

CASES = [
    (collective, protocol, inplace)
    for collective in map(str, switched.COLLECTIVES)
    for protocol in ("Simple", "LL")
    for inplace in (False, True)
    if protocol == "Simple" or collective in {"allgather", "allreduce"}
]


def pair() -> Fabric:
    """Two GPUs on a switch, of whose plans all orders of execution can be tried."""
    links = [link for name in "ab" for link in duplex(name, "s", 10, "NVLink")]
    return Fabric.from_links("pair", ["a", "b"], ["s"], links, multicast=["s"], aggregation=["s"])


@cache
def made(place: str, collective: str, protocol: str, inplace: bool, channels: int = 1) -> Compiled:
    fabric: Any = pair() if place == "pair" else place
    root = (
        {"pair": "b", "dgx_h100(1)": "box0/gpu2"}.get(place, "rack0/gpu3")
        if collective in {"broadcast", "reduce"}
        else None
    )
    plan = schedule(fabric, collective, method="in-network", root=root)
    return compile_plan(plan, "mscclpp", protocol=protocol, inplace=inplace, channels=channels)  # type: ignore[arg-type]


def checked(text: str) -> PlanReport:
    return check_plan(parse_plan(text))


def operations(one: Compiled) -> list[dict[str, Any]]:
    return [op for gpu in json.loads(one.text)["gpus"] for block in gpu["threadblocks"] for op in block["ops"]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_collective_runs_on_eight_gpus(case: tuple[str, str, bool]) -> None:
    for channels in (1, 4):
        one = made("dgx_h100(1)", *case, channels)
        report = checked(one.text)
        assert report.ok, report
        names = {op["name"] for op in operations(one)}
        assert names & {"glres", "gstore", "gstorepkt"}
        assert ("signal" in names) == (case[1] == "Simple")
        groups = [
            group
            for gpu in json.loads(one.text)["gpus"]
            for channel in gpu["channels"]
            if channel["channel_type"] == "switch"
            for group in channel["rank_groups"]
        ]
        assert all(group["ranks"] == list(range(8)) for group in groups)
        assert report.usage is not None
        assert report.usage.threadblocks_per_rank == channels


@pytest.mark.parametrize("collective", ["allgather", "broadcast"])
def test_a_rack_needs_several_threadblocks_for_its_signals(collective: str) -> None:
    one = made("gb200_nvl72(1)", collective, "Simple", True)
    report = checked(one.text)
    assert report.ok, report
    assert report.usage is not None
    assert report.usage.threadblocks_per_rank == 5  # of 71 others, 16 each
    assert max(len(op.get("channel_ids", ())) for op in operations(one)) <= 8


@pytest.mark.dear("allreduce")
@pytest.mark.parametrize("collective", ["allreduce", "allgather"])
def test_a_rack_goes_by_packets(collective: str) -> None:
    report = checked(made("gb200_nvl72(1)", collective, "LL", False).text)
    assert report.ok, report


def test_every_rank_adds_up_in_the_same_order() -> None:
    """Replicas of a model would drift apart else."""
    document = json.loads(made("dgx_h100(1)", "allreduce", "LL", True).text)
    sums = [
        [[place["index"] for place in op["src_buff"]] for op in gpu["threadblocks"][0]["ops"] if "pkt" in op["name"]][
            2:
        ]
        for gpu in document["gpus"]
    ]
    assert all(one == sums[0] for one in sums)
    assert sums[0] == [[0], [0, 1, 2, 3, 4, 5, 6, 7]]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.floor(compared=1)
def test_all_orders_of_two_ranks_agree(case: tuple[str, str, bool]) -> None:
    plan = parse_plan(made("pair", *case).text)
    report = check_plan(plan)
    assert report.ok, report
    run = prepare(plan, report.root)
    assert not Explorer(run.program, run.memory(), report.launches).run().bad
    reached("compared")


def same(case: tuple[str, str, bool], change: str, text: str) -> bool:
    """Whether a change is none: input and output are one buffer."""
    if change == "rebind_a_switch":
        buffers = {
            channel["buffer_type"]
            for gpu in json.loads(text)["gpus"]
            for channel in gpu["channels"]
            if channel["channel_type"] == "switch"
        }
        return case[2] and "s" not in buffers and case[0] in {"allreduce", "broadcast"}
    return False


@pytest.mark.dear
@pytest.mark.floor(found=20)
def test_mutants_are_found() -> None:
    """A group without a rank, another buffer or place, a lost or turned signal: each is found, by the proof itself."""
    for case in CASES:
        for channels in (1, 4):
            for seed in few(range(16), 5):
                other = mutant(made("dgx_h100(1)", *case, channels).text, seed, SWITCHED)
                if other is None:
                    continue
                try:
                    report = checked(other[1])
                except TopodesignError:
                    reached("found")
                    continue
                if report.ok:
                    assert same(case, *other), (case, channels, seed, other[0])
                    continue
                assert not any("random" in one.message for one in report.findings)
                reached("found")


def changed(case: tuple[str, str, bool], change: Any) -> PlanReport:
    document = json.loads(made("dgx_h100(1)", *case).text)
    change(document)
    return checked(json.dumps(document))


ALLREDUCE = ("allreduce", "Simple", False)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        (lambda ops: ops.__delitem__(slice(0, 2)), "deadlock", "waits for a signal"),
        (lambda ops: ops.__delitem__(0), "deadlock", "waits for a signal"),
        (lambda ops: ops.__delitem__(2), "race", "glres"),
        (lambda ops: ops.__delitem__(4), "race", "written by rank 3"),
        (lambda ops: ops[3].update(channel_type="memory"), "illegal", "channel_type switch"),
        (lambda ops: ops[3]["src_buff"][0].pop("switch_channel_id"), "", "names no buffer"),
        (lambda ops: ops[3]["src_buff"][0].update(switch_channel_id=2), "", "must be from 0 to 1"),
        (lambda ops: ops[3]["src_buff"].append(dict(ops[3]["src_buff"][0])), "illegal", "uses only the first"),
        (lambda ops: ops[3]["dst_buff"][0].update(size=2), "illegal", "as much as its source has"),
        (lambda ops: ops[3].update(name="gstore"), "illegal", "a buffer of its own rank"),
        (lambda ops: ops[3]["dst_buff"][0].update(index=8), "out-of-bounds", "goes beyond the 8 chunks"),
    ],
)
def test_what_is_wrong_is_named(change: Any, verdict: str, words: str) -> None:
    def of_rank(document: dict[str, Any]) -> None:
        change(document["gpus"][3]["threadblocks"][0]["ops"])

    if verdict:
        report = changed(ALLREDUCE, of_rank)
        assert report.verdict == verdict, report
        assert words in str(report)
    else:
        with pytest.raises(TopodesignError, match=words):
            changed(ALLREDUCE, of_rank)


def test_all_must_join_the_same() -> None:
    def less(document: dict[str, Any]) -> None:
        document["gpus"][3]["channels"][-1]["buffer_type"] = "s"

    report = changed(ALLREDUCE, less)
    assert report.verdict == "illegal"
    assert "setting them up never ends" in str(report)

    def none(document: dict[str, Any]) -> None:
        document["gpus"][3]["channels"][-1]["rank_groups"][0]["ranks"].remove(3)

    with pytest.raises(TopodesignError, match="lacks rank 3 itself"):
        changed(ALLREDUCE, none)


def test_the_layers_fit() -> None:
    plan = schedule("dgx_h100(1)", "allreduce", method="in-network")
    program = program_through_switch(plan.flow, options_of(inplace=True, channels=2))
    body = program.made
    assert len(body.ranks) == 8
    assert len(body.links) == 28
    assert not list(Mscclpp().lint(program, Options("mscclpp", "some", place=plan.place)))
    assert not prepare(parse_plan(made("dgx_h100(1)", *ALLREDUCE).text)).machine().prove().list_findings()


def test_shards_that_are_said_to_be_equal_are() -> None:
    plain = Trees.of(schedule("dgx_h100(1)", "allgather", method="in-network"))
    made, said = (program_through_switch(one.flow, options_of()) for one in (plain, replace(plain, shard=(2,) * 8)))
    assert made.made == said.made
    times = 1 + (np.arange(8) == 0)
    columns = {"weight": plain.weight * times, "route_weight": plain.route_weight * times[plain.tree[plain.route_edge]]}
    uneven = replace(plain, shard=tuple(times.tolist()), rate=Fraction(1, 8), **columns)
    with pytest.raises(InfeasibleError, match="of unequal shards; use equal ones"):
        program_through_switch(uneven.flow, options_of())


def planes(ranks: int, count: int) -> Fabric:
    """GPUs that all hang on several switches, as in a rack whose NVSwitches are looked at one by one."""
    names, switches = [f"g{number}" for number in range(ranks)], [f"s{number}" for number in range(count)]
    links = [link for name in names for one in switches for link in duplex(name, one, 50, "NVLink")]
    return Fabric.from_links("planes", names, switches, links, multicast=switches, aggregation=switches)


@pytest.mark.parametrize("collective", ["allreduce", "broadcast", "reduce"])
@pytest.mark.parametrize("inplace", [False, True])
def test_planes_of_switches_are_one_to_a_program(collective: str, inplace: bool) -> None:
    """The program of four planes is that of one switch with all their bandwidth, word for word but for its name."""
    texts = []
    for count in (4, 1):
        root = "g1" if collective in {"broadcast", "reduce"} else None
        plan = schedule(planes(4, count), collective, method="in-network", root=root)
        assert len(list_relays(plan)) == count
        one = compile_plan(plan, "mscclpp", inplace=inplace, name="same")
        assert checked(one.text).ok
        texts.append(one.text)
    assert texts[0] == texts[1]


def test_what_goes_another_way_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="use --protocol Simple"):
        compile_plan(schedule("dgx_h100(1)", "reduce-scatter", method="in-network"), "mscclpp", protocol="LL")
    with pytest.raises(InfeasibleError, match="go through others"):
        compile_plan(schedule("dgx_h100(2)", "allgather", method="in-network"), "mscclpp")
    with pytest.raises(InfeasibleError, match="some of --target mscclpp do"):
        compile_plan(schedule("dgx_h100(1)", "allreduce", method="in-network"), "msccl")


@pytest.mark.parametrize(
    ("size", "least"),
    [("1KiB", "one-shot"), ("16KiB", "one-shot"), ("32KiB", "NVLS"), ("1GiB", "NVLS")],
)
def test_the_table_of_the_page_is_what_the_simulator_says(size: str, least: str) -> None:
    """By size which allreduce is the fastest, and its time, as docs/nvls.md has it."""
    methods = {"two-shot": "forest", "ring": "ring", "NVLS": "in-network"}
    times = {
        name: float(simulate(schedule("dgx_h100(1)", "allreduce", method=method), size=size, alpha="500ns").time)
        for name, method in methods.items()
    }
    times["one-shot"] = 800e-9 + 2 * 8 * float(as_size(size)) / 450e9
    assert min(times, key=times.__getitem__) == least
    page = (Path(__file__).parents[2] / "docs" / "nvls.md").read_text()
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {size[:-3]} {size[-3:]} ")]
    said = [float(cell.split()[0]) * {"us": 1e-6, "ms": 1e-3}[cell.split()[1]] for cell in row.split("|")[2:6]]
    for one, name in zip(said, ("one-shot", "two-shot", "ring", "NVLS"), strict=True):
        assert abs(one - times[name]) < 0.01 * times[name]


@cache
def boxed(place: str, inplace: bool, channels: int = 1) -> Compiled:
    plan = schedule(place, "allreduce", method="in-network")
    return compile_plan(plan, "mscclpp", inplace=inplace, channels=channels)


@pytest.mark.once
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize(
    ("place", "channels"),
    [("dgx_h100(2)", 1), ("dgx_h100(3)", 2), pytest.param("dgx_h100(8)", 1, marks=pytest.mark.thorough)],
)
def test_switches_of_boxes_and_links_between_them_are_one_program(place: str, channels: int, inplace: bool) -> None:
    one = boxed(place, inplace, channels)
    report = checked(one.text)
    assert report.ok, report
    names = [op["name"] for op in operations(one)]
    ranks, boxes = one.program.ranks, one.program.ranks // 8
    assert names.count("glres") == names.count("gstore") == ranks * boxes  # of every root's part, once in a box
    assert names.count("pwsf") == 2 * ranks * (boxes - 1)
    for rank, gpu in enumerate(json.loads(one.text)["gpus"]):
        groups = [group for channel in gpu["channels"] for group in channel.get("rank_groups", [])]
        assert {tuple(group["ranks"]) for group in groups} == {tuple(range(rank // 8 * 8, rank // 8 * 8 + 8))}


@pytest.mark.dear
@pytest.mark.floor(found=10)
def test_mutants_of_boxes_are_found(pytestconfig: pytest.Config) -> None:
    """All but a flush less, or input and output exchanged in place, which are one: those plans are as right."""
    for inplace in (False, True):
        text = boxed("dgx_h100(2)", inplace).text
        for seed in range(40 if is_thorough(pytestconfig) else 10):
            other = mutant(text, seed, (*SWITCHED, lose))
            if other is None or json.loads(other[1]) == json.loads(text):
                continue
            try:
                right = checked(other[1]).ok
            except TopodesignError:
                right = False
            flushes = other[0] == "rename" and other[1].count('"pwsf"') < text.count('"pwsf"')
            assert not right or flushes or (inplace and other[0] == "rebind_a_switch"), (inplace, seed, other[0])
            if not right:
                reached("found")
