"""Rings: node order, and cables between first and last ports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from topodesign.topology.topology import Topology
from topodesign.wiring.inventory.devices import Fixed
from topodesign.wiring.inventory.inventory import Inventory, distance

_FEWEST = 3  # nodes of a ring: two are a pair


def find_ring(topology: Topology) -> tuple[int, ...] | None:
    """Return the nodes along the ring of all links.

    Parameters
    ----------
    topology
        Its self-loops do not count.

    Returns
    -------
    tuple of int or None
        All nodes, from node 0 on, each with links to the next, as many for all; towards the smaller of its neighbours
        where links go both ways. None if the links are not one ring of at least three nodes.

    Examples
    --------
    >>> from topodesign import build
    >>> find_ring(build("biring(2,4)")), find_ring(build("complete(4)"))
    ((0, 1, 2, 3), None)
    """
    out: list[list[int]] = [[] for _ in range(topology.nodes)]
    counts = set()
    for u, v, capacity in topology.links():
        if u != v:
            out[u].append(v)
            counts.add(capacity)
    ways = {len(some) for some in out}
    if topology.nodes < _FEWEST or len(counts) != 1 or ways not in ({1}, {2}) or (ways == {2} and not is_mutual(out)):
        return None
    ring = [0, min(out[0])]
    while len(ring) <= topology.nodes:
        before, here = ring[-2:]
        following = next((node for node in out[here] if node != before), before)
        if following == 0:
            break
        ring.append(following)
    return tuple(ring) if len(ring) == topology.nodes else None


def is_mutual(out: Sequence[Sequence[int]]) -> bool:
    """Return whether every link has a reverse."""
    return all(u in out[v] for u, some in enumerate(out) for v in some)


def turn_along_ring(
    patches: list[tuple[Fixed, Fixed]],
    ring: tuple[int, ...] | None,
    have: list[list[Fixed]],
    inventory: Inventory,
    *,
    duplex: bool,
) -> list[tuple[Fixed, Fixed]]:
    """Connect first lanes on a ring to next hosts' last lanes.

    Patches stay as they are if they are not all of the ring, or if the cords would be longer.

    Parameters
    ----------
    patches
        Pairs of lanes: all that one field of panels has. Without ``duplex`` each way is one.
    ring
        The nodes along the ring whose links go both ways; None if there is none.
    have
        The lanes of each node in this field.
    inventory
        Where panels are.
    duplex
        Whether a patch goes both ways.
    """
    if ring is None:
        return patches
    each, rest = divmod(len(patches), len(ring) * (1 if duplex else 2))
    if rest or any(len(lanes) < 2 * each for lanes in have):
        return patches
    order = {
        (host.name, port.name, lane): rank
        for host in inventory.hosts
        for rank, (port, lane) in enumerate((port, lane) for port in host.ports for lane in range(1, port.lanes + 1))
    }
    lanes = [sorted(some, key=lambda one: order[one.source])[: 2 * each] for some in have]
    turned: list[tuple[Fixed, Fixed]] = []
    for u, v in zip(ring, (*ring[1:], ring[0]), strict=True):
        for a, b in zip(lanes[u][:each], lanes[v][each:], strict=True):
            turned += [(a, b)] if duplex else [(a, b), (b, a)]
    return turned if _metres(turned, inventory) <= _metres(patches, inventory) else patches


def _metres(patches: list[tuple[Fixed, Fixed]], inventory: Inventory) -> Fraction:
    found = (distance(inventory, a.panel, b.panel) for a, b in patches)
    return sum((metres for metres in found if metres is not None), Fraction(0))
