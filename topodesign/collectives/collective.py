"""The collective as a value.

Which blocks of data start where, must end where, and are added on the way.

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

A collective may be among some of the nodes alone (:meth:`Collective.among`), and in several groups of nodes at once
(:meth:`Collective.within`), such as the tensor-parallel groups of a training run: the blocks are those of all groups,
and *all* stands for all members of the block's own group. Blocks are named by nodes, and no node is in two groups, so
names stay unique.

Different collectives at the same time are one value, too (:func:`join_collectives`), which knows what they are
and no blocks: each has its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from topodesign.base.declared import Declared
from topodesign.base.errors import ParameterError
from topodesign.base.wording import with_article

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

End = Literal["each", "all", "root"]
"""Where blocks start or end: a node of its own for each block, all members, or the root."""

EVERYONE = -1  # in place of a node: all members


@dataclass(frozen=True, slots=True)
class Movement:
    """One movement of blocks from their sources to their destinations."""

    # source, destination: Where they start and end; not both can be all
    source: End
    destination: End

    @property
    def adds(self) -> bool:
        """Whether a block is the sum of contributions of all members."""
        return self.source == "all"

    def reverse(self) -> Movement:
        """Return the movement backwards in time."""
        return Movement(self.destination, self.source)


@dataclass(frozen=True)
class Collective:
    """What a collective does, for any number of nodes."""

    name: str  # what it is called, as in ``--collective``
    movements: tuple[Movement, ...]  # what happens to its blocks, one after the other
    root: int | None = None  # the node of a collective that has one; None for others, and as long as it is not chosen
    # the members, ascending; None for all nodes that compute. Others may pass data on
    group: tuple[int, ...] | None = None
    # pairs (runtime, what it calls the collective); other runtimes do not know it
    labels: tuple[tuple[str, str], ...] = ()
    # where several groups do the same at once, each for itself: the members of each, ascending, in the order in which
    # they were given; ``group`` are then all of them together. None for one
    groups: tuple[tuple[int, ...], ...] | None = None
    # the root of each of several groups, in their order, of a collective that has one
    roots: tuple[int, ...] | None = None
    # those that run at the same time, each for itself: of :func:`join_collectives`, without movements and blocks
    several: tuple[Collective, ...] = ()

    def __str__(self) -> str:
        """Return the name."""
        return self.name

    def __repr__(self) -> str:
        """Return the name with the root and the group, if any."""
        if self.several:
            return f"<together({', '.join(map(repr, self.several))})>"
        if self.groups is not None:
            return f"<{self.name}.within({', '.join(map(str, filter(None, (self.groups, self.roots))))})>"
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
        """Whether blocks are named by ordered pairs of source and destination."""
        return any(one.source == one.destination == "each" for one in self.movements)

    def like(self, *others: Collective) -> bool:
        """Return whether it equals one of the others but for root and group."""
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
            raise ParameterError(f"{self.name} has no root; omit it")
        if root is not None and self.groups is not None:
            raise ParameterError(f"{with_article(self.name)} in several groups has a root in each of them")
        return self if root == self.root else replace(self, root=root)

    def check_root(self, root: object) -> None:
        """Raise ParameterError unless a root is given exactly if it has one."""
        if (root is None and self.roots is None) == self.rooted:
            what = "requires a root; use --root NODE" if self.rooted else "has no root; remove --root"
            raise ParameterError(f"{self.name} {what}")

    def among(self, group: Collection[int] | None) -> Collective:
        """Return the same among some of the nodes.

        Raises
        ------
        ParameterError
            If the group is empty or names a node twice.
        """
        one = replace(self, groups=None, roots=None)
        return replace(one, group=None if group is None else _members(group))

    def within(
        self,
        groups: Iterable[Collection[int]],
        roots: Iterable[int] | None = None,
        names: Sequence[str] | None = None,
    ) -> Collective:
        """Return the same collective in several groups at once.

        Every group has M bytes of its own: what M counts holds for each. One group is :meth:`among` it.

        Parameters
        ----------
        groups
            The members of each; no node in two of them.
        roots
            The root of each group, in their order, of a collective that has one; a member of it.
        names
            Names of all nodes and switches, for errors; without them errors have the numbers.

        Raises
        ------
        ParameterError
            If there is no group, one is empty, or a node is in two or twice in one; if roots are missing, are no
            members, or are given to a collective that has none.
        """

        def called(node: int) -> str:
            return str(node) if names is None else f"'{names[node]}'"

        parts = tuple(map(_members, groups))
        chosen = None if roots is None else tuple(map(int, roots))
        if not parts:
            raise ParameterError("there is no group")
        owner: dict[int, int] = {}
        for number, part in enumerate(parts):
            twice = next((node for node in part if node in owner), None)
            if twice is not None:
                raise ParameterError(
                    f"groups overlap: node {called(twice)} is in group {owner[twice]} and in group {number}, counted "
                    "from 0; groups that run at once have no node in common"
                )
            owner.update(dict.fromkeys(part, number))
        if self.rooted != (chosen is not None):
            what = "requires a root in each of its groups" if self.rooted else "has no root; omit roots"
            raise ParameterError(f"{self.name} {what}")
        if chosen is not None:
            if len(chosen) != len(parts):
                raise ParameterError(f"{len(chosen)} roots for {len(parts)} groups; give one for each")
            wrong = next(((root, part) for root, part in zip(chosen, parts, strict=True) if root not in part), None)
            if wrong is not None:
                raise ParameterError(f"the root {called(wrong[0])} of the {self.name} is not one of its members")
        if len(parts) == 1:
            return self.among(parts[0]).at(None if chosen is None else chosen[0])
        return replace(self, root=None, group=tuple(sorted(owner)), groups=parts, roots=chosen)

    @property
    def single(self) -> tuple[Collective, ...]:
        """What each of its groups does: itself, if there is one."""
        if self.several:
            return tuple(one for part in self.several for one in part.single)
        if self.groups is None:
            return (self,)
        roots = self.roots or (None,) * len(self.groups)
        alone = replace(self, groups=None, roots=None)
        return tuple(alone.at(root).among(group) for group, root in zip(self.groups, roots, strict=True))

    @functools.cached_property
    def dual(self) -> Collective:
        """The collective reversed in time: an allgather for a reduce-scatter."""
        from topodesign.collectives import COLLECTIVES  # noqa: PLC0415  the registry lists this module's values

        turned = tuple(one.reverse() for one in reversed(self.movements))
        other = next(one for one in COLLECTIVES.values() if one.movements == turned)
        return replace(other, **self._where)

    @functools.cached_property
    def parts(self) -> tuple[Collective, ...]:
        """The collectives of one movement that it consists of, in order."""
        from topodesign.collectives import COLLECTIVES  # noqa: PLC0415  the registry lists this module's values

        if len(self.movements) == 1:
            return (self,)
        singles = [next(other for other in COLLECTIVES.values() if other.movements == (one,)) for one in self.movements]
        return tuple(replace(one, **self._where) for one in singles)

    @property
    def _where(self) -> dict[str, Any]:
        return {"root": self.root, "group": self.group, "groups": self.groups, "roots": self.roots}

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
            raise ParameterError(
                f"the group names node {wrong}, which is {'a switch' if wrong < nodes else 'not a node'}"
            )
        if self.rooted and self.root is None and self.roots is None:
            raise ParameterError(f"{self.name} requires a root (--root NODE)")
        if self.root is not None and self.root not in chosen:
            raise ParameterError(f"the root {self.root} of the {self.name} is not one of its members")
        return np.array(chosen, dtype=np.int64)

    def teams(self, nodes: int, switches: Collection[int] = ()) -> NDArray[np.int64]:
        """Return the group number of every node; shape ``(nodes,)``.

        Nodes that take no part have -1.

        Raises
        ------
        ParameterError
            As :meth:`members`.
        """
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        team = np.full(nodes, -1, dtype=np.int64)
        team[self.members(nodes, switches)] = 0
        for number, group in enumerate(self.groups or ()):
            team[list(group)] = number
        return team

    def block_count(self, nodes: int) -> int:
        """Return the exclusive upper limit of block numbers."""
        return nodes * nodes if self.pairwise else nodes

    def blocks(self, members: NDArray[np.int64], nodes: int) -> NDArray[np.int64]:
        """Return the numbers of all blocks among the members, ascending.

        A block is called by the node that is its source or destination alone; the only block of a broadcast or reduce
        by the root; and that of an ordered pair (s, t) by ``s * nodes + t``.
        """
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        if self.pairwise:
            groups = [members] if self.groups is None else [np.array(group, dtype=np.int64) for group in self.groups]
            return np.sort(np.concatenate([(group[:, None] * nodes + group).ravel() for group in groups]))
        if "each" in self.ends:
            return members
        return np.array([self.root] if self.roots is None else sorted(self.roots), dtype=np.int64)

    def places(
        self, movement: Movement, blocks: NDArray[np.integer[Any]], nodes: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return source and destination of blocks in a movement.

        ``EVERYONE`` stands for all members.
        """
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        number = blocks.astype(np.int64)

        def place(end: End, own: NDArray[np.int64]) -> NDArray[np.int64]:
            if end == "each":
                return own
            if end == "root" and self.roots is not None:
                return np.array(self.roots, dtype=np.int64)[np.maximum(self.teams(nodes)[own], 0)]
            return np.full(len(number), EVERYONE if end == "all" or self.root is None else self.root, dtype=np.int64)

        if movement.source == movement.destination == "each":
            return number // nodes, number % nodes
        return place(movement.source, number), place(movement.destination, number)

    def shards(self, members: int) -> int:
        """Return the number of blocks that the M bytes of data are cut into.

        M is all that an allgather collects or a reduce-scatter begins with on every node, what the root of a rooted
        collective has or gets in all, and what each node sends in an all-to-all, the block for itself included. Each of
        several groups has an M of its own; where these have different numbers of members, it is the least number of
        equal parts of M that blocks are made of: see :meth:`shares`.
        """
        if "each" not in self.ends:
            return 1
        return members if self.groups is None else math.lcm(*map(len, self.groups))

    def shares(self, blocks: NDArray[np.integer[Any]], nodes: int, members: int) -> tuple[NDArray[np.int64], int]:
        """Return the shares of some blocks, and the number of these.

        Shares are multiples of a :meth:`shards` of M.

        It is one, except in groups that have fewer members than others.

        Parameters
        ----------
        blocks
            Their numbers.
        nodes
            Number of nodes, switches included.
        members
            Number of nodes that take part.
        """
        import numpy as np  # noqa: PLC0415  options name collectives, and need no arrays

        whole = self.shards(members)
        if self.groups is None or "each" not in self.ends:
            return np.broadcast_to(np.int64(1), len(blocks)), whole
        part = np.array([whole // len(group) for group in self.groups], dtype=np.int64)
        return part[np.maximum(self.teams(nodes)[self.owners(blocks, nodes)], 0)], whole

    def owners(self, blocks: NDArray[np.integer[Any]], nodes: int) -> NDArray[np.int64]:
        """Return the nodes that blocks are named by; of ordered pairs the first."""
        number = blocks.astype("int64")
        return number // nodes if self.pairwise else number

    # -- buffers ------------------------------------------------------------------------------------------------------

    def inputs(self, rank: int, ranks: int) -> Sequence[int]:
        """Return the blocks in a rank's input buffer, in order.

        Ranks are numbered from 0 without a gap.
        """
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
        """Return the offsets of input and output in the in-place buffer, in blocks.

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
        """Return the name in a runtime, or None if it has none."""
        return dict(self.labels).get(runtime)

    # -- files --------------------------------------------------------------------------------------------------------

    def record(self) -> dict[str, Any]:
        """Return name, root and group in JSON form.

        Of several groups these and their roots.
        """
        if self.several:
            return {"together": [one.record() for one in self.several]}
        if self.groups is not None:
            return InGroups(self.name, self.groups, self.roots).record()
        return InOneGroup(self.name, self.root, self.group).record()


@dataclass(frozen=True, slots=True)
class InOneGroup(Declared):
    """Of one group."""

    name: str  # what is done
    root: int | None  # node; null where there is none
    group: tuple[int, ...] | None  # members; null for all

    KEYS = "name root group"


@dataclass(frozen=True, slots=True)
class InGroups(Declared):
    """Of several groups."""

    name: str  # what is done
    groups: tuple[tuple[int, ...], ...]  # members of each
    roots: tuple[int, ...] | None  # root of each; null where there is none

    KEYS = "name groups roots"


def join_collectives(collectives: Iterable[Collective]) -> Collective:
    """Return different collectives at the same time as one value.

    Its members are those of all of them, which may have nodes in common.
    """
    several = tuple(collectives)
    if not several or any(one.several for one in several):
        raise ParameterError("at least one collective is needed, each of one kind")
    groups = [one.group for one in several]
    every = None if None in groups else tuple(sorted({node for group in groups for node in group or ()}))
    return Collective(" + ".join(one.name for one in several), (), group=every, several=several)


def _members(group: Collection[int]) -> tuple[int, ...]:
    """Return the members of a group, ascending."""
    members = tuple(sorted(int(node) for node in group))
    if not members or len(set(members)) < len(members) or members[0] < 0:
        raise ParameterError("a group of nodes has each of its members once, and at least one")
    return members
