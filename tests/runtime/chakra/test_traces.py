"""Traces are read, replayed, executed and timed; what is wrong with them is found."""

from __future__ import annotations

import itertools
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.floors import reached
from tests.samples.traces import compiled, read, saying, with_node
from topodesign.base.errors import FileFormatError
from topodesign.compiler.backends.chakra import _classes, _delimit_messages
from topodesign.runtime.chakra.check import TraceReport, check_job, check_traces, times_of
from topodesign.runtime.chakra.contents import Memory, contents_of
from topodesign.runtime.chakra.network import Clock, Network, read_network
from topodesign.runtime.chakra.replay import Links, Run, load_job
from topodesign.runtime.chakra.traces import (
    COMPUTE,
    DATA,
    RECEIVE,
    SEND,
    Node,
    Trace,
    Value,
    WireError,
    decode_signed,
    fields,
    find_traces,
    parse_trace,
    varint,
)

SENDER = {"comm_src": 0, "comm_dst": 1, "comm_tag": 0, "comm_size": 2**30}
NETWORK = Network("FullyConnected", 2, 1.0, 7.0)


def node(number: int, kind: int, *needs: int, **attributes: Any) -> Node:
    return Node(number, f"node {number}", kind, (), needs, 0, attributes)


def pair(first: tuple[Node, ...], second: tuple[Node, ...]) -> list[Trace]:
    return [Trace("0.0.4", first), Trace("0.0.4", second)]


# -- bytes ----------------------------------------------------------------------------------------------------------

wide = st.integers(0, 2**64 - 1)


@given(wide, st.lists(wide, max_size=5), st.lists(wide, max_size=5), st.text(max_size=5), st.lists(wide, max_size=4))
def test_what_protobuf_writes_is_read(
    number: int, control: list[int], data: list[int], name: str, values: list[int]
) -> None:
    """Two ways that share nothing: the library writes, and our own decoder reads."""
    header_class, node_class = _classes()
    written = node_class(id=number, name=name, type=SEND, ctrl_deps=control, data_deps=data, duration_micros=number)
    small = number % 2**32 - 2**31
    written.attr.add(name="int32", int32_val=small)
    written.attr.add(name="int64", int64_val=number - 2**63)
    written.attr.add(name="uint64", uint64_val=number)
    written.attr.add(name="flag", bool_val=bool(number % 2))
    written.attr.add(name="text", string_val=name)
    written.attr.add(name="list").uint64_list.values.extend(values)
    trace = parse_trace(_delimit_messages([header_class(version="1"), written]))
    attributes: dict[str, Value] = {
        "int32": small,
        "int64": number - 2**63,
        "uint64": number,
        "flag": bool(number % 2),
        "text": name,
    }
    wanted = Node(number, name, SEND, tuple(control), tuple(data), number, {**attributes, "list": values})
    assert trace.version == "1"
    assert trace.nodes == (wanted,)


def test_numbers_that_end_too_late() -> None:
    assert varint(b"\x96\x01", 0, 2) == (150, 2)
    assert decode_signed(2**32 - 1, 32) == -1
    for data in (b"\xff" * 9 + b"\x7f", b"\xff" * 11, b"\xff"):
        with pytest.raises(WireError, match="byte 0"):
            varint(data, 0, len(data))
    for data in (b"\x00\x01", b"\x0b", b"\x0a\x05ab", b"\x09\x01", b"\x0d\x01"):
        with pytest.raises(WireError):
            list(fields(data, 0, len(data)))


@pytest.mark.floor(damaged=300)
def test_damaged_files_are_refused_or_judged() -> None:
    """Bytes changed, left out, doubled, cut off: an error of ours, or a verdict, and never anything else."""
    rng = random.Random(7)  # noqa: S311
    files = compiled("circulant(5,1,2)", "allreduce").files
    whole = read(files)
    content = files["collective.2.et"]
    for _ in range(400):
        at, length = rng.randrange(len(content)), rng.choice((1, 1, 2, 8, 100))
        piece = content[at : at + length]
        new = rng.choice((b"", rng.randbytes(length), piece * 2, bytes(255 - byte for byte in piece), None))
        damaged = content[:at] if new is None else content[:at] + new + content[at + length :]
        reached("damaged")
        try:
            trace = parse_trace(damaged)
        except FileFormatError:
            continue
        report = check_job([*whole[:2], trace, *whole[3:]])
        assert report.ok == (trace == whole[2]) or _harmless(trace, whole[2])
        assert json.dumps(report.record())


def _harmless(trace: Trace, other: Trace) -> bool:
    """Whether names, durations, unknown attributes or dependencies are all that differs; the latter may do no harm."""
    plain = [
        [
            replace(
                one,
                name="",
                micros=0,
                control=(),
                data=(),
                attributes={k: v for k, v in one.attributes.items() if k.startswith(("comm", "topo"))},
            )
            for one in two.nodes
        ]
        for two in (trace, other)
    ]
    same = all(replace(a, attributes={**b.attributes, **a.attributes}) == b for a, b in zip(*plain, strict=False))
    return same and len(plain[0]) == len(plain[1])


# -- replay ---------------------------------------------------------------------------------------------------------


def test_a_message_takes_its_latency_and_its_bytes() -> None:
    """2^30 bytes at 1 GB/s of the simulator are a second."""
    traces = pair((node(0, SEND, **SENDER),), (node(0, RECEIVE, **SENDER), node(1, COMPUTE, 0)))
    times = times_of(traces, NETWORK)
    assert times.exact_ns == 10**9 + 8
    assert times.simulator_ns in {10**9 + 7, 10**9 + 8}  # it cuts off doubles
    assert check_job(traces, network=NETWORK).ok
    switch = replace(NETWORK, shape="Switch")
    assert times_of(traces, switch).exact_ns == 2 * (10**9 + 7) + 1


def test_a_link_serves_one_after_the_other() -> None:
    """The second message waits for the bytes of the first, and not for its latency."""
    sends = tuple(node(tag, SEND, **{**SENDER, "comm_tag": tag}) for tag in range(3))
    receives = tuple(node(tag, RECEIVE, **{**SENDER, "comm_tag": tag}) for tag in range(3))
    assert times_of(pair(sends, receives), NETWORK).exact_ns == 3 * 10**9 + 7


def test_times_are_cut_off_as_the_simulator_does() -> None:
    network = Network("FullyConnected", 2, 3.0, 0.5)
    assert Clock(network).under_way(1000) == int(0.5 + 1000 / (3.0 * 2**30 / 10**9))
    assert Clock(network, exact=True).under_way(1000) == Fraction(1, 2) + Fraction(1000 * 10**9, 3 * 2**30)
    assert Links(network, Clock(network, exact=True)).computing(0) == 1
    assert Links(network, Clock(network, exact=True)).computing(3) == 3000


WRONG = {
    "two nodes have the id 0": ((node(0, COMPUTE), node(0, COMPUTE)), (node(0, COMPUTE),)),
    "depends on node 5, which is not there": ((node(0, COMPUTE, 5),), (node(0, COMPUTE),)),
    "only sends, receives and compute nodes": ((node(0, 7),), (node(0, COMPUTE),)),
    "none of the other ranks": ((node(0, SEND, **{**SENDER, "comm_dst": 2}),), (node(0, COMPUTE),)),
    "not a number of bytes": ((node(0, SEND, **{**SENDER, "comm_size": 0}),), (node(0, COMPUTE),)),
    "not a tag": ((node(0, SEND, **{**SENDER, "comm_tag": -1}),), (node(0, COMPUTE),)),
    "is not its own rank": ((node(0, SEND, **{**SENDER, "comm_src": 1}),), (node(0, COMPUTE),)),
    "1 sends and 0 receives": ((node(0, SEND, **SENDER),), (node(0, COMPUTE),)),
    "bytes sent and 8 received": ((node(0, SEND, **SENDER),), (node(0, RECEIVE, **{**SENDER, "comm_size": 8}),)),
    "without nodes": ((), (node(0, COMPUTE),)),
    "waits for node 1 for ever": ((node(0, COMPUTE, 1), node(1, COMPUTE, 0)), (node(0, COMPUTE),)),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_said(words: str) -> None:
    report = check_job(pair(*WRONG[words]))
    assert not report.ok
    assert words in str(report)


def test_ranks_that_wait_for_each_other() -> None:
    def ends(rank: int) -> tuple[Node, ...]:
        there = {"comm_src": rank, "comm_dst": 1 - rank, "comm_tag": 0, "comm_size": 1}
        back = {"comm_src": 1 - rank, "comm_dst": rank, "comm_tag": 0, "comm_size": 1}
        return node(0, RECEIVE, **back), node(1, SEND, 0, **there)

    report = check_job(pair(ends(0), ends(1)))
    assert report.verdict == "deadlock"
    assert "waits for its message for ever; so do 4 nodes of 2 ranks" in str(report)


def test_headers_of_others_name_a_schema() -> None:
    """ASTRA-sim's own examples say an attribute in place of a version; a header that says nothing is none."""
    header_class, node_class = _classes()
    header = header_class()
    header.attr.add(name="schema", string_val="1.0.2-chakra.0.0.4")
    assert parse_trace(_delimit_messages([header, node_class(type=COMPUTE)])).header == {"schema": "1.0.2-chakra.0.0.4"}
    with pytest.raises(FileFormatError, match="says nothing"):
        parse_trace(_delimit_messages([header_class(), node_class(type=COMPUTE)]))


def test_traces_of_others_have_no_data() -> None:
    twice = tuple(node(number, SEND, **SENDER) for number in range(2))
    report = check_job(pair(twice, tuple(node(number, RECEIVE, **SENDER) for number in range(2))))
    assert report.ok
    assert not report.data
    assert "do not say what messages carry" in str(report)
    assert "1 messages have source, destination and tag of another" in str(report)


# -- mutants --------------------------------------------------------------------------------------------------------


def mutants(traces: list[Trace]) -> Iterator[tuple[str, list[Trace]]]:
    """Traces with one thing wrong that has to be found, whatever the order of events."""
    for rank, at in ((rank, at) for rank, trace in enumerate(traces) for at in range(len(trace.nodes))):
        one = traces[rank].nodes[at]
        size, tag = one.number("comm_size"), one.number("comm_tag")
        if one.kind == COMPUTE:
            yield "an addition gone", with_node(traces, rank, at, replace(one, data=(), control=one.data))
            continue
        yield "a node gone", with_node(traces, rank, at, replace(one, kind=COMPUTE))
        yield "another size", with_node(traces, rank, at, saying(one, comm_size=(size or 0) + 1))
        yield "another tag", with_node(traces, rank, at, saying(one, comm_tag=(tag or 0) + 10**6))
        other = "comm_dst" if one.kind == SEND else "comm_src"
        peer = ((one.number(other) or 0) + 1) % len(traces)
        yield "another peer", with_node(traces, rank, at, saying(one, **{other: peer}))
        said = one.attributes.get(DATA)
        if isinstance(said, list):
            block, lo, hi = said[:3]
            ranks = len(traces)
            yield (
                "another block",
                with_node(traces, rank, at, saying(one, **{DATA: [(block + 1) % ranks, lo, hi, *said[3:]]})),
            )
        waits = one.data + one.control
        yield "waits for itself", with_node(traces, rank, at, replace(one, data=(*waits, one.id)))


@pytest.mark.floor(mutants=500)
def test_mutants_are_found() -> None:
    for spec, collective in (("circulant(5,1,2)", "allreduce"), ("uniring(1,4)", "allgather")):
        traces = read(compiled(spec, collective).files)
        for what, wrong in mutants(traces):
            report = check_job(wrong)
            assert not report.ok, what
            reached("mutants")


@pytest.mark.floor(early=20)
def test_sends_that_do_not_wait_are_found() -> None:
    """Without what it waits for, a send of data that came over another link is too early in some order of events."""
    traces = read(compiled("uniring(1,5)", "allreduce").files)
    for rank, trace in enumerate(traces):
        for at, one in enumerate(trace.nodes):
            if one.kind == SEND and one.data:
                report = check_job(with_node(traces, rank, at, replace(one, data=(), control=())))
                assert report.verdict in {"uninitialised read", "wrong result", "race"}
                reached("early")


class Shuffled(Links):
    """A network in which a message, and a sum, take any time."""

    def __init__(self, seed: int) -> None:
        super().__init__(NETWORK, Clock(NETWORK))
        self._random = random.Random(seed)  # noqa: S311

    def send(self, run: Run, number: int) -> None:
        run.at(run.now + self._random.randrange(1, 1000), lambda: run.record_arrival(number))

    def computing(self, micros: int) -> int:  # noqa: ARG002
        return self._random.randrange(1, 1000)


@pytest.mark.floor(right=20, wrong=60)
def test_no_order_goes_wrong_that_was_proven_right() -> None:
    """Without one of the dependencies some order is wrong, or none: random ones never find more than the proof."""
    cases = ("circulant(5,1,2)", "allreduce"), ("uniring(1,5)", "allreduce"), ("uniring(1,4)", "all-to-all")
    draw = random.Random(5)  # noqa: S311
    for traces in (read(compiled(*case).files) for case in cases):
        assert check_job(traces).every_order
        nodes = [(rank, at, one) for rank, trace in enumerate(traces) for at, one in enumerate(trace.nodes)]
        edges = [(*node, needed) for node in nodes for needed in (*node[2].data, *node[2].control)]
        for rank, at, one, needed in draw.sample(edges, min(len(edges), 60)):
            data, control = (tuple(other for other in some if other != needed) for some in (one.data, one.control))
            changed = with_node(traces, rank, at, replace(one, data=data, control=control))
            report = check_job(changed)
            reached("right" if report.ok else "wrong")
            job, _ = load_job(changed)
            contents = None if job is None else contents_of(job)[0]
            assert contents is not None
            assert not report.ok or not any(Memory(contents, Shuffled(seed)).go() for seed in range(8))


def test_headers_have_to_agree_and_make_sense() -> None:
    traces = read(compiled("uniring(1,4)", "allgather").files)
    for name, value in (
        ("topodesign_collective", '{"name": "allsort", "root": null, "group": null}'),
        ("topodesign_collective", 5),
        ("topodesign_ranks", 5),
        ("topodesign_units", 0),
        ("topodesign_size", "1/0"),
        ("topodesign_size", "0"),
    ):
        wrong = [replace(trace, header={**trace.header, name: value}) for trace in traces]
        assert check_job(wrong).verdict == "illegal"
    assert check_job([replace(traces[0], header={}), *traces[1:]]).verdict == "illegal"
    job, _ = load_job(traces)
    assert job is not None
    contents, _ = contents_of(job)
    assert contents is not None
    assert contents.collective.name == "allgather"


# -- files ----------------------------------------------------------------------------------------------------------


def test_a_directory_or_one_of_its_files(tmp_path: Path) -> None:
    place = tmp_path / "traces"
    compiled("circulant(8,1,3)", "allreduce").save(place)
    whole = check_traces(place)
    assert whole.ok
    assert whole.times is not None
    assert check_traces(place / "collective.3.et") == whole
    assert check_traces(place / "workload.0.et").program.startswith("a workload of 8 ranks")
    assert read_network(place / "network.yml").ranks == 8
    assert sorted(find_traces(place)) == ["collective", "workload"]
    (place / "expected.json").write_text('{"simulator_ns": 5}')
    assert "expected.json says 5 ns" in str(check_traces(place))
    (place / "network.yml").unlink()
    assert check_traces(place).times is None
    shutil.copy(place / "collective.0.et", place / "other.0.et")
    with pytest.raises(FileFormatError, match="traces of collective, other; name one of their files"):
        check_traces(place)
    (place / "collective.2.et").unlink()
    with pytest.raises(FileFormatError, match="none of rank 2"):
        check_traces(place / "collective.0.et")
    for wrong in (tmp_path, tmp_path / "none", tmp_path / "x.et", tmp_path / "x.1.et"):
        with pytest.raises(FileFormatError):
            check_traces(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]",
        "topology: [ Switch, Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]",
        "topology: [ Switch ]\nnpus_count: [ 1 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]",
        "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 0 ]\nlatency: [ 1 ]",
        "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ .nan ]\nlatency: [ 1 ]",
        "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 1 ]",
        "[",
        "5",
    ],
)
def test_networks_that_are_not_understood(tmp_path: Path, text: str) -> None:
    (tmp_path / "network.yml").write_text(text)
    with pytest.raises(FileFormatError, match=r"network\.yml"):
        read_network(tmp_path / "network.yml")


def test_reports_are_plain() -> None:
    report = compiled("uniring(1,4)", "allgather").checked().report
    assert isinstance(report, TraceReport)
    record = json.loads(json.dumps(report.record()))
    assert report.times is not None
    assert record["times"] == {"simulator_ns": report.times.simulator_ns, "exact_ns": str(report.times.exact_ns)}
    assert all(isinstance(name, str) for name in itertools.chain(record))
