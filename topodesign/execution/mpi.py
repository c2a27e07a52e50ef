"""MPI transport: one process per rank, persistent non-blocking messages.

All messages of a rank are prepared once for a size: where they lie, whom they are from or to. Then it starts all that
it receives, and does its batches; what lies in one piece in memory is sent from there and received there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from topodesign.base.errors import MissingLibraryError
from topodesign.collectives.collective import Collective
from topodesign.execution.processes import World
from topodesign.execution.workspace import Array, Part, Slot, Trial

_Made = TypeVar("_Made")


def _library() -> Any:
    """Return mpi4py's module, which starts MPI when it is first loaded."""
    try:
        from mpi4py import MPI  # noqa: PLC0415  an optional extra that starts MPI
    except ImportError:
        raise MissingLibraryError("running under MPI requires mpi4py: pip install 'topodesign[mpi]'") from None
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

    def prepare(self, trial: Trial) -> Part:
        """Return this rank's part of a trial, with persistent messages."""
        space = trial.workspace(self.rank)

        def ready(make: Any, slots: list[Slot]) -> list[Any]:
            return [make(one.buffer, one.message.peer, one.message.tag) for one in slots]

        sends = [ready(self._all.Send_init, one.sends) for one in space.batches]
        receives = [ready(self._all.Recv_init, one.receives) for one in space.batches]

        def carry(number: int) -> None:
            for request in sends[number]:
                request.Start()
            for request in (*receives[number], *sends[number]):
                request.Wait()

        def meet(phase: int) -> None:
            self.meet()
            trial.change(self.rank, phase)
            self.meet()

        def move() -> None:
            for request in itertools.chain(*receives):
                request.Start()
            space.move(carry, meet)

        def free() -> None:
            for request in itertools.chain(*sends, *receives):
                request.Free()

        return Part(space.fill, move, space.wrong, free)

    def calls(self) -> Mapping[str, Callable[[Any, Array, Array, int], object]]:
        """Return MPI's functions by collective: (group, sent, received, root)."""
        add = self._mpi.SUM

        def broadcast(group: Any, sent: Array, got: Array, root: int) -> None:
            if group.Get_rank() == root:
                got[:] = sent
            group.Bcast(got, root)

        return {
            "allgather": lambda group, sent, got, _: group.Allgather(sent, got),
            "reduce-scatter": lambda group, sent, got, _: group.Reduce_scatter_block(sent, got, add),
            "allreduce": lambda group, sent, got, _: group.Allreduce(sent, got, add),
            "all-to-all": lambda group, sent, got, _: group.Alltoall(sent, got),
            "broadcast": broadcast,
            "reduce": lambda group, sent, got, root: group.Reduce(sent, got, add, root),
            "scatter": lambda group, sent, got, root: group.Scatter(sent, got, root),
            "gather": lambda group, sent, got, root: group.Gather(sent, got, root),
        }

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
