"""The topology: a multi-digraph with integer capacities.

Nodes compute or only switch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topodesign.base.arrays import own_array, seal_array
from topodesign.base.errors import DisconnectedError, TooLargeError, TopologyError
from topodesign.base.spec import Spec
from topodesign.topology.symmetry import Symmetry

if TYPE_CHECKING:
    import networkx as nx

IntArray = NDArray[np.int64]

MAX_NODES = 2**20
MAX_LINKS = 2**24
MAX_CAPACITY = 2**31 - 1
_TABLE = 2**22  # pairs of nodes whose links are looked up in a table


def check_buildable(nodes: int, links: int) -> None:
    """Raise TooLargeError for a topology too large to build.

    Call it before allocating.
    """
    if nodes > MAX_NODES:
        raise TooLargeError(f"{nodes} nodes are too many to build (at most {MAX_NODES})")
    if links > MAX_LINKS:
        raise TooLargeError(f"{links} links are too many to build (at most {MAX_LINKS})")


@dataclass(frozen=True, eq=False)
class Topology:
    """Directed links with capacities between numbered nodes.

    Build one with :meth:`from_links` or :meth:`from_arrays`, which sort and merge; the bare constructor expects its
    arrays in that form and checks it. Two topologies are equal when their nodes, switches and links are.

    Attributes
    ----------
    nodes
        Number of nodes, switches included; they are numbered from 0.
    src, dst, capacity
        Read-only int64 arrays of equal length, one entry for each linked ordered pair, sorted by (src, dst). Parallel
        links are one entry with a larger capacity. A self-loop uses up a port and carries nothing.
    spec
        The text that rebuilds this topology, or None for one read from a file.
    symmetry
        Automorphisms that the construction knows, and the nodes that represent all others under them; None if it knows
        none. The generators are made when they are first needed, and :meth:`Symmetry.check` proves them.
    switches
        Nodes that forward but take no part in a collective.
    alias
        A short name that it was asked for by, with the version of what gave it its meaning; None if there is none.
    node_names
        What its nodes are called in the file or graph that it is from, where that is more than numbers; nothing that is
        made of the topology has these names.
    """

    nodes: int
    src: IntArray
    dst: IntArray
    capacity: IntArray
    spec: Spec | None = None
    symmetry: Symmetry | None = None
    switches: frozenset[int] = field(default=frozenset())
    alias: str | None = None
    node_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check the arrays, and copy those that somebody else could change.

        Raises
        ------
        TopologyError
            If the arrays are not sorted, in range, of one length, or a capacity is below one.
        """
        if self.nodes < 1:
            raise TopologyError("a topology requires at least one node")
        for name in ("src", "dst", "capacity"):
            column = getattr(self, name)
            if not isinstance(column, np.ndarray) or column.dtype != np.int64 or column.ndim != 1:
                raise TopologyError("src, dst and capacity must be flat int64 arrays; use Topology.from_arrays")
            object.__setattr__(self, name, own_array(column))
        check_buildable(self.nodes, len(self.src))
        if not len(self.src) == len(self.dst) == len(self.capacity):
            raise TopologyError("src, dst and capacity must have the same length")
        if len(self.src):
            ends = np.concatenate((self.src, self.dst))
            if ends.min() < 0 or ends.max() >= self.nodes:
                raise TopologyError(f"links must join nodes 0 to {self.nodes - 1}")
            _check_capacity(self.capacity)
            key = self.src * self.nodes + self.dst
            if np.any(key[1:] <= key[:-1]):
                raise TopologyError("links must be sorted by (src, dst) without repeats; use Topology.from_arrays")
        if not all(0 <= node < self.nodes for node in self.switches):
            raise TopologyError(f"switches must be among nodes 0 to {self.nodes - 1}")
        if self.symmetry is not None and self.symmetry.nodes != self.nodes:
            raise TopologyError(f"the symmetry is of {self.symmetry.nodes} nodes, the topology has {self.nodes}")

    @classmethod
    def from_arrays(
        cls,
        nodes: int,
        src: NDArray[Any],
        dst: NDArray[Any],
        capacity: NDArray[Any] | None = None,
        *,
        symmetry: Symmetry | None = None,
        switches: Iterable[int] = (),
    ) -> Topology:
        """Make a topology from links in any order; repeated links add up.

        Parameters
        ----------
        nodes
            Number of nodes.
        src, dst
            Integer arrays of any equal shape: the link goes from src to dst.
        capacity
            Integers of the same shape, or None for ones.
        symmetry, switches
            As the attributes.
        """
        check_buildable(nodes, np.size(src))
        source, target = _integers(src), _integers(dst)
        weight = np.ones(len(source), dtype=np.int64) if capacity is None else _integers(capacity)
        if not len(source) == len(target) == len(weight):
            raise TopologyError("src, dst and capacity must have the same length")
        if len(source) and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= nodes):
            raise TopologyError(f"links must join nodes 0 to {nodes - 1}")
        _check_capacity(weight)  # before they are added up, so that no sum wraps round
        key = source * nodes + target
        if len(key) and not np.all(key[1:] > key[:-1]):
            order = None if capacity is None else np.argsort(key, kind="stable")
            key = np.sort(key, kind="stable") if order is None else key[order]  # soon done where most are in order
            first = np.flatnonzero(np.concatenate(([True], key[1:] > key[:-1])))
            weight = np.diff(first, append=len(key)) if order is None else np.add.reduceat(weight[order], first)
            key = key[first]
        return cls(
            nodes,
            seal_array(key // nodes),
            seal_array(key % nodes),
            seal_array(weight),
            symmetry=symmetry,
            switches=frozenset(switches),
        )

    @classmethod
    def from_links(
        cls, nodes: int, links: Iterable[tuple[int, int] | tuple[int, int, int]], *, switches: Iterable[int] = ()
    ) -> Topology:
        """Make a topology from ``(u, v)`` or ``(u, v, capacity)``.

        Repeated links add up.
        """
        rows = [(link[0], link[1], link[2] if len(link) == 3 else 1) for link in links]
        table = np.array(rows).reshape(-1, 3)
        return cls.from_arrays(nodes, table[:, 0], table[:, 1], table[:, 2], switches=switches)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        return (
            self.nodes == other.nodes
            and self.switches == other.switches
            and np.array_equal(self.src, other.src)
            and np.array_equal(self.dst, other.dst)
            and np.array_equal(self.capacity, other.capacity)
        )

    def __hash__(self) -> int:
        return hash((self.nodes, self.src.tobytes(), self.dst.tobytes(), self.capacity.tobytes()))

    def __repr__(self) -> str:
        name = f"{self.spec}, " if self.spec is not None else ""
        kind = "duplex" if self.is_duplex else "simplex"
        return f"<Topology {name}{self.nodes} nodes, degree {self.degree}, {kind}>"

    @cached_property
    def out_ports(self) -> IntArray:
        """Ports of links out of each node, with self-loops.

        int64, shape ``(nodes,)``.
        """
        return self._ports(self.src)

    @cached_property
    def in_ports(self) -> IntArray:
        """Ports of links into each node, with self-loops.

        int64, shape ``(nodes,)``.
        """
        return self._ports(self.dst)

    def _ports(self, ends: IntArray) -> IntArray:
        # exact in floats: at most 2^20 links of at most 2^31 to a node
        return seal_array(np.bincount(ends, weights=self.capacity, minlength=self.nodes).astype(np.int64))

    @cached_property
    def degree(self) -> int:
        """Ports that a node needs: the largest number of links out or in."""
        return int(max(self.out_ports.max(), self.in_ports.max()))

    @property
    def representatives(self) -> tuple[int, ...] | None:
        """Nodes whose images under automorphisms are all others.

        As far as the construction proves it.

        They alone need to be looked at as sources. None if nothing is proven.
        """
        return None if self.symmetry is None else self.symmetry.representatives

    @property
    def vertex_transitive(self) -> bool:
        """Whether the construction proves that every node looks like every other."""
        return self.representatives is not None and len(self.representatives) == 1

    @cached_property
    def is_regular(self) -> bool:
        """Whether every node uses exactly ``degree`` ports out and in."""
        return bool(np.all(self.out_ports == self.degree) and np.all(self.in_ports == self.degree))

    @cached_property
    def is_duplex(self) -> bool:
        """Whether every link has its reverse with the same capacity.

        Self-loops are their own reverse.
        """
        back = self.dst * self.nodes + self.src
        if not np.array_equal(np.sort(back), self.src * self.nodes + self.dst):
            return False
        alike = len(back) == 0 or self.capacity.min() == self.capacity.max()
        return bool(alike or np.array_equal(self.capacity, self.capacity[np.argsort(back)]))

    @cached_property
    def self_loops(self) -> int:
        """Number of ports wasted on self-loops."""
        return int(self.capacity[self.src == self.dst].sum())

    @cached_property
    def indptr(self) -> IntArray:
        """Row pointers of the CSR form.

        The links of node u are entries ``indptr[u]`` to ``indptr[u+1]``.
        """
        pointers = np.zeros(self.nodes + 1, dtype=np.int64)
        np.cumsum(np.bincount(self.src, minlength=self.nodes), out=pointers[1:])
        return seal_array(pointers)

    def neighbours(self, node: int) -> IntArray:
        """Return the distinct nodes that ``node`` has links to, ascending.

        Itself, too, if it has a self-loop.
        """
        return self.dst[self.indptr[node] : self.indptr[node + 1]]

    @cached_property
    def _keys(self) -> IntArray:
        """A number for every link, ascending: what :meth:`link_index` looks up."""
        return seal_array(self.src * self.nodes + self.dst)

    def link_index(self, src: ArrayLike, dst: ArrayLike) -> IntArray:
        """Return the entry of a link between two nodes, -1 if there is none.

        Among ``src``, ``dst`` and ``capacity``.

        Parameters
        ----------
        src, dst
            Integers, or integer arrays of shapes that broadcast. A number that is no node's has no links.

        Returns
        -------
        IntArray
            int64, of the shape to which ``src`` and ``dst`` broadcast.
        """
        source, target = np.asarray(src, dtype=np.int64), np.asarray(dst, dtype=np.int64)
        there = (source >= 0) & (source < self.nodes) & (target >= 0) & (target < self.nodes)
        wanted = np.where(there, source * self.nodes + target, -1)
        if not len(self._keys):
            return np.full(wanted.shape, -1, dtype=np.int64)
        if self.nodes**2 <= min(_TABLE, 2 * wanted.size):  # looked up in a table, which takes a fifth of the time
            table = np.full(self.nodes**2 + 1, -1)
            table[self._keys] = np.arange(len(self._keys))
            return table[wanted]
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, place, -1)

    def describe_unreached(self) -> str:
        """Return which node is unreached and why, for an error.

        Empty if every node reaches every other.

        Examples
        --------
        >>> Topology.from_links(3, [(0, 1), (1, 0), (2, 0)]).describe_unreached()
        'no link leads to node 2'
        """
        real = self.src != self.dst
        ends = self.src[real], self.dst[real]
        into, out = (np.bincount(end, minlength=self.nodes) for end in (ends[1], ends[0]))

        def named(node: int) -> str:
            return f"node {node if self.node_names is None else self.node_names[node]}"

        if self.nodes > 1:
            for missing, words in (((into == 0) & (out == 0), "{} has no link"), (into == 0, "no link leads to {}"),
                                   (out == 0, "no link leads from {}")):  # fmt: skip
                if missing.any():
                    return words.format(named(int(np.argmax(missing))))
        for forwards in (True, False):
            reached = np.arange(self.nodes) == 0
            source, target = ends if forwards else ends[::-1]
            count = 0
            while count < (count := int(reached.sum())):
                reached[target[reached[source]]] = True
            if not reached.all():
                node = int(np.argmin(reached))
                near = sorted(set(source[target == node].tolist()))
                way = ("by {} alone", "{} alone")[not forwards].format(named(near[0])) if len(near) == 1 else ""
                verb = "is not reached from" if forwards else "does not reach"
                also = f"; it {'is reached' if forwards else 'reaches'} {way}" if way else ""
                return f"{named(node)} {verb} {named(0)}{also}"
        return ""

    def links(self) -> list[tuple[int, int, int]]:
        """Return all links as triples (src, dst, capacity), sorted."""
        return list(zip(self.src.tolist(), self.dst.tolist(), self.capacity.tolist(), strict=True))

    def transpose(self) -> Topology:
        """Return the topology with every link turned round (without a spec)."""
        return Topology.from_arrays(
            self.nodes, self.dst, self.src, self.capacity, symmetry=self.symmetry, switches=self.switches
        )

    def to_networkx(self) -> nx.DiGraph:
        """Return a networkx DiGraph.

        With an integer ``capacity`` on every edge and ``switch`` on every node.
        """
        import networkx as nx  # noqa: PLC0415  heavy, and seldom wanted

        graph = nx.DiGraph(spec=None if self.spec is None else str(self.spec))
        graph.add_nodes_from((node, {"switch": node in self.switches}) for node in range(self.nodes))
        graph.add_weighted_edges_from(self.links(), weight="capacity")
        return graph


def make_disconnected_error(topology: Topology) -> DisconnectedError:
    """Return the error for a topology that is not strongly connected.

    It names a node.
    """
    hint = (
        "; --read links=duplex takes every edge both ways" if topology.spec is None and not topology.is_duplex else ""
    )
    return DisconnectedError(
        f"not every node reaches every other ({topology.describe_unreached()}), so no collective of all with all runs "
        f"on this topology{hint}"
    )


def _integers(values: NDArray[Any]) -> IntArray:
    """Return a flat int64 copy of an array of integers."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":  # Python integers beyond 64 bits make an array of objects
        raise TopologyError("src, dst and capacity must be integers of at most 64 bits")
    return seal_array(array.astype(np.int64)).ravel()


def _check_capacity(capacity: IntArray) -> None:
    if len(capacity) and (capacity.min() < 1 or capacity.max() > MAX_CAPACITY):
        raise TopologyError(f"link capacities must be from 1 to {MAX_CAPACITY}")
