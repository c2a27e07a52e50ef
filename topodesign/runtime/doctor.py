"""Logs of runs: whether a program was loaded and used, or why not.

Runtimes skip what does not fit in silence and run something of their own, correctly. Their logs tell, if one knows the
lines: :mod:`topodesign.runtime.rules` has them. A log is read line by line, whatever its size, and what is no text in
it is passed over.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from topodesign.base.arguments import as_path
from topodesign.base.text_files import naming, open_input
from topodesign.runtime.calls import About, about_program
from topodesign.runtime.calls import Call as Asked
from topodesign.runtime.diagnosis import Call, Cause, Diagnosis, Kind, Symptom, Verdict
from topodesign.runtime.rules import SIGNS, Sign

LONGEST_LINE = 4096  # bytes of a line that are looked at; loggers cut at 1024
LARGEST_LOG = 2**50
MAX_FINDINGS, MAX_CALLS = 40, 2000
"""Different findings, and kinds of calls, that are kept."""

_OURS = re.compile(r"NCCL (INFO|WARN|TRACE) ?|MSCCLPP \d+ [A-Z]+ [A-Z]+ \S+ |MSCCLPP (INFO|WARN) |msccl-scheduler: ")
_PROCESS = re.compile(r"(?P<host>[^\s:]{1,100}):(?P<pid>\d{1,9}):\d{1,9} |MSCCLPP (?P<other>\d{1,9}) ")
_BYTES = {0: 1, 1: 1, 2: 4, 3: 4, 4: 8, 5: 8, 6: 2, 7: 4, 8: 8, 9: 2, 10: 1, 11: 1}
_WORDS = re.compile(
    r"MSCCL|XML|Attribute|[Pp]lan\b|Bytes -> Algo|opCount|set by environment|context cache|fallback|FallBack|sendbuff|"
    r"recvcount|size is not|does not match|NCHANNELS|SKU|Connected all|Trees \[|ibv_modify_qp|TreeConnect|RingConnect|"
    r"\[jaccl\]|No local NIC|operation[= ]Connect|No interface found|PollConnect|unhandled system error|"
    r"ncclSystemError|completion from peer|StartConnect|Bootstrap : no|ncclSocketInit|connectFullMesh|"
    r"Unable to resolve hostname|connect\(\) to|inbound MPI TCP|modify QP to RTR|Physical Discovery found|"
    r"Connections found in|closed by remote peer|Cannot allocate memory|with error 4|status=4|client socket has failed|"
    r"Watchdog caught|Connection refused|Barrier timed out|heartbeat timeout|out of memory|peer access|"
    r"No space left|Stale file|driver version|no kernel image|Duplicate GPU|remote process exited|EADDRINUSE|"
    r"failed to pass monitoredBarrier|rendezvous|IBV_WC|has no active port|Mismatched|memlock"
)
"""What a line has that means something; others are not looked at any closer."""
_WARNING = re.compile(
    r"NCCL WARN|MSCCLPP (\d+ )?(WARN|ERROR)|\[[EW]\d*[ :]|\b(Dist\w+|nccl\w+|XlaRuntime|Runtime)Error\b|gloo::\w+|"
    r"gloo/transport|Gloo |DEADLINE_EXCEEDED|UNAVAILABLE: |INTERNAL: |Cuda failure|HIP failure|hipError|E external/xla"
)
"""What a line has that warns, of NCCL, RCCL, MSCCL, MSCCL++, gloo, c10d, torch or JAX."""
_RANK = re.compile(r"\[[Rr]ank ?(\d{1,7})\]|\brank[ =:]\s?(\d{1,7})\b|/task:(\d{1,7})")
_OF_RANK = re.compile(r"\brank (\d{1,7}) nranks \d")
_QUOTED = 300  # letters of a line that are quoted
_SUMS = 4  # reduction operations from here on are averages or one's own, which no program does
_JOINED = re.compile(r"(-?\d+)/(-?\d+)/(-?\d+)->(\d+)->(-?\d+)")  # children, rank, parent
_WHOLE = frozenset({"", "allreduce", "broadcast", "reduce"})
"""Collectives of which a count is that of the whole data; nothing where a line does not say which it is."""


def doctor(log: str | Path, program: str | Path | None = None) -> Diagnosis:
    r"""Diagnose from a log whether a program was loaded and used.

    Parameters
    ----------
    log
        What NCCL, RCCL, msccl or MSCCL++ wrote, with ``NCCL_DEBUG=INFO`` and ``NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING``
        (or ``MSCCLPP_LOG_LEVEL=INFO``); other lines may be in between.
    program
        The program that should have run, MSCCL XML or an MSCCL++ plan: then each kind of calls is held against what it
        is for.

    Raises
    ------
    FileFormatError
        If a file cannot be read, or is no program.

    Examples
    --------
    >>> from pathlib import Path
    >>> from topodesign import doctor
    >>> written = Path("run.log").write_text("h:1:1 [0] NCCL INFO Using MSCCL files from /opt/algos\n")
    >>> doctor("run.log").verdict
    'loaded'
    """
    about = None if program is None else about_program(as_path(program))
    path = as_path(log)
    with naming(path), open_input(path, LARGEST_LOG) as stream:
        return diagnose(_lines(stream), about)


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a log, cut at ``LONGEST_LINE``."""
    begun = False
    while piece := stream.readline(LONGEST_LINE):
        whole = piece.endswith(b"\n")
        if not begun:
            yield piece.decode("utf-8", "replace").rstrip("\r\n")
        begun = not whole


@dataclass
class _Reading:
    """What has been seen so far."""

    about: About | None
    lines: int = 0
    nccl: bool = False
    plus: bool = False
    runtimes: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    processes: set[str] = field(default_factory=set)
    files: dict[str, None] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    symptoms: dict[tuple[str, str], Symptom] = field(default_factory=dict)
    calls: Counter[tuple[Kind, str]] = field(default_factory=Counter)
    pending: dict[str, Kind] = field(default_factory=dict)
    callers: set[str] = field(default_factory=set)
    tuned: dict[str, str] = field(default_factory=dict)
    rings: set[str] = field(default_factory=set)
    joined: set[tuple[int, int]] = field(default_factory=set)
    ranks: dict[str, str] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)
    known: dict[str, Cause] = field(default_factory=dict)
    unknown: Cause | None = None

    @property
    def runtime(self) -> str:
        """The runtime of the log, by its lines or their prefix."""
        if self.runtimes:
            return self.runtimes.most_common(1)[0][0]
        return "mscclpp" if self.plus and not self.nccl else ""

    def read(self, line: str) -> None:
        self.lines += 1
        found = _OURS.search(line)
        if found is not None:
            self.plus |= "MSCCLPP" in found.group()
            self.nccl |= "MSCCLPP" not in found.group()
        warns = _WARNING.search(line) is not None and self.unknown is None
        who = self._find_process(line)
        if _WORDS.search(line) is not None and self._sign(line if found is None else line[found.end() :], line):
            warns = False
        if warns:
            self.unknown = self._cause(line, line.strip()[:_QUOTED], "", known=False)
        if line.strip() and (who in self.last or len(self.last) < MAX_CALLS):
            self.last[who] = line.strip()[:_QUOTED]

    def _find_process(self, line: str) -> str:
        """Return the process of a line; empty if unknown."""
        found = _PROCESS.search(line)
        who = "" if found is None else found["other"] or f"{found['host']}:{found['pid']}"
        rank = _OF_RANK.search(line)
        if who and rank is not None and len(self.ranks) < MAX_CALLS:
            self.ranks[who] = rank[1]
        return who

    def _cause(self, line: str, text: str, remedy: str, *, known: bool) -> Cause:
        """Return a cause with who says it and what came before."""
        who = self._find_process(line)
        said = _RANK.search(line)
        number = self.ranks.get(who) or (next(filter(None, said.groups()), "") if said is not None else "")
        name = f"rank {number}" if number else f"process {who}" if who else ""
        return Cause(self.lines, text, known, remedy, name, self.last.get(who, ""))

    def _sign(self, message: str, line: str) -> bool:
        """Note the first sign in a line; return whether it gives a reason."""
        for sign in SIGNS:
            match = sign.pattern.search(message)
            # 2 is the number of MSCCL's algorithm in its own runtime alone; others say other things by it
            foreign = sign.role == "ran" and sign.runtime == "msccl" and not self.runtimes["msccl"]
            if match is not None and not foreign:
                self._note(sign, match, line)
                return sign.role != "failed"
        return False

    @property
    def cause(self) -> Cause | None:
        """The cause of the fault: a known sign, or an earlier warning.

        What a run reports in the end, such as that a peer is gone, follows from earlier lines; that two ports
        cannot be connected, or that a file is refused, is a reason by itself.
        """
        first = self.known.get("connection") or self.known.get("refused")
        told = [one for one in (self.known.get("failure"), self.unknown) if one is not None]
        return first or min(told, key=lambda one: one.line, default=self.known.get("trouble"))

    def close(self) -> None:
        """Count the calls on which no more lines follow."""
        for process in list(self.pending):
            self._settle(process, "")

    def _note(self, sign: Sign, match: re.Match[str], line: str) -> None:
        groups = {name: value or "" for name, value in match.groupdict().items()}
        who = _PROCESS.search(line)
        process = "" if who is None else who["other"] or f"{who['host']}:{who['pid']}"
        if len(self.processes) < 10**6:
            self.processes.add(process)
        if sign.runtime:
            self.runtimes[sign.runtime] += 1
        self.events[sign.role] += 1
        if sign.role in {"loading", "loaded", "refused"} and len(self.files) < MAX_FINDINGS:
            self.files[groups.get("file", "")] = None
        if sign.role == "told":
            if len(self.environment) < MAX_FINDINGS:
                self.environment[groups["name"]] = groups["value"]
        elif sign.role in {"call", "ran", "built-in"}:
            self._note_call(sign, groups, process)
        elif sign.role in {"trouble", "refused", "connection", "failure"}:
            self._note_symptom(sign, groups)
            if sign.role not in self.known:
                self.known[sign.role] = self._cause(line, sign.means.format(**groups), sign.remedy, known=True)
        if sign.role in {"rings", "trees", "joined", "connection", "failed"}:
            self._note_start(sign, groups, process)

    def _note_start(self, sign: Sign, groups: dict[str, str], process: str) -> None:
        """Follow the start-up: faults after rings are faults of trees."""
        if sign.role == "rings" and len(self.rings) < 10**6:
            self.rings.add(process)
        elif sign.role == "trees":
            self.rings.discard(process)
        elif sign.role == "joined":
            if len(self.joined) < MAX_CALLS:
                for *children, rank, parent in _JOINED.findall(groups["trees"]):
                    pairs = [(int(rank), int(other)) for other in (*children, parent)]
                    self.joined.update((min(pair), max(pair)) for pair in pairs if pair[1] >= 0)
        elif process in self.rings or (not process and self.rings):
            far = sorted(pair for pair in self.joined if pair[1] > pair[0] + 1)
            which = f", such as {far[0][0]} and {far[0][1]}" if far else ""
            self.events["connection"] += 1
            self._note_symptom(replace(_TREES_FAIL, means=f"{_TREES_FAIL.means}{which}"), {})

    def _note_symptom(self, sign: Sign, groups: dict[str, str]) -> None:
        means = sign.means.format(**groups)
        key = means, sign.remedy
        old = self.symptoms.get(key)
        if old is None and len(self.symptoms) >= MAX_FINDINGS:
            return
        first = self.lines if old is None else old.line
        self.symptoms[key] = Symptom(first, means, sign.remedy, sign.source, 1 if old is None else old.count + 1)

    def _note_call(self, sign: Sign, groups: dict[str, str], process: str) -> None:
        """Note a call, or the algorithm of its process's last call."""
        if sign.role == "built-in" and sign.remedy:
            self._note_symptom(sign, groups)
        if sign.role == "call":
            self._settle(process, "")
            self.callers.add(process)
            self.pending[process] = _kind_of_call(groups)
            # in the logs of these, NCCL's own line of a call says that no program ran it
            if sign.runtime == "" and (self.runtimes["msccl-executor"] or self.runtimes["rccl"]):
                self._settle(process, "built-in")
            return
        by = "program" if sign.role == "ran" else "built-in"
        if by == "program" and sign.runtime == "mscclpp" and self.about and groups["file"] != self.about.name:
            by = "another program"
        if process in self.pending:
            self._settle(process, by)
        elif sign.role == "ran" or "send" in groups or self._is_call(groups, process):
            self._count(_kind_of_call(groups), by)

    def _is_call(self, groups: dict[str, str], process: str) -> bool:
        """Return whether a line on an algorithm stands for a call.

        It is not where the process says its calls in lines of their own, and where a build with tracing says it again.
        """
        before = self.tuned.pop(process, "")
        if "bytes" not in groups or process in self.callers:
            return False
        if groups.get("name") and len(self.tuned) < MAX_CALLS:
            self.tuned[process] = groups["bytes"]
        return bool(groups.get("name")) or before != groups["bytes"]

    def _settle(self, process: str, by: str) -> None:
        """Count the call that a process made last."""
        kind = self.pending.pop(process, None)
        if kind is not None:
            self._count(kind, by)

    def _count(self, kind: Kind, by: str) -> None:
        key = (kind, by)
        if key in self.calls or len(self.calls) < MAX_CALLS:
            self.calls[key] += 1


def diagnose(lines: Iterable[str], about: About | None = None) -> Diagnosis:
    """Return what the lines of a log say; see :func:`doctor`."""
    reading = _Reading(about)
    for line in lines:
        reading.read(line)
    reading.close()
    runtime = reading.runtime
    counted_calls = sorted(reading.calls.items(), key=lambda item: (-item[1], str((*item[0][0], item[0][1]))))
    calls = tuple(
        Call(*kind, by, count, "" if about is None else next(about.reasons(Asked(*kind)), ""))
        for (kind, by), count in counted_calls
    )
    verdict = _verdict(reading, runtime, calls)
    return Diagnosis(
        verdict,
        runtime,
        about,
        calls,
        tuple(sorted(reading.symptoms.values(), key=lambda one: one.line)),
        tuple(_advice(reading, runtime, verdict, calls)),
        dict(reading.events),
        tuple(reading.files),
        reading.environment,
        reading.lines,
        len(reading.processes),
        None if verdict == "ran" else reading.cause,
    )


_TREES_FAIL = next(one for one in SIGNS if one.pattern.pattern == "ncclTransportTreeConnect")


def _kind_of_call(groups: dict[str, str]) -> Kind:
    """Return collective, bytes, ranks, in-place and element size."""
    name = groups.get("name", "").rstrip(": ").lower()
    ranks = int(groups["ranks"]) if groups.get("ranks") else None
    if not groups.get("count"):
        partial = name not in _WHOLE and not groups.get("algorithm", "").isdigit()
        return name, int(groups["bytes"]) if groups.get("bytes") and not partial else None, ranks, None, None
    wide = _BYTES.get(int(groups.get("datatype") or 7))
    part = None if wide is None else int(groups["count"]) * wide
    if part is not None and int(groups.get("op") or 0) >= _SUMS:
        name += " with an average or an operation of its own"
    whole = part
    if name in {"allgather", "reducescatter", "alltoall"}:
        whole = None if part is None or ranks is None else part * ranks
    return name, whole, ranks, _in_place(name, groups, part, ranks), wide if groups.get("datatype") else None


def _in_place(name: str, groups: dict[str, str], part: int | None, ranks: int | None) -> bool | None:
    """Return whether a call is in place, or None if unknown."""
    try:
        send, receive = int(groups.get("send", ""), 16), int(groups.get("recv", ""), 16)
    except ValueError:
        return None
    if name not in {"allgather", "reducescatter"}:
        return send == receive
    between = send - receive if name == "allgather" else receive - send
    if not part or ranks is None:
        return None
    return between % part == 0 and 0 <= between // part < ranks


def _verdict(  # noqa: PLR0911  a sign after the other
    reading: _Reading, runtime: str, calls: tuple[Call, ...]
) -> Verdict:
    by = Counter(call.by for call in calls)
    meant = [call for call in calls if not call.why]
    if by["program"]:
        others = [call for call in meant if call.by == "built-in"]
        return "ran for some calls" if others else "ran"
    events = reading.events
    if events["connection"]:
        return "not connected"
    about_programs = events["loaded"] + events["ready"] + events["refused"] + events["loading"]
    if events["failure"] or (reading.unknown is not None and not about_programs and not calls):
        return "failed"
    algorithms = reading.environment.get("NCCL_ALGO")
    never = runtime == "msccl" and algorithms is not None and "MSCCL" not in algorithms.upper()
    if events["loaded"] or events["ready"]:
        return "ran nothing" if by["built-in"] or never else "loaded"
    if events["refused"] or (events["loading"] and reading.symptoms and runtime != "mscclpp"):
        return "refused"
    if events["loading"] and runtime != "mscclpp":
        return "loaded"
    return "not loaded" if reading.nccl or reading.plus or events else "no log"


def _advice(reading: _Reading, runtime: str, verdict: Verdict, calls: tuple[Call, ...]) -> Iterator[str]:
    told = reading.environment
    if verdict == "no log":
        yield "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING (MSCCL++: MSCCLPP_LOG_LEVEL=INFO)"
        return
    for name in ("NCCL_MSCCL_ENABLE", "RCCL_MSCCL_ENABLE"):
        if told.get(name) == "0":
            yield f"{name} is 0: no program is ever used; remove it"
    algorithms = told.get("NCCL_ALGO")
    if runtime == "msccl" and (algorithms is None or "MSCCL" not in algorithms.upper()):
        said = "the log does not say that NCCL_ALGO is set" if algorithms is None else f"NCCL_ALGO is {algorithms}"
        yield f"{said}: without MSCCL in it programs are loaded and never used; set NCCL_ALGO=MSCCL,RING,TREE"
    if verdict == "not loaded" and runtime == "mscclpp":
        yield (
            "nothing in the log is about plans: give the plan to the library by its Python or C++ interface (of "
            "MSCCLPP_CACHE_DIR/default it reads four names of its own), and run with MSCCLPP_LOG_LEVEL=INFO, which "
            "says plans; MSCCLPP_DEBUG says other lines"
        )
    elif verdict == "not loaded":
        yield (
            "nothing in the log is about programs: set MSCCL_XML_FILES (microsoft/msccl) or MSCCL_ALGO_DIR "
            "(msccl-executor, RCCL up to ROCm 7.12), be sure that the program links that library and not the stock "
            "NCCL, and run with NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING"
        )
    if verdict == "loaded":
        if runtime == "msccl":
            yield (
                "microsoft/msccl says only in a build with TRACE=1 (NCCL_DEBUG=TRACE) what ran a call; without it "
                "compare the times in place and out of place: the program serves one of them"
            )
        else:
            yield "there are no calls in the log; run with NCCL_DEBUG_SUBSYS=INIT,ENV,COLL,TUNING"
    fitting = [call for call in calls if call.by == "built-in" and not call.why]
    if runtime == "rccl" and verdict == "ran nothing" and (fitting or reading.about is None):
        yield "RCCL uses programs on machines that it knows, and says nothing elsewhere: set RCCL_MSCCL_FORCE_ENABLE=1"
    if verdict in {"ran nothing", "ran for some calls"} and reading.about is None:
        yield "pass the program with --program to compare the calls with it"
