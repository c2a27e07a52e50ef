"""Wiring: from a topology to cables, what was really wired, and changes from one wiring to another.

Folders, each importing only from those before it:

``inventory``
    What there is to wire with: ``read_inventory``, ``new_inventory``.
``netbox``
    The same as NetBox has it: ``read_netbox``.
``plan``
    Which host is which node, and the cross-connects that make the links: ``wire``.
``bringup``
    Addresses, routes and tests for the hosts of a plan that is cabled: ``bringup``.
``change``
    From the wiring that exists to the one wanted: ``rewire``.
``switches``
    Circuit switches, and making their circuits those of a plan: ``apply_wiring``.
``exports``
    A plan for those who carry it out, and read back: ``export_wiring``, ``import_wiring``.
``check``
    What was really wired against what was planned: ``check_wiring``.
``failures``
    What a dead port, cable or host leaves, and what repairs it: ``failure_impact``, ``repair_order``.
``routes``
    Tables for those who pass messages on, so that nothing deadlocks: ``routes``.
``plant``
    What can be wired with what is there, and how good that is: ``carry``.
"""
