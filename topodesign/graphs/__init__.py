"""Base and generative graphs: one family a file, parameters -> Topology. Imports base, topology and algebra.

To add a family, copy the pattern of :mod:`topodesign.graphs.genkautz` into a new file and list it below, in a line like
the others. The file holds

* the function under :func:`topodesign.topology.family.named`, whose name and integers are the spec; its docstring says
  which node has links to which, and where the family is from;
* ``_find(nodes, degree)``, which yields the arguments that the finder should try;
* the symmetry, if the family knows any: a :class:`topodesign.topology.symmetry.Symmetry` with a representative of every
  orbit and a function that makes permutations of the nodes which prove it. For Cayley graphs it is
  ``group.action()`` (:meth:`topodesign.topology.groups.Group.action`). Pricing looks at the representatives alone.

The laws in tests/graphs/test_graphs.py hold for every family: add a small one to ``SAMPLES`` there.
"""

from topodesign.graphs.cayley import cayley as cayley
from topodesign.graphs.circulant import circulant as circulant
from topodesign.graphs.circulant import dicirculant as dicirculant
from topodesign.graphs.complete import complete as complete
from topodesign.graphs.congruential import congruential as congruential
from topodesign.graphs.cyclemesh import cyclemesh as cyclemesh
from topodesign.graphs.cycleprefix import cycleprefix as cycleprefix
from topodesign.graphs.debruijn import dbjmod as dbjmod
from topodesign.graphs.debruijn import debruijn as debruijn
from topodesign.graphs.diamond import diamond as diamond
from topodesign.graphs.dragonfly import dragonflygroups as dragonflygroups
from topodesign.graphs.genkautz import genkautz as genkautz
from topodesign.graphs.genkautz import genkautzjoined as genkautzjoined
from topodesign.graphs.hamming import hamming as hamming
from topodesign.graphs.hexagon_twins import ghtwins as ghtwins
from topodesign.graphs.hoffmansingleton import hoffmansingleton as hoffmansingleton
from topodesign.graphs.hypercube import foldedcube as foldedcube
from topodesign.graphs.hypercube import halvedcube as halvedcube
from topodesign.graphs.hypercube import hypercube as hypercube
from topodesign.graphs.hypercube import twistedhypercube as twistedhypercube
from topodesign.graphs.kautz import kautz as kautz
from topodesign.graphs.kneser import doubledodd as doubledodd
from topodesign.graphs.kneser import johnson as johnson
from topodesign.graphs.kneser import kneser as kneser
from topodesign.graphs.kneser import odd as odd
from topodesign.graphs.linegraph import ghline as ghline
from topodesign.graphs.linegraph import gqline as gqline
from topodesign.graphs.linegraph import heawoodline as heawoodline
from topodesign.graphs.linegraph import petersenline as petersenline
from topodesign.graphs.linegraph import pg2line as pg2line
from topodesign.graphs.linegraph import tutte8line as tutte8line
from topodesign.graphs.linegraph import tutte12line as tutte12line
from topodesign.graphs.mesh import mesh as mesh
from topodesign.graphs.mms import mms as mms
from topodesign.graphs.multipartite import bipartite as bipartite
from topodesign.graphs.multipartite import cocktailparty as cocktailparty
from topodesign.graphs.multipartite import crown as crown
from topodesign.graphs.multipartite import octahedron as octahedron
from topodesign.graphs.paley import paley as paley
from topodesign.graphs.paley import paleydigraph as paleydigraph
from topodesign.graphs.polarity import ghpolarity as ghpolarity
from topodesign.graphs.polarity import gqpolarity as gqpolarity
from topodesign.graphs.polarity import gqpolaritycopies as gqpolaritycopies
from topodesign.graphs.polarity import polarity as polarity
from topodesign.graphs.polarity import polaritycopies as polaritycopies
from topodesign.graphs.polarity import polaritynucleus as polaritynucleus
from topodesign.graphs.polarity_hubs import gqpolarityhubs as gqpolarityhubs
from topodesign.graphs.polygon import ag2 as ag2
from topodesign.graphs.polygon import gh as gh
from topodesign.graphs.polygon import gq as gq
from topodesign.graphs.polygon import heawoodd3 as heawoodd3
from topodesign.graphs.polygon import pg2 as pg2
from topodesign.graphs.quadrangle_pairs import gqpairs as gqpairs
from topodesign.graphs.randomregular import randomregular as randomregular
from topodesign.graphs.randomregular import randomregulargraph as randomregulargraph
from topodesign.graphs.ring import biring as biring
from topodesign.graphs.ring import shiftedring as shiftedring
from topodesign.graphs.ring import uniring as uniring
from topodesign.graphs.successors import successors as successors
from topodesign.graphs.torus import torus as torus
from topodesign.graphs.torus import twistedtorus as twistedtorus
from topodesign.topology.family import Family


def _place(family: Family) -> tuple[str, bool]:
    """Order by name, but genkautzjoined before genkautz, which it rules out at less cost."""
    return family.name.removesuffix("joined"), family.name == "genkautz"


FAMILIES: tuple[Family, ...] = tuple(
    sorted((value for value in tuple(globals().values()) if isinstance(value, Family)), key=_place)
)
"""All families that are imported here, in the order in which the finder tries them."""
