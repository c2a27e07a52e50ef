"""Chakra execution traces and other ASTRA-sim inputs.

Written into a directory:

``collective.RANK.et``
    What a rank sends, receives and adds: the implementation of the collective. ASTRA-sim's "custom collective" runs
    any number of its sends at once; run as a workload, a rank would have one send under way at a time.
``workload.RANK.et``
    A workload that calls the collective once.
``system.json``, ``network.yml``, ``memory.json``
    The rest of its input, and in ``README.txt`` the command.
``expected.json``
    When the simulator is to say that it is done, found out by replaying the traces, and by a closed form.

Messages are those of ``schema/protobuf/et_def.proto`` of mlcommons/chakra (21585d8, May 2026; unchanged in what
astra-sim/astra-sim 518bd51 reads), said here again as a descriptor. Sizes are ``int64_val`` and ranks and tags
``int32_val``, which older readers insist on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from topodesign.base.errors import FileFormatError, InfeasibleError, MissingLibraryError, ParameterError
from topodesign.base.latency import ALPHA
from topodesign.base.units import format_size, format_time
from topodesign.compiler.backends.backend import Backend, Files, Options
from topodesign.compiler.ir import Act, Messages, Program

if TYPE_CHECKING:
    from topodesign.collectives import Collective
    from topodesign.plans.flow import Flow
    from topodesign.plans.plan import Plan
    from topodesign.runtime.chakra.check import TraceReport
    from topodesign.runtime.chakra.network import Network
    from topodesign.runtime.chakra.traces import Trace

VERSION = "0.0.4"  # of the schema, as headers say it
USUAL_SIZE = Fraction(2**20)  # bytes of a call where nobody says them
LARGEST_TAG = 2**31 - 1
_FEW = 5000  # messages of a plan that is timed in an instant

_COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = 4, 5, 6, 7
_TYPES = {Act.SEND: _SEND, Act.RECEIVE: _RECEIVE, Act.ADD: _COMPUTE}
_SCHEMA = {
    "Uint64List": ("values 1 uint64 repeated",),
    "Attribute": (
        *("name 1 string", "int32_val 7 int32", "int64_val 9 int64", "uint64_val 13 uint64"),
        *("uint64_list 14 Uint64List", "bool_val 27 bool", "string_val 29 string"),
    ),
    "Header": ("version 1 string", "attr 2 Attribute repeated"),
    "Node": (
        *("id 1 uint64", "name 2 string", "type 3 uint32", "duration_micros 7 uint64"),
        *("ctrl_deps 4 uint64 repeated", "data_deps 5 uint64 repeated", "attr 10 Attribute repeated"),
    ),
}
_CALLED = {"all-reduce": 0, "all-gather": 2, "all-to-all": 6, "reduce-scatter": 7}  # CollectiveCommType
_README = """\
{title}, {size} in all, as traces of {ranks} ranks.

Run in this directory, with ASTRA-sim's analytical, congestion-aware backend:

  AstraSim_Analytical_Congestion_Aware --workload-configuration=workload --system-configuration=system.json \\
    --network-configuration=network.yml --remote-memory-configuration=memory.json

Every line "sys[RANK] finished, T cycles" then says a T of expected.json, simulator_ns. Check the traces without it:

  topodesign verify .

{notes}"""


class Chakra(Backend):
    """Traces for ASTRA-sim."""

    name = "chakra"
    ending = ".et"
    runtimes = ("astra-sim",)
    protocols = ("Simple",)
    takes = frozenset({"size", "alpha", "bandwidth"})
    directory = True

    def refuse(self, plan: Plan, options: Options) -> None:  # noqa: ARG002
        """Reject channels, which messages do not have."""
        if options.channels > 1:
            raise ParameterError("chakra has no channels: a message of a trace is one message; omit them")
        if len(options.size) > 1:
            raise ParameterError("traces are of one call; give one size")

    def lower(self, plan: Plan, options: Options) -> Program:
        """Return the messages of the plan."""
        from topodesign.compiler.frontends.messages import messages_of  # noqa: PLC0415  NumPy, which help does without

        return messages_of(plan, options.parts)

    def lower_phase(self, rounds: Flow, number: int, options: Options) -> Program:  # noqa: ARG002
        """Return the messages of a phase."""
        from topodesign.compiler.frontends.messages import messages_of_transfers  # noqa: PLC0415  NumPy
        from topodesign.plans.transfers import transfers_of_flow  # noqa: PLC0415  NumPy

        return replace(messages_of_transfers(transfers_of_flow(rounds)), phase=number)

    def lint(self, program: Program, options: Options) -> Iterator[str]:
        """Yield violated simulator limits: tags, bytes or a single rank."""
        if not isinstance(program, Messages):
            yield "traces are made of messages, not of instructions"
            return
        if program.ranks < 2:
            yield "a network of one rank, and the simulator wants at least 2"
        amounts = program.table.amounts
        if len(amounts) > LARGEST_TAG:
            yield f"{len(amounts)} messages, and tags end at {LARGEST_TAG}"
        whole = _size(program, options)
        if program.bytes_of(int(amounts.max(initial=0)), whole) >= 2**63:
            yield f"a message of a call of {whole} bytes has 2^63 bytes or more"

    def emit(self, program: Program, options: Options) -> Files:
        """Return the traces and the other inputs of the simulator."""
        for broken in self.lint(program, options):
            raise InfeasibleError(broken)
        assert isinstance(program, Messages)  # noqa: S101  for mypy; lint has seen to it
        from topodesign.compiler.backends.links import network_of  # noqa: PLC0415  NumPy

        network, notes = network_of(program, options)
        whole, ranks = _size(program, options), program.ranks
        files = {f"collective.{rank}.et": _trace(program, rank, whole) for rank in range(ranks)}
        word = _call(program.collective)
        call = _workload(word, whole)
        files.update({f"workload.{rank}.et": call for rank in range(ranks)})
        files["system.json"] = _json(
            {
                "scheduling-policy": "FIFO",
                "preferred-dataset-splits": 1,
                f"{word}-implementation": ["direct"],
                f"{word}-implementation-custom": ["collective"],
                "local-mem-bw": 1600,
            }
        )
        files["network.yml"] = _network(network)
        files["memory.json"] = _json({"memory-type": "NO_MEMORY_EXPANSION"})
        files["expected.json"] = _json(_expect_time(program, self.parse(files, options), network, whole, notes))
        said = "\n".join(f"Note: {note}." for note in [*notes, *_names(program.collective, word)])
        title = f"{options.name} ({program.collective})"
        text = _README.format(title=title, size=format_size(whole), ranks=ranks, notes=said)
        files["README.txt"] = text.encode()
        return files

    def notes(self, plan: Plan, options: Options, files: Files) -> Iterator[str]:
        """Yield simplifications of the simulated network and their effects."""
        expected = json.loads(files["expected.json"])
        yield from expected["notes"]
        yield from _names(plan.collective, _call(plan.collective))
        if expected["notes"]:
            time = format_time(Fraction(expected["simulator_ns"], 10**9))
            other = _simulate_plan(plan, options, expected)
            yield f"{time} is the time of that network, not of the real links{other}"

    def parse(self, files: Files, options: Options) -> tuple[Trace, ...]:  # noqa: ARG002
        """Parse the traces as simulators do; return the collective's."""
        from topodesign.runtime.chakra.replay import load_job  # noqa: PLC0415  not for help
        from topodesign.runtime.chakra.traces import parse_trace  # noqa: PLC0415  not for help

        traces = {name: parse_trace(content) for name, content in files.items() if name.endswith(self.ending)}
        ranks = sum(name.startswith("collective.") for name in traces)
        found = tuple(traces[f"collective.{rank}.et"] for rank in range(ranks))
        for finding in load_job(found)[1]:
            raise FileFormatError(str(finding))
        return found

    def check(self, files: Files, options: Options) -> TraceReport:
        """Replay the traces; check messages, deadlock freedom and data."""
        from topodesign.runtime.chakra.check import check_job  # noqa: PLC0415  NumPy, which help does without
        from topodesign.runtime.chakra.network import Network  # noqa: PLC0415

        expected = json.loads(files["expected.json"])
        spec = expected["network"]
        network = Network(spec["topology"], spec["npus_count"], spec["bandwidth"], spec["latency"])
        return check_job(self.parse(files, options), network=network, expected=expected["simulator_ns"])


def _simulate_plan(plan: Plan, options: Options, expected: dict[str, Any]) -> str:
    """Return the simulated time on the actual links, if cheap."""
    from topodesign.fabrics.fabric import OWN_LATENCIES, Fabric  # noqa: PLC0415  NumPy, which help does without
    from topodesign.plans.time.simulate import simulate  # noqa: PLC0415

    place = plan.place
    if expected["messages"] > _FEW or (isinstance(place, Fabric) and place.shared):
        return ""
    timed = partial(simulate, plan, size=Fraction(expected["size_bytes"]), bandwidth=options.bandwidth)
    if plan.size is not None:
        return f"; 'topodesign simulate' says {format_time(timed().time)} there"
    alpha = ALPHA if options.alpha is None else options.alpha
    said = f"; 'topodesign simulate' says {format_time(timed(alpha=alpha).time)} there with a latency of "
    said += format_time(alpha)
    if isinstance(place, Fabric) and place.latency:
        said += f", and {format_time(timed(alpha=OWN_LATENCIES).time)} with those of the fabric"
    return said


def _size(program: Messages, options: Options) -> Fraction:
    unsaid = USUAL_SIZE if program.own is None else program.own.size
    size: Fraction = options.size[0] if options.size else unsaid
    return size


def _call(collective: Collective) -> str:
    """Return the simulator collective (one of four) for a collective."""
    if collective.pairwise:
        return "all-to-all"
    if collective.reduces:
        return "all-reduce" if collective.copies else "reduce-scatter"
    return "all-gather"


def _names(collective: Collective, word: str) -> Iterator[str]:
    if collective.name.replace("-", "") != word.replace("-", ""):
        yield f"the simulator takes no {collective} from traces, so the workload calls it {word}; nothing else changes"


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _number(value: float) -> str:
    """Format a double exactly for YAML 1.1 and 1.2, without exponent."""
    return format(Decimal(repr(value)), "f")


def _network(network: Network) -> bytes:
    return (
        f"topology: [ {network.shape} ]\nnpus_count: [ {network.ranks} ]\n"
        f"bandwidth: [ {_number(network.bandwidth)} ]  # GB/s, of 2^30 bytes\n"
        f"latency: [ {_number(network.latency)} ]  # ns\n"
    ).encode()


def _expect_time(
    program: Messages, traces: tuple[Trace, ...], network: Network, whole: Fraction, notes: list[str]
) -> dict[str, Any]:
    """Return the expected finish time, by replay and closed form."""
    from topodesign.runtime.chakra.check import times_of  # noqa: PLC0415  NumPy, which help does without
    from topodesign.runtime.chakra.network import Clock  # noqa: PLC0415  with the rest

    times = times_of(traces, network)
    closed: Fraction | None = None
    if program.ends is not None and network.shape == "FullyConnected":
        clock = Clock(network, exact=True)
        steps = (clock.under_way(program.bytes_of(units, whole)) for units in program.ends)
        closed = sum(steps, start=Fraction(program.adding))
    return {
        "simulator": "ASTRA-sim, analytical congestion-aware backend",
        "collective": program.collective.name,
        "ranks": program.ranks,
        "size_bytes": str(whole),
        "messages": len(program.table.src),
        "network": {
            "topology": network.shape,
            "npus_count": network.ranks,
            "bandwidth": network.bandwidth,
            "latency": network.latency,
        },
        "simulator_ns": times.simulator_ns,
        "exact_ns": str(times.exact_ns),
        "closed_form_ns": None if closed is None else str(closed),
        "closed_form": None
        if closed is None
        else "sum over the steps of latency + largest message / bandwidth, and 1 ns for each step that adds",
        "relation": None if closed is None else "equal" if closed == times.exact_ns else "at most",
        "notes": notes,
    }


@cache
def _classes() -> tuple[Any, Any]:
    """Return the message classes, built from our own schema wording."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingLibraryError("traces require protobuf: pip install 'topodesign[chakra]'") from None
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="topodesign/et.proto", package="topodesign_et", syntax="proto3")
    for name, fields in _SCHEMA.items():
        made = file.message_type.add(name=name)
        for field in fields:
            word, number, kind, *repeated = field.split()
            inner = {"type": kinds.TYPE_MESSAGE, "type_name": f".topodesign_et.{kind}"}
            plain = {"type": getattr(kinds, f"TYPE_{kind.upper()}", None)}
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            made.field.add(name=word, number=int(number), label=label, **(inner if kind in _SCHEMA else plain))
    # A oneof keeps a value of zero in the file, which a plain field would omit.
    attribute = file.message_type[1]
    attribute.oneof_decl.add(name="value")
    for one in attribute.field:
        if one.name != "name":
            one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = message_factory.GetMessages([file], pool=pool)
    return found["topodesign_et.Header"], found["topodesign_et.Node"]


def _delimit_messages(messages: Iterable[Any]) -> bytes:
    """Return messages one after the other, each after its length."""
    pieces = []
    for message in messages:
        content = message.SerializeToString(deterministic=True)
        length = len(content)
        while length >= 0x80:
            pieces.append(bytes((length & 0x7F | 0x80,)))
            length >>= 7
        pieces += [bytes((length,)), content]
    return b"".join(pieces)


def _header(attributes: Mapping[str, str | int]) -> Any:
    header = _classes()[0](version=VERSION)
    for name, value in attributes.items():
        header.attr.add(name=name, **{"string_val" if isinstance(value, str) else "uint64_val": value})
    return header


def _trace(program: Messages, rank: int, whole: Fraction) -> bytes:
    said: dict[str, str | int] = {
        "topodesign_collective": json.dumps(program.collective.record()),
        "topodesign_ranks": program.ranks,
        "topodesign_units": program.units,
        "topodesign_size": str(whole),
    }
    if program.phase is not None:
        from topodesign.runtime.chakra.traces import PHASE  # noqa: PLC0415

        said[PHASE] = program.phase
    if program.amounts is not None:
        said["topodesign_amounts"] = json.dumps(program.amounts)
    header = _header(said)
    return _delimit_messages([header, *_nodes(program, rank, whole)])


def _nodes(program: Messages, rank: int, whole: Fraction) -> Iterator[Any]:
    node_class = _classes()[1]
    operations, table = program.operations[rank], program.table
    if not operations:  # the simulator refuses a trace without nodes
        yield node_class(id=0, name="nothing to do", type=_COMPUTE)
    for place, one in enumerate(operations):
        at = one.message
        src, dst = int(table.src[at]), int(table.dst[at])
        node = node_class(id=place, type=_TYPES[one.act], data_deps=one.data, ctrl_deps=one.control)
        node.name = f"{one.act.value} {at} {src}->{dst}"
        node.attr.add(name="is_cpu_op", bool_val=False)
        if one.act is not Act.ADD:
            node.attr.add(name="comm_src", int32_val=src)
            node.attr.add(name="comm_dst", int32_val=dst)
            node.attr.add(name="comm_tag", int32_val=at)
            node.attr.add(name="comm_size", int64_val=program.size(at, whole))
        if one.act is Act.SEND:
            node.attr.add(name="topodesign_part", uint64_val=int(table.part[at]))
            data = node.attr.add(name="topodesign_data")
            data.uint64_list.values.extend(table.rows[1:, table.first[at] : table.first[at + 1]].T.ravel().tolist())
        yield node


def _workload(word: str, whole: Fraction) -> bytes:
    node = _classes()[1](id=0, name=word, type=_COLLECTIVE)
    node.attr.add(name="is_cpu_op", bool_val=False)
    node.attr.add(name="comm_type", int64_val=_CALLED[word])
    node.attr.add(name="comm_size", int64_val=max(1, -int(-whole // 1)))
    return _delimit_messages([_header({}), node])
