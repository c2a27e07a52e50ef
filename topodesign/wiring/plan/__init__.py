"""Wiring plans: hosts of nodes, and cross-connects of links.

``wire`` goes from a topology and an inventory to a :class:`~topodesign.wiring.plan.plan.WiringPlan` by way of
``planner`` (links over panels and lanes, on ``decompose`` and ``cabling``), with hosts in the order that needs least
fibre if wanted; ``proof`` shows of every plan that it makes its topology, ``files`` keeps it, ``net`` has its wires and
the paths of light. May import
``inventory``. To add a way of planning: a file that returns a plan which ``check_plan`` accepts, and its choice in
``wire``.
"""
