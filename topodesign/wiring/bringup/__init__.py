"""Bring-up of hosts that communicate over a plan's cables.

``bringup`` has the *lines* of a plan, each two interfaces that a cable joins with addresses of their own, how
hosts reach those that they share no cable with, and an order of the ranks along a ring of cables. ``host_files`` writes
that down for each host; ``link_test`` is the program that says on each what is at the other end. Plain IP between
Linux hosts; what is behind panels and circuit switches is, to a host, one cable. May import ``inventory`` and ``plan``.
"""
