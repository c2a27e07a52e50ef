"""Execution plans of MSCCL++: limits, ranges of sizes, channels by box, names, and what is refused in plain words."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.compiler.backends.test_contract import FAMILIES, compiled, hold, plans
from tests.samples.programs import compile_movement
from tests.samples.trees import fabric, tree_schedule
from topodesign.base.errors import InfeasibleError, ParameterError
from topodesign.compiler.compilation import Compiled, compile_plan
from topodesign.runtime.mscclpp.check import check_plan
from topodesign.runtime.mscclpp.limits import EXECUTOR
from topodesign.runtime.mscclpp.parse import parse_plan
from topodesign.schedulers.scheduling import schedule


def document(made: Compiled) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.text)
    return found


def kinds(made: Compiled) -> set[str]:
    """The types of channels that a plan has."""
    return {channel["channel_type"] for gpu in document(made)["gpus"] for channel in gpu["channels"]}


def names(made: Compiled) -> set[str]:
    return {op["name"] for gpu in document(made)["gpus"] for block in gpu["threadblocks"] for op in block["ops"]}


def test_long_threadblocks_go_on_in_others() -> None:
    made = compile_plan(schedule("uniring(1,32)", "allgather"), "mscclpp", inplace=True)
    sizes = [len(block["ops"]) for gpu in document(made)["gpus"] for block in gpu["threadblocks"]]
    assert max(sizes) <= EXECUTOR.operations
    assert len(sizes) > 2 * 32
    assert made.checked().report is not None


@pytest.mark.dear("LL")
@pytest.mark.parametrize("protocol", ["Simple", "LL"])
def test_what_goes_on_elsewhere_takes_nothing_from_before(protocol: str) -> None:
    """Threads that wait for semaphores of their own must not run ahead of the threadblock that theirs goes on from."""
    plan = schedule("uniring(1,24)", "allreduce")
    made = compile_plan(plan, "mscclpp", inplace=True, protocol=protocol, box=8)  # type: ignore[arg-type]
    assert made.checked().report is not None


def test_boxes_have_memory_channels_inside_and_port_channels_between() -> None:
    plan = schedule("torus(2,4)", "allreduce")
    assert kinds(compile_plan(plan, "mscclpp")) == {"memory"}
    assert kinds(compile_plan(plan, "mscclpp", box=1)) == {"port"}
    made = compile_plan(plan, "mscclpp", box=4)
    for rank, gpu in enumerate(document(made)["gpus"]):
        for channel in gpu["channels"]:
            assert {peer // 4 != rank // 4 for peer in channel["connected_to"]} == {channel["channel_type"] == "port"}
    assert {"put", "pwsf", "rre", "re"} <= names(made)
    with pytest.raises(ParameterError, match="do not divide 8 ranks"):
        compile_plan(plan, "mscclpp", box=3)


def test_names_of_a_fabric_say_what_is_in_one_box() -> None:
    plan = schedule("mi300x(2)", "allgather", fixed_k=1)
    assert kinds(compile_plan(plan, "mscclpp")) == {"memory", "port"}
    assert kinds(compile_plan(plan, "mscclpp", box=16)) == {"memory"}


def test_reads_add_up_without_scratch() -> None:
    made = compile_plan(schedule("hypercube(3)", "allreduce"), "mscclpp", inplace=True)
    assert "rre" in names(made)
    assert {gpu["scratch_chunks"] for gpu in document(made)["gpus"]} == {0}


def test_packets_need_no_signals_where_all_hear_of_all() -> None:
    made = compile_plan(schedule("complete(4)", "allreduce"), "mscclpp", protocol="LL")
    assert document(made)["use_double_scratch_buffer"] is True
    assert names(made).isdisjoint({"signal", "wait"})
    away = compile_plan(schedule("complete(4)", "broadcast", root=1), "mscclpp", protocol="LL")
    assert document(away)["use_double_scratch_buffer"] is False  # the root hears of nobody, and may run ahead
    assert {"signal", "wait"} <= names(away)


@pytest.mark.parametrize(
    ("collective", "share"),
    [("allgather", 1), ("reduce-scatter", 1), ("allreduce", 1), ("all-to-all", 1), ("gather", 4)],
)
def test_sizes_are_of_what_the_executor_compares(collective: str, share: int) -> None:
    plan = schedule("complete(4)", collective, root=1 if collective == "gather" else None)
    made = document(compile_plan(plan, "mscclpp", min_size=1000, max_size="1MiB"))
    assert made["min_message_size"] == -(-1000 // share)
    assert made["max_message_size"] == 2**20 // share


def test_no_buffer_is_beyond_32_bits() -> None:
    plan = schedule("circulant(6,1,2)", "allreduce")
    for protocol in ("Simple", "LL"):
        made = document(compile_plan(plan, "mscclpp", protocol=protocol))
        gpu = made["gpus"][0]
        chunk = made["max_message_size"] // gpu["input_chunks"]
        wide = 4 if made["use_double_scratch_buffer"] else 1
        assert chunk % 16 == 0
        assert chunk * max(gpu["input_chunks"], wide * gpu["scratch_chunks"]) < 2**32
        with pytest.raises(ParameterError, match="beyond what MSCCL"):
            compile_plan(plan, "mscclpp", protocol=protocol, max_size="1TiB")
    with pytest.raises(ParameterError, match="are not possible"):
        compile_plan(plan, "mscclpp", min_size=2048, max_size=1024)


def test_plans_that_differ_have_names_that_differ() -> None:
    plan = schedule("complete(4)", "allgather")
    made = [
        compile_plan(plan, "mscclpp", inplace=inplace, protocol=protocol, max_size=size, name="mine")
        for inplace in (False, True)
        for protocol in ("Simple", "LL")
        for size in (None, "1MiB")
    ]
    assert len({document(one)["name"] for one in made}) == len(made)
    assert all(document(one)["name"].startswith("mine-") for one in made)


def test_a_scatter_in_place_is_refused() -> None:
    plan = schedule("complete(4)", "scatter", root=1)
    with pytest.raises(InfeasibleError, match="offset of its own"):
        compile_plan(plan, "mscclpp", inplace=True)
    assert compile_plan(plan, "mscclpp", inplace=True, protocol="LL").checked().report is not None


def test_too_many_threadblocks_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="allows 108 threadblocks"):
        compile_plan(schedule("complete(16)", "allgather"), "mscclpp", channels=8)


@pytest.mark.thorough
@pytest.mark.floor(executed=1000, refused=0)
def test_many_plans_with_both_protocols_and_kinds_of_channels() -> None:
    """Collectives, families, kinds of plans, placements, protocols, and boxes: none, halves, and every rank its own."""
    for spec, methods in FAMILIES.items():
        for plan in plans(spec, methods):
            ranks = plan.topology.nodes
            for inplace in (False, True):
                for protocol in ("Simple", "LL"):
                    for box in (None, 1, ranks // 2 if ranks % 2 == 0 else ranks):
                        made = compiled(plan, "mscclpp", inplace=inplace, protocol=protocol, box=box)
                        if made is not None:
                            hold(made)


@pytest.mark.floor(executed=2)
def test_switches_and_parts_of_trees() -> None:
    for protocol in ("Simple", "LL"):
        plan = schedule("mi300x(1)", "reduce-scatter", fixed_k=1)
        hold(compile_plan(plan, "mscclpp", protocol=protocol, parts=2, channels=2))


@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("protocol", ["Simple", "LL"])
def test_uneven_all_to_alls_send_as_much_of_a_block_as_there_is(protocol: Any, inplace: bool, tmp_path: Path) -> None:
    """Blocks are padded to the largest; one chunk that is said to be sent, and is not, is found."""
    rows = [(src, dst, (3 * src + 5 * dst) % 4) for src in range(9) for dst in range(9) if src != dst]
    table = tmp_path / "traffic.csv"
    table.write_text("src,dst,amount\n" + "".join(f"{src},{dst},{amount}\n" for src, dst, amount in rows))
    plan = schedule("torus(3,3)", "all-to-all", method="fluid", shards=str(table))
    made = compile_plan(plan, "mscclpp", protocol=protocol, inplace=inplace).checked()
    document = json.loads(made.text)
    sent, most = document["topodesign_sent"], made.program.shard
    assert [sent[9 * src + dst] * 3 for src, dst, _ in rows] == [amount * most for _, _, amount in rows]
    src, dst, _ = next(row for row in rows if row[2] == 1)
    document["topodesign_sent"][9 * src + dst] += 1
    assert check_plan(parse_plan(json.dumps(document))).verdict == "wrong result"
    document["topodesign_sent"] = [1, 2]
    assert check_plan(parse_plan(json.dumps(document))).verdict == "illegal"
    with pytest.raises(InfeasibleError, match="chakra, jax or mscclpp"):
        compile_plan(plan, "msccl")


@pytest.mark.parametrize(("spec", "sums"), [("complete(8)", [8]), ("complete(13)", [4, 10])])
def test_packets_of_one_sum_are_added_by_one_operation(spec: str, sums: list[int]) -> None:
    """Up to as many as an operation reads; the checker, which knows nothing of it, finds the result right."""
    made = compile_plan(schedule(spec, "allreduce"), "mscclpp", protocol="LL").checked()
    for gpu in json.loads(made.text)["gpus"]:
        ops = [one for block in gpu["threadblocks"] for one in block["ops"]]
        assert sorted(len(one["src_buff"]) for one in ops if one["name"] == "repkt") == sums


@pytest.mark.parametrize(("seed", "nodes"), [(4, 3), (2, 4), (1, 5)])
def test_a_rank_begins_once_for_each_connection(seed: int, nodes: int) -> None:
    """Also where additions to a sum leave two threadblocks that receive from one: a second signal was one too many."""
    rng = random.Random(seed)  # noqa: S311
    trees = tree_schedule(fabric(nodes, 2, rng), "reduce", rng, per_root=4)
    compile_movement(trees.topology, trees.flow, "mscclpp", protocol="LL", inplace=False).checked()


@pytest.mark.parametrize("box", [None, 1])
def test_chunks_of_scratch_share_places(box: int | None) -> None:
    """As for MSCCL: 1.81 of the data, where a place for every chunk took 3.25."""
    plan = schedule("torus(4,4)", "all-to-all")
    made = compile_plan(plan, "mscclpp", box=box).checked()
    assert 16 * made.program.columns.scratch.max() == 29 * made.program.chunks
    assert made.program.columns.scratch.tolist() == compile_plan(plan).program.columns.scratch.tolist()
