"""Checks of traces: their collective, and the simulated time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from pathlib import Path

from topodesign.base.arguments import as_path
from topodesign.base.declared import Declared
from topodesign.base.errors import FileFormatError
from topodesign.base.strict_json import parse_json
from topodesign.base.text_files import naming, read_bytes
from topodesign.runtime.chakra.contents import Contents, Memory, contents_of, find_races
from topodesign.runtime.chakra.network import Clock, Network, read_network
from topodesign.runtime.chakra.replay import Job, Links, Run, load_job
from topodesign.runtime.chakra.traces import COLLECTIVE_NODE, COMPUTE, MAX_RANKS, SEND, Trace, find_traces, read_trace
from topodesign.runtime.report import Finding, Report, Verdict

MAX_FINDINGS = 5  # shown of a kind
_LARGEST_JSON = 2**24
_MAX_NODES = 2**17  # for which all orders are proven: the work grows with their square


@dataclass(frozen=True, slots=True)
class Times(Declared):
    """When the last rank is done."""

    simulator_ns: int  # as ASTRA-sim counts, in whole nanoseconds
    exact_ns: Fraction  # the same without its rounding

    KEYS = "simulator_ns exact_ns"


@dataclass(frozen=True)
class TraceReport(Report):
    """The result of a replay; data are checked if traces describe them.

    Its verdict is ``ok``, or the kind of the first finding: ``illegal``, ``mismatch``, ``deadlock``, ``race``,
    ``uninitialised read`` or ``wrong result``.

    * ``ranks``, ``messages``, ``nodes``: how many there are.
    """

    ranks: int = 0
    messages: int = 0
    nodes: int = 0
    bytes: int = 0  # of all messages together
    data: bool = False  # whether what messages carry was checked, which the traces have to say
    every_order: bool = False  # whether the data were proven to be right in every order of events, not in one alone
    network: Network | None = None  # what the times are for; None if not specified
    times: Times | None = None  # when the last rank is done

    KEYS = "ok verdict findings warnings program ranks messages nodes bytes data every_order network times"

    def details(self) -> Iterator[str]:
        """Yield what was replayed, what is right, and the time."""
        if self.messages:
            yield f"{self.messages} messages, {self.bytes} bytes, {self.nodes} nodes"
        if self.ok and self.messages:
            orders = "in every order" if self.every_order else "in one order; there are too many nodes to prove others"
            yield f"no deadlock, {f'right data {orders}' if self.data else 'the traces do not specify the data'}"
        if self.times is not None and self.network is not None:
            said = f"{self.network.shape}, {self.network.bandwidth:.6g} GiB/s, {self.network.latency:.6g} ns"
            yield f"{self.times.simulator_ns} ns in ASTRA-sim ({said})"


def check_traces(path: str | Path) -> TraceReport:
    """Check Chakra traces of all ranks by replay, and time them.

    As ASTRA-sim does.

    Parameters
    ----------
    path
        A directory with traces, or one of the traces of all ranks, ``PREFIX.RANK.et``. Times are reported
        if ``network.yml`` is beside them, and compared with ``expected.json`` if that is.

    Raises
    ------
    FileFormatError
        If there is no trace, or a file cannot be read.

    Examples
    --------
    >>> from topodesign import check_traces, compile_plan, schedule
    >>> paths = compile_plan(schedule("circulant(8,1,3)", "allgather"), "chakra").save("traces")
    >>> print(check_traces("traces"))
    ok: allgather of 8 ranks
    ...
    """
    place = as_path(path)
    folder = place if place.is_dir() else place.parent
    found = {name: _read_all(ranks) for name, ranks in find_traces(place).items()}
    runs = {name: traces for name, traces in found.items() if not _calls_only(traces)}
    if not runs:
        count = len(next(iter(found.values())))
        title = f"a workload of {count} ranks that calls collectives and has no messages of its own"
        return TraceReport("ok", program=title, ranks=count)
    if len(runs) > 1:
        raise FileFormatError(f"{folder}: traces of {', '.join(sorted(runs))}; name one of their files")
    (traces,) = runs.values()
    network = read_network(folder / "network.yml") if (folder / "network.yml").exists() else None
    expected = read_expected_time(folder / "expected.json") if network and (folder / "expected.json").exists() else None
    return check_job(traces, network=network, expected=expected)


def check_job(traces: Sequence[Trace], *, network: Network | None = None, expected: int | None = None) -> TraceReport:
    """Replay traces and time them on a network, against ``expected`` ns."""
    title = f"traces of {len(traces)} ranks"
    job, findings = load_job(traces)
    if network is not None and network.ranks != len(traces):
        findings.append(Finding("illegal", f"a network of {network.ranks} ranks for traces of {len(traces)}"))
    if job is None or findings:
        return TraceReport(*_verdict(findings), program=title, ranks=len(traces))
    contents, wrong = contents_of(job)
    if contents is not None:
        title = f"{contents.collective} of {len(traces)} ranks"
    provable = contents is not None and sum(map(len, job.needs)) <= _MAX_NODES
    findings = wrong or _run(job, contents, network, provable)
    times = times_of(traces, network, job) if network is not None and not findings else None
    if times is not None and expected is not None and times.simulator_ns != expected:
        text = f"expected.json says {expected} ns, and a replay of the traces takes {times.simulator_ns}"
        findings = [Finding("wrong result", text)]
    return TraceReport(
        *_verdict(findings),
        warnings=tuple(_advice(job, contents)),
        program=title,
        ranks=len(traces),
        messages=len(job.messages),
        nodes=sum(len(trace.nodes) for trace in traces),
        bytes=sum(message.size for message in job.messages),
        data=contents is not None,
        every_order=provable and not findings,
        network=network,
        times=times,
    )


def times_of(traces: Sequence[Trace], network: Network, job: Job | None = None) -> Times:
    """Return when the last rank is done."""
    if job is None:
        job, findings = load_job(traces)
        if job is None:
            raise FileFormatError(str(findings[0]))
    ends = []
    for exact in (False, True):
        run = Run(job, Links(network, Clock(network, exact=exact)))
        stuck = run.go()
        if stuck:
            raise FileFormatError(str(stuck[0]))
        ends.append(max(run.ends))
    return Times(int(ends[0]), Fraction(ends[1]))


def _run(job: Job, contents: Contents | None, network: Network | None, provable: bool) -> list[Finding]:
    """Return what is wrong in a replay or, if ``provable``, in any order of events."""
    plain = Network("FullyConnected", len(job.traces), 1.0, 1.0) if network is None else network
    transport = Links(plain, Clock(plain))
    run = Run(job, transport) if contents is None else Memory(contents, transport)
    findings = run.go()
    if findings or contents is None or not provable:
        return findings
    return list(islice(find_races(contents, run.order), MAX_FINDINGS))


def _verdict(findings: Sequence[Finding]) -> tuple[Verdict, tuple[Finding, ...]]:
    """Return the kind of the first finding, with examples."""
    seen: Counter[str] = Counter()
    shown = []
    for finding in findings:
        seen[finding.verdict] += 1
        if seen[finding.verdict] <= MAX_FINDINGS:
            shown.append(finding)
    return (findings[0].verdict if findings else "ok"), tuple(shown)


def _advice(job: Job, contents: Contents | None) -> list[str]:
    advice = []
    if contents is None:
        advice.append("the traces do not say what messages carry; only messages, order and time were checked")
    if job.repeated:
        advice.append(
            f"{job.repeated} messages have source, destination and tag of another; which is which, their order decides"
        )
    return advice


def _read_all(ranks: Mapping[int, Path]) -> list[Trace]:
    missing = next((rank for rank in range(len(ranks)) if rank not in ranks), None)
    some = next(iter(ranks.values()))
    if missing is not None or len(ranks) > MAX_RANKS:
        raise FileFormatError(
            f"{some.parent}: there are {len(ranks)} traces such as {some.name}, and none of rank {missing}"
        )
    return [read_trace(ranks[rank]) for rank in range(len(ranks))]


def _calls_only(traces: Sequence[Trace]) -> bool:
    kinds = {node.kind for trace in traces for node in trace.nodes}
    return COLLECTIVE_NODE in kinds and kinds <= {COLLECTIVE_NODE, COMPUTE} and SEND not in kinds


def read_expected_time(path: Path) -> int:
    """Return the nanoseconds that a file says the simulator takes."""
    with naming(path):
        document = parse_json(read_bytes(path, _LARGEST_JSON))
        value = document.get("simulator_ns") if isinstance(document, dict) else None
        if not isinstance(value, int) or isinstance(value, bool):
            raise FileFormatError("simulator_ns is missing or no whole number")
        return value
