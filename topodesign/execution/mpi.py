"""MPI transport: one process per rank, persistent non-blocking messages.

All messages of a rank are prepared once for a size: where they lie, whom they are from or to. Then it starts all that
it receives, and does its batches; what lies in one piece in memory is sent from there and received there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from topodesign.base.errors import MissingLibraryError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, BROADCAST, GATHER, REDUCE, REDUCE_SCATTER, SCATTER
from topodesign.collectives.collective import Collective
from topodesign.execution.processes import Work, World
from topodesign.execution.workspace import Array, Trial

if TYPE_CHECKING:
    from mpi4py import MPI

_Made = TypeVar("_Made")


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


class MpiWorld(World):
    """All processes of the MPI program."""

    transport = "mpi"
    own_name = "MPI"
    starter = "mpirun -n {ranks} (with --oversubscribe where there are fewer cores)"

    def __init__(self) -> None:
        self._mpi = _library()
        self._all = self._mpi.COMM_WORLD
        self.rank = self._all.Get_rank()
        self.ranks = self._all.Get_size()
        self.name = str(self._mpi.Get_library_version()).split(",")[0].splitlines()[0].strip().rstrip("\0")

    def share(self, value: _Made | None) -> _Made:
        """Broadcast a value from rank 0."""
        shared: _Made = self._all.bcast(value)
        return shared

    def deal(self, values: list[_Made] | None) -> _Made:
        """Scatter the values of rank 0 and return this rank's value."""
        own: _Made = self._all.scatter(values)
        return own

    def gather(self, value: _Made) -> list[_Made]:
        """Gather the values of all ranks on every rank."""
        every: list[_Made] = self._all.allgather(value)
        return every

    def meet(self) -> None:
        """Wait for all others."""
        self._all.Barrier()

    def prepare(self, trial: Trial) -> Work:
        """Return this rank's part of a trial."""
        return _Prepared(self._all, trial, self.rank)

    def call_of(self, collective: Collective) -> Callable[[Any, Array, Array, int], object] | None:
        """Return MPI's function for a collective."""
        return _calls(self._mpi, collective)

    def group_of(self, collective: Collective, ranks: int, team: int) -> tuple[Any, Callable[[], None]]:  # noqa: ARG002
        """Return the communicator of this rank's group, and its release."""
        group = self._all.Split(team if team >= 0 else self._mpi.UNDEFINED, self.rank)

        def free() -> None:
            if group:
                group.Free()

        return group, free

    def end(self) -> None:
        """End all processes."""
        self._all.Abort(1)


class _Prepared:
    """The persistent messages of a rank."""

    def __init__(self, communicator: MPI.Comm, trial: Trial, rank: int) -> None:
        self._all, self._change = communicator, partial(trial.change, rank)
        self._space = space = trial.workspace(rank)
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
        sends, receives = self._space.sends, self._space.receives
        for request in self._receives.values():
            request.Start()
        for batch in self._space.script:
            if batch.phase:
                self._all.Barrier()
                self._change(batch.phase)
                self._all.Barrier()
            for at in batch.sends:
                sends[at].gather()
                self._sends[at].Start()
            for request in (*(self._receives[at] for at in batch.receives), *(self._sends[at] for at in batch.sends)):
                request.Wait()
            for at in batch.places:
                receives[at].place()
            for at in batch.sums:
                self._space.add_up(at)

    def free(self) -> None:
        for request in (*self._sends.values(), *self._receives.values()):
            request.Free()


def _calls(mpi: Any, collective: Collective) -> Callable[[Any, Array, Array, int], object] | None:
    """Return the MPI function for a collective: (group, sent, received, root)."""

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
