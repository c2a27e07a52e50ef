"""Networks that were read and understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

from topodesign.base.errors import FileFormatError, ParameterError, TopologyError
from topodesign.base.text_files import naming
from topodesign.base.wording import count_noun
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric, FabricLink, Price, Shared
from topodesign.topology.topology import Topology


@dataclass(frozen=True)
class Network:
    """A network from a file or graph.

    A plain topology, or a fabric with switches, bandwidths or latencies.

    Attributes
    ----------
    name, form, path
        Name of the network, and of the format that it was in; the file, or "" if it is a graph.
    names
        Names of nodes and switches, in order.
    links
        Two ends, by number, and capacity of each link; the capacity is a bandwidth in bytes per second if ``stated``.
    kinds
        Class of each link, or empty if no link has one.
    stated
        Whether the network says its bandwidths.
    able
        Names of the nodes that are ``switch``, ``multicast``, ``aggregation`` or ``memory``.
    latency, prices, shared, unequal
        As the attributes of :class:`~topodesign.fabrics.fabric.Fabric`.
    notes
        What was understood or assumed, a phrase each.
    """

    name: str
    form: str
    names: tuple[str, ...]
    links: tuple[tuple[int, int, Fraction | int], ...]
    kinds: tuple[str, ...] = ()
    stated: bool = False
    able: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    latency: Mapping[str, Fraction] = field(default_factory=dict)
    prices: Mapping[str, Price] = field(default_factory=dict)
    shared: tuple[Shared, ...] = ()
    unequal: bool = False
    notes: tuple[str, ...] = ()
    path: str = ""

    def __str__(self) -> str:
        """Return one line that says what was understood."""
        switches = len(self.able.get("switch", ()))
        size = count_noun(len(self.names) - switches, "node")
        if switches:
            size += f", {count_noun(switches, 'switch', 'switches')}"
        return "; ".join([f"{self.name}: {self.form}, {size}, {count_noun(len(self.links), 'link')}", *self.notes])

    @property
    def is_fabric(self) -> bool:
        """Whether only a fabric holds all of it, not plain links."""
        return bool(self.stated or any(self.able.values()) or self.kinds or self.latency or self.prices or self.shared)

    def topology(self) -> Topology:
        """Return the plain topology.

        ParameterError if bandwidths, classes or latencies would be lost.
        """
        if self.stated or self.kinds or self.latency or self.prices or self.shared:
            what = "bandwidths" if self.stated else "classes or latencies"
            raise ParameterError(f"{self.path or self.name} is a fabric, whose links have {what}; {TAKES_FABRICS}")
        switches = set(self.able.get("switch", ()))
        topology = Topology.from_links(
            len(self.names),
            [(u, v, int(capacity)) for u, v, capacity in self.links],
            switches=[number for number, name in enumerate(self.names) if name in switches],
        )
        numbered = self.names == tuple(map(str, range(len(self.names))))
        return topology if numbered else replace(topology, node_names=self.names)

    def fabric(self, node_bandwidth: Fraction | None = None) -> Fabric:
        """Return the fabric.

        Parameters
        ----------
        node_bandwidth
            Bytes per second of all links of the node with the most of them, if the network states no bandwidths.

        Raises
        ------
        FileFormatError
            If ``node_bandwidth`` is given and the network states bandwidths, or the links of a file make no fabric.
        TopologyError
            If the links of a graph make no fabric.
        """
        if not self.path:
            return self._fabric(node_bandwidth)
        with naming(Path(self.path)):
            try:
                return self._fabric(node_bandwidth)
            except (TopologyError, ParameterError) as error:
                raise FileFormatError(str(error)) from None

    def _fabric(self, node_bandwidth: Fraction | None) -> Fabric:
        if self.stated and node_bandwidth is not None:
            raise FileFormatError("the file says the bandwidths of its links; give no other")
        if not self.is_fabric:
            plain = Fabric.from_topology(self.topology(), node_bandwidth or NODE_BANDWIDTH)
            return replace(plain, name=self.name, names=tuple(map(_fabric_name, self.names)))
        able = dict(self.able)
        switches = able.pop("switch", ())
        nodes = [name for name in self.names if name not in set(switches)]
        unit = Fraction(1)
        if not self.stated:
            out = dict.fromkeys(nodes, Fraction(0))
            for u, _, capacity in self.links:
                if self.names[u] in out:
                    out[self.names[u]] += capacity
            unit = (node_bandwidth or NODE_BANDWIDTH) / max([Fraction(1), *out.values()])
        kinds = self.kinds or ("",) * len(self.links)
        links = [
            FabricLink(self.names[u], self.names[v], capacity * unit, kind)
            for (u, v, capacity), kind in zip(self.links, kinds, strict=True)
        ]
        fabric = Fabric.from_links(
            self.name, nodes, switches, links, shared=self.shared, latency=self.latency, prices=self.prices, **able
        )
        if self.stated and not self.unequal:
            fabric.check_balance()
        return fabric


TAKES_FABRICS = (
    "this is for plain topologies, whose nodes are linked directly. Fabrics are for evaluate, schedule and compare; "
    "see 'topodesign evaluate --help'"
)


def _fabric_name(name: str) -> str:
    """Return a fabric name of a node: no commas, which separate names."""
    return ":".join(part.strip(" ()'") for part in name.split(",")) if "," in name else name
