"""Duplex topologies in place of one that is not."""

from __future__ import annotations

from topodesign.base.cost import Cost
from topodesign.base.errors import CatalogError
from topodesign.catalog.lookup import Catalog
from topodesign.pricing.closed_form import distances
from topodesign.search.finder import Finder
from topodesign.topology.topology import Topology


def duplex_alternative(topology: Topology) -> str | None:
    """Return the known duplex topology of as many nodes and ports whose steps are nearest, as its spec and price.

    Of equally near ones the one with fewer steps; None if none is known. It comes from the catalog, or where that has
    none from known families and their expansions.
    """
    known = _known(topology.nodes, topology.degree)
    if not known:
        return None
    sources = topology.representatives or range(topology.nodes)
    wanted = max(int(distances(topology, source).max()) for source in sources)
    spec, cost = min(known, key=lambda one: (abs(one[1].steps - wanted), one[1].steps))
    return f"{spec} ({cost.steps} steps, bandwidth factor {cost.bandwidth})"


def _known(nodes: int, degree: int) -> list[tuple[str, Cost]]:
    try:
        if rows := Catalog().frontier(nodes, degree, duplex=True):
            return [(row.spec, row.cost) for row in rows]
    except CatalogError:
        pass  # then search
    return [(str(one.spec), one.cost) for one in Finder().frontier(nodes, degree, duplex=True)]
