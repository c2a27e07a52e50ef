"""What a fabric can do at best, and with which plan.

A *question* (``question``) is a collective on a fabric, with its root and shard sizes. An ``Optimum`` (``optimum``) is
the answer: rate, bound, bottleneck, upgrades and plan. Algorithms find it and return a ``Solution`` (``solution``):
``trees``, ``flows`` and ``fluid.problem``. ``purchase`` finds the cheapest links to add, ``group_price`` the cost in
several groups at once. To add an algorithm, derive from ``Solution`` and name it in ``optimum.solve``.

Two kinds of algorithms answer, and make the plans that reach it: ``forest`` packs spanning trees (switches only
forward, or are relays that copy and add), ``fluid`` mixes steady flows (memory, shared limits). Imports solve, plans
and pricing, and what is below.
"""
