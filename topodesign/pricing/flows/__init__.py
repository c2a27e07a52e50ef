"""All-to-all as a flow: every node sends a shard to every other at once, and the fullest link is what takes time.

On plain topologies the problem is made smaller by symmetry (``quotient``), then solved one method a file: ``trees``
mixes shortest-path trees and is exact, ``arcs`` is the plain linear program, ``balanced`` is for thousands of nodes and
within a gap. Whatever a method believes, its answer is a :class:`ConcurrentFlow` (``concurrent``): a flow and prices of
the links, both in whole numbers, from which the bounds on both sides are computed. Sums of distances bound it without a
flow; ``paths`` takes one apart. To add a method, copy ``arcs`` and list it in ``pricing/all_to_all.py``.

With switches, links of unequal cost or any demands it is a :class:`DemandFlow` (``demands``), whose program is made
small by classes of what looks alike (``classes``), without a symmetry that has to be known; ``flow_optimum`` says what
an all-to-all, scatter or gather reaches on a fabric, what binds, and the least cost.

Imports topology, fabrics and solve.
"""
