"""Exports: a plan for those who carry it out (technicians, inventories, circuit switches, graph programs), and back.

``cables`` makes of a plan the cables and plugs that people handle; every format is written from these, or from the
circuits of the plan. May import ``inventory`` and ``plan``. To add a format, write a file with a function that makes
its content of a plan, and one that reads it back if others may send it; then list the two in ``formats.FORMATS``.
"""
