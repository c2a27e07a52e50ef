"""Expansions: one a file, with the graph map, the closed-form cost and the schedule lift side by side.

Imports base, topology, algebra, graphs and plans. To add one, copy the pattern of :mod:`topodesign.expand.line` into a
new file and list it below, in a line like the others. The file holds three functions, and the
:class:`topodesign.expand.expansion.Expansion` that they make up:

* ``graph``: the bases and integers -> Topology. It hands on what it knows of the symmetry, as
  a :class:`topodesign.topology.symmetry.Symmetry` whose generators are those of the bases lifted to the new nodes;
* ``claim``: the cost by closed form, with the theorem it rests on, or None;
* ``lift``: schedules of the bases -> the schedule of the expansion; None in its place if there is no such map.

:func:`topodesign.expand.library.build` makes the topology of any spec. Tests for all of them: tests/expand.
"""

from topodesign.expand.bidirect import bidirect as bidirect
from topodesign.expand.cover import cover as cover
from topodesign.expand.degree import degree as degree
from topodesign.expand.delete import delete as delete
from topodesign.expand.expansion import Expansion
from topodesign.expand.insert import insert as insert
from topodesign.expand.line import line as line
from topodesign.expand.parallel import parallel as parallel
from topodesign.expand.power import power as power
from topodesign.expand.product import product as product
from topodesign.expand.swap import swap as swap
from topodesign.expand.transpose import transpose as transpose
from topodesign.expand.turn import turn as turn
from topodesign.expand.voltage import lift as lift

EXPANSIONS: tuple[Expansion, ...] = tuple(
    sorted((value for value in tuple(globals().values()) if isinstance(value, Expansion)), key=lambda one: one.name)
)
"""All expansions that are imported here, by name."""
