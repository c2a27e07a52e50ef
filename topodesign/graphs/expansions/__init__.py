"""Expansions: one a file, with the graph map, the closed-form cost and the schedule lift side by side.

Imports base, topology, algebra, graphs and plans. To add one, copy the pattern of
:mod:`topodesign.graphs.expansions.line` into a new file and list it below, in a line like the others. The file holds
three functions, and the :class:`topodesign.graphs.expansions.expansion.Expansion` that they make up:

* ``graph``: the bases and integers -> Topology. It hands on what it knows of the symmetry, as
  a :class:`topodesign.topology.symmetry.Symmetry` whose generators are those of the bases lifted to the new nodes;
* ``claim``: the cost by closed form, with the theorem it rests on, or None;
* ``lift``: schedules of the bases -> the schedule of the expansion; None in its place if there is no such map.

:func:`topodesign.graphs.expansions.library.build` makes the topology of any spec. Tests for all of them:
tests/graphs/expansions.
"""

from topodesign.graphs.expansions.bidirect import bidirect as bidirect
from topodesign.graphs.expansions.cover import cover as cover
from topodesign.graphs.expansions.degree import degree as degree
from topodesign.graphs.expansions.delete import delete as delete
from topodesign.graphs.expansions.expansion import Expansion
from topodesign.graphs.expansions.insert import insert as insert
from topodesign.graphs.expansions.line import line as line
from topodesign.graphs.expansions.parallel import parallel as parallel
from topodesign.graphs.expansions.power import power as power
from topodesign.graphs.expansions.product import product as product
from topodesign.graphs.expansions.swap import swap as swap
from topodesign.graphs.expansions.transpose import transpose as transpose
from topodesign.graphs.expansions.turn import turn as turn
from topodesign.graphs.expansions.voltage import lift as lift

EXPANSIONS: tuple[Expansion, ...] = tuple(
    sorted((value for value in tuple(globals().values()) if isinstance(value, Expansion)), key=lambda one: one.name)
)
"""All expansions that are imported here, by name."""
