"""Plans of a symmetric topology: what moves of one node of every orbit, and the symmetry that takes it to all others.

A plan of N nodes has about N^2 rows. Where a group of automorphisms takes a few nodes to all others, the rows of the
blocks of these few, or of their trees (:mod:`topodesign.plans.orbit_trees`), say everything.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, Generic, Self, TypeVar
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import owned
from topodesign.base.errors import ScheduleError
from topodesign.collectives import ALL_TO_ALL, ALLGATHER, ALLREDUCE, REDUCE_SCATTER, Collective
from topodesign.plans.archive import MAX_ROWS, read_column, read_integer
from topodesign.plans.movement import Column, Movement
from topodesign.plans.rounds import COLUMNS, Rounds
from topodesign.plans.rounds_ops import blocks_named, canonical, check_rows, find_links, reverse
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology

COLLECTIVES = (ALLGATHER, REDUCE_SCATTER, ALLREDUCE, ALL_TO_ALL)
"""Those of which a symmetry takes blocks to blocks: no root stands out."""


Own = TypeVar("Own", bound=Movement)


@dataclass(frozen=True, eq=False)
class Folded(Movement, Generic[Own]):
    """What moves of the representatives, and the generators of a group that takes it to all others.

    What moves of node v is that of its representative with every node x called p(x), where p is the permutation that
    takes the representative to v: the one that :meth:`~topodesign.topology.symmetry.Symmetry.transversals` takes,
    composed along a breadth-first tree in the order of the generators and, after them, their inverses. Whatever the
    group, this makes one plan; where no permutation but the identity leaves a node where it is, p is unique.
    """

    whole_kind: ClassVar[type[Any]]
    """What it unfolds to."""
    GENERATED: ClassVar = {
        "generators": (Column("generators", "images of the nodes, generator after generator", np.int32),),
        "representatives": (Column("representatives", "one node of every orbit that moves something"),),
    }

    generators: NDArray[np.int32]  # permutations of the nodes, of shape ``(g, nodes)``
    representatives: tuple[int, ...]  # one node of every orbit that moves something, its smallest or another
    own: Own  # what moves of these, with the header of the whole

    def __post_init__(self) -> None:
        shape = np.shape(self.generators)
        if getattr(self.generators, "dtype", None) != np.int32 or len(shape) != 2:
            raise ScheduleError("generators must be an int32 array with a row for each")
        object.__setattr__(self, "generators", owned(self.generators))
        chosen = np.array(self.representatives, dtype=np.int64)
        if not np.array_equal(self.symmetry.represented_by[chosen], chosen):
            raise ScheduleError("the representatives must be nodes of different orbits")
        if not np.all(np.isin(self.owner, chosen)):
            raise ScheduleError("only what moves of the representatives has rows of its own")

    @property
    @abstractmethod
    def owner(self) -> IntArray:
        """Of which node every row of the first table is."""

    @property
    def collective(self) -> Collective:
        """What it is for."""
        return self.own.collective

    @property
    def nodes(self) -> int:
        """Number of nodes N, switches included."""
        return int(self.generators.shape[1])

    @cached_property
    def sends(self) -> int:
        """Number of sends, or of trees, of the whole plan."""
        known = self.symmetry.represented_by
        return sum(np.bincount(self.owner, minlength=self.nodes)[known[known >= 0]].tolist())

    @property
    def folded(self) -> Self:
        """Itself."""
        return self

    @cached_property
    def symmetry(self) -> Symmetry:
        """The group that the generators make, and the representatives."""
        return Symmetry(self.nodes, self.representatives, partial(tuple, self.generators))

    def alike(self, other: Folded[Any]) -> bool:
        """Whether another plan is folded by the same permutations and representatives."""
        return self.representatives == other.representatives and np.array_equal(self.generators, other.generators)

    def fits(self, topology: Topology) -> bool:
        """Return whether it is for as many nodes, or these very links."""
        return self.nodes == topology.nodes and self.own.fits(topology)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name: of its own rows, and the generators one after the other."""
        chosen = np.array(self.representatives, dtype=np.int64)
        return {**self.own.columns(), "generators": self.generators.ravel(), "representatives": chosen}

    def __len__(self) -> int:
        return len(self.own)

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the columns of its own rows."""
        return self.own.table()

    def header(self) -> dict[str, Any]:
        """Return that of its own rows, and how many generators and representatives there are."""
        counts = {"generators": len(self.generators), "representatives": len(self.representatives)}
        return {**self.own.header(), **counts}

    @classmethod
    def read(cls, archive: ZipFile, header: Mapping[str, Any], topology: Topology, collective: Collective) -> Self:
        """Return that of a file; its form is checked."""
        nodes = topology.nodes
        count = read_integer(header, "generators", 0, MAX_ROWS // nodes)
        generators = read_column(archive, "generators", count * nodes, np.int32).reshape(count, nodes)
        chosen = read_column(archive, "representatives", read_integer(header, "representatives", 0, nodes), np.int64)
        return cls(generators, tuple(chosen.tolist()), cls.whole_kind.read(archive, header, topology, collective))


@dataclass(frozen=True, eq=False, repr=False)
class OrbitRounds(Folded[Rounds]):
    """The rows of the representatives' blocks, and the generators of a group that takes them to all others.

    Every block belongs to a node: its source or destination alone, and that of an ordered pair to the source.
    """

    kind: ClassVar = "orbitrounds"
    whole_kind: ClassVar = Rounds
    TABLES: ClassVar = Rounds.TABLES | Folded.GENERATED

    def __post_init__(self) -> None:
        if self.collective not in COLLECTIVES:
            known = ", ".join(map(str, COLLECTIVES))
            raise ScheduleError(f"orbits are of {known} of all nodes, not of {self.collective!r}")
        if self.own.nodes != self.nodes:
            raise ScheduleError(f"generators must be of {self.own.nodes} nodes, not of {self.nodes}")
        super().__post_init__()

    @property
    def owner(self) -> IntArray:
        """The node that the block of every row belongs to."""
        return node_of(self.collective, self.own.block, self.nodes)

    @property
    def units(self) -> int:
        """Units per shard."""
        return self.own.units

    def __repr__(self) -> str:
        return (
            f"<OrbitRounds {self.collective}, {self.nodes} nodes, {self.own.steps} steps, "
            f"{len(self)} sends of {len(self.representatives)} nodes' blocks>"
        )

    def unfold(self) -> Rounds:
        """Return the whole schedule, in canonical form."""
        total = self.sends
        check_rows(total)
        columns = {name: np.empty(total, dtype=getattr(self.own, name).dtype) for name in COLUMNS}
        at = 0
        for rows in self._images():
            for name, column in columns.items():
                column[at : at + len(rows[name])] = rows[name]
            at += len(rows["src"])
        return canonical(self.own.having(**columns))

    def gathered(self, topology: Topology) -> Rounds:
        """Return the rows with each link replaced by the first of its orbit; of a symmetry that is free.

        There one permutation of the group takes a row to each link of the orbit. So every link of an orbit carries of
        the whole schedule what the first carries of these rows.
        """
        self.symmetry.check(topology)
        link = self.symmetry.link_orbits(topology)[find_links(topology, self.own)]
        return self.own.having(src=topology.src[link].astype(np.int32), dst=topology.dst[link].astype(np.int32))

    def _images(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield the rows of the blocks of every node."""
        node = self.owner
        for representative in self.representatives:
            own = self.own.rows(node == representative).columns()
            for _, permutation in self.symmetry.transversals(representative):
                yield moved(self.collective, own, permutation)


def node_of(collective: Collective, block: NDArray[np.int32], nodes: int) -> IntArray:
    """Return to which node blocks belong: their source or destination alone, of an ordered pair the source."""
    own: IntArray = (block // nodes if collective.pairwise else block).astype(np.int64)
    return own


def moved(
    collective: Collective, rows: dict[str, NDArray[Any]], permutation: NDArray[np.int32]
) -> dict[str, NDArray[Any]]:
    """Return rows with every node called by its image."""
    block = blocks_named(collective, rows["block"], permutation)
    return {**rows, "src": permutation[rows["src"]], "dst": permutation[rows["dst"]], "block": block}


def orbit_of(rounds: Rounds, symmetry: Symmetry) -> OrbitRounds | None:
    """Return a schedule as the rows of the representatives' blocks, if their images are the others.

    None if some node's rows are not the images of its representative's, or the collective has a root or a group.
    What it unfolds to is the schedule in canonical form.
    """
    if rounds.collective not in COLLECTIVES or rounds.nodes != symmetry.nodes:
        return None
    rounds = canonical(rounds)
    node = node_of(rounds.collective, rounds.block, rounds.nodes)
    order = np.argsort(node, kind="stable")
    bounds = np.searchsorted(node[order], np.arange(rounds.nodes + 1))
    roots = np.unique(symmetry.represented_by[node])
    if len(roots) and roots[0] < 0:
        return None
    count = np.diff(bounds)
    known = symmetry.represented_by >= 0
    if not np.array_equal(count[known], count[symmetry.represented_by[known]]):
        return None
    whole = {name: column[order] for name, column in rounds.columns().items()}
    for root in roots.tolist():
        own = {name: column[bounds[root] : bounds[root + 1]] for name, column in whole.items()}
        for image, permutation in symmetry.transversals(root):
            there = {name: column[bounds[image] : bounds[image + 1]] for name, column in whole.items()}
            if not _same_rows(moved(rounds.collective, own, permutation), there):
                return None
    return OrbitRounds(symmetry.generators, tuple(roots.tolist()), rounds.rows(np.isin(node, roots)))


def brought_back(symmetry: Symmetry, nodes: IntArray, *points: IntArray) -> tuple[IntArray, ...]:
    """Return the representatives of nodes, and where what takes these there takes points, row by row."""
    roots, back = symmetry.represented_by[nodes], [np.empty_like(column) for column in points]
    order = np.argsort(nodes, kind="stable")
    start = np.searchsorted(nodes[order], np.arange(symmetry.nodes + 1)).tolist()
    inverse = np.empty(symmetry.nodes, dtype=np.int64)
    for root in np.unique(roots).tolist():
        for node, permutation in symmetry.transversals(root):
            rows = order[start[node] : start[node + 1]]
            if len(rows):
                inverse[permutation] = np.arange(symmetry.nodes)
                for column, there in zip(points, back, strict=True):
                    there[rows] = inverse[column[rows]]
    return roots, *back


def _same_rows(one: dict[str, NDArray[Any]], other: dict[str, NDArray[Any]]) -> bool:
    """Return whether two schedules of as many rows have the same ones in any order."""
    pairs = [(rows, np.lexsort([rows[name] for name in COLUMNS])) for rows in (one, other)]
    (first, a), (second, b) = pairs
    return all(np.array_equal(first[name][a], second[name][b]) for name in COLUMNS)


def reverse_orbit(orbit: OrbitRounds) -> OrbitRounds:
    """Return the schedule backwards in time over the links turned round, as :func:`reverse` does."""
    return OrbitRounds(orbit.generators, orbit.representatives, reverse(orbit.own))
