"""The collective as a value: which blocks of data start where, must end where, and are added up on the way.

Data is named by *blocks*. A block has a source and a destination, and each of the two is one node or all members of
the collective. One rule makes all collectives: a block whose source is one node is copied from there to its
destination, and a block whose source is everybody has a contribution of every member, which are added up at its
destination. A collective is one such movement, or several after one another:

==============  =======  ===========  ==============================================
collective      source   destination  blocks
==============  =======  ===========  ==============================================
allgather       each     all          one for every member, named by its source
reduce-scatter  all      each         one for every member, named by its destination
allreduce       all      each         the same, as a reduce-scatter; and then
                each     all          as an allgather
broadcast       root     all          one
reduce          all      root         one
scatter         root     each         one for every member, named by its destination
gather          each     root         one for every member, named by its source
all-to-all      each     each         one for every ordered pair
==============  =======  ===========  ==============================================

Backwards in time a movement has its ends exchanged: that is the *dual* of a collective.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from topodesign.base.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

End = Literal["each", "all", "root"]
"""Where blocks start or end: a node of its own for each block, all members, or the root."""

EVERYONE = -1
"""In place of a node: all members."""


@dataclass(frozen=True, slots=True)
class Movement:
    """One movement of blocks from their sources to their destinations.

    Attributes
    ----------
    source, destination
        Where they start and end; not both can be ``all``.
    """

    source: End
    destination: End

    @property
    def adds(self) -> bool:
        """Whether a block is the sum of contributions of all members."""
        return self.source == "all"

    def reversed(self) -> Movement:
        """Return the movement backwards in time."""
        return Movement(self.destination, self.source)


@dataclass(frozen=True)
class Collective:
    """What a collective does, for any number of nodes.

    Attributes
    ----------
    name
        What it is called, as in ``--collective``.
    movements
        What happens to its blocks, one after the other.
    root
        The node of a collective that has one; None for others, and as long as it is not chosen.
    group
        The members, ascending; None for all nodes that compute. Other nodes may pass data on.
    labels
        Pairs (runtime, what it calls the collective) where that is not the name without hyphens; None where it has
        none.
    """

    name: str
    movements: tuple[Movement, ...]
    root: int | None = None
    group: tuple[int, ...] | None = None
    labels: tuple[tuple[str, str | None], ...] = ()

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def __repr__(self) -> str:
        """Return the name with the root and the group, if it has them."""
        root = "" if self.root is None else f".at({self.root})"
        return f"<{self.name}{root}{'' if self.group is None else f'.among({self.group})'}>"

    # -- what it is -------------------------------------------------------------------------------------------------

    @functools.cached_property
    def rooted(self) -> bool:
        """Whether it has a root."""
        return any("root" in {one.source, one.destination} for one in self.movements)

    @functools.cached_property
    def reduces(self) -> bool:
        """Whether contributions are added up."""
        return any(one.adds for one in self.movements)

    @functools.cached_property
    def copies(self) -> bool:
        """Whether blocks are copied from one node."""
        return not all(one.adds for one in self.movements)

    @functools.cached_property
    def ends(self) -> frozenset[End]:
        """All ends that occur."""
        return frozenset(end for one in self.movements for end in (one.source, one.destination))

    @property
    def pairwise(self) -> bool:
        """Whether its blocks are named by source and destination: one for every ordered pair of nodes."""
        return any(one.source == one.destination == "each" for one in self.movements)

    def like(self, *others: Collective) -> bool:
        """Return whether it does the same as one of the others, whatever the root and the group."""
        return any(self.movements == other.movements for other in others)

    # -- roots, groups, time ------------------------------------------------------------------------------------------

    def at(self, root: int | None) -> Collective:
        """Return the same with a root.

        Raises
        ------
        ParameterError
            If it has none.
        """
        if root is not None and not self.rooted:
            raise ParameterError(f"{self.name} has no root; leave it out")
        return self if root == self.root else replace(self, root=root)

    def among(self, group: Collection[int] | None) -> Collective:
        """Return the same among some of the nodes.

        Raises
        ------
        ParameterError
            If the group is empty or names a node twice.
        """
        if group is None:
            return replace(self, group=None)
        members = tuple(sorted(int(node) for node in group))
        if not members or len(set(members)) < len(members) or members[0] < 0:
            raise ParameterError("a group of nodes has each of its members once, and at least one")
        return replace(self, group=members)

    @functools.cached_property
    def dual(self) -> Collective:
        """What it is backwards in time: an allgather for a reduce-scatter, a scatter for a gather."""
        from topodesign.collectives import COLLECTIVES  # noqa: PLC0415  the registry lists this module's values

        turned = tuple(one.reversed() for one in reversed(self.movements))
        other = next(one for one in COLLECTIVES.values() if one.movements == turned)
        return replace(other, root=self.root, group=self.group)

    @functools.cached_property
    def parts(self) -> tuple[Collective, ...]:
        """The collectives of one movement that it is made of, in their order: itself, if it has one."""
        from topodesign.collectives import COLLECTIVES  # noqa: PLC0415  the registry lists this module's values

        if len(self.movements) == 1:
            return (self,)
        singles = [next(other for other in COLLECTIVES.values() if other.movements == (one,)) for one in self.movements]
        return tuple(replace(one, root=self.root, group=self.group) for one in singles)

    # -- nodes and blocks ---------------------------------------------------------------------------------------------

    def members(self, nodes: int, switches: Collection[int] = ()) -> NDArray[np.int64]:
        """Return the nodes that take part, ascending.

        Parameters
        ----------
        nodes
            Number of nodes, switches included.
        switches
            Nodes that only forward.

        Raises
        ------
        ParameterError
            If a member of the group is no node, or a switch; if the root is missing or no member.
        """
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        chosen = [node for node in range(nodes) if node not in switches] if self.group is None else list(self.group)
        wrong = next((node for node in chosen if node >= nodes or node in switches), None)
        if wrong is not None:
            raise ParameterError(f"the group names node {wrong}, which is {'a switch' if wrong < nodes else 'no node'}")
        if self.rooted and self.root is None:
            raise ParameterError(f"{self.name} needs a root")
        if self.root is not None and self.root not in chosen:
            raise ParameterError(f"the root {self.root} of the {self.name} is none of its members")
        return np.array(chosen, dtype=np.int64)

    def block_count(self, nodes: int) -> int:
        """Return one more than the largest number that a block can have on so many nodes."""
        return nodes * nodes if self.pairwise else nodes

    def blocks(self, members: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
        """Return the numbers of all blocks among the members, ascending.

        A block is called by the node that is its source or destination alone; the only block of a broadcast or reduce
        by the root; and that of an ordered pair (s, t) by ``s * nodes + t``.
        """
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        if self.pairwise:
            return (members[:, None] * nodes + members).ravel()
        if "each" in self.ends:
            return members
        return np.array([self.root], dtype=np.int64)

    def places(
        self, movement: Movement, blocks: NDArray[np.integer[Any]], nodes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the source and the destination of blocks in a movement; ``EVERYONE`` for all members."""
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        number = blocks.astype(np.int64)

        def place(end: End, own: NDArray[np.int64]) -> NDArray[np.int64]:
            if end == "each":
                return own
            return np.full(len(number), EVERYONE if end == "all" or self.root is None else self.root, dtype=np.int64)

        if movement.source == movement.destination == "each":
            return number // nodes, number % nodes
        return place(movement.source, number), place(movement.destination, number)

    def shards(self, members: int) -> int:
        """Return how many blocks the data of the collective, M bytes, is cut into.

        M is all that an allgather collects or a reduce-scatter begins with on every node, what the root of a rooted
        collective has or gets in all, and what each node sends in an all-to-all, the block for itself included.
        """
        return members if "each" in self.ends else 1

    # -- buffers ------------------------------------------------------------------------------------------------------

    def inputs(self, rank: int, ranks: int) -> Sequence[int]:
        """Return the blocks in a rank's input buffer, in their order; ranks are numbered from 0 without a gap."""
        return self._buffer(self.movements[0].source, rank, ranks, leaves=True)

    def outputs(self, rank: int, ranks: int) -> Sequence[int]:
        """Return the blocks in a rank's output buffer likewise."""
        return self._buffer(self.movements[-1].destination, rank, ranks, leaves=False)

    def _buffer(self, end: End, rank: int, ranks: int, *, leaves: bool) -> Sequence[int]:
        if self.pairwise:
            return range(rank * ranks, (rank + 1) * ranks) if leaves else range(rank, ranks * ranks, ranks)
        every: Sequence[int] = range(ranks) if "each" in self.ends else (self.root or 0,)
        if end == "all" or (end == "root" and self.root in {None, rank}):
            return every
        return () if end == "root" else (rank,)

    def in_place(self, rank: int, ranks: int) -> tuple[int, int]:
        """Return where input and output begin in the one buffer that both share in an in-place call, in blocks.

        The shorter of the two lies where the longer one has its first block: an allgather's input is the rank's slice
        of its output, a reduce-scatter's output the rank's slice of its input, and of an allreduce or all-to-all the
        two are the same memory. All runtimes that are compiled for agree on this.
        """
        inputs, outputs = self.inputs(rank, ranks), self.outputs(rank, ranks)
        if not inputs or not outputs or len(inputs) == len(outputs):
            return 0, 0
        if len(inputs) < len(outputs):
            return list(outputs).index(inputs[0]), 0
        return 0, list(inputs).index(outputs[0])

    def label(self, runtime: str) -> str | None:
        """Return what a runtime calls it, None if it does not know it."""
        return dict(self.labels).get(runtime, self.name.replace("-", ""))

    # -- files --------------------------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Return name, root and group as JSON holds them."""
        return {"name": self.name, "root": self.root, "group": None if self.group is None else list(self.group)}
