"""The diagnosis of a log: calls, symptoms, use and advice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from topodesign.base.declared import Declared
from topodesign.base.records import Result
from topodesign.base.wording import count_noun
from topodesign.runtime.calls import About

Verdict = Literal[
    "ran", "ran for some calls", "ran nothing", "loaded", "refused", "not connected", "failed", "not loaded", "no log"
]
"""What became of the program; ``loaded`` is where the log does not say what ran the calls, and ``not connected`` where
some ranks could not be joined, so that nothing ran; ``failed`` is any other end."""
Kind = tuple[str, int | None, int | None, bool | None, int | None]
"""Of a call: collective, bytes of the whole data, ranks, whether it is in place, and bytes of an element."""

_SHOWN = 12
_BY = {"program": "the program", "built-in": "a built-in algorithm"}


@dataclass(frozen=True, slots=True)
class Call(Declared):
    """Calls of one kind in a log."""

    collective: str  # as the log calls it, in small letters
    size: int | None  # bytes of the whole data; null if the log does not show them
    ranks: int | None  # of the communicator; null if the log does not show it
    inplace: bool | None  # whether input and output share memory; null if the log does not show it
    width: int | None  # bytes of an element; null if the log does not show its type
    by: str  # `program`, `another program`, `built-in`, or nothing where the log does not say what ran it
    count: int  # how many calls, of all processes
    why: str = ""  # why the program cannot have run them; nothing where it could

    KEYS = "collective size ranks inplace width by count why"


@dataclass(frozen=True, slots=True)
class Symptom(Declared):
    """Something that a log says."""

    line: int  # where it is first reported
    means: str  # what it means
    remedy: str  # what to do
    source: str  # where the line was read: repository, commit, file and line
    count: int  # how often it is reported

    KEYS = "line means remedy source count"


@dataclass(frozen=True, slots=True)
class Cause(Declared):
    """A cause of a faulty run: a known one, or an unknown warning."""

    line: int  # where it is reported
    text: str  # what it means or, of a warning that is not known, its words
    known: bool  # whether its meaning is known
    remedy: str  # what to do; nothing where that is not known
    rank: str  # what reports it: a rank, else a host and a process; empty if the log shows neither
    before: str  # what the same process said before

    KEYS = "line text known remedy rank before"

    def __str__(self) -> str:
        who = f", {self.rank}" if self.rank else ""
        if self.known:
            return f"cause (line {self.line}{who}): {'; '.join(filter(None, (self.text, self.remedy)))}"
        before = f'; before it: "{self.before}"' if self.before else ""
        return f'cause, by the first warning that is not known (line {self.line}{who}): "{self.text}"{before}'


@dataclass(frozen=True, repr=False)
class Diagnosis(Result):
    """What a log says."""

    verdict: Verdict  # what became of the program
    runtime: str  # which runtime it is; nothing where no line tells
    program: About | None  # what the program is for; None where none was given
    calls: tuple[Call, ...]  # kinds of calls, the most frequent first
    symptoms: tuple[Symptom, ...]  # what is in the way
    advice: tuple[str, ...]  # what to do next
    events: dict[str, int]  # how often each kind of line is there
    files: tuple[str, ...]  # files and directories that the runtime names
    environment: dict[str, str]  # variables that it names
    lines: int  # lines of the log
    processes: int  # processes that said any of this
    cause: Cause | None = None  # why it did not run all calls; None where it did, or the log says nothing

    KEYS = "ok verdict runtime program calls symptoms cause advice events files environment lines processes"
    ROWS = "calls"

    @property
    def ok(self) -> bool:
        """Whether the program ran all calls that it is for."""
        return self.verdict == "ran"

    def heading(self) -> str:
        """Return the verdict in a sentence."""
        serves, every = (sum(one.count for one in self.calls if some or not one.why) for some in (False, True))
        rule = f"by the rule of {self.runtime} it runs {serves} of {count_noun(every, 'call')}"
        lets = "MSCCL" in self.environment.get("NCCL_ALGO", "").upper() and self.program is not None and self.calls
        what = {
            "ran": "the program ran",
            "ran for some calls": "the program ran some of the calls",
            "ran nothing": "the program is loaded, and ran nothing",
            "loaded": f"the program is loaded, and NCCL_ALGO lets it run: {rule}"
            if lets
            else "a program is loaded; the log does not say what ran the calls",
            "refused": "the runtime refused the program",
            "not connected": "some ranks could not be connected",
            "failed": "the run failed",
            "not loaded": "no program was loaded",
            "no log": "no line of NCCL, RCCL or MSCCL++",
        }[self.verdict]
        return f"log of {count_noun(self.lines, 'line')}: {what}{f' ({self.runtime})' if self.runtime else ''}"

    def __str__(self) -> str:
        lines = [self.heading()]
        for call in self.calls[:_SHOWN]:
            name = f" of {call.collective}" if call.collective else ""
            size = "" if call.size is None else f" of {call.size} bytes"
            place = {True: " in place", False: " out of place", None: ""}[call.inplace]
            by = f": {_BY.get(call.by, call.by)}" if call.by else ""
            why = f"; the program cannot: {call.why}" if call.why else ""
            lines.append(f"  {count_noun(call.count, 'call')}{name}{size}{place}{by}{why}")
        if len(self.calls) > _SHOWN:
            lines.append(f"  and {len(self.calls) - _SHOWN} more kinds of calls")
        cause, said = ("", set[str]()) if self.cause is None else (self.cause.text, {self.cause.remedy})
        for one in (one for one in self.symptoms if one.means != cause):
            remedy = "" if one.remedy in said else one.remedy
            lines.append(f"  line {one.line}: {'; '.join(filter(None, (one.means, remedy)))}")
            said.add(remedy)
        lines += [f"  {text}" for text in self.advice]
        return "\n".join([*lines, *([] if self.cause is None else [str(self.cause)])])
