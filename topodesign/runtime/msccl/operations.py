"""From the steps of a file to the operations that the runtime's interpreter executes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from topodesign.runtime.msccl.parse import Program, Step, Threadblock
from topodesign.runtime.msccl.profiles import RuntimeProfile
from topodesign.runtime.report import Finding, place

Connection = tuple[int, int, int]  # sender, receiver, channel: one FIFO

SENDS = frozenset({"s", "rcs", "rrs", "rrcs"})
RECEIVES = frozenset({"r", "rcs", "rrs", "rrc", "rrcs"})
READS_SOURCE = frozenset({"s", "rrs", "rrc", "rrcs", "cpy", "re"})
WRITES = frozenset({"r", "rcs", "rrc", "rrcs", "cpy", "re"})


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """What the interpreter executes at once: one step, or several ``re`` steps that the parser fuses."""

    rank: int  # where it comes from; ``step`` is the place in the file of the last step
    threadblock: int
    step: int
    type: str  # the step's type; never ``nop``, which only lends its dependency to the next operation
    count: int
    sources: tuple[tuple[str, int], ...]  # buffer and offset of what is read; several for fused ``re``
    target: tuple[str, int] | None  # buffer and offset of what is written (and for ``re`` read first), if anything
    waits: tuple[tuple[int, int], ...]  # pairs (threadblock of the same rank, position to be reached)
    position: int  # the number that the interpreter writes to the threadblock's flag afterwards, if ``announces``
    announces: bool

    @property
    def reads(self) -> tuple[tuple[str, int], ...]:
        """What is read: the sources, and for ``re`` the target too."""
        return (*self.sources, self.target) if self.type == "re" and self.target else self.sources

    def __str__(self) -> str:
        """Return place and type."""
        return f"rank {self.rank}, threadblock {self.threadblock}, step {self.step} ({self.type})"


@dataclass(frozen=True, slots=True, eq=False)
class Thread:
    """One threadblock of one rank, ready to execute; a connection is None where there is no peer."""

    rank: int
    id: int
    send: Connection | None
    receive: Connection | None
    operations: tuple[Operation, ...]


@dataclass
class Loaded:
    """All threadblocks of a program, and what the parser would object to or silently change."""

    threads: list[Thread] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def load(program: Program, profile: RuntimeProfile) -> Loaded:
    """Turn every threadblock into operations exactly as the runtime's parser does.

    A ``nop`` only adds its dependency to the next operation, whose own ``depid`` must then be set. Consecutive ``re``
    steps with the same destination, the same source buffer and no dependency become one operation with the last one's
    ``cnt``. The position of an operation, which is what ``deps`` of others refers to, is not its ``s`` but a count:
    one per operation, plus the dependencies beyond the first, plus the reductions beyond the first.
    """
    loaded = Loaded()
    for gpu in program.gpus:
        for threadblock in sorted(gpu.threadblocks, key=lambda tb: tb.id):
            loaded.threads.append(_thread(gpu.id, threadblock, profile, loaded))
    return loaded


def _thread(rank: int, tb: Threadblock, profile: RuntimeProfile, loaded: Loaded) -> Thread:
    operations: list[Operation] = []
    waits: list[tuple[int, int]] = []
    position = 0
    reductions = 0  # of this threadblock so far; the parser compares this total, not the length of the chain
    fusing = False
    for index, step in enumerate(tb.steps):
        if step.depid >= 0:
            waits.append((step.depid, step.deps))
        if step.type == "nop":
            continue
        last = operations[-1] if operations else None
        chain = last if fusing and last is not None and _continues(last, step) else None
        if chain is not None:
            sources = (*chain.sources, (step.srcbuf, step.srcoff))
            operation = replace(
                chain, step=index, count=step.cnt, sources=sources, position=position, announces=step.hasdep
            )
            operations[-1] = operation
            position += 1
            if len(operation.sources) == profile.reductions_per_step + 1:
                message = f"more than {profile.reductions_per_step} consecutive re steps into one place"
                loaded.findings.append(Finding("illegal", message, rank, tb.id, index))
        else:
            if waits and step.depid < 0:
                message = "the nop before it has a dependency, so this step needs one of its own; the file is refused"
                loaded.findings.append(Finding("illegal", message, rank, tb.id, index))
            position += max(0, len(waits) - 1)
            operation = Operation(
                rank=rank,
                threadblock=tb.id,
                step=index,
                type=step.type,
                count=step.cnt,
                sources=((step.srcbuf, step.srcoff),) if step.type in READS_SOURCE else (),
                target=(step.dstbuf, step.dstoff) if step.type in WRITES else None,
                waits=tuple(waits),
                position=position,
                announces=step.hasdep,
            )
            operations.append(operation)
            position += 1
            waits = []
        if operation.position != step.s:
            message = f"s is {step.s}, but others must wait for it as step {operation.position}"
            loaded.warnings.append(place(rank, tb.id, index) + message)
        reductions += step.type == "re"
        fusing = step.type == "re" and not step.hasdep and reductions != profile.reductions_per_step
    if waits:
        loaded.warnings.append(place(rank, tb.id) + "a nop after the last step does nothing")
    return Thread(
        rank=rank,
        id=tb.id,
        send=(rank, tb.send, tb.chan) if tb.send >= 0 else None,
        receive=(tb.recv, rank, tb.chan) if tb.recv >= 0 else None,
        operations=tuple(operations),
    )


def _continues(last: Operation, step: Step) -> bool:
    """Return whether the parser fuses a step into the ``re`` before it."""
    same = last.type == step.type == "re" and last.target == (step.dstbuf, step.dstoff)
    return same and last.sources[-1][0] == step.srcbuf and step.depid == -1
