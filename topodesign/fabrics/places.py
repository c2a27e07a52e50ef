"""The place of a collective: topology or fabric, from any input."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from topodesign.base import entry_points
from topodesign.base.errors import ParameterError, SpecError
from topodesign.base.spec import Spec
from topodesign.base.units import Quantity, as_bandwidth
from topodesign.base.wording import nearest
from topodesign.fabrics.fabric import NODE_BANDWIDTH, Fabric
from topodesign.fabrics.networks import names_file, read_network
from topodesign.fabrics.networks.network import TAKES_FABRICS
from topodesign.fabrics.part import Some, select_part
from topodesign.fabrics.presets import build_fabric
from topodesign.topology.everyday import SPOKEN
from topodesign.topology.library import TopologyLike, as_linked_topology, build, names_fabric, names_topology
from topodesign.topology.topology import Topology

if TYPE_CHECKING:
    import networkx as nx

PlaceLike: TypeAlias = "Topology | Fabric | Spec | str | Path | nx.Graph"
"""What a function that needs a topology or a fabric takes: it, its spec, a file, or a networkx graph."""


def as_topology(value: TopologyLike) -> Topology:
    """Return the topology that a value is or names.

    Parameters
    ----------
    value
        A topology, a spec or its text, a path of a network of any format, a graph of networkx or igraph, or a matrix
        (NumPy or scipy) of how many links go from row to column. A text is a path if it has a known ending, or no
        brackets and another ending or a slash.

    Raises
    ------
    SpecError, FileFormatError
        If the spec or the file cannot be read.
    TopologyError
        If a graph does not make a topology.
    ParameterError
        If it names a fabric, with bandwidths or latencies that a topology would lose, or is none of these.

    Examples
    --------
    >>> import networkx as nx
    >>> from topodesign import as_topology
    >>> as_topology(nx.petersen_graph().to_directed())
    <Topology 10 nodes, degree 3, duplex>
    >>> as_topology("torus(4,4)").vertex_transitive
    True
    """
    if isinstance(value, str | Spec) and not (isinstance(value, str) and names_file(value)):
        if names_fabric(str(value)):
            raise ParameterError(f"{str(value)[:100]} is a fabric; {TAKES_FABRICS}")
        return build(value)
    topology = as_linked_topology(value)
    return read_network(value).topology() if topology is None else topology


def as_fabric(value: PlaceLike, bandwidth: Quantity | None = None) -> Fabric:
    """Return the fabric that a value is or names.

    Parameters
    ----------
    value
        A fabric or a topology, the spec of one such as ``dgx_a100(2)`` or ``torus(8,8)``, a file, or a networkx graph.
        A text is a file if it has a known ending, or no brackets and another ending or a slash.
    bandwidth
        Bandwidth of a node over all its links, for what does not say its own: text, or bits per second.

    Raises
    ------
    FileFormatError, SpecError, UnitError
        If the file, the spec or the bandwidth cannot be read.
    TopologyError
        If a topology or a graph makes no fabric.
    ParameterError
        If a bandwidth is given for a fabric that has its own, or the value is none of these.

    Examples
    --------
    >>> as_fabric("mi250(2)")
    <Fabric mi250(2): 32 nodes, 1 switch>
    >>> as_fabric("torus(4,4)", bandwidth="400Gbps").links()[0].bandwidth
    Fraction(12500000000, 1)
    """
    rate = None if bandwidth is None else as_bandwidth(bandwidth) / 8
    if isinstance(value, Fabric):
        value.check_bandwidth(bandwidth)
        return value
    if not isinstance(value, str | Path | Spec):
        topology = as_linked_topology(value)
        if topology is not None:
            return Fabric.from_topology(topology, rate or NODE_BANDWIDTH)
        return read_network(value).fabric(rate)
    if isinstance(value, Path) or (isinstance(value, str) and names_file(value)):
        return read_network(Path(value)).fabric(rate)
    text = str(value)
    if not _is_fabric(text):
        return Fabric.from_topology(build(text), rate or NODE_BANDWIDTH)
    fabric = build_fabric(text)
    fabric.check_bandwidth(bandwidth)
    return fabric


def plain_fabric(topology: Topology) -> Fabric:
    """Return a topology as a fabric of named nodes, even if nodes differ in ports."""
    names = tuple(map(str, range(topology.nodes)))
    return Fabric("topology", names, topology, NODE_BANDWIDTH, ("",) * len(topology.src))


def as_place(value: PlaceLike) -> Topology | Fabric:
    """Return the topology of a value, or its fabric.

    A fabric if it has switches, names or bandwidths.

    * ``value``: as for :func:`as_fabric`. Links in a file make a plain topology if they can.

    Examples
    --------
    >>> as_place("dgx_a100(1)")
    <Fabric dgx_a100(1): 8 nodes, 1 switch>
    >>> as_place("circulant(12,2,3)").degree
    4
    """
    if isinstance(value, Fabric):
        return value
    if isinstance(value, Path) or (isinstance(value, str) and names_file(value)):
        network = read_network(Path(value))
        return network.fabric() if network.is_fabric else network.topology()
    if isinstance(value, str | Spec):
        text = str(value)
        return as_fabric(text) if _is_fabric(text) else build(text)
    topology = as_linked_topology(value)
    if topology is None:
        network = read_network(value)
        return network.fabric() if network.is_fabric else network.topology()
    return as_fabric(value) if topology.switches else topology


def working(
    place: Topology | Fabric, without: Some = (), bandwidth: Fraction | None = None
) -> tuple[Topology | Fabric, Fabric, Fraction]:
    """Return the working part of a place.

    As a topology if it is one, as a fabric, and the bits per second of its largest node.

    A link of a topology is as fast as before, also where no node has all of its links left.

    * ``without``: what has failed, as :func:`topodesign.fabrics.part.select_part` takes it.
    * ``bandwidth``: of a node of the whole topology over all its links, in bits per second; of a fabric None.

    Examples
    --------
    >>> place, fabric, bandwidth = working(build("biring(2,4)"), "0", Fraction(10**11))
    >>> place.nodes, fabric.links()[0].bandwidth * 8 == bandwidth / 2
    (3, True)
    """
    whole = as_fabric(place, bandwidth)
    part = select_part(whole, without=without)
    return (
        part.topology if without and isinstance(place, Topology) else place if part is whole else part,
        part,
        (8 * part.unit * max(int(part.topology.out_ports[node]) for node in part.compute)),
    )


def get_preset_name(value: PlaceLike) -> str | None:
    """Return the spec of a preset fabric, given as text or built."""
    if isinstance(value, str | Spec):
        text = str(value)
        return build_fabric(text).name if names_fabric(text) else None
    if isinstance(value, Fabric) and names_fabric(value.name):
        try:
            return value.name if build_fabric(value.name) == value else None
        except SpecError:
            return None  # of boxes of a file, whose name is a path
    return None


def _is_fabric(text: str) -> bool:
    """Return whether a text is a fabric spec, or nearly the name of one."""
    name = text.partition("(")[0].strip()
    if names_fabric(text) or names_topology(name):
        return names_fabric(text)
    known = [*entry_points.FAMILIES, *entry_points.EXPANSIONS, *SPOKEN, *entry_points.FABRICS]
    return any(one in entry_points.FABRICS for one in nearest(name, known, 1))
