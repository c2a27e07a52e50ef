"""Trees of a symmetric fabric: those of one root of every orbit, and the symmetry that takes them to all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import repeat
from operator import itemgetter
from typing import Any, ClassVar, Self
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from topodesign.base.arrays import owned
from topodesign.base.errors import ScheduleError, TooLargeError
from topodesign.collectives import Collective
from topodesign.plans.movement import Column, Movement, read_tables
from topodesign.plans.trees import Trees, too_many_rows
from topodesign.topology.symmetry import Symmetry
from topodesign.topology.topology import IntArray, Topology


@dataclass(frozen=True, eq=False, repr=False)
class OrbitTrees(Movement):
    """The trees of the representatives, and the generators of a group that takes them to those of all other roots.

    They are of all nodes, each root with trees of its own, and of no switch that adds or copies. Trees of node v are
    those of its representative with every node x called p(x), where p is the permutation that takes the representative
    to v, see :meth:`~topodesign.topology.symmetry.Symmetry.transversals`.
    """

    kind: ClassVar = "orbittrees"
    TABLES: ClassVar = {
        **Trees.TABLES,
        "generators": (Column("generators", "images of the nodes, generator after generator", np.int32, True),),
        "representatives": (Column("representatives", "a root of every orbit"),),
    }

    generators: NDArray[np.int32]  # permutations of the nodes, of shape ``(g, nodes)``
    representatives: tuple[int, ...]  # a root of every orbit, its smallest or another
    own: Trees  # the trees of these, with the header of the whole

    def __post_init__(self) -> None:
        shape = np.shape(self.generators)
        if getattr(self.generators, "dtype", None) != np.int32 or len(shape) != 2:
            raise ScheduleError("generators must be an int32 array with a row for each")
        object.__setattr__(self, "generators", owned(self.generators))
        if self.collective.group is not None or self.collective.several or self.collective.rooted:
            raise ScheduleError(f"trees are folded of all nodes with a root each, not of {self.collective!r}")
        if self.own.topology.nodes != self.nodes:
            raise ScheduleError(f"generators must be of {self.own.topology.nodes} nodes, not of {self.nodes}")
        if len(self.own.relays):
            raise ScheduleError("trees through switches that add or copy are not folded")
        chosen = np.array(self.representatives, dtype=np.int64)
        if not np.array_equal(self.symmetry.represented_by[chosen], chosen):
            raise ScheduleError("the representatives must be nodes of different orbits")
        if not np.all(np.isin(self.own.root, chosen)):
            raise ScheduleError("only trees of the representatives have rows of their own")

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
        """Number of trees of the whole plan."""
        known = self.symmetry.represented_by
        return sum(np.bincount(self.own.root, minlength=self.nodes)[known[known >= 0]].tolist())

    @property
    def folded(self) -> Self:
        """Itself."""
        return self

    @cached_property
    def symmetry(self) -> Symmetry:
        """The group that the generators make, and the representatives."""
        return Symmetry(self.nodes, self.representatives, partial(tuple, self.generators))

    def alike(self, other: OrbitTrees) -> bool:
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
        own = {name: cls.TABLES[name] for name in ("generators", "representatives")}
        made = read_tables(archive, header, topology, {}, own)
        generators = made["generators"].reshape(-1, topology.nodes)
        chosen = tuple(made["representatives"].tolist())
        return cls(generators, chosen, Trees.read(archive, header, topology, collective))

    @classmethod
    def of(cls, generators: NDArray[np.int32], own: Trees) -> OrbitTrees:
        """Return trees whose roots are the first nodes of their orbits, folded by a group that these make."""
        whole = Symmetry(generators.shape[1], (), partial(tuple, generators))
        return cls(generators, tuple(np.unique(whole.orbit_of).tolist()), own)

    @property
    def topology(self) -> Topology:
        """The fabric."""
        return self.own.topology

    @cached_property
    def link_orbits(self) -> IntArray:
        """The first link of every link's orbit."""
        return self.symmetry.link_orbits(self.topology)

    @property
    def images(self) -> Fraction:
        """How many images a tree has."""
        return Fraction(self.sends, max(1, len(self)))

    def __repr__(self) -> str:
        return f"<OrbitTrees {self.collective}, {self.sends} trees as {len(self)}, rate {self.own.rate}>"

    def spread(self, loads: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what links carry of all trees, from what they carry of those it has itself; of a free symmetry."""
        first = self.link_orbits
        sums, size = np.bincount(first, loads, len(first)), np.bincount(first, minlength=len(first))
        carried: NDArray[np.float64] = (sums / size.clip(1))[first] * float(self.images)
        return carried

    def unfold(self) -> Trees:
        """Return all trees: in-trees, from the last root to the first, and then out-trees from the first on."""
        own = self.own
        rows = max(len(column) for column in own.columns().values()) * self.sends // max(1, len(self))
        if why := too_many_rows(rows):
            raise TooLargeError(f"this takes trees one by one, which have {rows} rows, and {why}; take fewer nodes")
        edge = np.searchsorted(own.tree, np.arange(len(self) + 1))
        route = np.searchsorted(own.route_edge, edge)
        ends = own.hop_start[route]
        edges, routes, hops = (list(map(slice, cuts[:-1], cuts[1:])) for cuts in (edge, route, ends))
        images: list[tuple[bool, int, int, NDArray[np.int32]]] = []  # of out-trees, and in-trees the other way round
        for tree, root in enumerate(own.root.tolist()):
            points = np.concatenate((own.src[edges[tree]], own.dst[edges[tree]], own.hop[hops[tree]]))
            nodes, those = self.symmetry.images(root, points)
            out = tree >= own.reduce_trees
            keys = nodes.tolist() if out else (-nodes).tolist()
            images += zip(repeat(out), keys, repeat(tree), those)
        images.sort(key=itemgetter(0, 1, 2))
        trees = [tree for _, _, tree, _ in images]

        def moved(first: IntArray, last: IntArray) -> IntArray:
            """Return part of the images' points."""
            return np.concatenate([image[first[tree] : last[tree]] for _, _, tree, image in images]).astype(np.int64)

        def each(column: IntArray, cuts: list[slice]) -> IntArray:
            """Return a column that is the same for all images."""
            parts = [column[cut] for cut in cuts]
            return np.concatenate([parts[tree] for tree in trees])

        size, number = np.diff(edge), np.arange(len(trees))
        before = np.cumsum(size[trees]) - size[trees] - edge[trees]  # rows of other trees, less those before its own
        none = np.zeros(len(size), dtype=np.int64)
        return own.having(
            root=np.abs([key for _, key, _, _ in images]).astype(np.int64),
            weight=own.weight[trees],
            tree=np.repeat(number, size[trees]),
            src=moved(none, size),
            dst=moved(size, 2 * size),
            route_edge=each(own.route_edge, routes) + np.repeat(before, np.diff(route)[trees]),
            route_weight=each(own.route_weight, routes),
            hop_start=np.concatenate(([0], np.cumsum(each(np.diff(own.hop_start), routes)))),
            hop=moved(2 * size, 2 * size + np.diff(ends)),
            reduce_trees=sum(not out for out, _, _, _ in images),
        )
