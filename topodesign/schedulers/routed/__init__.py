"""Collectives whose messages pass through: what was published for tori and rings, as plans over routes.

A step of such a plan sends messages between any two nodes, each over several links without stopping, and is over when
the last has arrived: so it costs one latency, as much more for each link, and the load of its fullest link.

* :mod:`~topodesign.schedulers.routed.grid`: rings along every side, and the ways on them.
"""
