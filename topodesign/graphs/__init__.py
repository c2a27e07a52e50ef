"""Base and generative graphs: one family a file, parameters -> Topology.

To add a family, copy the pattern of :mod:`topodesign.graphs.genkautz` into a new file and list it here.
"""

from topodesign.graphs.cayley import cayley
from topodesign.graphs.circulant import circulant, dicirculant
from topodesign.graphs.genkautz import genkautz
from topodesign.named import Family

FAMILIES: tuple[Family, ...] = (cayley, circulant, dicirculant, genkautz)

__all__ = ["FAMILIES"]
