"""Concurrent flows with minimum load on the most loaded link.

One question, three ways to answer it, each in one file: ``columns`` exactly, by mixing shortest-path trees; ``program``
exactly, by a linear program over classes of links, with limits that links share, costs, and nodes that may not pass
on; ``potentials`` for thousands of nodes, within a proven gap. The first and the last see the network through symmetry
(:mod:`topodesign.topology.quotient`) and return a :class:`ConcurrentFlow`, the program sees what looks alike
(:mod:`topodesign.topology.classes`) and returns a :class:`DemandFlow`. Whatever found a flow, bounds on both sides are
computed from its whole numbers. ``paths`` takes flows apart.
"""
