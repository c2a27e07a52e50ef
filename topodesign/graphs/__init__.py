"""Base and generative graphs: one family a file, parameters -> Topology.

To add a family, copy the pattern of :mod:`topodesign.graphs.genkautz` into a new file and list it here.
"""

from topodesign.graphs.cayley import cayley
from topodesign.graphs.circulant import circulant, dicirculant
from topodesign.graphs.complete import complete
from topodesign.graphs.cyclemesh import cyclemesh
from topodesign.graphs.cycleprefix import cycleprefix
from topodesign.graphs.debruijn import dbjmod, debruijn
from topodesign.graphs.diamond import diamond
from topodesign.graphs.genkautz import genkautz, genkautzjoined
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
from topodesign.graphs.mms import mms
from topodesign.graphs.multipartite import bipartite, cocktailparty, crown, octahedron
from topodesign.graphs.paley import paley, paleydigraph
from topodesign.graphs.polarity import ghpolarity, gqpolarity, polarity
from topodesign.graphs.polygon import ag2, gh, gq, heawoodd3, pg2
from topodesign.graphs.randomregular import randomregular, randomregulargraph
from topodesign.graphs.ring import biring, shiftedring, uniring
from topodesign.graphs.successors import successors
from topodesign.graphs.torus import torus, twistedtorus
from topodesign.topology.family import Family

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
    cycleprefix,
    dbjmod,
    debruijn,
    diamond,
    dicirculant,
    doubledodd,
    foldedcube,
    genkautzjoined,  # before genkautz, which it rules out at less cost
    genkautz,
    gh,
    ghline,
    ghpolarity,
    gq,
    gqline,
    gqpolarity,
    halvedcube,
    hamming,
    heawoodd3,
    heawoodline,
    hoffmansingleton,
    hypercube,
    johnson,
    kautz,
    kneser,
    mms,
    octahedron,
    odd,
    paley,
    paleydigraph,
    petersenline,
    pg2,
    pg2line,
    polarity,
    randomregular,
    randomregulargraph,
    shiftedring,
    successors,
    torus,
    tutte8line,
    tutte12line,
    twistedhypercube,
    twistedtorus,
    uniring,
)

__all__ = ["FAMILIES"]
