"""Base and generative graphs, one family a file.

Each maps parameters to a topology. Imports base and topology.

To add a family, copy the pattern of :mod:`topodesign.graphs.genkautz` into a new file, which holds

* the function under :func:`topodesign.topology.family.make_family`, whose name and integers are the spec; its
  docstring says which node has links to which, and where the family is from;
* with it a function of nodes and degree, which gives the arguments that the finder should try;
* the symmetry, if the family knows any: a :class:`topodesign.topology.symmetry.Symmetry` with a representative of every
  orbit and a function that makes permutations of the nodes which prove it. For Cayley graphs it is
  ``group.action()`` (:meth:`topodesign.topology.groups.Group.action`). Pricing looks at the representatives alone.

The laws in tests/graphs/test_graphs.py hold for every family: add a small one to ``SAMPLES`` there.
"""

from topodesign.base.entry_points import load_members
from topodesign.topology.family import Family


def _place(family: Family) -> tuple[str, bool]:
    """Return the order of a family: by name, with one exception."""
    return family.name.removesuffix("joined"), family.name == "genkautz"


FAMILIES: tuple[Family, ...] = tuple(sorted(load_members("topodesign.graphs", Family), key=_place))
"""All families of the modules of this folder, in the order in which the finder tries them."""
