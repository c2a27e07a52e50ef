"""Common base of transports with one process per rank."""

from __future__ import annotations

import os
import socket
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from topodesign.base.errors import InfeasibleError, ParameterError, TopodesignError
from topodesign.collectives import COLLECTIVES, Collective
from topodesign.execution.program import Piece
from topodesign.execution.workspace import TYPES, Array, Outcome, Part, Trial, by_place, time_parts
from topodesign.topology.topology import IntArray

_Made = TypeVar("_Made")


class ElsewhereError(TopodesignError):
    """Failure that another rank reports.

    * ``infeasible``: whether that is an answer of "no".
    """

    def __init__(self, *, infeasible: bool) -> None:
        super().__init__("rank 0 says why this did not run")
        self.infeasible = infeasible


STARTERS = ("OMPI_COMM_WORLD", "PMI", "MV2_COMM_WORLD", "PMIX")
"""How what starters of MPI programs put into the environment begins: NAME_SIZE and NAME_RANK of a process."""


def detect_launcher() -> Literal["mpi", "torch"] | None:
    """Return the launcher of this process by its environment, or None."""
    if all(name in os.environ for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")):
        return "torch"
    return "mpi" if any(os.environ.get(f"{name}_SIZE", "").isdecimal() for name in STARTERS) else None


def speaks() -> bool:
    """Return whether this process reports input errors: rank 0, or alone."""
    names = ["RANK"] if detect_launcher() == "torch" else [f"{name}_RANK" for name in STARTERS]
    return not any(int(rank) for name in names if (rank := os.environ.get(name, "")).isdecimal())


class World(ABC):
    """All processes of the program."""

    rank: int  # which this process is
    ranks: int  # of how many
    transport: Literal["mpi", "torch"]  # what it is called
    name: str  # what carries the messages
    own_name: str  # whose collectives are timed beside the plan
    starter: str  # what starts so many processes, as a text to format with ``ranks``

    @abstractmethod
    def share(self, value: _Made | None) -> _Made:
        """Broadcast a value from rank 0."""

    @abstractmethod
    def deal(self, values: list[_Made] | None) -> _Made:
        """Scatter the values of rank 0 and return this rank's value."""

    @abstractmethod
    def gather(self, value: _Made) -> list[_Made]:
        """Gather the values of all ranks on every rank."""

    @abstractmethod
    def meet(self) -> None:
        """Wait for all others."""

    @abstractmethod
    def prepare(self, trial: Trial) -> Part:
        """Return this rank's part of a trial."""

    def get_own(self, trial: Trial) -> Part | None:
        """Return the library's own collective on the same data, or None.

        Collective: all ranks must call it.
        """
        if trial.collective is None:
            return None
        known = ((COLLECTIVES[name], call) for name, call in self.calls().items())
        calls = next((call for one, call in known if trial.collective.like(one)), None)
        if calls is None:
            return None
        team, root = place_of_root(trial.collective, trial.ranks, self.rank)
        group, free = self.group_of(trial.collective, trial.ranks, team)

        return run_own_collective(
            self.own_name, lambda sent, got: calls(group, sent, got, root), trial, self.rank, free
        )

    @abstractmethod
    def calls(self) -> Mapping[str, Callable[[Any, Any, Any, int], object]]:
        """Return the library's functions by collective: (group, sent, received, root)."""

    @abstractmethod
    def group_of(self, collective: Collective, ranks: int, team: int) -> tuple[Any, Callable[[], None]]:
        """Return this rank's library group, and a function to free it.

        Collective: all ranks must call it; group number -1 means no group.
        """

    @abstractmethod
    def end(self) -> None:
        """End all processes."""

    def close(self) -> None:  # noqa: B027  most have nothing
        """Release all resources at the end."""

    def check(self, ranks: int) -> None:
        """Raise ParameterError if the number of processes is not ``ranks``."""
        if ranks != self.ranks:
            raise ParameterError(
                f"the plan is of {ranks} ranks, and {self.own_name} has started {self.ranks}; start one "
                f"for each rank: {self.starter.format(ranks=ranks)}"
            )

    def first(self, make: Callable[[], _Made]) -> _Made | None:
        """Call a function on rank 0; return None on other ranks."""
        failure: BaseException | None = None
        made: _Made | None = None
        if self.rank == 0:
            try:
                made = make()
            except Exception as error:  # noqa: BLE001  raised below, when the others know
                failure = error
        said: bool | None = self.share(None if failure is None else isinstance(failure, InfeasibleError))
        if failure is not None:
            raise failure
        if said is not None:
            raise ElsewhereError(infeasible=said)
        return made

    def hosts(self) -> int:
        """Return on how many machines the processes are."""
        return len(set(self.gather(socket.gethostname())))

    def end_all(self, error: BaseException) -> NoReturn:
        """Report an error on this rank and end all processes.

        The other ranks may be waiting for this one.
        """
        name = "" if isinstance(error, TopodesignError) else f"{type(error).__name__}: "
        words = f"{name}{error}" if isinstance(error, Exception) else "interrupted"
        sys.stdout.flush()
        sys.stderr.write(f"topodesign: rank {self.rank}: {words}\n")
        sys.stderr.flush()
        self.end()
        raise SystemExit(1)  # for type checkers: nothing comes back from there

    def run_trial(self, trial: Trial, progress: Callable[[float], None]) -> Outcome:
        """Run a trial on all ranks; see :class:`~topodesign.execution.workspace.Trial`.

        The library's own collective takes turns with it, so that both meet the same disturbances.
        """
        own = self.get_own(trial)
        parts = [self.prepare(trial), *([] if own is None else [own])]
        first, *others = time_parts(trial, self.rank, parts, self.meet, self.gather, progress=progress)
        for part in parts:
            part.free()
        return replace(first, own=others[0]) if others else first


def run_own_collective(
    name: str, call: Callable[[Array, Array], object], trial: Trial, rank: int, free: Callable[[], None]
) -> Part:
    """Return a library's collective on the same data, in this rank's group, if it is in one.

    ``call`` is its function, of what is sent and what is received: arrays of one dimension. ``free`` gives back what
    that takes.
    """
    kind, program = TYPES[trial.dtype], trial.programs[rank]
    share, each = trial.shares[0], trial.extent.elements[0]

    def pattern(some: tuple[Piece, ...]) -> list[tuple[Piece, Array]]:
        numbers = ((one, program.pattern(one.block), each * share.get(one.block, 1)) for one in some)
        return [(one, by_place(0, block, 0, count).astype(kind)) for one, block, count in numbers]

    def room(some: list[tuple[Piece, Array]]) -> Array:
        return np.empty(sum(len(values) for _, values in some), dtype=kind)

    takes_part = bool(trial.collective is not None and trial.collective.teams(trial.ranks)[rank] >= 0)
    inputs, outputs = map(pattern, (program.inputs, program.outputs) if takes_part else ((), ()))
    sent, got = room(inputs), room(outputs)

    def fill(factor: IntArray) -> None:
        _scatter_pieces(sent, inputs, [int(factor[rank])] * len(inputs))
        got.fill(0)

    def wrong(factor: IntArray) -> tuple[int, str]:
        wanted = np.empty_like(got)
        _scatter_pieces(wanted, outputs, [int(factor[list(piece.sources)].sum()) for piece, _ in outputs])
        count = int((wanted != got).sum())
        return count, f"{name}'s own collective gives {count} wrong elements to rank {rank}" if count else ""

    return Part(fill, lambda: takes_part and call(sent, got), wrong, free)


def place_of_root(collective: Collective, ranks: int, rank: int) -> tuple[int, int]:
    """Return a rank's group (-1: none) and the root's place there."""
    teams = collective.teams(ranks)
    team = int(teams[rank])
    root = None if team < 0 else collective.single[team].root
    return team, 0 if root is None else np.flatnonzero(teams == team).tolist().index(root)


def _scatter_pieces(into: Array, pieces: list[tuple[Piece, Array]], factors: list[int]) -> None:
    at = 0
    for (_, values), factor in zip(pieces, factors, strict=True):
        np.multiply(values, factor, out=into[at : at + len(values)])
        at += len(values)
