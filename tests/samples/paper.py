"""The paper's finder, for comparison: its graphs and expansions only.

The families are those of Table 7 and appendices E and F of Efficient Direct-Connect Topologies, with every
distance-regular family of the library, as the paper names that whole class. All candidates are priced from their links,
where the paper's finder takes the theorems' bounds for line graphs, so that comparisons favour the paper.
"""

from __future__ import annotations

from dataclasses import replace

from topodesign.graphs import FAMILIES
from topodesign.search.finder import Finder
from topodesign.topology.family import Family

TABLE_7 = frozenset((
    "complete", "bipartite", "hamming", "kautz", "genkautz", "circulant", "biring", "uniring", "diamond", "debruijn",
    "dbjmod",
))  # fmt: skip
DISTANCE_REGULAR = frozenset((
    "octahedron", "cocktailparty", "crown", "hypercube", "foldedcube", "halvedcube", "johnson", "odd", "doubledodd",
    "kneser", "paley", "pg2", "ag2", "gq", "gh", "pg2line", "gqline", "ghline", "petersenline", "heawoodline",
    "heawoodd3", "tutte8line", "tutte12line", "hoffmansingleton",
))  # fmt: skip
RINGS_AND_MESHES = frozenset(("torus", "cyclemesh", "shiftedring"))


def paper_families() -> list[Family]:
    """Return the paper's families; its directed circulant has d + 2 nodes."""
    wanted = TABLE_7 | DISTANCE_REGULAR | RINGS_AND_MESHES
    directed = next(family for family in FAMILIES if family.name == "dicirculant")
    return [
        *(family for family in FAMILIES if family.name in wanted),
        replace(directed, find=lambda n, d: [(n, *range(1, d + 1))] if n == d + 2 else []),
    ]


def paper_finder() -> Finder:
    """Return a finder that knows what the paper's does."""
    return Finder(families=paper_families())
