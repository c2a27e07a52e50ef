"""Several collectives at the same time on links that are not alike."""

from __future__ import annotations

import random
from fractions import Fraction

from tests.samples.uneven import uneven
from topodesign.collectives import COLLECTIVES
from topodesign.fabrics.traffic import Stream
from topodesign.topology.link_table import LinkTable
from topodesign.topology.topology import Topology


def tenants(seed: int, most_nodes: int = 6) -> tuple[Topology, LinkTable, list[Stream]]:
    """A strongly connected digraph, a table of its links, and streams that all nodes take part in."""
    rng = random.Random(seed)  # noqa: S311  not for cryptography
    topology, table = uneven(rng.randint(2, most_nodes), seed)
    streams = []
    for _ in range(rng.randint(1, 3)):
        collective = rng.choice(list(COLLECTIVES.values()))
        root = str(rng.randrange(topology.nodes)) if collective.rooted else None
        begin = Fraction(rng.choice([0, 0, 7, 30]), 10**6)
        size = Fraction(rng.choice([1000, 2**16, 2**20]))
        streams.append(Stream("*", collective, size, root, begin))
    return topology, table, streams
