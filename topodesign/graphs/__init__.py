"""Base and generative graphs: one family a file, parameters -> Topology.

To add a family, copy the pattern of :mod:`topodesign.graphs.genkautz` into a new file and list it here.
"""

from topodesign.graphs.cayley import cayley
from topodesign.graphs.circulant import circulant, dicirculant
from topodesign.graphs.complete import complete
from topodesign.graphs.cyclemesh import cyclemesh
from topodesign.graphs.debruijn import dbjmod, debruijn
from topodesign.graphs.diamond import diamond
from topodesign.graphs.genkautz import genkautz
from topodesign.graphs.hamming import hamming
from topodesign.graphs.hoffmansingleton import hoffmansingleton
from topodesign.graphs.hypercube import foldedcube, halvedcube, hypercube, twistedhypercube
from topodesign.graphs.kautz import kautz
from topodesign.graphs.kneser import doubledodd, johnson, kneser, odd
from topodesign.graphs.linegraph import (
    ghline,
    gqline,
    heawoodline,
    petersenline,
    pg2line,
    tutte8line,
    tutte12line,
)
from topodesign.graphs.multipartite import bipartite, cocktailparty, crown, octahedron
from topodesign.graphs.paley import paley, paleydigraph
from topodesign.graphs.polygon import ag2, gh, gq, heawoodd3, pg2
from topodesign.graphs.randomregular import randomregular
from topodesign.graphs.ring import biring, shiftedring, uniring
from topodesign.graphs.torus import torus, twistedtorus
from topodesign.named import Family

FAMILIES: tuple[Family, ...] = (
    ag2,
    bipartite,
    biring,
    cayley,
    circulant,
    cocktailparty,
    complete,
    crown,
    cyclemesh,
    dbjmod,
    debruijn,
    diamond,
    dicirculant,
    doubledodd,
    foldedcube,
    genkautz,
    gh,
    ghline,
    gq,
    gqline,
    halvedcube,
    hamming,
    heawoodd3,
    heawoodline,
    hoffmansingleton,
    hypercube,
    johnson,
    kautz,
    kneser,
    octahedron,
    odd,
    paley,
    paleydigraph,
    petersenline,
    pg2,
    pg2line,
    randomregular,
    shiftedring,
    torus,
    tutte8line,
    tutte12line,
    twistedhypercube,
    twistedtorus,
    uniring,
)

__all__ = ["FAMILIES"]
