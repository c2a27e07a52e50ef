"""The transport of MPI: a process for every rank, and persistent messages that do not block.

All messages of a rank are prepared once for a size: where they lie, whom they are from or to. Then it starts all that
it receives, and does what its program says; what lies in one piece in memory is sent from there and received there.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from topodesign.base.errors import InfeasibleError, MissingLibraryError, ParameterError, TopodesignError
from topodesign.collectives import (
    ALL_TO_ALL,
    ALLGATHER,
    ALLREDUCE,
    BROADCAST,
    GATHER,
    REDUCE,
    REDUCE_SCATTER,
    SCATTER,
)
from topodesign.collectives.collective import Collective
from topodesign.execution.program import Do, Piece
from topodesign.execution.workspace import TYPES, Array, Outcome, Trial, Workspace, by_place, coefficients
from topodesign.topology.topology import IntArray

if TYPE_CHECKING:
    from mpi4py import MPI

_Made = TypeVar("_Made")

STARTERS = ("OMPI_COMM_WORLD", "PMI", "MV2_COMM_WORLD", "PMIX")
"""How what starters of MPI programs put into the environment begins: NAME_SIZE and NAME_RANK of a process."""


class ElsewhereError(TopodesignError):
    """Another rank says what is wrong.

    * ``infeasible``: whether that is an answer of "no".
    """

    def __init__(self, *, infeasible: bool) -> None:
        super().__init__("rank 0 says why this did not run")
        self.infeasible = infeasible


def is_started() -> bool:
    """Return whether this process is one of an MPI program, by its environment."""
    return any(os.environ.get(f"{name}_SIZE", "").isdecimal() for name in STARTERS)


def speaks() -> bool:
    """Return whether this process is the one that says what is wrong with what all were told: rank 0, or the only."""
    return not any(int(rank) for name in STARTERS if (rank := os.environ.get(f"{name}_RANK", "")).isdecimal())


def _library() -> Any:
    """Return mpi4py's module, which starts MPI when it is first loaded."""
    try:
        from mpi4py import MPI  # noqa: PLC0415  an optional extra that starts MPI
    except ImportError:
        raise MissingLibraryError("running under MPI needs mpi4py: pip install 'topodesign[mpi]'") from None
    except RuntimeError as error:
        first = str(error).splitlines()[0] if str(error) else "it cannot be loaded"
        raise MissingLibraryError(
            f"mpi4py finds no MPI library ({first}); install one, such as Debian's openmpi-bin and libopenmpi-dev"
        ) from None
    return MPI


class World:
    """All processes of the MPI program.

    * ``rank``, ``ranks``: which this process is, of how many.
    """

    def __init__(self) -> None:
        self._mpi = _library()
        self._all = self._mpi.COMM_WORLD
        self.rank: int = self._all.Get_rank()
        self.ranks: int = self._all.Get_size()

    @property
    def name(self) -> str:
        """What MPI it is."""
        return str(self._mpi.Get_library_version()).split(",")[0].splitlines()[0].strip().rstrip("\0")

    def hosts(self) -> int:
        """Return on how many machines the processes are."""
        return len(set(self._all.allgather(self._mpi.Get_processor_name())))

    def check(self, ranks: int) -> None:
        """Raise ParameterError if there are not so many processes."""
        if ranks != self.ranks:
            raise ParameterError(
                f"the plan is of {ranks} ranks, and MPI has started {self.ranks}; start so many as the plan has: "
                f"mpirun -n {ranks} (with --oversubscribe where there are fewer cores)"
            )

    def first(self, make: Callable[[], _Made]) -> _Made | None:
        """Return what rank 0 makes, None on other ranks."""
        failure: BaseException | None = None
        made: _Made | None = None
        if self.rank == 0:
            try:
                made = make()
            except Exception as error:  # noqa: BLE001  raised below, when the others know
                failure = error
        said = self._all.bcast(None if failure is None else isinstance(failure, InfeasibleError))
        if failure is not None:
            raise failure
        if said is not None:
            raise ElsewhereError(infeasible=said)
        return made

    def share(self, value: _Made | None) -> _Made:
        """Return on all ranks what rank 0 has."""
        shared: _Made = self._all.bcast(value)
        return shared

    def deal(self, values: list[_Made] | None) -> _Made:
        """Return on every rank its own of the values that rank 0 has."""
        own: _Made = self._all.scatter(values)
        return own

    def end_all(self, error: BaseException) -> NoReturn:
        """Say what is wrong on this rank, and end all processes at once: the others may be waiting for it."""
        name = "" if isinstance(error, TopodesignError) else f"{type(error).__name__}: "
        words = f"{name}{error}" if isinstance(error, Exception) else "interrupted"
        sys.stdout.flush()
        sys.stderr.write(f"topodesign: rank {self.rank}: {words}\n")
        sys.stderr.flush()
        self._all.Abort(1)
        raise SystemExit(1)  # for type checkers: nothing comes back from there

    def run_trial(self, trial: Trial, progress: Callable[[float], None]) -> Outcome:
        """Run a trial on all ranks; see :class:`~topodesign.execution.workspace.Trial`.

        MPI's own collective takes turns with it, so that both meet the same disturbances.
        """
        ours = _Prepared(self._all, trial.workspace(self.rank))
        own = _Own.of(self._mpi, self._all, trial)
        works: list[_Prepared | _Own] = [ours] if own is None else [ours, own]
        tallies = [_Tally() for _ in works]
        rounds = trial.warmup + trial.iterations
        for number in range(rounds):
            factor = coefficients(trial.ranks, number)
            for work, tally in zip(works, tallies, strict=True):
                work.fill(factor)
                self._all.Barrier()
                begun = time.perf_counter_ns()
                work.move()
                tally.add(time.perf_counter_ns() - begun, *work.wrong(factor))
            progress((number + 1) / rounds)
        for work in works:
            work.free()
        outcomes = [self._outcome(tally, trial.warmup) for tally in tallies]
        return outcomes[0] if own is None else replace(outcomes[0], own=outcomes[1])

    def _outcome(self, tally: _Tally, warmup: int) -> Outcome:
        """Return what came of the iterations on all ranks."""
        own = np.array(tally.times[warmup:], dtype=np.int64)
        slowest = np.empty_like(own)
        self._all.Allreduce(own, slowest, op=self._mpi.MAX)
        found = self._all.allgather((tally.count, tally.first))
        words = next((text for _, text in found if text), "")
        return Outcome(tuple(slowest.tolist()), sum(some for some, _ in found), words)


class _Tally:
    """The times of a rank's iterations, and its wrong elements."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.count, self.first = 0, ""

    def add(self, time: int, count: int, first: str) -> None:
        """Add an iteration."""
        self.times.append(time)
        self.count += count
        self.first = self.first or first


class _Prepared:
    """The persistent messages of a rank."""

    def __init__(self, communicator: MPI.Comm, space: Workspace) -> None:
        self._space = space
        self.fill, self.wrong = space.fill, space.wrong
        self._sends = {
            at: communicator.Send_init(one.buffer, one.message.peer, one.message.tag)
            for at, one in enumerate(space.sends)
            if one.count
        }
        self._receives = {
            at: communicator.Recv_init(one.buffer, one.message.peer, one.message.tag)
            for at, one in enumerate(space.receives)
            if one.count
        }

    def move(self) -> None:
        """Do all that the program says."""
        sends, receives = self._space.sends, self._space.receives
        for request in self._receives.values():
            request.Start()
        for do, at in self._space.order:
            if do is Do.SEND:
                sends[at].gather()
                self._sends[at].Start()
            elif do is Do.RECEIVE:
                self._receives[at].Wait()
                receives[at].place()
            else:
                self._sends[at].Wait()
        for request in self._sends.values():
            request.Wait()

    def free(self) -> None:
        """Give the messages back to MPI."""
        for request in (*self._sends.values(), *self._receives.values()):
            request.Free()


class _Own:
    """MPI's own collective among the members of a rank's group, with the same data."""

    def __init__(
        self,
        group: MPI.Comm,
        call: Callable[[Any, Any], object],
        trial: Trial,
        rank: int,
        pieces: tuple[list[Piece], list[Piece]],
    ) -> None:
        self._group, self._call = group, call
        kind = TYPES[trial.dtype]
        self._rank = rank

        def pattern(some: list[Piece]) -> list[Array]:
            share, each = trial.shares[0], trial.extent.elements[0]
            return [by_place(0, one.block, 0, each * share.get(one.block, 1)).astype(kind) for one in some]

        def room(some: list[tuple[Piece, Array]]) -> Array:
            return np.empty(sum(len(values) for _, values in some), dtype=kind)

        self._inputs, self._outputs = (list(zip(some, pattern(some), strict=True)) for some in pieces)
        self._sent, self._got = room(self._inputs), room(self._outputs)

    @classmethod
    def of(cls, mpi: Any, communicator: MPI.Comm, trial: Trial) -> _Own | None:
        """Return that of this rank, on all ranks at once; None if MPI has none, idle where the rank takes no part."""
        collective, rank = trial.collective, communicator.Get_rank()
        calls = None if collective is None else _calls(mpi, collective)
        if collective is None or calls is None:
            return None
        team = int(collective.teams(trial.ranks)[rank])
        group = communicator.Split(team if team >= 0 else mpi.UNDEFINED, rank)
        if team < 0:
            return cls(group, lambda _sent, _got: None, trial, rank, ([], []))
        root = collective.single[team].root
        members = np.flatnonzero(collective.teams(trial.ranks) == team).tolist()
        place = 0 if root is None else members.index(root)
        program = trial.programs[rank]

        def call(sent: Array, got: Array) -> None:
            calls(group, sent, got, place)

        return cls(group, call, trial, rank, (list(program.inputs), list(program.outputs)))

    def fill(self, factor: IntArray) -> None:
        """Put in what the rank begins with."""
        _spread(self._sent, self._inputs, [int(factor[self._rank])] * len(self._inputs))
        self._got.fill(0)

    def move(self) -> None:
        """Call MPI."""
        self._call(self._sent, self._got)

    def wrong(self, factor: IntArray) -> tuple[int, str]:
        """Return how many elements are not what they must be, and that."""
        wanted = np.empty_like(self._got)
        _spread(wanted, self._outputs, [int(factor[list(piece.sources)].sum()) for piece, _ in self._outputs])
        count = int((wanted != self._got).sum())
        return count, f"MPI's own collective gives {count} wrong elements to rank {self._rank}" if count else ""

    def free(self) -> None:
        """Give the group back to MPI."""
        if self._group:
            self._group.Free()


def _spread(into: Array, pieces: list[tuple[Piece, Array]], factors: list[int]) -> None:
    at = 0
    for (_, values), factor in zip(pieces, factors, strict=True):
        np.multiply(values, factor, out=into[at : at + len(values)])
        at += len(values)


def _calls(mpi: Any, collective: Collective) -> Callable[[Any, Array, Array, int], object] | None:
    """Return MPI's function for a collective: of a communicator, what is sent, what is received, and the root."""

    def broadcast(group: Any, sent: Array, got: Array, root: int) -> None:
        if group.Get_rank() == root:
            got[:] = sent
        group.Bcast(got, root)

    known: list[tuple[Collective, Callable[[Any, Array, Array, int], object]]] = [
        (ALLGATHER, lambda group, sent, got, _: group.Allgather(sent, got)),
        (REDUCE_SCATTER, lambda group, sent, got, _: group.Reduce_scatter_block(sent, got, mpi.SUM)),
        (ALLREDUCE, lambda group, sent, got, _: group.Allreduce(sent, got, mpi.SUM)),
        (ALL_TO_ALL, lambda group, sent, got, _: group.Alltoall(sent, got)),
        (BROADCAST, broadcast),
        (REDUCE, lambda group, sent, got, root: group.Reduce(sent, got, mpi.SUM, root)),
        (SCATTER, lambda group, sent, got, root: group.Scatter(sent, got, root)),
        (GATHER, lambda group, sent, got, root: group.Gather(sent, got, root)),
    ]
    return next((call for one, call in known if collective.like(one)), None)
