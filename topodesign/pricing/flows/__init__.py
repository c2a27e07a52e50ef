"""All-to-all as a flow: every node sends a shard to every other at once, and the fullest link is what takes time.

On plain topologies the problem is made smaller by symmetry (``quotient``), then solved one method a file: ``trees`` and
``arcs`` exactly, ``balanced`` for thousands of nodes and within a gap. Whatever a method believes, its answer is a
:class:`ConcurrentFlow` (``concurrent``), from whose whole numbers the bounds on both sides are computed; ``paths``
takes one apart. To add a method, copy ``arcs`` and list it in ``pricing/all_to_all.py``.

With switches, links of unequal cost or any demands it is a :class:`DemandFlow` (``demands``), made small by what looks
alike (``classes``); ``flow_optimum`` says what that reaches on a fabric and what binds. Imports topology, fabrics and
solve.
"""
