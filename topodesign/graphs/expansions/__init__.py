"""Expansions, one a file: graph map, closed-form cost, schedule lift.

Imports base, topology, graphs and plans. To add one, copy the pattern of :mod:`topodesign.graphs.expansions.line` into
a new file, which holds three functions, and the :class:`topodesign.graphs.expansions.expansion.Expansion` that they
make up:

* ``graph``: the bases and integers -> Topology. It hands on what it knows of the symmetry, as
  a :class:`topodesign.topology.symmetry.Symmetry` whose generators are those of the bases lifted to the new nodes;
* ``claim``: the cost by closed form, with the theorem it rests on, or None;
* ``lift``: schedules of the bases -> the schedule of the expansion; None in its place if there is no such map.

:func:`topodesign.topology.library.build` makes the topology of any spec. Tests for all of them:
tests/graphs/expansions.
"""

from topodesign.base.entry_points import load_members
from topodesign.graphs.expansions.expansion import Expansion

EXPANSIONS: tuple[Expansion, ...] = tuple(
    sorted(load_members("topodesign.graphs.expansions", Expansion), key=lambda one: one.name)
)
"""All expansions of the modules of this folder, by name."""
