"""Wiring: from a topology to cables, what was really wired, and changes from one wiring to another.

Seven folders, each importing only from those before it:

``inventory``
    What there is to wire with.
``plan``
    Which host is which node, and the cross-connects that make the links.
``exports``
    A plan for those who carry it out, and read back.
``change``
    From the wiring that exists to the one wanted.
``apply``
    From a plan to the circuit switches.
``check``
    What was really wired against what was planned.
``failures``
    What a dead port, cable or host leaves, and what repairs it.

Each has one function at its door: ``read_inventory``, ``wire``, ``export_wiring`` and ``import_wiring``, ``rewire``,
``apply_wiring``, ``check_wiring``, ``failure_impact``. The commands of ``topodesign wire`` call the same.
"""
