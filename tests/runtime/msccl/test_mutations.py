"""Damaged programs against a second opinion: a naive model of the runtime that tries every order of execution."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.conftest import few
from tests.runtime.msccl.test_programs import (
    P,
    S,
    T,
    pairs_allreduce,
    pairs_alltoall,
    ring_allgather,
    ring_allreduce,
    ring_reduce_scatter,
    tree_broadcast,
    tree_reduce,
    write,
)
from topodesign.runtime.msccl.check import CheckReport, check_program
from topodesign.runtime.msccl.parse import parse_xml
from topodesign.runtime.msccl.profiles import PROFILES

EXECUTOR = PROFILES["msccl-executor"]
MAX_STATES = 3000
SENDS = {"s", "rcs", "rrs", "rrcs"}
RECEIVES = {"r", "rcs", "rrs", "rrc", "rrcs"}
Value = tuple[tuple[int, int], ...]  # (rank, chunk), sorted
POISON: Value = ((-1, -1),)
State = tuple[Any, ...]


@dataclass(frozen=True)
class Op:
    """An operation of the model: one step, or fused reductions."""

    type: str
    srcs: tuple[tuple[str, int], ...]
    dst: tuple[str, int]
    cnt: int
    deps: tuple[tuple[int, int], ...]
    flag: int
    has: bool


@dataclass
class Outcomes:
    """What all orders together lead to."""

    memories: set[Any] = field(default_factory=set)
    deadlock: bool = False
    racy: bool = False  # two threadblocks could touch a chunk next, one of them writing
    bad: bool = False  # out of bounds, or wrong or left-over data at the end
    complete: bool = True


class Move(NamedTuple):
    """What one threadblock could do next."""

    reads: frozenset[Any]
    writes: frozenset[Any]
    after: State | None  # None if out of bounds


class Model:
    """The runtime in the plainest terms: chunks move one by one, every state is a tuple."""

    def __init__(self, text: str, *, inplace: bool, slots: int = 2) -> None:
        root = ET.fromstring(text)  # noqa: S314 (our own text)
        self.n = int(root.attrib["ngpus"])
        self.coll = root.attrib["coll"]
        self.chunks = int(root.attrib["nchunksperloop"])
        self.inplace = inplace
        self.slots = slots
        self.scratch = int(root[0].attrib["s_chunks"])
        self.part = self.chunks // self.n
        self.tbs: list[tuple[int, int, tuple[int, int, int], tuple[int, int, int], list[Op]]] = []
        for gpu in root:
            r = int(gpu.attrib["id"])
            for tb in gpu:
                a = {key: int(value) for key, value in tb.attrib.items()}
                out, into = (r, a["send"], a["chan"]), (a["recv"], r, a["chan"])
                self.tbs.append((r, a["id"], out, into, list(self.ops(tb))))
        self.index = {(r, t): k for k, (r, t, _, _, _) in enumerate(self.tbs)}

    @staticmethod
    def ops(tb: ET.Element) -> Iterator[Op]:
        deps: list[tuple[int, int]] = []
        flag = -1
        previous: Op | None = None
        for step in tb:
            a = step.attrib
            if a["depid"] != "-1":
                deps.append((int(a["depid"]), int(a["deps"])))
            if a["type"] == "nop":
                continue
            src, dst = (a["srcbuf"], int(a["srcoff"])), (a["dstbuf"], int(a["dstoff"]))
            has, cnt = a["hasdep"] == "1", int(a["cnt"])
            flag += 1
            if (
                previous
                and previous.type == a["type"] == "re"
                and (previous.dst, previous.srcs[0][0]) == (dst, src[0])
                and a["depid"] == "-1"
                and not previous.has
            ):
                previous = replace(previous, srcs=(*previous.srcs, src), cnt=cnt, flag=flag, has=has)
                continue
            if previous:
                yield previous
            flag += max(0, len(deps) - 1)
            previous = Op(a["type"], (src,), dst, cnt, tuple(deps), flag, has)
            deps = []
        if previous:
            yield previous

    def place(self, r: int, where: tuple[str, int], k: int) -> tuple[str, int] | None:
        """Return the canonical name of a chunk of memory, None if out of bounds."""
        buf, offset = where[0], where[1] + k
        size = {"i": self.chunks, "o": self.chunks, "s": self.scratch}
        size["i"] = self.part if self.coll == "allgather" else self.chunks
        size["o"] = self.part if self.coll == "reducescatter" else self.chunks
        if not 0 <= offset < size[buf]:
            return None
        if not self.inplace:
            if self.coll == "broadcast" and buf == "i" and r != 0:
                return None
            return None if self.coll == "reduce" and buf == "o" and r != 0 else (buf, offset)
        if self.coll == "allgather" and buf == "i":
            return "o", r * self.part + offset
        if self.coll == "reducescatter" and buf == "o":
            return "i", r * self.part + offset
        return ("i", offset) if self.coll != "allgather" and buf == "o" else (buf, offset)

    def start(self) -> State:
        memory: dict[tuple[int, tuple[str, int]], Value] = {}
        for r in range(self.n):
            for c in range(self.part if self.coll == "allgather" else self.chunks):
                where = self.place(r, ("i", 0), c)
                if where and not (self.coll == "broadcast" and r):
                    memory[r, where] = ((r, c),)
        return tuple((0, 0) for _ in self.tbs), tuple(-1 for _ in self.tbs), (), frozenset(memory.items())

    def move(self, state: State, k: int) -> Move | None:
        """Return what one chunk of threadblock k does to a state, None if it has to wait."""
        pcs, flags, queues, frozen = state
        r, _, out, into, ops = self.tbs[k]
        pc, piece = pcs[k]
        if pc == len(ops) or (piece == 0 and any(flags[self.index[r, t]] < goal for t, goal in ops[pc].deps)):
            return None
        op, fifos, memory = ops[pc], dict(queues), dict(frozen)
        value: Value = ()
        reads: list[Any] = []
        writes: list[Any] = []
        if op.cnt:
            if op.type in RECEIVES:
                if not fifos.get(into):
                    return None
                value, *rest = fifos[into]
                fifos[into] = tuple(rest)
            if op.type in SENDS and len(fifos.get(out, ())) >= self.slots:
                return None
            places = [*op.srcs] if op.type in {"s", "rrs", "rrc", "rrcs", "cpy", "re"} else []
            reads = [(r, self.place(r, where, piece)) for where in places + [op.dst] * (op.type == "re")]
            writes = [(r, self.place(r, op.dst, piece))] if op.type not in {"s", "rrs"} else []
            if any(where is None for _, where in reads + writes):
                return Move(frozenset(), frozenset(), None)
            value = tuple(sorted(sum((memory.get(cell, POISON) for cell in reads), value)))
            memory |= dict.fromkeys(writes, value)
            if op.type in SENDS:
                fifos[out] = (*fifos.get(out, ()), value)
            if op.type == "cpy" and reads == writes:
                writes = []
        last = piece + 1 >= op.cnt
        moved = (*pcs[:k], (pc + 1, 0) if last else (pc, piece + 1), *pcs[k + 1 :])
        new_flags = (*flags[:k], op.flag, *flags[k + 1 :]) if last and op.has else flags
        queue = tuple(sorted((key, q) for key, q in fifos.items() if q))
        return Move(frozenset(reads), frozenset(writes), (moved, new_flags, queue, frozenset(memory.items())))

    def successors(self, state: State, outcomes: Outcomes) -> list[State]:
        """Return the states after one more chunk of any threadblock."""
        moves = [move for k in range(len(self.tbs)) if (move := self.move(state, k))]
        for one, other in itertools.permutations(moves, 2):
            outcomes.racy |= bool(one.writes & (other.reads | other.writes))
        outcomes.bad |= any(move.after is None for move in moves)
        return [move.after for move in moves if move.after is not None]

    def finished(self, state: State, outcomes: Outcomes) -> None:
        pcs, _, queues, memory = state
        if any(pc[0] < len(tb[4]) for pc, tb in zip(pcs, self.tbs, strict=True)):
            outcomes.deadlock |= not any(self.move(state, k) for k in range(len(self.tbs)))
            return
        outcomes.memories.add(memory)
        outcomes.bad |= bool(queues) or not self.right(dict(memory))

    def right(self, memory: dict[Any, Value]) -> bool:
        everyone = range(self.n)
        for r in everyone:
            for c in range(self.part if self.coll == "reducescatter" else self.chunks):
                source, offset = divmod(c, self.part) if self.part else (0, c)
                wanted: Value = {
                    "allgather": ((source, offset),),
                    "allreduce": tuple((q, c) for q in everyone),
                    "reduce": tuple((q, c) for q in everyone),
                    "broadcast": ((0, c),),
                    "alltoall": ((source, r * self.part + offset),),
                    "reducescatter": tuple((q, r * self.part + c) for q in everyone),
                }[self.coll]
                where = self.place(r, ("o", 0), c)
                if where and not (self.coll == "reduce" and r) and memory.get((r, where)) != wanted:
                    return False
                where = self.place(r, ("i", 0), c)
                if not self.inplace and where and memory.get((r, where)) != ((r, c),):
                    return False
        return True

    def explore(self, rng: random.Random) -> Outcomes:
        """Visit all states, or, if there are too many, some and then random walks."""
        outcomes = Outcomes()
        seen = {self.start()}
        stack = list(seen)
        while stack and len(seen) < MAX_STATES:
            state = stack.pop()
            found = self.successors(state, outcomes)
            if not found:
                self.finished(state, outcomes)
            stack += [other for other in set(found) if other not in seen]
            seen.update(found)
        outcomes.complete = not stack
        for _ in range(0 if outcomes.complete else 20):
            state, found = self.start(), [self.start()]
            while found:
                state = rng.choice(found)
                found = self.successors(state, outcomes)
            self.finished(state, outcomes)
        return outcomes


BASES = {
    "ring allgather": ring_allgather(3),
    "ring allgather of two chunks": replace(ring_allgather(2, 2), max_bytes=0),
    "ring reduce-scatter": ring_reduce_scatter(3),
    "ring allreduce": ring_allreduce(3),
    "tree broadcast": tree_broadcast(3),
    "tree reduce": tree_reduce(3),
    "alltoall": pairs_alltoall(2),
    "pairwise allreduce": pairs_allreduce(2),
}


def shifted(place: str, rng: random.Random) -> str:
    return f"{place[0]}{max(0, int(place[1:]) + rng.choice((-1, 1)))}"


def damage(p: P, rng: random.Random) -> P:
    """Change one thing: drop, double or swap steps, or a field of a step or threadblock."""
    r = rng.randrange(len(p.ranks))
    t = rng.randrange(len(p.ranks[r]))
    tb = p.ranks[r][t]
    steps = list(tb.steps)
    k = rng.randrange(len(steps))
    kind = rng.choice(["drop", "double", "swap", "src", "dst", "buf", "cnt", "dep", "has", "type", "peer", "chan"])
    step = steps[k]
    if kind == "drop":
        del steps[k]
    elif kind == "double":
        steps.insert(k, step)
    elif kind == "swap":
        other = rng.randrange(len(steps))
        steps[k], steps[other] = steps[other], steps[k]
    elif kind == "src":
        steps[k] = replace(step, src=shifted(step.src, rng))
    elif kind == "dst":
        steps[k] = replace(step, dst=shifted(step.dst, rng))
    elif kind == "buf":
        steps[k] = replace(step, src=rng.choice("ios") + step.src[1:], dst=rng.choice("ios") + step.dst[1:])
    elif kind == "cnt":
        steps[k] = replace(step, cnt=max(0, step.cnt + rng.choice((-1, 1))))
    elif kind == "dep":
        new = (rng.randrange(len(p.ranks[r])), rng.randrange(3)) if rng.random() < 0.5 else (-1, -1)
        steps[k] = replace(step, dep=new)
    elif kind == "has":
        steps[k] = replace(step, has=not step.has)
    elif kind == "type":
        steps[k] = replace(step, type=rng.choice(["s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop"]))
    elif kind == "peer":
        peer = rng.randrange(-1, len(p.ranks))
        tb = replace(tb, send=peer) if rng.random() < 0.5 else replace(tb, recv=peer)
    else:
        tb = replace(tb, chan=1)
        p = replace(p, channels=2)
    tbs = (*p.ranks[r][:t], replace(tb, steps=tuple(steps)), *p.ranks[r][t + 1 :])
    return replace(p, scratch=max(1, p.scratch), ranks=(*p.ranks[:r], tbs, *p.ranks[r + 1 :]))


def second_opinion(p: P, rng: random.Random) -> list[Outcomes]:
    modes = [inplace for inplace, on in ((True, p.inplace), (False, p.outofplace)) if on]
    return [Model(write(p), inplace=inplace).explore(rng) for inplace in modes]


def agree(p: P, report: CheckReport, outcomes: list[Outcomes]) -> None:
    """Assert what must hold between a verdict of the execution and all orders of execution."""
    told = f"{report}\n{write(p)}\n{outcomes}"
    if report.ok:
        assert not any(o.bad or o.deadlock or o.racy or len(o.memories) > 1 for o in outcomes), told
    elif report.verdict == "deadlock":
        assert any(o.deadlock or not o.complete for o in outcomes), told
    else:
        assert not any(o.deadlock for o in outcomes), told
    if report.verdict == "wrong result":
        assert any(o.bad for o in outcomes), told
    if report.verdict in {"uninitialised read", "wrong result"}:
        assert any(not o.racy and len(o.memories) <= 1 for o in outcomes), told


@pytest.mark.parametrize("name", BASES)
def test_the_model_accepts_the_undamaged(name: str) -> None:
    base = replace(BASES[name], max_bytes=0)
    rng = random.Random(0)  # noqa: S311
    report = check_program(
        parse_xml(write(base), EXECUTOR), EXECUTOR, root=0 if base.coll in {"broadcast", "reduce"} else None
    )
    outcomes = second_opinion(base, rng)
    assert report.ok, str(report)
    assert [(o.bad, o.deadlock, o.racy, len(o.memories)) for o in outcomes] == [(False, False, False, 1)] * len(
        outcomes
    )


VERDICTS: Counter[str] = Counter()


@pytest.mark.parametrize("name", BASES)
def test_damaged_programs(name: str) -> None:
    rng = random.Random(name)  # noqa: S311
    base = replace(BASES[name], max_bytes=0)
    root = 0 if base.coll in {"broadcast", "reduce"} else None
    for _ in few(range(120)):
        mutant = damage(base, rng)
        if rng.random() < 0.3:
            mutant = damage(mutant, rng) if all(tb.steps for tbs in mutant.ranks for tb in tbs) else mutant
        text = write(mutant)
        report = check_program(parse_xml(text, EXECUTOR), EXECUTOR, root=root)
        assert str(report)
        VERDICTS[report.verdict] += 1
        if report.verdict not in {"illegal", "mismatch", "out-of-bounds"}:
            agree(mutant, report, second_opinion(mutant, rng))


def test_every_verdict_came_up() -> None:
    """Runs after the damage: nothing above was vacuous."""
    missing = {"ok", "illegal", "mismatch", "out-of-bounds", "deadlock", "race", "uninitialised read", "wrong result"}
    if sum(VERDICTS.values()) == 120 * len(BASES):
        assert not missing - VERDICTS.keys(), VERDICTS


def random_program(rng: random.Random) -> P:
    """Two ranks in place, each with a threadblock that talks to the other and one that does not; random flags."""

    def place(rank_has: str) -> str:
        return f"{rng.choice(rank_has)}{rng.randrange(2)}"

    def step(kind: str, other: int) -> S:
        dep = (other, rng.randrange(2)) if rng.random() < 0.15 else (-1, -1)
        return S(kind, place("ii"), place("is"), dep=dep, has=rng.random() < 0.8)

    counts = (rng.randrange(4), rng.randrange(4))
    ranks = []
    for r in range(2):
        kinds = ["s"] * counts[r] + [rng.choice(("r", "rrc")) for _ in range(counts[1 - r])]
        kinds += ["cpy"] * rng.randrange(2)
        rng.shuffle(kinds)
        if kinds[:2] == ["r", "s"]:
            kinds[:2] = [rng.choice(("rcs", "rrs", "rrcs"))]
        talk = T(tuple(step(kind, 1) for kind in kinds), send=1 - r, recv=1 - r)
        own = T(tuple(step(rng.choice(("cpy", "re")), 0) for _ in range(rng.randrange(3))))
        ranks.append((talk, own))
    return P("allreduce", 2, tuple(ranks), scratch=2, outofplace=False, max_bytes=0)


@pytest.mark.dear
def test_random_programs() -> None:
    """The verdicts are exact: deadlock just when the model has one, race just when two accesses can be next."""
    rng = random.Random(5)  # noqa: S311
    verdicts: Counter[str] = Counter()
    several, least = 0, len(few(range(30), 6))
    for _ in range(50 * least):
        program = random_program(rng)
        text = write(program)
        report = check_program(parse_xml(text, EXECUTOR), EXECUTOR)
        assert report.verdict not in {"illegal", "mismatch", "out-of-bounds"}, text
        outcomes = Model(text, inplace=True).explore(rng)
        unlimited = Model(text, inplace=True, slots=100).explore(rng)
        if not (outcomes.complete and unlimited.complete):
            continue
        verdicts[report.verdict] += 1
        agree(program, report, [outcomes])
        assert outcomes.deadlock == (report.verdict == "deadlock"), f"{report}\n{text}"
        if not outcomes.deadlock:
            assert unlimited.racy == (report.verdict == "race"), f"{report}\n{text}"
            several += len(unlimited.memories) > 1
            assert report.verdict == "race" or len(unlimited.memories) == 1
    assert min(verdicts[v] for v in ("race", "deadlock", "wrong result", "uninitialised read")) > least, verdicts
    assert several > least
