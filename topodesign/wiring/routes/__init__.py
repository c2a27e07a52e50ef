"""Routes: deadlock-free tables for a network whose switches or nodes pass messages on without storing them.

``routes`` is the door: what it finds is made by an engine of ``engines`` (inner loops are in ``lane_kernels`` and
``detour_kernels``), kept as the ways of all pairs (``ways``), and proved by ``proof``, which knows no engine.
``formats`` writes the files that subnet managers and hosts load, and ``ports`` reads what ports are called. May import
nothing else of ``wiring``.
To add an engine, write a function from a network to ways and list it in ``ENGINES``.
"""
