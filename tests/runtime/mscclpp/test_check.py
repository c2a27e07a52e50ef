"""Plans written by hand, in the shape that the language of MSCCL++ writes: right ones, and each kind of wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from topodesign.base.errors import ParameterError, TooLargeError
from topodesign.runtime.check import check_file
from topodesign.runtime.mscclpp.check import PlanReport, check_plan
from topodesign.runtime.mscclpp.parse import parse_plan

Op = dict[str, Any]
Document = dict[str, Any]

NOP: Op = {"name": "nop"}


def control(name: str, kind: str = "memory", channel: int = 0) -> Op:
    return {"name": name, "channel_ids": [channel], "channel_type": kind}


def here(index: int, buffer: str = "o", size: int = 1) -> Op:
    return {"type": buffer, "index": index, "size": size}


def there(index: int, buffer: int = 0, size: int = 1) -> Op:
    return {"buffer_id": buffer, "index": index, "size": size}


def move(name: str, source: Op, target: Op, kind: str = "memory") -> Op:
    return {"name": name, "src_buff": [source], "dst_buff": [target], "channel_ids": [0], "channel_type": kind}


def pair(blocks: Callable[[int], list[list[Op]]], collective: str = "allgather", **more: Any) -> Document:
    """Two ranks with a channel and one remote buffer each; ``blocks`` gives the operations of a rank."""
    kind, remote = more.pop("kind", "memory"), more.pop("remote", "o")
    sizes = {"allgather": (1, 2), "reducescatter": (2, 1), "allreduce": (2, 2), "broadcast": (1, 1), "alltoall": (2, 2)}
    scratch, semaphores = more.pop("scratch", 0), more.pop("semaphores", 0)
    gpus = [
        {
            "id": rank,
            "input_chunks": sizes[collective][0],
            "output_chunks": sizes[collective][1],
            "scratch_chunks": scratch,
            "threadblocks": [
                {
                    "id": at,
                    "ops": ops,
                    "channels": [{"channel_type": kind, "channel_ids": [0]}],
                    "remote_buffer_refs": [{"access_channel_type": kind, "remote_buffer_ids": [0]}],
                }
                for at, ops in enumerate(blocks(rank))
            ],
            "channels": [{"channel_type": kind, "connected_to": [1 - rank]}],
            "remote_buffers": [{"rank": 1 - rank, "type": remote, "access_channel_types": [kind]}],
            "semaphores": [{"init_value": 0}] * semaphores,
        }
        for rank in range(2)
    ]
    document: Document = {
        "name": "pair", "collective": collective, "protocol": "Simple", "inplace": True, "reuse_resources": False,
        "num_threads_per_block": 1024, "use_double_scratch_buffer": False, "buffer_alignment": 16,
        "min_message_size": 0, "max_message_size": 2**64 - 1, "gpus": gpus, **more,
    }  # fmt: skip
    copied: Document = json.loads(json.dumps(document))  # nothing is shared between its parts
    return copied


def checked(document: Document, **options: Any) -> PlanReport:
    report = check_plan(parse_plan(json.dumps(document)), **options)
    assert json.loads(json.dumps(report.record()))["verdict"] == report.verdict
    assert str(report)
    return report


START = [control("rlxsignal"), control("rlxwait"), NOP]
END = [NOP, control("signal"), control("wait")]


def gathering(rank: int) -> list[Op]:
    """Both have begun; each puts its chunk; both have put."""
    return [*START, move("put", here(rank), there(rank)), *END]


def test_a_right_plan_is_right() -> None:
    report = checked(pair(lambda rank: [gathering(rank)]))
    assert report.ok
    assert report.launches == 2
    assert report.calls is not None
    assert report.calls.multiple == 32
    assert report.usage is not None
    assert report.usage.operations_per_threadblock == 7


@pytest.mark.parametrize(
    ("lost", "verdict", "words"),
    [
        (slice(0, 2), "race", "written by the caller on rank"),  # without a handshake a put meets what the caller does
        (slice(2, 3), "race", "written by the caller"),  # the other threads do not wait
        (slice(4, 5), "race", "written by rank"),  # the signal overtakes the put
        (slice(3, 4), "uninitialised read", ""),
        (slice(5, 7), "race", ""),
        (slice(5, 6), "deadlock", "waits for a signal on memory channel 0 from rank"),
    ],
)
def test_what_each_operation_is_for(lost: slice, verdict: str, words: str) -> None:
    def blocks(rank: int) -> list[list[Op]]:
        ops = gathering(rank)
        del ops[lost]
        return [ops]

    report = checked(pair(blocks))
    if verdict == "uninitialised read":
        assert report.verdict == "wrong result"
    else:
        assert report.verdict == verdict, report
    assert words in str(report)


def test_a_signal_too_many_is_taken_by_the_next_launch() -> None:
    def blocks(rank: int) -> list[list[Op]]:
        return [[*gathering(rank), control("signal")]]

    report = checked(pair(blocks))
    assert report.verdict == "race"
    last = pair(lambda rank: [[*gathering(rank)], [control("signal", "memory")] if rank else []])
    last["gpus"][1]["channels"][0]["connected_to"] = [0, 0]
    last["gpus"][0]["channels"][0]["connected_to"] = [1, 1]
    last["gpus"][1]["threadblocks"][1]["channels"][0]["channel_ids"] = [1]
    report = checked(last)
    assert report.verdict == "mismatch"
    assert "1 signals of a launch on memory channel 1 are not waited for" in str(report)


def test_a_semaphore_ends_where_it_began() -> None:
    release, acquire = ({"name": f"sem_{name}", "semaphore_ids": [0]} for name in ("release", "acquire"))
    right = pair(lambda rank: [[*gathering(rank), NOP, release], [acquire]], semaphores=1)
    assert checked(right).ok
    left = pair(lambda rank: [[*gathering(rank), NOP, release], []], semaphores=1)
    assert checked(left).verdict == "mismatch"
    never = pair(lambda rank: [gathering(rank), [acquire]], semaphores=1)
    assert "waits for semaphore 0" in str(checked(never))
    both = pair(lambda rank: [[*gathering(rank), NOP, release, release], [acquire], [acquire]], semaphores=1)
    assert checked(both).ok
    one = pair(lambda rank: [[*gathering(rank), NOP, release], [acquire], [acquire]], semaphores=1)
    assert "which come for some of them" in str(checked(one))


def test_a_barrier_joins_threadblocks() -> None:
    barrier = {"name": "barrier", "barrier_id": 3, "num_threadblocks": 2}
    copy = {"name": "copy", "src_buff": [here(0, "o", 2)], "dst_buff": [here(0, "s", 2)]}
    assert checked(pair(lambda rank: [[*gathering(rank), barrier], [barrier, copy]], scratch=2)).ok
    assert checked(pair(lambda rank: [gathering(rank), [copy]], scratch=2)).verdict == "race"
    assert checked(pair(lambda rank: [[*gathering(rank), barrier], []])).verdict == "deadlock"


@pytest.mark.parametrize(("name", "verdict"), [("pwsf", "ok"), ("pws", "race"), ("put", "deadlock")])
def test_ports_have_to_be_flushed(name: str, verdict: str) -> None:
    """Nothing tells otherwise that the source may be used again."""

    def blocks(rank: int) -> list[list[Op]]:
        start = [control("signal", "port"), control("wait", "port"), NOP]
        return [[*start, move(name, here(rank), there(rank), "port"), control("wait", "port")]]

    report = checked(pair(blocks, kind="port"))
    assert report.verdict == verdict
    if verdict == "race":
        assert "read by the proxy of port channel 0" in str(report)


def test_flush_needs_its_targets() -> None:
    """The executor counts ``dst_buff``, which the language does not write."""
    for targets, verdict in (([], "race"), ([here(0, "o", 0)], "ok")):
        flush = {**control("flush", "port"), "dst_buff": targets}

        def blocks(rank: int, flush: Op = flush) -> list[list[Op]]:
            start = [control("signal", "port"), control("wait", "port"), NOP]
            return [[*start, move("pws", here(rank), there(rank), "port"), flush, control("wait", "port")]]

        report = checked(pair(blocks, kind="port"))
        assert report.verdict == verdict
        assert any("flush does nothing" in one for one in report.warnings) == (verdict == "race")


def test_reads_need_that_the_other_is_ready_and_stays() -> None:
    def reading(start: list[Op], end: list[Op]) -> Document:
        def blocks(rank: int) -> list[list[Op]]:
            read = {
                "name": "rre", "src_buff": [here(rank, "i"), there(rank)], "dst_buff": [here(rank, "i")],
                "channel_type": "memory", "reduce_op": "sum",
            }  # fmt: skip
            return [[*start, read, *end]]

        return pair(blocks, "reducescatter", remote="i")

    assert checked(reading(START, END)).ok
    assert "reads i[0] of rank 1, which is written by the caller" in str(checked(reading([], END)))
    assert "caller writes i[0] of rank 1 between launches, which is read by rank 0" in str(checked(reading(START, [])))


def test_get_exchanges_the_indices() -> None:
    def blocks(rank: int, shift: int) -> list[list[Op]]:
        other = 1 - rank
        get = move("get", there(other), here(other - shift * (2 * other - 1)))
        return [[*START, get, *END]]

    assert checked(pair(lambda rank: blocks(rank, 0))).ok
    report = checked(pair(lambda rank: blocks(rank, 1)))
    assert not report.ok
    assert any("get exchanges the indices" in one for one in report.warnings)


@pytest.mark.parametrize(("double", "verdict"), [(True, "ok"), (False, "race")])
def test_packets_need_a_scratch_for_every_other_launch(double: bool, verdict: str) -> None:
    def blocks(rank: int) -> list[list[Op]]:
        send = move("ppkt", here(rank), there(0))
        take = {"name": "upkt", "src_buff": [here(0, "s")], "dst_buff": [here(1 - rank)]}
        return [[send], [take]]

    more: dict[str, Any] = {"protocol": "LL", "remote": "s", "scratch": 1, "use_double_scratch_buffer": double}
    report = checked(pair(blocks, **more))
    assert report.verdict == verdict
    assert checked(pair(blocks, **{**more, "protocol": "Simple"})).verdict == "illegal"


def summed(rank: int, *, answers: bool) -> list[list[Op]]:
    """Each sends the other its part, adds up its own, and answers with the sum, or with a packet of its own besides."""
    part = move("ppkt", here(1 - rank), there(0))
    last = {"name": "upkt", "src_buff": [here(1, "s")], "dst_buff": [here(1 - rank)]}
    if answers:
        both = {
            "name": "respkt", "src_buff": [here(rank), here(0, "s")], "dst_buff": [here(rank), there(1)],
            "channel_ids": [0], "channel_type": "memory",
        }  # fmt: skip
        return [[part, both, NOP, last]]
    first = {"name": "upkt", "src_buff": [here(0, "s")], "dst_buff": [here(1 - rank)]}
    return [[move("ppkt", here(rank), there(0)), move("ppkt", here(rank), there(1)), first, NOP, last]]


def test_a_packet_that_was_computed_from_what_was_read_orders_the_read() -> None:
    """The other's answer holds what it read from scratch, so one half of scratch will do for the next launch."""
    more: dict[str, Any] = {"protocol": "LL", "remote": "s", "scratch": 2}
    assert checked(pair(lambda rank: summed(rank, answers=True), "allreduce", **more)).ok
    report = checked(pair(lambda rank: summed(rank, answers=False), **more))  # this one comes before the other read
    assert report.verdict == "race"
    assert "ppkt writes s[0] of rank" in str(report)
    assert checked(pair(lambda rank: summed(rank, answers=False), **more, use_double_scratch_buffer=True)).ok


@pytest.mark.parametrize(("shift", "double", "verdict"), [(0, True, "ok"), (0, False, "race"), (1, True, "deadlock")])
def test_the_same_packet_may_be_stored_twice(shift: int, double: bool, verdict: str) -> None:
    """A rank makes packets in its scratch and stores them through a switch for all, itself among them."""

    def blocks(rank: int) -> list[list[Op]]:
        own = (rank + shift) % 2
        make = {"name": "cpkt", "src_buff": [here(rank)], "dst_buff": [here(rank, "s")]}
        everywhere = {"switch_channel_id": 0, "index": own, "size": 1}
        store = {
            "name": "gstorepkt", "src_buff": [here(own, "s")], "dst_buff": [everywhere], "channel_ids": [0],
            "channel_type": "switch",
        }  # fmt: skip
        take = [{"name": "upkt", "src_buff": [here(at, "s")], "dst_buff": [here(at)]} for at in (rank, 1 - rank)]
        return [[make, store, take[0]], [take[1]]]

    document = pair(blocks, protocol="LL", scratch=2, use_double_scratch_buffer=double)
    for gpu in document["gpus"]:
        groups = [{"size": 2, "ranks": [0, 1]}]
        gpu |= {
            "channels": [{"channel_type": "switch", "buffer_type": "s", "rank_groups": groups}],
            "remote_buffers": [],
        }
        for block in gpu["threadblocks"]:
            block |= {"channels": [{"channel_type": "switch", "channel_ids": [0]}], "remote_buffer_refs": []}
    assert checked(document).verdict == verdict


def test_it_is_said_that_relaxed_signals_do_not_show_data() -> None:
    relaxed = [NOP, control("rlxsignal"), control("rlxwait")]
    report = checked(pair(lambda rank: [[*gathering(rank)[:-3], *relaxed]]))
    assert report.verdict == "race"
    assert "relaxed signals tell that this is over, and not that its data can be seen" in str(report)


def test_who_waits_must_not_be_left_to_chance() -> None:
    def blocks(rank: int) -> list[list[Op]]:
        return [gathering(rank)[:-1], [control("wait")]]

    assert checked(pair(blocks)).verdict == "race"


def test_buffers_in_place_are_addressed_by_the_longer_one() -> None:
    def blocks(rank: int) -> list[list[Op]]:
        return [[*START, move("put", here(0, "i"), there(0)), *END]]

    report = checked(pair(blocks, remote="i"))
    assert report.verdict == "out-of-bounds"
    assert "name the longer buffer" in str(report)
    port = pair(lambda rank: [[move("pwsf", here(0, "i"), there(rank), "port"), control("wait", "port")]], kind="port")
    assert checked(port).verdict == "out-of-bounds"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(collective="sendrecv"), "nothing says what 'sendrecv' should do"),
        (lambda d: d.update(max_message_size=10, min_message_size=20), "are no range"),
        (lambda d: d["gpus"][1].update(output_chunks=4), "different numbers"),
        (lambda d: [gpu.update(output_chunks=3) for gpu in d["gpus"]], "do not fit allgather of 2"),
        (lambda d: d["gpus"][0].update(threadblocks=[]), "no threadblocks"),
        (lambda d: d["gpus"][0]["threadblocks"][0].update(ops=[NOP] * 65), "65 operations; the executor takes 64"),
        (lambda d: d["gpus"][0]["threadblocks"][0]["ops"][3].update(name="pws"), "never signals"),
        (lambda d: d["gpus"][0]["threadblocks"][0]["ops"][3].update(src_buff=[]), "needs 1 sources"),
        (lambda d: d["gpus"][0]["threadblocks"][0]["ops"][3].update(name="gstore"), "channel_type switch"),
        (lambda d: d["gpus"][0]["threadblocks"][0]["ops"][0].update(channel_ids=[0] * 9), "9 channels"),
        (lambda d: d["gpus"][0]["threadblocks"][0]["channels"][0].update(channel_ids=[0] * 17), "room for 16"),
    ],
)
def test_what_the_executor_cannot_do(change: Callable[[Document], Any], words: str) -> None:
    document = pair(lambda rank: [gathering(rank)])
    change(document)
    report = checked(document)
    assert report.verdict == "illegal"
    assert words in str(report)


def test_a_pipeline_goes_round_by_round() -> None:
    def blocks(rank: int, chunks: int) -> list[list[Op]]:
        put = move("put", here(rank), there(rank))
        rounds = {"name": "pipeline", "iter_context": {"unit_size": 2**20, "num_chunks": chunks}, "ops": [put]}
        return [[*START, rounds, *END]]

    assert checked(pair(lambda rank: blocks(rank, 1))).ok
    assert "beyond its operands" in str(checked(pair(lambda rank: blocks(rank, 2))))
    with pytest.raises(TooLargeError):
        checked(pair(lambda rank: blocks(rank, 2**31)))


def test_threadblocks_share_an_operation() -> None:
    def blocks(rank: int) -> list[list[Op]]:
        meet = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 3}
        puts = [
            [meet, {**move("put", here(rank), there(rank)), "tbg_info": {"tb_id": at, "tbg_size": 2}}, meet]
            for at in range(2)
        ]
        return [[*START, meet, meet, *END], *puts]

    assert checked(pair(blocks)).ok
    lost = pair(blocks)
    for gpu in lost["gpus"]:
        gpu["threadblocks"][2]["ops"][1]["tbg_info"]["tb_id"] = 0
    assert checked(lost).verdict == "race"
    for gpu in lost["gpus"]:
        gpu["threadblocks"][2]["ops"][1]["tbg_info"]["tbg_size"] = 997
    with pytest.raises(TooLargeError):
        checked(lost)


def test_roots_are_found_out(tmp_path: Any) -> None:
    def blocks(rank: int) -> list[list[Op]]:
        if rank == 1:
            return [[control("wait"), NOP, move("put", here(0), there(0)), NOP, control("signal")]]
        return [[control("signal"), control("wait")]]

    document = pair(blocks, "broadcast")
    assert checked(document).root == 1
    assert checked(document, root=0).verdict != "ok"
    with pytest.raises(ParameterError):
        checked(document, root=2)
    path = tmp_path / "plan"
    path.write_text(json.dumps(document))
    assert check_file(path).ok
    path.write_text("{")
    assert check_file(path).verdict == "illegal"
