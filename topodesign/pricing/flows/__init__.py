"""All-to-all as a flow: every node sends a shard to every other at once, and the fullest link is what takes time.

The problem is made smaller by symmetry (``quotient``), then solved one method a file: ``arcs`` is the linear program
with a variable for every source and link. Whatever a method believes, its answer is a :class:`ConcurrentFlow`
(``concurrent``): a flow and prices of the links, both in whole numbers, from which the bounds on both sides are
computed. ``paths`` takes a flow apart. Imports topology and solve. To add a method, copy ``arcs``.
"""
