"""The frontier of a size from scratch: families, expansions, search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from topodesign.base.cost import Basis, keeps_port_free
from topodesign.base.errors import TopologyError
from topodesign.pricing.closed_form import price
from topodesign.search.candidate import LARGEST_PRICED, Candidate
from topodesign.search.finder import Finder
from topodesign.search.neighbours import search_neighbours
from topodesign.search.symmetric import search_sizes
from topodesign.search.target import FoundDigraph, Target
from topodesign.topology.library import build
from topodesign.topology.topology import Topology

_ODD_WORK = 4 * 10**8
"""Words looked at where a node more or less is put into or taken from other topologies."""


def search_frontier(
    target: Target,
    seconds: float | None,
    *,
    seed: int = 0,
    known: Sequence[FoundDigraph] = (),
    near: Sequence[Topology] = (),
    progress: Callable[[float], None] | None = None,
) -> list[Candidate]:
    """Find the frontier of a size.

    * ``seconds``: time to spend on searching Cayley digraphs; 0 looks at the known families and their expansions only.
      If None, a budget of work that takes some seconds, so that the same is found on a busy machine as on an idle one.
    * ``known``: topologies of this size that are known already; they are rebuilt and priced like all others.
    * ``near``: topologies of the degree with a node more or less, for sizes that keep a port free: there is no symmetry
      then.
    * ``progress``: called now and then with the share of the time that is used.

    Returns: undominated, steps ascending, mean bandwidth descending; each has been rebuilt from its spec and priced
    from its links where it has at most 4096 nodes.
    """
    costs = [one.cost for one in known]
    found = (
        {}
        if seconds == 0
        else search_sizes(
            search_targets(target),
            seconds,
            seed=seed,
            known=lambda size: costs if size == target else [],
            progress=progress,
        )
    )
    found[target] = [*found.get(target, ()), *known]
    if seconds != 0 and keeps_port_free(target.nodes, target.degree, duplex=target.duplex):
        found[target] += search_neighbours(target, near, _ODD_WORK, seed=seed, known=costs)
    return [_rebuilt(one) for one in Finder(found).frontier(target.nodes, target.degree, duplex=target.duplex)]


def search_targets(target: Target) -> list[Target]:
    """Return the sizes whose Cayley digraphs bear on a target.

    Itself, and the bases of its line graphs and copies.
    """
    sizes = [target]
    nodes, degree = target.nodes, target.degree
    while not target.duplex and degree > 1 and nodes % degree == 0 and nodes // degree > degree:
        nodes //= degree
        sizes.append(Target(nodes, degree, duplex=False))
    nodes, degree = target.nodes, target.degree
    sizes += [
        Target(nodes // n, degree // n, target.duplex)
        for n in range(2, degree)
        if degree % n == 0 and nodes % n == 0 and nodes // n > degree // n > 1
    ]
    return sizes


def _rebuilt(candidate: Candidate) -> Candidate:
    """Rebuild a candidate from its spec; its price must not change."""
    topology = build(str(candidate.spec))
    if candidate.basis is Basis.LINKS and topology.nodes <= LARGEST_PRICED and price(topology) != candidate.cost:
        raise TopologyError(f"{candidate.spec} was priced {candidate.cost}, but rebuilt it costs {price(topology)}")
    return candidate
