"""Local search for topologies with small distances, which bound what all-to-all takes.

Every shard takes up as many links as its way is long, so all-to-all takes at least the mean distance; and as much where
links can be loaded evenly, which many orbits of links make easy. Voltage lifts of random bases are annealed by the sum
of their distances: with one orbit of nodes these are Cayley digraphs, with as many orbits as nodes any topology.
"""

from __future__ import annotations

import functools

import numpy as np

from topodesign.base.cost import keeps_port_free
from topodesign.base.spec import LONGEST_SPEC, Spec
from topodesign.search.distance_kernels import Lift, anneal_distances
from topodesign.search.groups import groups_to_search
from topodesign.search.lifted import cayley_spec, lift_spec
from topodesign.search.target import Target
from topodesign.topology.groups import Group
from topodesign.topology.topology import IntArray

LARGEST = 2048  # nodes that are searched up to
_MOST_LINKS = 1024  # of a base: a spec has room for about so many
_MOST_ORBITS = 64
_FEWEST_CHANGES = 200


def orbits_of_lifts(target: Target) -> list[int]:
    """Return the numbers of orbits that are worth searching; none where a port stays free."""
    nodes, degree = target.size
    if not degree < nodes <= LARGEST or keeps_port_free(nodes, degree, duplex=target.duplex):
        return []
    most = min(_MOST_ORBITS, _MOST_LINKS // degree)
    return [m for m in range(1, most + 1) if nodes % m == 0]


def search_distances(target: Target, orbits: int, work: int, *, seed: int = 0) -> Spec | None:
    """Search for a lift whose distances are small on average, of a random group and base.

    * ``target``: the size.
    * ``orbits``: of nodes, a divisor of their number.
    * ``work``: links to look at; compiled code looks at some 10^8 a second.
    * ``seed``: seed of all random choices.

    Returns: the best one; None if none that is connected was met, or its spec is too long.
    """
    nodes, degree = target.size
    rng = np.random.Generator(np.random.PCG64([seed, nodes, degree, orbits, target.duplex]))
    groups = groups_to_search(nodes // orbits)
    place = min(int(rng.integers(len(groups))), int(rng.integers(len(groups))))  # the first are the most promising
    table, inverse = _tables(groups[place])
    involutions = 1 + np.flatnonzero(inverse[1:] == np.arange(1, len(inverse)))
    lift = _start(target, orbits, Lift(table, inverse, involutions, *(np.zeros(0, np.int64),) * 3), rng)
    if lift is None:
        return None
    changes = max(_FEWEST_CHANGES, work // (nodes * degree * orbits))
    state = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    hot = max(1, nodes * orbits // 8)
    if anneal_distances(lift, degree, changes, hot, state) >= nodes * nodes * orbits:
        return None
    spec = _spec(groups[place], lift, orbits, duplex=target.duplex)
    return spec if len(str(spec)) <= LONGEST_SPEC else None


@functools.lru_cache(maxsize=8)
def _tables(group: Group) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.int32]], IntArray]:
    return group.table().astype(np.int32), group.inverses()


def _start(target: Target, orbits: int, lift: Lift, rng: np.random.Generator) -> Lift | None:
    """Return a random base; None if the reverse of some link has to be itself, and no voltage allows for that."""
    degree, order = target.degree, len(lift.inverse)
    links = orbits * degree
    voltage = rng.integers(0, order, links)
    tails = np.repeat(np.arange(orbits), degree)
    if not target.duplex:
        heads = np.concatenate([rng.permutation(orbits) for _ in range(degree)]).reshape(degree, orbits).T.ravel()
        return lift._replace(head=heads, voltage=voltage)
    alone = links % 2
    if len(lift.involutions) and orbits < order:
        alone += 2 * int(rng.integers(0, links // 2 + 1))
    if alone and not len(lift.involutions):
        return None
    mixed = rng.permutation(links)
    mate = np.empty(links, dtype=np.int64)
    mate[mixed[:alone]] = mixed[:alone]
    one, other = mixed[alone::2], mixed[alone + 1 :: 2]
    mate[one], mate[other] = other, one
    if alone:
        voltage[mixed[:alone]] = rng.choice(lift.involutions, alone)
    voltage[other] = lift.inverse[voltage[one]]
    return lift._replace(head=tails[mate], voltage=voltage, mate=mate)


def _spec(group: Group, lift: Lift, orbits: int, *, duplex: bool) -> Spec:
    """Return the plainest spec of a lift."""
    if orbits == 1:
        return cayley_spec(group, sorted(lift.voltage.tolist()), duplex=duplex)
    tail = np.repeat(np.arange(orbits), len(lift.head) // orbits)
    return lift_spec(None if group.order == 1 else group.spec, tail, lift.head, lift.voltage)
